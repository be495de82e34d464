//! Somebody's words in every place that an incident has, each in an incident of its own, so that no other
//! place teaches what they are. Each word has `zaq` in it, which no server and no pseudonym has.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use export::redact::redact;
use export::stalk::pt_stalk;
use model::{
    Absent, Fact, FrameSide, Incident, Reading, Reason, Server, StackFrame, StackTable, Stall,
    TextKind, TimedAbsent, TimedFact, TimedText, Trigger, Unit, Window,
};
use proptest::prelude::*;

const MARK: &str = "zaq";

/// What stands in logs, and what people paste behind them.
const LOGGED: &[&str] = &[
    "InnoDB: Record in index zaqidx of table shop.orders was not found on update",
    "InnoDB: Index zaqidx of table zaqdb/zaqt is corrupted",
    "InnoDB: Flagged corruption of zaqidx in table `zaqdb`.`zaqt` in CHECK TABLE",
    "InnoDB: Cannot find index zaqidx in InnoDB index dictionary.",
    "InnoDB: in index \"zaqidx\" of table \"zaqdb\".\"zaqt\"",
    "InnoDB: Table \"zaqdb\".\"zaqt\" has length mismatch",
    "InnoDB: Operating system error number 28 in /srv/zaqcorp/orders.ibd",
    "InnoDB: Cannot open datafile for read-only: './zaqdb/zaqt#P#zaqp.ibd' OS error: 71",
    "InnoDB: File ./zaqdb/FTS_0000000000000114_zaq.ibd: 'open' returned OS error 71",
    "Slave I/O thread: connected to master 'zaqrepl@zaqmaster:3306',replication started in log 'zaq-bin.000012' at position 4",
    "Slave SQL for channel 'zaqchan': Error 'Duplicate entry 'zaqval' for key 'zaqt.zaqkey'' on query. Default database: 'zaqdb'. Query: 'insert into zaqt values ('zaqlit', 5)', Error_code: 1062",
    "Slave SQL: Query caused different errors. Query: 'INSERT INTO zaqt SELECT \"zaq\"'",
    "[Event Scheduler] [zaquser@zaqhost][zaqdb.zaqevent] Table doesn't exist",
    "Event Scheduler: [zaquser@%.zaqcorp.example.com][zaqdb.zaqevent] Unknown column 'zaqcol'",
    "Unsafe statement written to the binary log using statement format. Statement: insert into zaqt values ('zaq')",
    "Access denied for user 'zaquser'@'zaqhost' to database 'zaqdb'",
    "Aborted connection 5 to db: 'zaqdb' user: 'zaquser' host: 'zaqhost.corp' (Got timeout reading communication packets)",
    "A temporary password is generated for root@localhost: zaq:Xy12",
    "Plugin 'zaqplugin' init function returned error.",
    "Can't open shared library '/usr/lib/zaqdir/audit.so'",
    "mysqld_safe Starting mysqld daemon with databases from /mnt/zaqdept/mysql",
    "mysqld: Can't create/write to file '/srv/zaqcorp/zaqhost.pid' (Errcode: 13)",
    "mysqld: File '/zaq.index' not found",
    "CA certificate /etc/zaqpki/zaqca.pem is self signed.",
    "Incorrect definition of table zaqdb.zaqt: expected column 'zaqcol' at position 1",
    "WSREP: Member 0.0 (zaqnode) synced with group.",
    "WSREP: (5a4b3c2d, 'tcp://0.0.0.0:4567') connection established to 5a4b3c2e tcp://zaqnode.zaqcorp:4567",
    "WSREP: members(1):\n\t0: 0f8e4621-d2fa-48fa-97f3-f664df620b51, zaqnode",
    "WSREP: Running: 'wsrep_sst_mariabackup --role 'donor' --address 'zaqnode:4444/xtrabackup_sst//1' --socket '/srv/zaq/s.sock' --datadir '/srv/zaq/'",
    "Query (0x7f98c4001234): select zaqcol from zaqt where a = 'zaq'",
    "LOAD DATA LOCAL INFILE '/home/zaquser/zaqcards.csv' INTO TABLE zaqt",
    "Host name 'zaqhost' could not be resolved: Name or service not known",
    "IP address '10.9.8.7' has been resolved to the host name 'zaq.zaqcorp.example', which resembles IPv4-address itself.",
    "InnoDB: Database page corruption on disk or a failed file read of tablespace zaqdb/zaqt page [page id: space=5, page number=4]",
    "mysqldump -u zaquser -pzaqsecret -h zaqhost zaqdb.zaqt",
    "mysqld: ready for connections. --report-host=zaqhost --log-basename=zaqbase",
    "ACME_TOKEN=zaqtoken",
    "started with ACME_ENV=zaqprod",
    "json: {\"user\":\"zaquser\",\"card\":\"zaq-4111\"}",
    "dsn mysql://zaquser:zaqpw@zaqhost:3306/zaqdb",
    "C:\\zaqcorp\\data\\orders.ibd is full",
    "Version: '8.0.36-zaqcorp'  socket: '/run/mysqld/zaq.sock'  port: 3306",
    "8.0.36-zaqcorp is the version",
    "backup /opt/zaq_backup.sh and /opt/zaq.py failed",
    "mysql.zaqcorp.internal cannot be reached",
    "Trigger 'zaqtrg' of table zaqdb.zaqt, procedure `zaqproc`, view 'zaqdb.zaqview'",
    "`zaqdb`.`zaq``tick`",
    "value: N'zaqnational' and _utf8mb4'zaqintro' and x'7a6171'",
    "Incorrect string value: '\\xF0zaq' for column `zaqdb`.`zaqt`.`zaqcol` at row 1",
    "Truncated incorrect DOUBLE value: 'zaq 1'",
    "You have an error in your SQL syntax; near 'zaq foo' at line 1",
    "proxy user 'zaqproxy'@'' and role zaqrole@%",
    "sent Authorization: Bearer zaqbearer.token",
    "otlp_headers = x-team=zaqkey,tenant=zaqtenant",
    "to https://zaqbot:zaqT0K3N@otel.acme.example/v1",
    "\"--login-path=zaqpath\" '--zaq-mode' \"--defaults-group-suffix=zaq\"",
    "{\"signoz-ingestion-key\": \"zaq words of it\"}",
];

