//! What redaction keeps and what it takes away.

use sql::{CUT_MARK, REDACTED_BYTES_MAX, SqlMode, redact, redact_in};

#[test]
fn literals_are_taken_and_words_keep_their_case() {
    assert_eq!(
        redact(
            "SELECT Name,\n\t 'x' FROM t1  WHERE id=0xFF AND b = 1.5e3 AND c = \"it's\" LIMIT 10"
        ),
        "SELECT Name, ? FROM t1 WHERE id=? AND b = ? AND c = ? LIMIT ?"
    );
    assert_eq!(redact("  SELECT ? , NULL;\n"), "SELECT ? , NULL;");
}

#[test]
fn comments_are_blanks_and_hints_stay() {
    assert_eq!(
        redact("/* id=7 */SELECT/**/a -- 7\nFROM t # 7"),
        "SELECT a FROM t"
    );
    assert_eq!(
        redact("SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1"),
        "SELECT /*+ MAX_EXECUTION_TIME(?) */ ?"
    );
    assert_eq!(
        redact("SELECT /*+ SET_VAR(a='b') */ 1"),
        "SELECT /*+ SET_VAR(a=?) */ ?"
    );
    assert_eq!(
        redact("SELECT /*!40001 SQL_NO_CACHE */ * FROM t"),
        "SELECT SQL_NO_CACHE * FROM t"
    );
    assert_eq!(redact("a--/**/b"), "a- - b");
    assert_eq!(redact("'a' 'b'.5c"), "?.5c");
}

#[test]
fn a_sign_goes_with_its_number_only() {
    assert_eq!(
        redact("SELECT -5, - -5, a -5, a - -5, (-5), -a, -(5)"),
        "SELECT ?, ?, a -?, a - ?, (?), -a, -(?)"
    );
    assert_eq!(redact("NOT -1 OR a NOT IN (-1)"), "NOT ? OR a NOT IN (?)");
    assert_eq!(
        redact("a BETWEEN -1 AND +2 AND b IN (-1,-2)"),
        "a BETWEEN ? AND ? AND b IN (?,?)"
    );
    assert_eq!(
        redact("t.`set` -5, t.set -5, now() -5"),
        "t.`set` -?, t.set -?, now() -?"
    );
}

#[test]
fn a_cut_off_statement_shows_nothing_of_its_last_literal() {
    assert_eq!(
        redact("SELECT * FROM t WHERE a = 'SECRET"),
        "SELECT * FROM t WHERE a = ?"
    );
    assert_eq!(
        redact("SELECT * FROM t WHERE a = 'x' 'SECRET"),
        "SELECT * FROM t WHERE a = ?"
    );
    assert_eq!(redact(r"SELECT 'it\'s SECRET"), "SELECT ?");
    assert_eq!(redact("SELECT 7777e"), "SELECT ?");
    assert_eq!(redact("SELECT `a, 'SECRET'"), "SELECT ?");
    assert_eq!(redact("SELECT a /* SECRET"), "SELECT a");
}

/// What was cut in front may begin in a literal.
#[test]
fn of_a_statement_without_its_begin_nothing_is_shown() {
    for begin in ["...", "…", "… ", " ...", "....", "/* a */ ..."] {
        for rest in [
            "unter2', name = 'SECRET'",
            "SECRET street 5', pin = 4711 WHERE id = 1",
            "SECRET",
        ] {
            let statement = format!("{begin}{rest}");
            assert_eq!(redact(&statement), "?");
            assert_eq!(sql::fingerprint(&statement), "?");
        }
    }
    assert_eq!(redact("…"), "…");
    assert_eq!(redact(".5 + a"), "? + a");
    assert_eq!(redact("SELECT a, …"), "SELECT a, …");
}

/// MySQL 8.4 Reference Manual, 15.7.1 "Account Management Statements", and the MariaDB forms.
#[test]
fn passwords_are_literals() {
    for (statement, redacted) in [
        (
            "CREATE USER 'joe'@'%' IDENTIFIED BY 'SECRET'",
            "CREATE USER ?@? IDENTIFIED BY ?",
        ),
        (
            "CREATE USER joe IDENTIFIED BY PASSWORD '*SECRET'",
            "CREATE USER joe IDENTIFIED BY PASSWORD ?",
        ),
        (
            "ALTER USER a IDENTIFIED WITH 'p' AS 0x53454352",
            "ALTER USER a IDENTIFIED WITH ? AS ?",
        ),
        (
            "ALTER USER a IDENTIFIED BY 'SECRET' REPLACE 'SECRET'",
            "ALTER USER a IDENTIFIED BY ? REPLACE ?",
        ),
        (
            "ALTER USER a IDENTIFIED VIA p USING PASSWORD('SECRET')",
            "ALTER USER a IDENTIFIED VIA p USING PASSWORD(?)",
        ),
        ("SET PASSWORD = 'SECRET'", "SET PASSWORD = ?"),
        (
            "SET PASSWORD FOR 'a'@'b' = PASSWORD(\"SECRET\")",
            "SET PASSWORD FOR ?@? = PASSWORD(?)",
        ),
        (
            "GRANT ALL ON *.* TO a@b IDENTIFIED BY 'SECRET'",
            "GRANT ALL ON *.* TO a@b IDENTIFIED BY ?",
        ),
        (
            "CHANGE MASTER TO MASTER_PASSWORD='SECRET'",
            "CHANGE MASTER TO MASTER_PASSWORD=?",
        ),
        (
            "CREATE SERVER s OPTIONS (PASSWORD 'SECRET",
            "CREATE SERVER s OPTIONS (PASSWORD ?",
        ),
        (
            "PREPARE s FROM 'SET PASSWORD = ''SECRET'''",
            "PREPARE s FROM ?",
        ),
    ] {
        assert_eq!(redact(statement), redacted);
    }
}

#[test]
fn a_stored_program_in_dollar_quotes_is_a_literal() {
    assert_eq!(
        redact("CREATE FUNCTION f() LANGUAGE JAVASCRIPT AS $js$ return 'SECRET' $js$"),
        "CREATE FUNCTION f() LANGUAGE JAVASCRIPT AS ?"
    );
}

#[test]
fn the_mode_decides_where_a_string_ends() {
    let mode = SqlMode {
        no_backslash_escapes: true,
        ..SqlMode::default()
    };
    assert_eq!(redact_in(r"SELECT 'C:\', 'SECRET'", mode), "SELECT ?, ?");
    let mode = SqlMode {
        ansi_quotes: true,
        ..SqlMode::default()
    };
    assert_eq!(redact_in("SELECT \"a\", 'SECRET'", mode), "SELECT \"a\", ?");
}

#[test]
fn control_characters_are_blanks() {
    assert_eq!(
        redact("SELECT\0a\u{1b}[31m"),
        "SELECT a [?m".replace("?m", "31m")
    );
}

#[test]
fn long_text_is_cut_between_tokens_with_a_mark() {
    let columns = |count: usize| vec!["abc"; count].join(", ");
    let short = format!("SELECT {}", columns(407));
    assert_eq!(redact(&short), short);
    let long = redact(&format!("SELECT {}", columns(100_000)));
    assert!(
        long.len() <= REDACTED_BYTES_MAX && long.len() > REDACTED_BYTES_MAX - 10,
        "{}",
        long.len()
    );
    assert!(long.starts_with("SELECT abc, ") && long.ends_with(CUT_MARK));
    assert_eq!(
        redact(&format!("SELECT {} FROM t", "a".repeat(REDACTED_BYTES_MAX))),
        "SELECT …"
    );
}
