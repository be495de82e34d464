//! Nothing that names somebody is left in a redacted incident, and what belongs together still does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::common::{Planted, incident};
use export::redact::redact;
use model::{Incident, ProcessList, TextKind};
use proptest::prelude::*;

fn planted() -> Planted {
    Planted {
        user: "acme_app".to_owned(),
        host: "db7.acme.internal".to_owned(),
        address: "10.20.30.40".to_owned(),
        schema: "acmeshop".to_owned(),
        table: "customer_cards".to_owned(),
        column: "iban_hash".to_owned(),
        literal: "DE89 3704 0044".to_owned(),
        folder: "acmedata".to_owned(),
        program: "acme-billing".to_owned(),
        logged: ("acmelegacy".to_owned(), "oldinvoices".to_owned()),
    }
}

/// All of an incident in one text, as the file's cells hold it: by another way than the redaction's own
/// search.
fn everything(incident: &Incident) -> String {
    format!("{incident:?}").to_lowercase()
}

#[test]
fn no_planted_name_is_left() {
    let planted = planted();
    let redacted = redact(&incident(&planted), b"0123456789abcdef", "").unwrap();
    let text = everything(&redacted.incident);
    for word in planted.words() {
        assert!(!text.contains(&word.to_lowercase()), "{word} in {text}");
    }
    // The search knows them and finds nothing. Those that stood in the error log alone are gone before.
    let made = everything(&incident(&planted));
    let mut known = 0;
    for word in planted.words() {
        if made.contains(&word.to_lowercase()) {
            known += 1;
            assert!(redacted.names.find(word.as_bytes()).is_some(), "{word}");
        }
    }
    assert!(known > planted.words().len() / 2, "{known}");
    assert_eq!(redacted.names.find(text.as_bytes()), None);
    let leak = redacted.names.find(b"xx Customer_Cards xx").unwrap();
    assert_eq!(leak.range(), 3..17);
}

#[test]
fn names_are_consistent_and_the_servers_words_stay() {
    let planted = planted();
    let redacted = redact(&incident(&planted), b"0123456789abcdef", "")
        .unwrap()
        .incident;
    let texts = |kind| {
        redacted
            .texts
            .iter()
            .find(|timed| timed.text.kind() == kind)
            .map(|timed| timed.text.body().to_owned())
            .unwrap()
    };
    let list: ProcessList = serde_json::from_str(&texts(TextKind::Processlist)).unwrap();
    let session = &list.longest[0];
    assert_eq!(session.state, "Waiting for table metadata lock");
    assert!(list.by_user.contains_key(&session.user));
    assert!(session.user.starts_with("user_") && session.db.starts_with("schema_"));
    let status = texts(TextKind::InnodbStatus);
    assert!(
        status.contains(&format!("{} ", session.user))
            && status.contains(&format!("`{}`.`table_", session.db)),
        "{status}"
    );
    assert!(
        status.contains("LOCK WAIT 2 lock struct(s)")
            && status.contains("index `PRIMARY` of table")
    );
    assert!(status.contains(" = ?\n"), "{status}");
    assert!(
        session
            .statement
            .contains(&format!("from {}.table_", session.db)),
        "{}",
        session.statement
    );
    let log = texts(TextKind::ErrorLog);
    assert!(
        log.contains("page_cleaner: 1000ms intended loop took 4013ms."),
        "{log}"
    );
    assert!(
        log.contains("is marked as crashed and should be repaired"),
        "{log}"
    );
    let kernel = texts(TextKind::KernelLog);
    assert!(kernel.contains("Killed process 4711 (program_"), "{kernel}");
    let fact = |name: &str| redacted.fact(name).unwrap().to_owned();
    assert_eq!(fact("variables.version"), "8.0.36");
    assert_eq!(
        fact("server.allocator"),
        "jemalloc (/usr/lib/x86_64-linux-gnu/libjemalloc.so.2)"
    );
    assert_eq!(fact("variables.hostname"), redacted.host);
    let class = &redacted.queries[0].digest.classes[0];
    assert_eq!(class.users[0].name, session.user);
    assert_eq!(class.id, sql::fingerprint_id(&class.fingerprint));
    assert_eq!(
        (class.compat_id.as_deref(), class.sample.as_deref()),
        (None, None)
    );
    assert_eq!(redacted.clock.boot_id, "");
    assert_eq!(redacted.timeline, incident(&planted).timeline);
}

