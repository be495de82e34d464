//! Fingerprints: first one test for each known defect of pt-fingerprint (percona-toolkit 3.6), then our own rules.

use sql::{REDACTED_BYTES_MAX, fingerprint};

#[test]
fn defect_01_a_doubled_quote_does_not_end_a_string() {
    assert_eq!(fingerprint("a='it''s' AND b=2"), "a = ? and b = ?");
    assert_eq!(
        fingerprint("a=\"say \"\"hi\"\"\" AND b=2"),
        "a = ? and b = ?"
    );
}

#[test]
fn defect_02_upper_case_hexadecimal_is_a_number() {
    assert_eq!(
        fingerprint("SELECT 0xFF, 0XFF, 0xff, X'FF'"),
        "select ?, ?, ?, ?"
    );
}

#[test]
fn defect_03_a_minus_before_a_column_stays() {
    assert_eq!(fingerprint("SELECT a-b FROM t1"), "select a - b from t1");
}

#[test]
fn defect_04_json_operators_stay() {
    assert_eq!(
        fingerprint("SELECT d->'$.a', d ->> '$.b'"),
        "select d->?, d->>?"
    );
}

#[test]
fn defect_05_a_minus_before_a_keyword_stays() {
    assert_eq!(
        fingerprint("now() - interval 5 day"),
        "now() - interval ? day"
    );
}

#[test]
fn defect_06_row_constructors_in_a_list_are_one() {
    let folded = "(a, b) in (?+)";
    assert_eq!(fingerprint("(a,b) IN ((1,2),(3,4))"), folded);
    assert_eq!(fingerprint("(a,b) IN ((1,2),(3,4),(-5,'6'))"), folded);
    assert_eq!(fingerprint("(a,b) IN ((1,2))"), folded);
}

#[test]
fn defect_07_introducers_belong_to_the_literal() {
    assert_eq!(
        fingerprint("SELECT _utf8mb4'x', N'x', n'x', _latin1 'x', _binary 0xFF"),
        "select ?, ?, ?, ?, ?"
    );
}

#[test]
fn defect_08_a_comment_with_quotes_is_a_comment() {
    assert_eq!(fingerprint("SELECT 'a' -- comment 'x'"), "select ?");
    assert_eq!(
        fingerprint("SELECT 'a' # don't\n FROM t"),
        "select ? from t"
    );
}

#[test]
fn defect_09_a_comment_at_the_end_leaves_nothing() {
    let plain = fingerprint("SELECT a FROM t WHERE b='abc'");
    for tail in [
        " /* tail */",
        " # tail",
        " -- tail",
        "  \n",
        ";",
        " ; /* tail */ ;",
    ] {
        assert_eq!(
            fingerprint(&format!("SELECT a FROM t WHERE b='abc'{tail}")),
            plain
        );
    }
}

#[test]
fn defect_10_a_version_comment_is_its_sql() {
    assert_eq!(fingerprint("/*!80000 1 */"), "?");
    assert_eq!(
        fingerprint("SELECT /*!40001 SQL_NO_CACHE */ * FROM t"),
        "select sql_no_cache * from t"
    );
}

#[test]
fn defect_11_names_are_not_touched() {
    assert_eq!(
        fingerprint("SELECT `my-table_2009`.`A` FROM `my-table_2009`, t2009, db.2009_t"),
        "select `my-table_2009`.`A` from `my-table_2009`, t2009, db.2009_t"
    );
}

#[test]
fn defect_12_blanks_around_operators_do_not_count() {
    for statement in [
        "id=5",
        "id = 5",
        "id= 5",
        "id  =\t5",
        "id =/**/5",
        "id=-5",
        "id = - 5",
    ] {
        assert_eq!(fingerprint(statement), "id = ?");
    }
    for statement in [
        "SELECT count(*),a.*",
        "select COUNT (*) , a . *",
        "select count( * ), a .*",
    ] {
        assert_eq!(fingerprint(statement), "select count(*), a.*");
    }
}

#[test]
fn defect_13_adjacent_strings_are_one() {
    assert_eq!(fingerprint("c='a' 'b'\n\"c\""), "c = ?");
}

#[test]
fn defect_14_what_follows_the_rows_stays() {
    let folded = "insert into t values (?+) on duplicate key update a = values (a)";
    for rows in ["(1)", "(1),(2)", "(1,2) , (3,4),(5,6)"] {
        assert_eq!(
            fingerprint(&format!(
                "INSERT INTO t VALUES {rows} ON DUPLICATE KEY UPDATE a=VALUES(a)"
            )),
            folded
        );
    }
}

#[test]
fn defect_15_a_query_inside_a_row_is_not_cut() {
    assert_eq!(
        fingerprint("INSERT INTO t VALUES (1,(select max(x) from y)),(2,3)"),
        "insert into t values (?, (select max(x) from y)), (?+)"
    );
}

#[test]
fn rows_with_the_same_expressions_are_one() {
    let folded = "insert into t(a, b) values (?, now())";
    assert_eq!(fingerprint("INSERT INTO t (a,b) VALUES (1,now())"), folded);
    assert_eq!(
        fingerprint("INSERT INTO t (a,b) VALUES (1,now()),(2,NOW()),(3, now( ))"),
        folded
    );
    assert_eq!(
        fingerprint("INSERT INTO t VALUES (1,DEFAULT),(NULL,2)"),
        "insert into t values (?+)"
    );
    assert_eq!(
        fingerprint("INSERT INTO t VALUE (1),(2)"),
        "insert into t value(?+)"
    );
    assert_eq!(fingerprint("VALUES ROW(1,2), ROW(3,4)"), "values row(?+)");
}