fn blank() -> Incident {
    Incident {
        id: "3306-20261120T234021.123Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        stall: Stall {
            earlier: Vec::new(),
            onset: 10_000,
            trigger: 12_000,
            end: Some(20_000),
            triggers: Vec::new(),
        },
        window: Window {
            from: 0,
            to: 30_000,
        },
        ..Incident::default()
    }
}

fn with_text(kind: TextKind, body: &str) -> Incident {
    let mut made = blank();
    made.texts.push(TimedText {
        at: 12_000,
        text: server_text::stored(kind, body),
    });
    made
}

fn with_fact(name: &str, value: &str) -> Incident {
    let mut made = blank();
    made.facts.push(TimedFact {
        at: 0,
        fact: Fact::new(name, value),
    });
    made
}

/// What is left of the marked words in the redacted incident, in pt-stalk's directory of it, and among
/// the names that are not searched for.
fn left(incident: &Incident) -> Option<String> {
    let redacted = redact(incident, b"0123456789abcdef", "").unwrap();
    let shown = format!("{:?}", redacted.incident);
    let mut places = vec![shown.clone(), redacted.names.unsearched.join(" ")];
    for file in pt_stalk(&redacted.incident, &jiff::tz::TimeZone::UTC).files {
        places.push(format!(
            "{} {}",
            file.path,
            String::from_utf8_lossy(&file.bytes)
        ));
    }
    // What was made of it is clean to the search, too.
    if let Some(leak) = redacted.names.find_in_text(shown.as_bytes()) {
        let found = shown.get(leak.range());
        return Some(format!("the search finds {found:?} in {shown}"));
    }
    places.into_iter().find_map(|text| {
        let at = text.to_lowercase().find(MARK)?;
        let from = text.floor_char_boundary(at.saturating_sub(80));
        let to = text.ceil_char_boundary((at + 60).min(text.len()));
        text.get(from..to).map(str::to_owned)
    })
}