#[test]
fn the_salt_decides_the_names() {
    let incident = incident(&planted());
    let host = |salt: &[u8]| redact(&incident, salt, "").unwrap().incident.host;
    assert_eq!(host(b"0123456789abcdef"), host(b"0123456789abcdef"));
    assert_ne!(host(b"0123456789abcdef"), host(b"0123456789abcdeg"));
}

#[test]
fn redacting_again_changes_nothing_but_names() {
    let once = redact(&incident(&planted()), b"0123456789abcdef", "")
        .unwrap()
        .incident;
    let twice = redact(&once, b"another salt.....", "").unwrap().incident;
    assert_eq!(once.texts, twice.texts);
    assert_eq!(once.facts, twice.facts);
}

#[test]
fn the_servers_own_names_are_no_secrets() {
    let mut planted = planted();
    planted.user = "root".to_owned();
    planted.host = "localhost".to_owned();
    planted.address = "127.0.0.1".to_owned();
    planted.schema = "information_schema".to_owned();
    planted.table = "processlist".to_owned();
    let redacted = redact(&incident(&planted), b"0123456789abcdef", "")
        .unwrap()
        .incident;
    let body = redacted.texts[0].text.body();
    assert!(
        body.contains(r#""user":"root","host":"localhost","db":"information_schema""#),
        "{body}"
    );
    assert!(
        body.contains("from information_schema.processlist where"),
        "{body}"
    );
}

/// A name that no server, kernel or library uses: letters around a `q` and a `z`.
fn name() -> impl Strategy<Value = String> {
    "[a-z]{1,5}qz[a-z0-9]{2,8}"
}

fn names() -> impl Strategy<Value = Planted> {
    (
        (name(), name(), name(), name(), name(), name()),
        (name(), name(), name(), name()),
        (11_u8..126, any::<u8>(), any::<u8>(), 1_u8..255),
        any::<bool>(),
    )
        .prop_map(
            |(
                (user, host, schema, table, column, folder),
                (program, literal, log, logged),
                ip,
                upper,
            )| {
                let cased = |name: String| if upper { name.to_uppercase() } else { name };
                Planted {
                    user: cased(user),
                    host: format!("{host}-1.dc.{folder}"),
                    address: format!("{}.{}.{}.{}", ip.0, ip.1, ip.2, ip.3),
                    schema,
                    table: cased(table),
                    column,
                    literal: format!("{literal} o'clock, 5").replace('\'', "''"),
                    folder,
                    program: program.chars().take(15).collect(),
                    logged: (log, logged),
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn planted_secrets_are_never_left(planted in names(), salt in proptest::collection::vec(any::<u8>(), 16..40)) {
        let redacted = redact(&incident(&planted), &salt, "").unwrap();
        let text = everything(&redacted.incident);
        for word in planted.words() {
            prop_assert!(!text.contains(&word.to_lowercase()), "{} in {}", word, text);
        }
        prop_assert_eq!(redacted.names.find(text.as_bytes()), None);
    }

    /// Whatever stands in a log, a status or a statement: there is an end, and nothing panics.
    #[test]
    fn any_text_is_taken(body in "\\PC{0,300}", value in "[\\x00-\\x7f]{0,200}", which in 0_usize..5) {
        let mut made = incident(&planted());
        made.texts[which].text = server_text::stored(made.texts[which].text.kind(), &body);
        made.facts[3].fact.value = value.clone();
        made.facts[8].fact.value = value;
        let _ = redact(&made, b"0123456789abcdef", "");
    }
}
