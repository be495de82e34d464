//! Words that servers, kernels and packagers brought themselves: they tell nothing of whose system it
//! is.

use std::sync::LazyLock;

/// A list of words, one a line of a file.
pub(super) type Words = LazyLock<Vec<&'static str>>;

/// Accounts that every server has.
pub(super) const USERS: [&str; 14] = [
    "",
    "root",
    "system user",
    "event_scheduler",
    "unauthenticated user",
    "unauthenticated",
    "connecting host",
    "unconnected",
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
    "(other)",
    "(others)",
];

/// Names of hosts that every host has for itself.
pub(super) const HOSTS: [&str; 12] = [
    "",
    "%",
    "localhost",
    "localhost.localdomain",
    "connecting host",
    "127.0.0.1",
    "::1",
    "0.0.0.0",
    "::",
    "*",
    "(other)",
    "(others)",
];

/// Schemas of the server itself; what is named in them stays.
pub(super) const SCHEMAS: [&str; 8] = [
    "mysql",
    "information_schema",
    "performance_schema",
    "sys",
    "unconnected",
    "",
    "(other)",
    "(others)",
];

/// Names of InnoDB itself.
pub(crate) const INNODB_NAMES: [&str; 12] = [
    "fts_doc_id_index",
    "fts_index",
    "primary",
    "gen_clust_index",
    "clust_ind",
    "ibuf_dummy",
    "sys_tables",
    "sys_columns",
    "sys_indexes",
    "sys_fields",
    "sys_foreign",
    "innodb_system",
];

/// What may follow the word index in prose.
pub(super) static INDEX_PROSE: Words =
    LazyLock::new(|| include_str!("words/index-prose.txt").lines().collect());

/// Programs that every host may have.
pub(super) static PROGRAMS: Words = LazyLock::new(|| {
    let programs = include_str!("words/programs.txt").lines();
    programs.chain([model::ENDED_THREAD]).collect()
});

/// Beginnings of names of the kernel's own threads, and of ours.
pub(super) static THREADS: Words =
    LazyLock::new(|| include_str!("words/threads.txt").lines().collect());

/// Words of three letters and more in names of the kernel's threads.
pub(super) static THREAD_WORDS: Words =
    LazyLock::new(|| include_str!("words/thread-words.txt").lines().collect());

/// Words of three letters and more in names of a server's threads, which the kernel cuts after fifteen.
pub(super) static SERVER_THREADS: Words =
    LazyLock::new(|| include_str!("words/server-threads.txt").lines().collect());

/// Names by which client libraries tell themselves (`_client_name`).
pub(super) static CONNECTORS: Words =
    LazyLock::new(|| include_str!("words/connectors.txt").lines().collect());

/// Values of the server's variables that are names altogether.
pub(super) static NAMING_VARIABLES: Words =
    LazyLock::new(|| include_str!("words/naming-variables.txt").lines().collect());

/// Variables that hold a statement.
pub(super) const SQL_VARIABLES: &[&str] = &["init_connect", "init_slave", "init_replica"];

/// What a result's own structure is made of: names of tables, columns and keys of the incident file,
/// and of values from closed sets. A user's name that is such a word cannot be searched for.
pub(crate) const STRUCTURE: &str = "meta key value stall_trigger rule says source id name ticks series unit kind changes text at_ms body fact absent \
    first_ms last_ms count what reason detail point change stack_frame image side nameless stack frames end snapshot method wall_us stopped_us threads \
    complete thread_run tid from_ms to_ms snapshots unmoved state syscall profile hz processors lost profile_count thread server lock_table stack_text \
    query_digest way query_class sqlite_master sqlite_autoindex table index view create select from where json_each json_extract over partition by order \
    sessions by_command by_state by_user by_class longest replicas user host db command seconds statement number futex address operation owner_word pointer_owner \
    latch_owner depth sampled exact events stack_every cost_us switched_off_after_ms interval_ms locks conditions idle_threads chains links circular lock \
    waiters holder kernel_locks waits total_us max_us share callers holders path named_by symbol arena call-path owner-field by doing server_waits \
    fingerprint compat_id errors measures users hosts databases programs first_us last_us sample notes sum min max median p95 p99 stddev quantile_error \
    decades classes folded classes_at_least blind tried connections seen compressed tls bytes bytes_compressed guessed named prepared connection_id \
    file line lock_kind lock_name holder_thread holder_connection_id holder_query run_ms wait_ms tool_version label version clock wall_at_zero_ms boot_id \
    stall onset_ms trigger_ms window integer null not primary text unique references without rowid case when then else and join on with as first next lead \
    strftime unixepoch printf group_concat counter gauge count pages nanoseconds microseconds milliseconds ticks code plockstat told kernel usr lib mysql mysqld mariadb \
    schema table host user name dir file program uuid addr redacted complete kernel-only on-processor broken running sleeping true false freezeframe \
    slow-log general-log performance-schema packets statement-counters deadline permission no-connection no-login unsupported gone failed limit \
    not-recorded unknown maria other others query sleep daemon connect prepare execute warnings show insert update delete replace begin commit rollback call alter drop \
    truncate use load unlock flush optimize analyze explain processlist innodb-status semaphores error-log kernel-log";

/// Words of the InnoDB monitor, of the servers' states and of the lines of logs that causes are told by, and names of
/// sources and areas.
pub(crate) fn server() -> impl Iterator<Item = &'static str> {
    let sources = model::SOURCES.iter().map(|source| source.name);
    let areas = model::areas().flat_map(|area| [area.name, area.source]);
    sources.chain(areas).chain([include_str!("vocabulary.txt")])
}

/// Areas of signals with a name of somebody else's in them: their words are not the server's.
const NAMED_BY_OTHERS: [&str; 6] = [
    "processlist.",
    "threads.by_name.",
    "top.",
    "disk.",
    "filesystem.",
    "slab.",
];

/// Whether the name of a signal has such words.
pub(super) fn is_named_by_others(name: &str) -> bool {
    NAMED_BY_OTHERS.iter().any(|start| name.starts_with(start))
}