fn none_left(cases: &[&str], make: impl Fn(&str) -> Incident) {
    let leaks: Vec<String> = cases
        .iter()
        .filter_map(|case| left(&make(case)).map(|left| format!("{case}\n    {left}")))
        .collect();
    assert!(
        leaks.is_empty(),
        "{} of {}:\n{}",
        leaks.len(),
        cases.len(),
        leaks.join("\n")
    );
}

#[test]
fn names_in_an_innodb_status() {
    const LINES: &[&str] = &[
        "RECORD LOCKS space id 5 page no 4 n bits 72 index zaqidx of table `shop`.`orders` trx id 51 lock_mode X waiting",
        "RECORD LOCKS space id 5 page no 4 n bits 72 index `zaqidx` of table `shop`.`orders` trx id 51 lock_mode X",
        "RECORD LOCKS space id 5 page no 4 n bits 72 index \"zaqidx\" of table \"zaqdb\".\"zaqt\" trx id 51 lock_mode X",
        "RECORD LOCKS space id 0 page no 52 n bits 72 index zaqidx of table `zaqdb/zaqt` trx id 0 5 lock_mode X",
        "TABLE LOCK table `zaqdb`.`zaqt` /* Partition `zaqp1` */ trx id 51 lock mode IX",
        "Foreign key constraint fails for table `zaqdb`.`zaqt`:\n,\n  CONSTRAINT `zaqfk` FOREIGN KEY (`zaqcol`) REFERENCES `zaqparent` (`zaqid`) ON DELETE CASCADE",
        "Trying to add in child table, in index `zaqidx` tuple:",
        "Trying to add in child table, in index zaqidx tuple:",
        "But in parent table `zaqdb`.`zaqt`, in index zaqpk,",
        "Index: zaqidx",
        "CONSTRAINT zaqfk FOREIGN KEY (zaqcol) REFERENCES t (id)",
        "the closest match we can find is record:\nzaqdb.zaqt",
        // A settings file behind it.
        "init_connect='SET @x=\"zaqunter2\"'",
        "init_connect=\"SET @x='zaqunter2'\"",
        "report_host = zaqmaster",
        "report-host=db-master-1.zaqcorp.example.com",
        "datadir = /srv/zaqcorp/mysql",
        "datadir=/var/lib/zaqcorp",
        "wsrep_cluster_name = zaqcluster",
        "wsrep_node_name='zaq node'",
        "wsrep_cluster_address = gcomm://zaqa,zaqb:4567",
        "password = zaqsecret!1",
        "user = zaquser",
        "# user = zaquser",
        "replicate-do-db = zaqdb",
        "replicate-wild-do-table = zaqdb.%",
        "ft_user_table = zaqdb/zaqt",
        "loose-some_plugin_thing = zaqvalue",
        "x = 'zaq literal'",
        "mail to zaq@zaqcorp.example",
        "see http://zaqwiki/page",
    ];
    none_left(LINES, |line| {
        let (before, behind) =
            match line.contains(" = ") || line.contains('=') && !line.contains("RECORD") {
                true => ("", line.to_owned()),
                false => (line, String::new()),
            };
        with_text(
            TextKind::InnodbStatus,
            &format!(
                "=====================================\n2026-11-20 23:40:21 0x7f60 INNODB MONITOR OUTPUT\n=====================================\n\
                 ------------------------\nLATEST FOREIGN KEY ERROR\n------------------------\n2026-11-20 23:40:14 0x7f600a78b6c0 Transaction:\n\
                 TRANSACTION 36, ACTIVE 1 sec inserting\nmysql tables in use 1, locked 1\n1 lock struct(s), heap size 1128, 0 row lock(s)\n\
                 MySQL thread id 7, OS thread handle 14, query id 21 localhost root update\ninsert into zaqt (zaqcol) values ('zaqlit', x'7a6171', 4111111111111111)\n\
                 Foreign key constraint fails for table `a`.`b`:\n{before}\n\
                 ------------\nTRANSACTIONS\n------------\nTrx id counter 52\n---TRANSACTION 51, ACTIVE 12 sec starting index read\n\
                 MySQL thread id 7, OS thread handle 140, query id 99 zaqhost 10.9.8.7 zaquser updating\nupdate zaqt set zaqcol = 'zaq \\' lit' /* zaqcomment */ -- zaq\n\
                 ------- TRX HAS BEEN WAITING 12 SEC FOR THIS LOCK TO BE GRANTED:\n{before}\n\
                 --------\nFILE I/O\n--------\nI/O thread 0 state: waiting for completed aio requests (insert buffer thread)\n{behind}\n"
            ),
        )
    });
}

