//! Names that were read as those of variables.

use model::{
    Fact, QueryClass, QueryDigest, QueryMeasure, QueryMethod, Series, SignalKind, TimedDigest,
    TimedFact, Unit, Window,
};

use super::super::redact;
use super::blank;

#[test]
fn a_variable_that_no_server_has_is_somebodys() {
    let mut incident = blank();
    for (name, value) in [
        ("variables.acme_shop.replicate_do_db", "acme_orders"),
        ("variables.alice_miller", "4711"),
        ("variables.hunter2", "ON"),
        ("variables.innodb_io_capacity", "200"),
        ("limits.open_files", "1024"),
    ] {
        let fact = Fact::new(name, value);
        incident.facts.push(TimedFact { at: 0, fact });
    }
    let source = incident.timeline.add_source("status", vec![0]);
    for name in [
        "status.Orders_of_acme",
        "status.Alice_Miller",
        "status.Qcache_lowmem_prunes",
    ] {
        incident.timeline.add_series(Series {
            name: name.to_owned(),
            unit: Unit::Count,
            kind: SignalKind::Gauge,
            source,
            values: vec![1.0],
        });
    }
    incident.stall.triggers.push(model::Trigger {
        rule: "user".to_owned(),
        says: "hunter2 and alice_miller".to_owned(),
    });
    let measure = |name: &str| QueryMeasure {
        name: name.to_owned(),
        ..QueryMeasure::default()
    };
    let class = QueryClass {
        measures: ["InnoDB_IO_r_ops", "Tenant_of_acme"].map(measure).into(),
        ..QueryClass::default()
    };
    incident.queries.push(TimedDigest {
        window: Window { from: 0, to: 1 },
        digest: QueryDigest {
            method: QueryMethod::SlowLog,
            from_us: None,
            to_us: None,
            count: 1,
            errors: None,
            classes: vec![class],
            folded: None,
            lost: 0,
            blind: Vec::new(),
            tried: Vec::new(),
            connections: None,
        },
    });
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let all = format!("{redacted:?}").to_lowercase();
    for name in ["acme", "alice", "miller", "hunter2"] {
        assert!(!all.contains(name), "{name}: {all}");
    }
    for own in [
        "variables.innodb_io_capacity",
        ".replicate_do_db",
        "limits.open_files",
        "status.qcache_lowmem_prunes",
        "innodb_io_r_ops",
    ] {
        assert!(all.contains(own), "{own}: {all}");
    }
    // What is redacted already stays as it is.
    let again = redact(&redacted, b"another salt, also long", "")
        .unwrap()
        .incident;
    assert_eq!(again.facts, redacted.facts);
}
