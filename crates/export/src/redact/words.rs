//! Words that servers, kernels and packagers brought themselves: they tell nothing of whose system it
//! is.

/// Accounts that every server has.
pub(super) const USERS: [&str; 14] = [
    "", "root", "system user", "event_scheduler", "unauthenticated user", "unauthenticated",
    "connecting host", "unconnected", "mysql.sys", "mysql.session", "mysql.infoschema",
    "mariadb.sys", "(other)", "(others)",
];

/// Names of hosts that every host has for itself.
pub(super) const HOSTS: [&str; 12] = [
    "", "%", "localhost", "localhost.localdomain", "connecting host", "127.0.0.1", "::1", "0.0.0.0", "::", "*", "(other)",
    "(others)",
];

/// Schemas of the server itself; what is named in them stays.
pub(super) const SCHEMAS: [&str; 8] = [
    "mysql", "information_schema", "performance_schema", "sys", "unconnected", "", "(other)", "(others)",
];

/// Names of InnoDB itself.
pub(super) const INNODB_NAMES: [&str; 10] = [
    "primary", "gen_clust_index", "clust_ind", "ibuf_dummy", "sys_tables", "sys_columns", "sys_indexes", "sys_fields", "sys_foreign", "innodb_system",
];

/// Folders and files as servers, distributions and containers name them.
pub(super) const PATH: &[&str] = &[
    "", ".", "..", "~", "usr", "lib", "lib64", "lib32", "libexec", "local", "bin", "sbin", "var", "etc", "run", "tmp", "opt",
    "home", "data", "mysql", "mysqld", "mariadb", "mariadbd", "percona", "share", "log", "logs",
    "proc", "sys", "dev", "srv", "mnt", "root", "cache", "spool", "state", "x86_64-linux-gnu",
    "aarch64-linux-gnu", "charsets", "plugin", "plugins", "error", "slow", "general", "my", "conf", "conf.d",
    "mysql.conf.d", "mariadb.conf.d", "ibdata1", "ibdata2", "ibtmp1", "ib_logfile0", "ib_logfile1",
    "ib_buffer_pool", "undo001", "undo002", "undo_001", "undo_002", "mysql-bin", "mariadb-bin", "binlog", "relay-log",
    "relay-bin", "mysqlx", "innodb_redo", "#innodb_redo", "#innodb_temp", "performance_schema", "sock", "pid", "shm", "null", "zero", "urandom",
    "random", "stdin", "stdout", "stderr", "fd", "self", "task", "kernel", "mm", "fs", "net", "class", "block", "cgroup", "system.slice", "user.slice", "init.scope",
    "transparent_hugepage", "enabled", "defrag", "khugepaged", "systemd", "system", "default", "alternatives", "jemalloc",
    "tcmalloc", "mimalloc", "init", "percona-server", "mysql-files", "mysql-keyring",
];

/// Ends of names of source and program files, which stay as they are.
pub(super) const CODE: &[&str] = &[
    "cc", "c", "h", "ic", "hh", "cpp", "hpp", "i", "yy", "so", "service", "socket", "slice", "scope", "mount", "target", "timer", "cnf", "conf",
    "d", "py", "sh", "pl", "rs", "go", "info",
];

/// Ends of names of data files: what stands before them is a name.
pub(super) const DATA: &[&str] = &[
    "ibd", "frm", "par", "myd", "myi", "mad", "mai", "csv", "csm", "trg", "trn", "err", "log", "pid",
    "sock", "sql", "opt", "isl", "cfg", "cfp", "txt", "bak", "old", "pem", "key", "crt", "index",
];

/// Programs that every host may have.
pub(super) const PROGRAMS: &[&str] = &[
    "mysqld", "mariadbd", "mysql", "mariadb", "mysqld_safe", "freezeframe", "perf", "gdb", "systemd", "init", "bash", "sh", "ssh", "sshd", "cron",
    "java", "php", "php-fpm", "python", "python3", "perl", "ruby", "node", "nginx", "apache2", "httpd", "docker", "dockerd",
    "containerd", "kubelet", "rsyslogd", "journald", "swapper", "oom_reaper", "top", "ps", "sleep", "tar", "gzip", "zstd", "rsync", "mysqldump", "mariadb-dump",
    "xtrabackup", "mariabackup", "mysqladmin", "pt-stalk", "awk", "cat", "grep", "sed", "dd", "find", "lab-load", "lab-client",
];

