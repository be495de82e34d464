//! Lists that people paste, with an amount for each name: what is little beside the rest is not what it is about.

use diagnosis::{Catalogue, diagnose_closely};
use import::{Input, import};

fn first_of(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let incident = import(&[Input { path: "x", bytes }]).incident?;
    let verdict = diagnose_closely(&incident, Catalogue::builtin());
    verdict.findings.first().map(|one| one.cause.clone())
}

#[test]
fn a_wait_of_hardly_anybody_is_not_the_cause() {
    let list = |redo: &str, transactions: &str| {
        format!(
            "Performance Insights, waits of 14:00-14:15 (average active sessions):\n\n\
             wait/io/redo_log_flush                    {redo}\n\
             CPU                                      12.02\n\
             wait/synch/mutex/innodb/trx_sys_mutex     {transactions}\n"
        )
    };
    assert_eq!(
        first_of(&list("88.10", "0.31")).as_deref(),
        Some("slow-fsync")
    );
    assert_eq!(
        first_of(&list("0.31", "310.40")).as_deref(),
        Some("trx-sys-rseg")
    );
}
