//! How fast statements get their class: `cargo run --release -p freezeframe-sql --example speed`.
//!
//! Each load is statements of a few shapes with values that never repeat. Prints megabytes and statements a second of
//! processor time, the best of some rounds.

#![allow(clippy::print_stdout, reason = "it measures, and tells")]

use std::hint::black_box;

use sql::{Fingerprinter, SqlMode, compat, fingerprint};

/// Each round goes over the statements so many times: the clock is only as fine as the scheduler's tick.
const PASSES: usize = 30;
const ROUNDS: usize = 4;

/// Shapes with `~` for a number, `^` for a string.
const LOADS: &[(&str, &[&str])] = &[
    ("point selects", &["SELECT c FROM sbtest1 WHERE id=~"]),
    (
        "sysbench read-write",
        &[
            "SELECT c FROM sbtest1 WHERE id=~",
            "SELECT c FROM sbtest1 WHERE id=~",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ~ AND ~",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ~ AND ~",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ~ AND ~ ORDER BY c",
            "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ~ AND ~ ORDER BY c",
            "UPDATE sbtest1 SET k=k+1 WHERE id=~",
            "UPDATE sbtest1 SET c='^-^-^-^-^-^-^-^-^-^' WHERE id=~",
            "DELETE FROM sbtest1 WHERE id=~",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (~, ~, '^-^-^-^-^-^-^-^-^-^', '^-^-^-^-^')",
            "COMMIT",
        ],
    ),
    (
        "object mapper",
        &[
            "SELECT `users`.`id`, `users`.`email`, `users`.`name`, `users`.`created_at` FROM `users` INNER JOIN `teams` ON `teams`.`id` = `users`.`team_id` WHERE `users`.`id` = ~ AND `teams`.`name` = '^' ORDER BY `users`.`id` ASC LIMIT ~ /*application:shop,request_id:^*/",
            "SELECT u.id AS id1_0_, u.email AS email2_0_, u.name AS name3_0_ FROM users u WHERE u.team_id IN (~, ~, ~, ~, ~, ~, ~) AND u.deleted_at IS NULL",
            "INSERT INTO `events` (`kind`, `payload`, `at`) VALUES ('^', '{\\\"user\\\": ~, \\\"text\\\": \\\"^\\\"}', '2026-01-02 03:04:05.678')",
        ],
    ),
    (
        "bulk inserts",
        &[
            "INSERT INTO t (a, b, c) VALUES (~, '^', ~), (~, '^', NULL), (~, '^', ~), (~, '^', ~), (~, '^', ~), (~, '^', ~), (~, '^', ~), (~, '^', ~)",
        ],
    ),
    (
        "hints and line comments",
        &[
            "SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t WHERE b = ~ AND c = '^'",
            "SELECT a FROM t WHERE b = ~ -- request ^\n",
        ],
    ),
    ("never the same class", &["SELECT a~ FROM t~ WHERE b = ~"]),
];

fn main() {
    for (name, shapes) in LOADS {
        let statements = statements(shapes);
        let bytes: usize = statements.iter().map(Vec::len).sum();
        println!("{name}: {} bytes a statement", bytes / statements.len());
        let mut memo = Fingerprinter::new(SqlMode::default());
        measure("memo", &statements, bytes, |statement| {
            black_box(memo.class_of(statement));
        });
        let some = statements.get(..statements.len() / 10).unwrap_or_default();
        let bytes: usize = some.iter().map(Vec::len).sum();
        measure("fingerprint", some, bytes, |statement| {
            black_box(fingerprint(&String::from_utf8_lossy(statement)));
        });
        measure("compat", some, bytes, |statement| {
            black_box(compat::fingerprint(statement));
        });
    }
}

fn measure(name: &str, statements: &[Vec<u8>], bytes: usize, mut one: impl FnMut(&[u8])) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = processor_seconds();
        for statement in statements.iter().cycle().take(statements.len() * PASSES) {
            one(statement);
        }
        best = best.min(processor_seconds() - start);
    }
    let megabytes = (bytes * PASSES) as f64 / best / 1e6;
    let millions = (statements.len() * PASSES) as f64 / best / 1e6;
    println!("  {name:12} {megabytes:8.0} MB/s {millions:8.2} million statements/s");
}

/// What this thread has computed (`/proc/thread-self/schedstat`, nanoseconds), so that other work on the machine counts
/// less.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = text
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

fn statements(shapes: &[&str]) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let one = |shape: &str, random: &mut dyn FnMut() -> u64| {
        let mut statement = Vec::new();
        for byte in shape.bytes() {
            match byte {
                b'~' => statement.extend((random() % 1_000_000).to_string().bytes()),
                b'^' => statement.extend(format!("{:011}", random() % 100_000_000_000).bytes()),
                other => statement.push(other),
            }
        }
        statement
    };
    shapes
        .iter()
        .cycle()
        .take(200_000)
        .map(|shape| one(shape, &mut random))
        .collect()
}
