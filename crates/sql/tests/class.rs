//! Statement classes.

use sql::statement_class;

#[test]
fn classes_by_the_first_word() {
    for word in [
        "select", "insert", "update", "delete", "replace", "set", "begin", "commit", "rollback",
        "call", "create", "alter", "drop", "truncate", "use", "prepare", "execute", "load", "lock",
        "unlock", "flush", "optimize", "analyze", "explain",
    ] {
        assert_eq!(statement_class(word), word);
        assert_eq!(
            statement_class(&format!("  {} x", word.to_uppercase())),
            word
        );
    }
    assert_eq!(statement_class("START TRANSACTION READ ONLY"), "begin");
    assert_eq!(statement_class("START REPLICA"), "other");
    assert_eq!(statement_class("DESC t"), "explain");
    assert_eq!(statement_class("DESCRIBE t"), "explain");
    for other in [
        "KILL 5",
        "GRANT a",
        "selected",
        "'select'",
        "`select`",
        "5",
        "x".repeat(100).as_str(),
        "@a",
    ] {
        assert_eq!(statement_class(other), "other", "{other}");
    }
    for empty in ["", "  ", "-- select", "/* select */", "/* select", ";", "("] {
        assert_eq!(statement_class(empty), "", "{empty}");
    }
}

#[test]
fn looks_through_what_stands_before() {
    assert_eq!(statement_class("/* a */ -- b\n # c\n SELECT 1"), "select");
    assert_eq!(statement_class("((SELECT 1) UNION (SELECT 2))"), "select");
    assert_eq!(statement_class("/*!40101 SET NAMES utf8 */"), "set");
    assert_eq!(
        statement_class("/*!50003 CREATE*/ /*!50017 DEFINER=a*/ TRIGGER"),
        "create"
    );
    assert_eq!(
        statement_class("SET STATEMENT max_statement_time=1 FOR UPDATE t SET a=1"),
        "update"
    );
    assert_eq!(statement_class("SET STATEMENT max_statement_time=1"), "set");
}

#[test]
fn with_is_what_its_tables_are_for() {
    assert_eq!(
        statement_class("WITH a AS (SELECT 1) SELECT * FROM a"),
        "select"
    );
    assert_eq!(
        statement_class("WITH RECURSIVE a(n) AS (SELECT 1), b AS (SELECT 2) DELETE FROM t"),
        "delete"
    );
    assert_eq!(
        statement_class("with a as (select ')') update t set b = 1"),
        "update"
    );
    assert_eq!(statement_class("WITH a AS (SELECT 1 FROM"), "other");
}

#[test]
fn show() {
    for (statement, class) in [
        ("SHOW WARNINGS", "show warnings"),
        ("show warnings limit 5", "show warnings"),
        ("SHOW COUNT(*) WARNINGS", "show warnings"),
        ("SHOW COUNT(*) ERRORS", "show other"),
        ("SHOW ERRORS", "show other"),
        ("SHOW STATUS LIKE 'a'", "show status"),
        ("SHOW GLOBAL STATUS", "show status"),
        ("SHOW SESSION STATUS", "show status"),
        ("SHOW TABLE STATUS", "show other"),
        ("SHOW REPLICA STATUS", "show other"),
        ("SHOW PROCESSLIST", "show processlist"),
        ("SHOW /* a */ FULL PROCESSLIST", "show processlist"),
        ("SHOW ENGINE INNODB STATUS", "show engine"),
        ("SHOW ENGINES", "show other"),
        ("SHOW GLOBAL VARIABLES", "show other"),
        ("SHOW", "show other"),
    ] {
        assert_eq!(statement_class(statement), class, "{statement}");
    }
}