#[test]
fn names_in_an_error_log() {
    none_left(LOGGED, |line| {
        with_text(
            TextKind::ErrorLog,
            &format!("2026-11-20T23:40:21.000000Z 7 [Warning] [MY-010055] [Server] {line}\n"),
        )
    });
    // As it stands, without a date: a line of a text whose kind is not known.
    none_left(LOGGED, |line| with_text(TextKind::ErrorLog, line));
    none_left(LOGGED, |line| with_text(TextKind::InnodbStatus, line));
}

#[test]
fn names_in_a_deadlock_of_the_error_log() {
    none_left(
        &[
            "update\n  zaqt\nset zaqcol = 'zaq\n\nlit'\nwhere zaqid = 5",
            "insert into zaqt\nselect zaqcol -- zaqcomment\nfrom zaqdb.zaqother",
        ],
        |statement| {
            with_text(
                TextKind::ErrorLog,
                &format!(
                    "2026-11-20T23:40:21.000000Z 7 [Note] [MY-012468] [InnoDB] Transactions deadlock detected, dumping detailed information.\n\
                     2026-11-20T23:40:21.000000Z 7 [Note] [MY-012469] [InnoDB]\n*** (1) TRANSACTION:\n\
                     TRANSACTION 36, ACTIVE 1 sec starting index read\nmysql tables in use 1, locked 1\n\
                     LOCK WAIT 2 lock struct(s), heap size 1136, 1 row lock(s)\n\
                     MySQL thread id 7, OS thread handle 14, query id 21 zaqhost 10.9.8.7 zaquser updating\n{statement}\n\
                     2026-11-20T23:40:21.000000Z 7 [Note] [MY-012469] [InnoDB] *** (1) HOLDS THE LOCK(S):\n\
                     RECORD LOCKS space id 5 page no 4 n bits 72 index zaqidx of table `zaqdb`.`zaqt` trx id 36 lock_mode X\n\
                     Record lock, heap no 2 PHYSICAL RECORD: n_fields 3; compact format; info bits 0\n \
                     0: len 6; hex 7a61715f7a71; asc zaq_zq;;\n\n\
                     2026-11-20T23:40:22.000000Z 7 [Note] [MY-012469] [InnoDB] *** WE ROLL BACK TRANSACTION (1)\n"
                ),
            )
        },
    );
}

#[test]
fn names_in_a_kernel_log() {
    const LINES: &[&str] = &[
        "[1.2] Out of memory: Killed process 4711 (zaqbilling) total-vm:1kB",
        "[1.2] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=zaqpod,mems_allowed=0,oom_memcg=/docker/zaqid,task_memcg=/zaq.slice/zaq-db.service,task=zaqd,pid=4711,uid=999",
        "[1.2] memory: usage 1048576kB; Memory cgroup stats for /kubepods.slice/kubepods-zaq.slice:",
        "[1.2] INFO: task zaqjob:4711 blocked for more than 120 seconds.",
        "[1.2] CPU: 1 PID: 4711 Comm: zaqjob Not tainted 5.15.0-91-zaqkernel #1",
        "[1.2] EXT4-fs error (device dm-0): mounted on /mnt/zaqdept",
        "Nov 20 23:40:21 zaqhost kernel: [12347.1] I/O error, dev sda",
        "Nov 20 23:40:21 zaqhost systemd[1]: zaq-billing.service: Main process exited",
        "[1.2] audit: apparmor=\"DENIED\" profile=\"/usr/sbin/mysqld\" name=\"/srv/zaqcorp/x\" comm=\"zaqcomm\"",
        "[1.2] IN=eth0 SRC=10.9.8.7 HOST=zaqhost",
        "[1.2] nfs: server zaqnas.corp not responding, still trying",
        "[1.2] audit: type=1309 audit(1.1:9): argc=2 a0=\"mysql\" a1=\"-uzaq\" a2=\"-pzaq\" a3=\"--login-path=zaq\"",
    ];
    none_left(LINES, |line| with_text(TextKind::KernelLog, line));
}

