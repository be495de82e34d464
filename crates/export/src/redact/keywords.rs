//! Words of SQL itself: statements, clauses, types, functions.

/// Whether a word, in lower case, is one of SQL's own.
pub(super) fn is_keyword(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

/// Behind these stands a name, whatever word it is.
pub(super) const BEFORE_NAMES: &[&str] = &[
    "from", "join", "straight_join", "into", "update", "table", "tables", "database", "schema", "use", "view", "procedure", "references",
    "describe", "truncate", "call", "trigger", "event", "index", "key", "constraint", "user", "savepoint", "to", "as", "handler", "prepare", "execute", "partition",
];

/// Words of SQL that may stand where a name is expected.
pub(super) const NO_NAMES: &[&str] = &[
    "select", "if", "not", "exists", "low_priority", "ignore", "high_priority", "delayed", "quick", "outfile", "dumpfile", "status", "with", "read", "write",
    "set", "values", "value", "where", "skip", "locked", "nowait", "of", "dual", "lateral", "json_table", "only", "identified", "for", "force", "using",
    "on", "primary", "unique", "in", "by", "order", "group", "limit", "and", "or", "left", "right", "inner", "outer", "cross", "natural", "join", "as", "session", "global",
    "columns", "like", "end", "table", "view", "add", "drop", "rename", "current_user", "savepoint", "char", "signed", "unsigned", "decimal", "date", "datetime", "time", "binary", "json", "double", "float", "real", "integer", "begin", "full", "concurrent", "local", "partition", "into",
    "update", "default", "current_timestamp", "interval", "all", "distinct", "sql_no_cache", "tables", "snapshot", "index", "user", "isolation", "ordinality", "on_duplicate",
];

/// In the order of their bytes.
const WORDS: &[&str] = &[
    "abs", "accessible", "account", "action", "add", "adddate", "addtime", "admin", "aes_decrypt",
    "aes_encrypt", "after", "against", "aggregate", "algorithm", "all", "alter", "always", "analyze", "and",
    "any", "any_value", "as", "asc", "ascii", "asensitive", "at", "atan", "atan2", "auto_increment", "avg",
    "avg_row_length", "backup", "before", "begin", "benchmark", "between", "bigint", "bin", "binary",
    "binlog", "bit", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "blob", "block", "bool",
    "boolean", "both", "btree", "buckets", "by", "cache", "call", "cascade", "case", "cast", "catalog_name",
    "ceil", "ceiling", "chain", "change", "changed", "channel", "char", "char_length", "character",
    "character_length", "charset", "check", "checksum", "cipher", "client", "close", "coalesce", "code",
    "coercibility", "collate", "collation", "column", "column_format", "columns", "comment", "commit",
    "committed", "compact", "completion", "compress", "compressed", "concat", "concat_ws", "concurrent",
    "condition", "connection", "connection_id", "consistent", "constraint", "contains", "continue", "conv",
    "convert", "convert_tz", "cos", "cot", "count", "crc32", "create", "cross", "cube", "cume_dist",
    "curdate", "current", "current_date", "current_role", "current_time", "current_timestamp",
    "current_user", "cursor", "curtime", "data", "database", "databases", "date", "date_add", "date_format",
    "date_sub", "datediff", "datetime", "day", "day_hour", "day_microsecond", "day_minute", "day_second",
    "dayname", "dayofmonth", "dayofweek", "dayofyear", "deallocate", "dec", "decimal", "declare", "decode",
    "default", "delay_key_write", "delayed", "delete", "dense_rank", "desc", "describe", "deterministic",
    "diagnostics", "directory", "disable", "discard", "disk", "distinct", "distinctrow", "div", "do",
    "double", "drop", "dual", "dumpfile", "duplicate", "dynamic", "each", "else", "elseif", "elt", "empty",
    "enable", "enclosed", "encode", "encrypt", "encryption", "end", "ends", "enforced", "engine", "engines",
    "enum", "error", "errors", "escape", "escaped", "event", "events", "every", "except", "exchange",
    "exclude", "execute", "exists", "exit", "exp", "expansion", "expire", "explain", "export_set",
    "extended", "extract", "extractvalue", "false", "fast", "faults", "fetch", "field", "fields", "file",
    "first", "first_value", "fixed", "float", "float4", "float8", "floor", "flush", "following", "for",
    "force", "foreign", "format", "found", "found_rows", "from", "from_base64", "from_days", "from_unixtime",
    "full", "fulltext", "function", "general", "generated", "get", "get_format", "get_lock", "global",
    "grant", "grants", "greatest", "group", "group_concat", "grouping", "groups", "handler", "hash",
    "having", "help", "hex", "high_priority", "history", "host", "hosts", "hour", "hour_microsecond",
    "hour_minute", "hour_second", "identified", "if", "ifnull", "ignore", "immediate", "import", "in",
    "index", "indexes", "inet6_aton", "inet6_ntoa", "inet_aton", "inet_ntoa", "infile", "initial_size",
    "inner", "inout", "insensitive", "insert", "insert_method", "install", "instance", "instant", "instr",
    "int", "int1", "int2", "int3", "int4", "int8", "integer", "intersect", "interval", "into", "invisible",
    "io", "is", "is_free_lock", "is_used_lock", "isnull", "isolation", "issuer", "iterate", "join", "json",
    "json_array", "json_array_append", "json_arrayagg", "json_contains", "json_contains_path", "json_depth",
    "json_extract", "json_insert", "json_keys", "json_length", "json_merge", "json_merge_patch",
    "json_merge_preserve", "json_object", "json_objectagg", "json_overlaps", "json_pretty", "json_quote",
    "json_remove", "json_replace", "json_schema_valid", "json_search", "json_set", "json_storage_size",
    "json_table", "json_type", "json_unquote", "json_valid", "json_value", "key", "key_block_size", "keys",
    "kill", "lag", "language", "last", "last_day", "last_insert_id", "last_value", "lateral", "lcase",
    "lead", "leading", "least", "leave", "leaves", "left", "length", "less", "level", "like", "limit",
    "linear", "lines", "linestring", "list", "ln", "load", "load_file", "local", "localtime",
    "localtimestamp", "locate", "lock", "locked", "locks", "log", "log10", "log2", "logfile", "logs", "long",
    "longblob", "longtext", "loop", "low_priority", "lower", "lpad", "ltrim", "make_set", "makedate",
    "maketime", "master", "match", "max", "max_rows", "max_statement_time", "maxvalue", "md5", "medium",
    "mediumblob", "mediumint", "mediumtext", "member", "memory", "merge", "microsecond", "mid", "middleint",
    "migrate", "min", "min_rows", "minute", "minute_microsecond", "minute_second", "minvalue", "mod", "mode",
    "modifies", "modify", "month", "monthname", "mutex", "name", "names", "national", "natural", "nchar",
    "ndb", "never", "new", "next", "no", "no_write_to_binlog", "none", "not", "now", "nowait", "nth_value",
    "ntile", "null", "nullif", "nulls", "numeric", "nvarchar", "oct", "octet_length", "of", "off", "offline",
    "offset", "oj", "old", "on", "one", "online", "only", "open", "optimize", "optimizer_costs", "option",
    "optionally", "options", "or", "ord", "order", "out", "outer", "outfile", "over", "overlaps", "owner",
    "pack_keys", "page", "partial", "partition", "partitioning", "partitions", "password", "percent_rank",
    "period_add", "period_diff", "persist", "persist_only", "pi", "plugin", "plugins", "point", "polygon",
    "position", "pow", "power", "preceding", "precision", "prepare", "preserve", "prev", "primary",
    "privileges", "procedure", "process", "processlist", "profile", "profiles", "purge", "quarter", "query",
    "quick", "quote", "radians", "rand", "range", "rank", "read", "read_only", "read_write", "reads", "real",
    "rebuild", "recover", "recursive", "redundant", "references", "regexp", "regexp_instr", "regexp_like",
    "regexp_replace", "regexp_substr", "relay", "relaylog", "release", "release_all_locks", "release_lock",
    "reload", "remove", "rename", "reorganize", "repair", "repeat", "repeatable", "replace", "replica",
    "replicas", "replication", "require", "reset", "resignal", "restart", "restore", "restrict", "resume",
    "return", "returned", "returning", "returns", "reuse", "reverse", "revoke", "right", "rlike", "role",
    "rollback", "rollup", "round", "row", "row_count", "row_format", "row_number", "rows", "rpad", "rtrim",
    "savepoint", "schedule", "schema", "schemas", "sec_to_time", "second", "second_microsecond", "security",
    "select", "sensitive", "separator", "sequence", "serial", "serializable", "server", "session",
    "session_user", "set", "sha", "sha1", "sha2", "share", "show", "shutdown", "sign", "signal", "signed",
    "simple", "sin", "skip", "slave", "slaves", "sleep", "slow", "smallint", "snapshot", "some", "soname",
    "soundex", "sounds", "source", "space", "spatial", "specific", "sql", "sql_big_result",
    "sql_buffer_result", "sql_cache", "sql_calc_found_rows", "sql_no_cache", "sql_small_result",
    "sql_thread", "sqlexception", "sqlstate", "sqlwarning", "sqrt", "ssl", "start", "starting", "starts",
    "stats_auto_recalc", "stats_persistent", "status", "std", "stddev", "stddev_pop", "stddev_samp", "stop",
    "storage", "stored", "str_to_date", "straight_join", "strcmp", "string", "subdate", "subject",
    "subpartition", "subpartitions", "substr", "substring", "substring_index", "subtime", "sum", "super",
    "suspend", "switches", "sysdate", "system", "system_time", "system_user", "table", "table_checksum",
    "tables", "tablespace", "tan", "temporary", "temptable", "terminated", "text", "than", "then", "time",
    "time_format", "time_to_sec", "timediff", "timestamp", "timestampadd", "timestampdiff", "tinyblob",
    "tinyint", "tinytext", "to", "to_base64", "to_days", "to_seconds", "trailing", "transaction", "trigger",
    "triggers", "trim", "true", "truncate", "type", "types", "ucase", "unbounded", "uncommitted",
    "uncompress", "undefined", "undo", "unhex", "uninstall", "union", "unique", "unix_timestamp", "unknown",
    "unlock", "unsigned", "until", "update", "updatexml", "upgrade", "upper", "usage", "use", "user",
    "user_resources", "using", "utc_date", "utc_time", "utc_timestamp", "utf8", "utf8mb3", "utf8mb4", "uuid",
    "uuid_short", "validation", "value", "values", "var_pop", "var_samp", "varbinary", "varchar",
    "varcharacter", "variables", "variance", "varying", "view", "virtual", "visible", "wait", "warnings",
    "week", "weekday", "weekofyear", "weight_string", "when", "where", "while", "window", "with", "within",
    "without", "work", "wrapper", "write", "x509", "xa", "xid", "xml", "xor", "year", "year_month",
    "yearweek", "zerofill",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_so_that_they_are_found() {
        assert!(WORDS.is_sorted());
        assert!(is_keyword("select") && is_keyword("zerofill") && is_keyword("abs"));
        assert!(!is_keyword("orders"));
    }
}