/// Beginnings of names of the kernel's own threads, and of ours.
pub(super) const THREADS: &[&str] = &[
    "kworker", "kswapd", "kcompactd", "khugepaged", "ksoftirqd", "rcu", "migration", "jbd2", "md", "dm", "dm_", "nvme", "xfs", "ext4",
    "kthreadd", "ksmd", "khungtaskd", "cpuhp", "irq", "watchdog", "loop", "scsi", "kdamond", "writeback", "btrfs", "zfs", "z_", "txg_", "ff-",
    "idle_inject", "kauditd", "kblockd", "nfs", "kdevtmpfs", "mld", "ipv6", "psimon", "vhost", "kvm",
];

/// Client libraries, by how their names begin.
pub(super) const CONNECTORS: &[&str] = &[
    "libmysql", "libmariadb", "mysql", "mariadb", "_mysql", "connector", "pymysql", "php", "java", "go-mysql", "rust", "node", "jdbc", "odbc", "percona", "freezeframe",
];

/// Values of the server's variables that are names altogether.
pub(super) const NAMING_VARIABLES: &[&str] = &[
    "hostname", "report_host", "report_user", "server_uuid", "wsrep_cluster_name", "wsrep_node_name", "wsrep_node_address",
    "wsrep_node_incoming_address", "wsrep_cluster_address", "wsrep_sst_donor", "wsrep_sst_receive_address", "wsrep_notify_cmd",
    "replicate_do_db", "replicate_ignore_db", "replicate_do_table", "replicate_ignore_table", "replicate_wild_do_table",
    "replicate_wild_ignore_table", "replicate_rewrite_db", "relay_log", "relay_log_index", "log_bin_index", "log_basename",
    "gtid_executed", "gtid_purged", "gtid_slave_pos", "gtid_binlog_pos", "gtid_binlog_state", "gtid_current_pos",
    "group_replication_group_name", "group_replication_group_seeds", "group_replication_local_address",
    "named_pipe_full_access_group", "server_audit_incl_users", "server_audit_excl_users", "audit_log_include_accounts",
    "audit_log_exclude_accounts", "mandatory_roles", "proxy_protocol_networks", "bind_address", "admin_address", "mysqlx_bind_address",
    "ssl_ca", "ssl_cert", "ssl_key", "ssl_crl", "ssl_capath", "ssl_crlpath", "caching_sha2_password_private_key_path", "default_master_connection",
    "general_log_file", "slow_query_log_file", "log_slow_query_file", "pid_file", "ft_stopword_file", "init_file", "debug", "secure_auth_users",
];

/// Variables that hold a statement.
pub(super) const SQL_VARIABLES: &[&str] = &["init_connect", "init_slave", "init_replica"];

/// What a result's own structure is made of: names of tables, columns and keys of the incident file,
/// and of values from closed sets. A user's name that is such a word cannot be searched for.
pub(super) const STRUCTURE: &str = "meta key value stall_trigger rule says source id name ticks series unit kind changes text at_ms body fact absent \
    first_ms last_ms count what reason detail point change stack_frame image side nameless stack frames end snapshot method wall_us stopped_us threads \
    complete thread_run tid from_ms to_ms snapshots unmoved state syscall profile hz processors lost profile_count thread server lock_table stack_text \
    query_digest way query_class sqlite_master sqlite_autoindex table index view create select from where json_each json_extract over partition by order \
    sessions by_command by_state by_user by_class longest user host db command seconds statement number futex address operation owner_word pointer_owner \
    latch_owner depth sampled exact events stack_every cost_us switched_off_after_ms interval_ms locks conditions idle_threads chains links circular lock \
    waiters holder kernel_locks waits total_us max_us share callers holders path named_by symbol arena call-path owner-field by doing server_waits \
    fingerprint compat_id errors measures users hosts databases programs first_us last_us sample notes sum min max median p95 p99 stddev quantile_error \
    decades classes folded classes_at_least blind tried connections seen compressed tls bytes bytes_compressed guessed named prepared connection_id \
    file line lock_kind lock_name holder_thread holder_connection_id holder_query run_ms wait_ms tool_version label version clock wall_at_zero_ms boot_id \
    stall onset_ms trigger_ms window integer null not primary text unique references without rowid case when then else and join on with as first next lead \
    strftime unixepoch printf group_concat counter gauge count pages nanoseconds microseconds milliseconds ticks code kernel usr lib mysql mysqld mariadb \
    schema table host user name dir file program uuid addr redacted complete kernel-only on-processor broken running sleeping true false freezeframe \
    slow-log general-log performance-schema packets statement-counters deadline permission no-connection no-login unsupported gone failed limit \
    not-recorded other others query sleep daemon connect prepare execute warnings show insert update delete replace begin commit rollback call alter drop \
    truncate use load unlock flush optimize analyze explain processlist innodb-status semaphores error-log kernel-log";

/// Words of the InnoDB monitor, of the servers' states and of the lines of logs that causes are told by.
pub(super) const SERVER: &str = include_str!("vocabulary.txt");