#[test]
fn the_function_values_starts_no_rows() {
    assert_eq!(fingerprint("a = VALUES(a), (a)"), "a = values (a), (a)");
    assert_eq!(
        fingerprint("IF(b, VALUES(a), (a))"),
        "if(b, values (a), (a))"
    );
}

#[test]
fn lists_of_the_same_expressions_are_one() {
    assert_eq!(
        fingerprint("id IN (uuid_to_bin('a'), uuid_to_bin('b'))"),
        "id in (uuid_to_bin(?))"
    );
    assert_eq!(fingerprint("id NOT IN (1, b, 2, b)"), "id not in (?, b)");
    assert_eq!(
        fingerprint("id IN (SELECT a, b, b, c FROM t WHERE c IN (1,2))"),
        "id in (select a, b, b, c from t where c in (?+))"
    );
    assert_eq!(fingerprint("f(1, 1)"), "f(?, ?)");
}

/// Texts that are no SQL, so that a list which ends oddly does not reach into what follows.
#[test]
fn a_list_ends_with_its_parenthesis() {
    assert_eq!(
        fingerprint("f(values (a), b), g(c, (a), (a))"),
        "f(values (a), b), g(c, (a), (a))"
    );
    assert_eq!(fingerprint("f(values (1), 2)"), "f(values (?+), ?)");
    assert_eq!(
        fingerprint("a in (b values (1)), f(c, d, d)"),
        "a in (b values (?+)), f(c, d, d)"
    );
}

#[test]
fn a_statement_cut_off_in_a_list_groups_with_its_like() {
    for statement in [
        "SELECT 1 FROM t WHERE a IN (1",
        "SELECT 1 FROM t WHERE a IN (1, 2, 'ab",
        "select 2 from t where a in (1,2,",
    ] {
        assert_eq!(fingerprint(statement), "select ? from t where a in (?+");
    }
    for statement in [
        "INSERT INTO t VALUES (1,2),(3",
        "INSERT INTO t VALUES (1,2),(3,4),",
        "INSERT INTO t VALUES (1,2)",
    ] {
        assert_eq!(fingerprint(statement), "insert into t values (?+)");
    }
}

#[test]
fn null_and_truth_are_values_but_not_in_tests_and_types() {
    assert_eq!(
        fingerprint("SELECT NULL, true, FALSE, a = null"),
        "select ?, ?, ?, a = ?"
    );
    assert_eq!(
        fingerprint("a IS NULL OR b IS NOT NULL OR c IS TRUE"),
        "a is null or b is not null or c is true"
    );
    assert_eq!(
        fingerprint("a INT NOT NULL, ON DELETE SET NULL"),
        "a int not null, on delete set null"
    );
}

#[test]
fn a_sign_after_default_is_the_numbers() {
    assert_eq!(
        fingerprint("a INT DEFAULT -5, b INT DEFAULT 5, c = DEFAULT(c) - 5, t.default - 5"),
        "a int default ?, b int default ?, c = default(c) - ?, t.default - ?"
    );
}

#[test]
fn hints_and_variables_stay() {
    assert_eq!(
        fingerprint("SELECT /*+ MAX_EXECUTION_TIME(1000) */ @A := @@GLOBAL.x, @`B`"),
        "select /*+ max_execution_time(?) */ @a := @@global.x, @`B`"
    );
    assert_eq!(fingerprint("CREATE USER 'a'@'%'"), "create user ?@?");
}

#[test]
fn long_lists_do_not_cut_what_follows() {
    let ids: Vec<String> = (0..100_000).map(|id| id.to_string()).collect();
    let list = ids.join(",");
    assert_eq!(
        fingerprint(&format!("SELECT a FROM t WHERE id IN ({list}) LIMIT 5")),
        "select a from t where id in (?+) limit ?"
    );
    let long = fingerprint(&format!("SELECT {}", "a1, ".repeat(10_000)));
    assert!(long.len() <= REDACTED_BYTES_MAX && long.ends_with(", …"));
}

/// The first 64 forms are known again, the others are written each time.
#[test]
fn a_list_of_many_forms_is_bounded_work() {
    let names: Vec<String> = (0..100).map(|number| format!("c{number}")).collect();
    let list = names.join(", ");
    let once = fingerprint(&format!("a in ({list}, {list})"));
    assert_eq!(once, format!("a in ({list}, {})", names[64..].join(", ")));
    assert_eq!(fingerprint(&once), once);
}

/// What follows the mark of another tool's cut is not known, so the list stays open as it is.
#[test]
fn a_statement_marked_as_cut_stays_as_it_is() {
    assert_eq!(fingerprint("a IN (b…, b…"), "a in (b…, b…");
    assert_eq!(fingerprint("a IN (1, 2, …"), "a in (?, …");
}

#[test]
fn a_cut_at_any_byte_of_a_list_is_stable() {
    for tail in [
        " IN (1)",
        " IN (1, 2) b",
        " IN (1",
        " IN (b, 1)",
        " VALUES (1)",
        " VALUES (1), (2) b",
        " VALUES (1",
        " VALUES ROW(1)",
        " VALUES (1), (now()), (2)",
        ".b",
        " - - b",
        " = -1",
        "->'b'",
        " @ 'b'",
        " /*+ b */",
        "; b",
        " SELECT /*+ b(1) */ c",
    ] {
        for length in 2_000..REDACTED_BYTES_MAX {
            let once = fingerprint(&format!("{}{tail}", "a".repeat(length)));
            assert!(once.len() <= REDACTED_BYTES_MAX);
            assert_eq!(fingerprint(&once), once, "{length} {tail}");
        }
    }
}
