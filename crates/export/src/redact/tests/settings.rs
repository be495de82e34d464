//! Values of facts that are settings: what stays, and that nothing else does.

use super::super::pseudonyms::Pseudonyms;
use super::super::values;
use super::{blank, shown};

#[test]
fn settings_keep_what_is_theirs() {
    for (name, given, expected) in [
        ("variables.hostname", "db7", "<host>"),
        (
            "variables.version",
            "10.11.19-MariaDB-0+deb12u1",
            "10.11.19-MariaDB-0+deb12u1",
        ),
        ("variables.datadir", "/var/lib/mysql/", "/var/lib/mysql/"),
        ("variables.datadir", "/acme/data/", "/<dir>/data/"),
        (
            "variables.innodb_data_file_path",
            "ibdata1:12M:autoextend",
            "ibdata1:12M:autoextend",
        ),
        (
            "variables.tls_version",
            "TLSv1.2,TLSv1.3",
            "TLSv1.2,TLSv1.3",
        ),
        (
            "variables.wsrep_cluster_address",
            "gcomm://acmedb1,acmedb2?gmcast.segment=1&hunter2",
            "gcomm://<host>,<host>?<schema>.<table>=1&<name>",
        ),
        ("variables.bind_address", "127.0.0.1", "127.0.0.1"),
        ("variables.bind_address", "10.1.2.3", "<addr>"),
        (
            "variables.replicate_do_db",
            "acme,shop",
            "<schema>,<schema>",
        ),
        (
            "variables.innodb_buffer_pool_size",
            "134217728",
            "134217728",
        ),
        (
            "variables.optimizer_switch",
            "index_merge=on,mrr=off",
            "index_merge=on,mrr=off",
        ),
        ("thp.enabled", "madvise", "madvise"),
        (
            "variables.innodb_flush_method",
            "O_DIRECT_NO_FSYNC",
            "O_DIRECT_NO_FSYNC",
        ),
        (
            "variables.sql_mode",
            "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
            "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
        ),
        ("variables.character_set_server", "utf8mb4", "utf8mb4"),
        (
            "variables.collation_server",
            "utf8mb4_0900_ai_ci",
            "utf8mb4_0900_ai_ci",
        ),
        ("variables.lc_messages", "en_US", "en_US"),
        (
            "variables.transaction_isolation",
            "REPEATABLE-READ",
            "REPEATABLE-READ",
        ),
        (
            "variables.thread_handling",
            "one-thread-per-connection",
            "one-thread-per-connection",
        ),
        ("variables.system_time_zone", "CEST", "CEST"),
        ("variables.innodb_encrypt_tables", "FORCE", "FORCE"),
        (
            "variables.datetime_format",
            "%Y-%m-%d %H:%i:%s",
            "%Y-%m-%d %H:%i:%s",
        ),
        (
            "variables.version_comment",
            "MySQL Community Server - GPL",
            "MySQL Community Server - GPL",
        ),
        (
            "variables.version_ssl_library",
            "OpenSSL 3.0.13 30 Jan 2024",
            "OpenSSL 3.0.13 30 Jan 2024",
        ),
        (
            "variables.ssl_cipher",
            "ECDHE-RSA-AES128-GCM-SHA256:HIGH:!aNULL",
            "ECDHE-RSA-AES128-GCM-SHA256:HIGH:!aNULL",
        ),
        (
            "variables.tls_ciphersuites",
            "TLS_AES_256_GCM_SHA384",
            "TLS_AES_256_GCM_SHA384",
        ),
        ("variables.long_query_time", "10.000000", "10.000000"),
        (
            "variables.wsrep_sst_method",
            "xtrabackup-v2",
            "xtrabackup-v2",
        ),
        ("variables.innodb_ft_min_token_size", "3", "3"),
        ("variables.validate_password.policy", "MEDIUM", "MEDIUM"),
        ("variables.report_password", "12345678", "?"),
        ("variables.wsrep_sst_auth", "(hidden)", "(hidden)"),
        ("sysctl.vm.swappiness", "60", "60"),
        ("sysctl.net.core.default_qdisc", "fq_codel", "fq_codel"),
        ("sysctl.kernel.hostname", "payroll1", "<host>"),
        // Whatever the variable is called: a word that servers do not have is somebody's.
        (
            "variables.clone_valid_donor_list",
            "db-prod-donor:3306",
            "<host>:3306",
        ),
        (
            "variables.group_replication_ip_allowlist",
            "payrollnode1,10.0.0.0/24,AUTOMATIC",
            "<host>,<addr>/24,<host>",
        ),
        (
            "variables.group_replication_ip_allowlist",
            "AUTOMATIC",
            "AUTOMATIC",
        ),
        (
            "variables.proxy_protocol_networks",
            "10.1.0.0/16",
            "<addr>/16",
        ),
        (
            "variables.ignore_db_dirs",
            "lost+found,acme_archive",
            "lost+found,<dir>",
        ),
        ("variables.server_audit_syslog_info", "acme-prod", "<name>"),
        ("variables.feedback_user_info", "Acme Corp", "<name>"),
        (
            "variables.acme_plugin_mode",
            "Acme fast for 10.1.2.3",
            "<name> fast for <addr>",
        ),
        ("variables.some_plugin_words", "payroll", "<name>"),
        // Keys and headers.
        (
            "variables.telemetry.otel_exporter_otlp_traces_headers",
            "x-honeycomb-team=hcaik_01hqk4k2",
            "?",
        ),
        (
            "variables.telemetry.otel_exporter_otlp_logs_headers",
            "Authorization=Basic dXNlcjpwYXNz",
            "?",
        ),
        (
            "variables.telemetry.otel_exporter_otlp_metrics_endpoint",
            "https://bot:T0K3N@otel.acme.example:4318/v1/metrics",
            "https://<user>:?@<host>:4318/<dir>/<dir>",
        ),
        (
            "variables.telemetry.otel_resource_attributes",
            "team=acme",
            "<name>",
        ),
        ("server.tcp_ports", "127.0.0.1:36333", "127.0.0.1:36333"),
        ("cgroup.cpu_max", "200000 100000", "200000 100000"),
    ] {
        let blank = blank();
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        assert_eq!(
            shown(&values::rename(&mut pseudonyms, name, given)),
            expected,
            "{name}"
        );
    }
}