#[test]
fn names_in_settings() {
    const SETTINGS: &[(&str, &str)] = &[
        ("variables.hostname", "zaqhost"),
        ("variables.report_host", "zaqhost"),
        ("variables.report_user", "zaqrepl"),
        (
            "variables.server_uuid",
            "zaq8e4621-d2fa-48fa-97f3-f664df620b51",
        ),
        ("variables.datadir", "/srv/zaqcorp/mysql/"),
        ("variables.plugin_dir", "/opt/zaqcorp/plugin/"),
        ("variables.ssl_ca", "/etc/zaqpki/ca.pem"),
        ("variables.ssl_cert", "zaqcert.pem"),
        (
            "variables.wsrep_cluster_address",
            "gcomm://zaqa,zaqb:4567?gmcast.listen_addr=tcp://zaqc:4567",
        ),
        ("variables.wsrep_cluster_name", "zaqcluster"),
        ("variables.wsrep_node_name", "zaqnode"),
        ("variables.wsrep_sst_donor", "zaqdonor,"),
        ("variables.innodb_ft_aux_table", "zaqdb/zaqt"),
        ("variables.innodb_ft_server_stopword_table", "zaqdb/zaqt"),
        ("variables.innodb_data_file_path", "zaqdata1:12M:autoextend"),
        ("variables.innodb_data_home_dir", "zaqhome"),
        ("variables.log_bin", "zaq-bin"),
        ("variables.relay_log", "zaq-relay"),
        ("variables.log_error", "./zaqhost.err"),
        ("variables.slow_query_log_file", "zaqhost-slow.log"),
        (
            "variables.gtid_executed",
            "0f8e4621-zaqa-48fa-97f3-f664df620b51:1-55",
        ),
        (
            "variables.init_connect",
            "insert into zaqdb.zaqt values ('zaq', current_user())",
        ),
        (
            "variables.authentication_ldap_simple_server_host",
            "zaqldap",
        ),
        (
            "variables.authentication_ldap_simple_bind_base_dn",
            "dc=zaqcorp,dc=com",
        ),
        (
            "variables.group_replication_group_seeds",
            "zaqa:33061,zaqb:33061",
        ),
        ("variables.replicate_rewrite_db", "zaqa->zaqb"),
        ("variables.mandatory_roles", "'zaqrole'@'%'"),
        ("variables.default_master_connection", "zaqchan"),
        ("variables.proxy_user", "'zaqproxy'@'%'"),
        ("variables.version", "8.0.36-zaqcorp-log"),
        ("variables.version_comment", "built by zaq@zaqcorp.example"),
        ("variables.audit_log_file", "zaqaudit.log"),
        ("variables.tmpdir", "/mnt/zaqdept/tmp"),
        ("variables.socket", "/run/zaqcorp/mysqld.sock"),
        ("server.exe", "/opt/zaqcorp/bin/mysqld"),
        ("server.program", "zaqmysqld"),
        ("server.unix_sockets", "/run/mysqld/mysqld.sock @zaqsock"),
        (
            "server.allocator",
            "jemalloc (/opt/zaqcorp/libjemalloc.so.2)",
        ),
        (
            "packets.show_warnings.senders",
            "user zaquser (98 %); host zaqhost (98 %); program zaqapp (90 %)",
        ),
        ("cgroup.path", "/system.slice/zaq-db.service"),
        ("place.datadir.path", "/srv/zaqcorp/mysql"),
        ("probe.connect_address", "zaqhost.corp:3306"),
        ("probe.connect_address", "unix /run/zaq/x.sock"),
        // Whatever a variable is called.
        ("variables.clone_valid_donor_list", "db-zaq-donor:3306"),
        (
            "variables.group_replication_ip_allowlist",
            "zaqnode1,10.0.0.0/24",
        ),
        ("variables.ignore_db_dirs", "lost+found,zaq_archive"),
        ("variables.server_audit_syslog_info", "zaq-prod"),
        ("variables.feedback_user_info", "Zaq Corp"),
        (
            "variables.telemetry.otel_resource_attributes",
            "team=zaq,stage=zaqprod",
        ),
        (
            "variables.telemetry.otel_exporter_otlp_traces_headers",
            "x-team=zaq_01hqk4k2",
        ),
        (
            "variables.telemetry.otel_exporter_otlp_traces_endpoint",
            "https://zaq:zaqpw@zaqhost/v1",
        ),
        ("variables.any_name_at_all", "zaq"),
        ("variables.any_name_at_all", "on zaq, off 'zaq corp' (zaq)"),
        ("sysctl.kernel.hostname", "zaqhost"),
        ("sysctl.kernel.core_pattern", "|/opt/zaqcorp/dump %p zaq"),
    ];
    let leaks: Vec<String> = SETTINGS
        .iter()
        .filter_map(|(name, value)| {
            left(&with_fact(name, value)).map(|left| format!("{name} = {value}\n    {left}"))
        })
        .collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn names_of_signals() {
    const SIGNALS: &[&str] = &[
        "filesystem./srv/zaqcorp/mysql.used_share",
        "filesystem./mnt/zaq_dept.used_share",
        "filesystem./zaq.used_share",
        "top.zaqbilling.cpus",
        "disk.vg_zaq-data.reads",
        "disk.zaqvolume.in_flight",
    ];
    none_left(SIGNALS, |name| {
        let mut made = with_text(
            TextKind::ErrorLog,
            &format!("{} is there", name.replace(['.', '/'], " ")),
        );
        made.texts.clear();
        made.timeline.push_readings(
            "filesystem",
            1000,
            &[Reading::gauge((*name).to_owned(), Unit::Share, 0.99)],
        );
        made
    });
}

#[test]
fn names_elsewhere() {
    const WORDS: &[&str] = &["zaqcorp"];
    none_left(WORDS, |word| {
        let mut made = blank();
        made.host = format!("{word}-db1");
        made.id = format!("{word}-20261120T234021.123Z");
        made.server = Server {
            label: format!("{word}-run"),
            version: format!("8.0.36-{word}"),
            pid: Some(1),
            address: format!("socket /srv/{word}/my.sock"),
        };
        made.stall.triggers.push(Trigger {
            rule: "query-probe".to_owned(),
            says: format!(
                "could not connect to {word}.corp.example.com: Access denied for user '{word}'"
            ),
        });
        made.absent.push(TimedAbsent {
            first: 0,
            last: 1,
            count: 1,
            absent: Absent::new(
                "error log",
                Reason::Permission,
                format!("/srv/{word}/x.err: open failed"),
            ),
        });
        let mut book = StackTable::default();
        book.intern(
            [
                StackFrame {
                    name: "main".to_owned(),
                    image: format!("/opt/{word}/lib/libc.so.6"),
                    side: FrameSide::User,
                    nameless: None,
                },
                StackFrame {
                    name: format!("({word}d)"),
                    image: format!("{word}d"),
                    side: FrameSide::User,
                    nameless: None,
                },
            ],
            model::StackEnd::Complete,
        );
        made.stacks.table = book;
        made
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    /// The same lines with other names: of other alphabets, in capitals, with digits.
    #[test]
    fn whatever_the_names_are(
        line in proptest::sample::select(LOGGED),
        before in "[A-Za-zäéßж]{0,3}",
        behind in "[A-Za-z0-9_üж]{0,4}",
    ) {
        let body = line.replace(MARK, &format!("{before}{MARK}{behind}"));
        prop_assert_eq!(left(&with_text(TextKind::ErrorLog, &body)), None, "{}", body);
    }
}
