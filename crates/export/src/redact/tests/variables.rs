//! Names that were read as those of variables.

use model::{
    Fact, Incident, QueryClass, QueryDigest, QueryMeasure, QueryMethod, Series, SignalKind,
    TimedDigest, TimedFact, Unit, Window,
};

use super::super::{Newcomers, redact};
use super::blank;

/// Signals of one source, each read once.
fn add_signals(incident: &mut Incident, source: &str, names: &[&str]) {
    let source = incident.timeline.add_source(source, vec![0]);
    for name in names {
        incident.timeline.add_series(Series {
            name: (*name).to_owned(),
            unit: Unit::Count,
            kind: SignalKind::Gauge,
            source,
            values: vec![1.0],
        });
    }
}

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
    add_signals(
        &mut incident,
        "status",
        &[
            "status.Orders_of_acme",
            "status.Alice_Miller",
            "status.Qcache_lowmem_prunes",
        ],
    );
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
    for name in ["acme", "alice", "miller", "hunter2", "4711"] {
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

#[test]
fn names_that_no_kernel_has_are_somebodys() {
    let mut incident = blank();
    for name in [
        "sysctl.vm.acme_limit",
        "sysctl.kernel.hunter2",
        "sysctl.vm.swappiness",
        "cgroup.acme",
        "cgroup.cpu_max",
    ] {
        let fact = Fact::new(name, "60");
        incident.facts.push(TimedFact { at: 0, fact });
    }
    add_signals(
        &mut incident,
        "mutexes",
        &[
            "innodb_mutex.acme_mutex.os_waits",
            "innodb_mutex.btr0sea.cc_175.os_waits",
            "meminfo.Alice_Miller",
            "meminfo.MemAvailable",
            "vmstat.hunter2",
            "vmstat.pgscan_direct",
            "numa.node hunter2.numa_hit",
            "interrupts.k4zb9x",
            "slab.dentry(42:acme.service).bytes",
            "slab.dentry.bytes",
        ],
    );
    for says in [
        "pt-stalk: plugin(acme_check)=25, matched=yes, cycles_true=5",
        "pt-stalk: /home/alice/check.sh(hunter2)=1, matched=yes",
        "pt-stalk: status(Threads_running)=30, matched=yes, cycles_true=5",
        "pt-stalk: freezeframe(query-probe)=no answer for 2 s, matched=yes",
    ] {
        let (rule, says) = ("import".to_owned(), says.to_owned());
        incident.stall.triggers.push(model::Trigger { rule, says });
    }
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let all = format!("{redacted:?}");
    for name in ["acme", "alice", "Alice", "Miller", "hunter2", "k4zb9x"] {
        assert!(!all.contains(name), "{name}: {all}");
    }
    for own in [
        "sysctl.vm.swappiness",
        "cgroup.cpu_max",
        "innodb_mutex.btr0sea.cc_175.os_waits",
        "meminfo.MemAvailable",
        "vmstat.pgscan_direct",
        "slab.dentry.bytes",
        "slab.dentry(",
        "pt-stalk: plugin(",
        "=25, matched=yes, cycles_true=5",
        "pt-stalk: status(Threads_running)=30, matched=yes, cycles_true=5",
        "pt-stalk: freezeframe(query-probe)=no answer for 2 s, matched=yes",
    ] {
        assert!(all.contains(own), "{own}: {all}");
    }
}

#[test]
fn a_hidden_folder_called_like_a_word_of_ours_takes_no_signal_away() {
    let mut incident = blank();
    let value = "/root/.cache/acme/lib/plugin/";
    let fact = Fact::new("variables.plugin_dir", value);
    incident.facts.push(TimedFact { at: 0, fact });
    add_signals(
        &mut incident,
        "meminfo",
        &[
            "meminfo.Cached",
            "meminfo.MemAvailable",
            "cgroup.memory.cache",
        ],
    );
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let all = format!("{redacted:?}");
    for own in ["meminfo.Cached", "meminfo.MemAvailable"] {
        assert!(all.contains(own), "{own}: {all}");
    }
    for name in [".cache/", "acme"] {
        assert!(!all.contains(name), "{name}: {all}");
    }
}

#[test]
fn a_signal_by_itself_is_nobodys_or_in_doubt() {
    for signal in [
        "processlist.state.Writing_to_net",
        "processlist.class.show_other",
        "processlist.command.Query",
        "status.Innodb_row_lock_waits",
        "vmstat.compact_stall",
        "disk.nvme0n1.busy_ms",
        "filesystem./var/lib/mysql.used_share",
    ] {
        assert!(are_nobodys(vec![signal]), "{signal}");
    }
    for signal in [
        "processlist.state.acme_shop",
        "processlist.class.Alice",
        "processlist.command.hunter2",
        "status.Alice_Miller",
        "top.acme_shop.user_ticks",
        "disk.acme-data.busy_ms",
        "filesystem./srv/acme.used_share",
    ] {
        assert!(!are_nobodys(vec![signal]), "{signal}");
        assert!(!are_nobodys(vec!["vmstat.pswpin", signal]));
    }
}

#[test]
fn a_fact_by_itself_is_nobodys_or_in_doubt() {
    let is_nobodys = |name: &str, value: &str| {
        let fact = model::Fact {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        super::super::are_nobodys(&Newcomers {
            facts: vec![&fact],
            ..Newcomers::default()
        })
    };
    for (name, value) in [
        ("variables.innodb_io_capacity", "301"),
        ("variables.innodb_flush_method", "fsync"),
        ("variables.datadir", "/var/lib/mysql/"),
        ("sysctl.vm.swappiness", "60"),
        ("thp.enabled", "madvise"),
    ] {
        assert!(is_nobodys(name, value), "{name} = {value}");
    }
    for (name, value) in [
        ("variables.report_host", "db-7"),
        ("variables.init_connect", "insert into acme values (1)"),
        ("variables.datadir", "/srv/acme/"),
        ("variables.acme_shop", "301"),
        ("variables.log_error", "/var/log/mysql/acme.err"),
        ("server.version", "11.4.2-MariaDB-acme"),
        ("host.kernel", "6.1.0-acme"),
    ] {
        assert!(!is_nobodys(name, value), "{name} = {value}");
    }
}

#[test]
fn an_absence_by_itself_is_nobodys_or_in_doubt() {
    let is_nobodys = |detail: &str| {
        let absent = model::Absent::new("stacks", model::Reason::Permission, detail);
        super::super::are_nobodys(&Newcomers {
            absent: vec![&absent],
            ..Newcomers::default()
        })
    };
    assert!(is_nobodys("perf_event_paranoid is 3"));
    assert!(!is_nobodys("/srv/acme/mysqld: no such file"));
    assert!(!is_nobodys("user 'acme_app' has no right"));
}

fn are_nobodys(signals: Vec<&str>) -> bool {
    super::super::are_nobodys(&Newcomers {
        signals,
        ..Newcomers::default()
    })
}
