//! Our classes of statements against those of a real server: two statements have one fingerprint where MySQL 9 gives
//! them one `STATEMENT_DIGEST_TEXT()`, but for the differences that are listed below with their reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mysql::prelude::Queryable;
use testbed::{Options, PrivateServer, ServerKind};

use crate::tool::started;

const TIMEOUT: Duration = Duration::from_secs(30);

/// How many statements of each shape.
const FORMS: usize = 40;

/// Shapes of statements. `~` is a value, `^` a whole number, `[` values in parentheses, `{` rows of two values; a blank
/// is a gap of any kind. Words in capitals are written in any case.
const SHAPES: &[&str] = &[
    "SELECT ~",
    "SELECT a , b FROM t1 WHERE c = ~",
    "SELECT a FROM t1 WHERE b IN [ AND c = ~ ORDER BY a LIMIT ^",
    "SELECT a FROM t1 WHERE b NOT IN [ OR c IS NULL",
    "SELECT a FROM t1 WHERE b BETWEEN ~ AND ~ GROUP BY a HAVING count(*) > ^",
    "SELECT a FROM t1 WHERE b LIKE ~ AND NOT c <=> ~ LIMIT ^ OFFSET ^",
    "SELECT DISTINCT t1.a AS x FROM t1 JOIN t2 ON t1.id = t2.id LEFT JOIN t3 USING ( id ) WHERE t2.b < ~",
    "SELECT count(*) , sum( a ) , max( b + ~ ) FROM db1.t1 WHERE a > ~ AND b >= ~ AND c != ~ AND d <> ~",
    "SELECT `a` , `t1`.`b` FROM `t1` WHERE `a` = ~",
    "SELECT CASE WHEN a = ~ THEN ~ ELSE ~ END FROM t1",
    "SELECT CASE a WHEN ~ THEN b ELSE c END FROM t1 FOR UPDATE",
    "SELECT a - b , a + ~ , a * ~ , a / b , a % ~ , a DIV b , a MOD b FROM t1",
    "SELECT a | b , a & ~ , ~ << a , a >> ^ , ! a FROM t1",
    "SELECT d -> '$.a' , d ->> '$.b' FROM t1 WHERE json_extract( d , ~ ) = ~",
    "SELECT a FROM t1 WHERE d > now() - INTERVAL ^ DAY",
    "SELECT a FROM t1 WHERE EXISTS ( SELECT b FROM t2 WHERE t2.a = t1.a AND c = ~ )",
    "SELECT a FROM t1 WHERE b = ( SELECT max( b ) FROM t2 WHERE c = ~ )",
    "SELECT a FROM t1 WHERE b IN ( SELECT b FROM t2 WHERE c = ~ )",
    "SELECT a FROM t1 WHERE b = ~ UNION ALL SELECT a FROM t2 WHERE b = ~",
    "( SELECT a FROM t1 WHERE b = ~ ) UNION ( SELECT a FROM t2 WHERE b = ~ ) ORDER BY a",
    "WITH c AS ( SELECT a FROM t1 WHERE b = ~ ) SELECT a FROM c WHERE a > ~",
    "WITH RECURSIVE c ( n ) AS ( SELECT ^ UNION ALL SELECT n + ^ FROM c WHERE n < ^ ) SELECT n FROM c",
    "SELECT a , row_number() OVER ( PARTITION BY b ORDER BY c ) FROM t1 WHERE d = ~",
    "SELECT SQL_NO_CACHE a FROM t1 FORCE INDEX ( i1 ) WHERE b = ~",
    "SELECT a FROM t1 PARTITION ( p0 ) WHERE b = ~ LOCK IN SHARE MODE",
    "SELECT a FROM t1 WHERE MATCH ( b ) AGAINST ( ~ IN BOOLEAN MODE )",
    "SELECT concat( a , ~ , b ) , coalesce( a , ~ ) , if( a , ~ , b ) FROM t1",
    "SELECT cast( a AS UNSIGNED ) , convert( b USING utf8mb4 ) FROM t1 WHERE c = ~",
    "SELECT a FROM t1 WHERE b REGEXP ~ AND c COLLATE utf8mb4_bin = ~",
    "SELECT @@GLOBAL.sort_buffer_size , @@SESSION.autocommit , @@version",
    "SELECT a FROM t1 , t2 WHERE t1.a = t2.a AND t1.b = ~ AND t2.c IN [",
    "SELECT a FROM t1 WHERE ( b = ~ OR c = ~ ) AND ( d IS NOT NULL )",
    "SELECT a FROM t1 WHERE ( a , b ) = ( c , d ) AND e = ~",
    "SELECT a FROM t1 ORDER BY a DESC , b ASC LIMIT ^ , ^",
    "SELECT a INTO @v FROM t1 WHERE b = ~",
    "TABLE t1 ORDER BY a LIMIT ^",
    "INSERT INTO t1 VALUES {",
    "INSERT INTO t1 ( a , b ) VALUES {",
    "INSERT INTO t1 ( a , b ) VALUES { ON DUPLICATE KEY UPDATE b = VALUES ( b ) , c = c + ^",
    "INSERT IGNORE INTO db1.t1 ( a , b ) VALUES {",
    "INSERT INTO t1 SET a = ~ , b = ~",
    "INSERT INTO t1 ( a ) SELECT a FROM t2 WHERE b = ~",
    "INSERT INTO t1 ( a , b ) VALUES ( ~ , now() )",
    "REPLACE INTO t1 ( a , b ) VALUES {",
    "UPDATE t1 SET a = ~ WHERE b = ~",
    "UPDATE t1 SET a = a + ^ , b = b - ^ WHERE id = ^ LIMIT ^",
    "UPDATE t1 JOIN t2 ON t1.id = t2.id SET t1.a = t2.a WHERE t2.b = ~",
    "UPDATE LOW_PRIORITY t1 SET a = NULL , b = DEFAULT WHERE c IN [",
    "DELETE FROM t1 WHERE a = ~ ORDER BY b LIMIT ^",
    "DELETE t1 FROM t1 JOIN t2 ON t1.id = t2.id WHERE t2.b = ~",
    "DELETE FROM t1 WHERE a IN [ AND b < ~",
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "ROLLBACK TO SAVEPOINT s1",
    "SAVEPOINT s1",
    "SET autocommit = ^",
    "SET SESSION sort_buffer_size = ^ , GLOBAL max_connections = ^",
    "SET NAMES utf8mb4",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SHOW WARNINGS",
    "SHOW GLOBAL STATUS LIKE ~",
    "SHOW FULL PROCESSLIST",
    "SHOW TABLES FROM db1 LIKE ~",
    "SHOW CREATE TABLE t1",
    "SHOW VARIABLES WHERE variable_name = ~",
    "SHOW COUNT(*) WARNINGS",
    "USE db1",
    "KILL QUERY ^",
    "CALL p1 ( ~ , a )",
    "DO sleep( ^ )",
    "EXPLAIN SELECT a FROM t1 WHERE b = ~",
    "DESCRIBE t1",
    "LOCK TABLES t1 READ , t2 WRITE",
    "UNLOCK TABLES",
    "FLUSH TABLES WITH READ LOCK",
    "ANALYZE TABLE t1 , t2",
    "OPTIMIZE TABLE t1",
    "TRUNCATE TABLE t1",
    "CREATE TABLE t1 ( a INT NOT NULL DEFAULT ~ , b VARCHAR ( ^ ) COMMENT ~ , PRIMARY KEY ( a ) ) ENGINE = InnoDB",
    "CREATE TABLE t1 LIKE t2",
    "CREATE TEMPORARY TABLE t1 AS SELECT a FROM t2 WHERE b = ~",
    "ALTER TABLE t1 ADD COLUMN c DECIMAL ( ^ , ^ ) DEFAULT ~ , ADD INDEX i1 ( a , b )",
    "ALTER TABLE t1 ENGINE = InnoDB , AUTO_INCREMENT = ^",
    "DROP TABLE IF EXISTS t1 , t2",
    "CREATE INDEX i1 ON t1 ( a ( ^ ) , b )",
    "CREATE OR REPLACE VIEW v1 AS SELECT a FROM t1 WHERE b = ~",
    "DROP DATABASE IF EXISTS db1",
    "PREPARE s1 FROM ~",
    "EXECUTE s1",
    "DEALLOCATE PREPARE s1",
    "LOAD DATA INFILE 'f' INTO TABLE t1 FIELDS TERMINATED BY ',' ( a , b )",
    "HANDLER t1 READ i1 = ( ~ ) LIMIT ^",
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h' , SOURCE_PORT = ^",
    "XA START 'x'",
];

/// Ways to write a value.
const VALUES: &[&str] = &[
    "5",
    "17",
    "1.5",
    ".5",
    "1e3",
    "1.5E-3",
    "0xFF",
    "0b101",
    "x'4D'",
    "X'4d'",
    "b'01'",
    "'abc'",
    "'it''s'",
    "'a\\'b'",
    "\"abc\"",
    "\"say \"\"hi\"\"\"",
    "''",
    "N'abc'",
    "n'x'",
    "'-- no comment'",
    "'/* no'",
    "'a\nb'",
    "'é'",
    "-5",
    "- 7",
    "-1.5",
    "NULL",
    "null",
    "?",
];
const NUMBERS: &[&str] = &["0", "1", "5", "42", "1000", "18446744073709551615"];
const GAPS: &[&str] = &[
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\t",
    " /* c */ ",
    " -- c\n",
    " # c'\n",
    "/**/",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Values between parentheses: as many as `count`, or some.
    fn values(&mut self, count: Option<usize>) -> String {
        let count = count.unwrap_or_else(|| 1 + self.below(6));
        let values: Vec<&str> = (0..count).map(|_| self.one(VALUES)).collect();
        format!("({})", values.join(self.one(&[",", ", ", " , "])))
    }

    fn statement(&mut self, shape: &str) -> String {
        let mut statement = String::new();
        for (index, part) in shape.split(' ').enumerate() {
            if index > 0 {
                statement.push_str(self.one(GAPS));
            }
            match part {
                "~" => statement.push_str(self.one(VALUES)),
                "^" => statement.push_str(self.one(NUMBERS)),
                "[" => statement.push_str(&self.values(None)),
                "{" => {
                    let rows: Vec<String> = (0..1 + self.below(4))
                        .map(|_| self.values(Some(2)))
                        .collect();
                    statement.push_str(&rows.join(","));
                }
                keyword if keyword.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                    let lower = keyword.to_lowercase();
                    statement.push_str(if self.below(2) == 0 { keyword } else { &lower });
                }
                other => statement.push_str(other),
            }
        }
        statement.push_str(self.one(&["", "", ";", " ", " /* end */"]));
        statement
    }
}

/// Pairs of statements about which we and the server do not agree. First those that are one class of ours and two of the
/// server's.
const ONE_CLASS_OF_OURS: &[(&str, &str)] = &[
    // How many rows and items a client sends says nothing about what it asks; the server folds runs of plain values only.
    ("INSERT INTO t1 VALUES (1)", "INSERT INTO t1 VALUES (1, 2)"),
    (
        "INSERT INTO t1 VALUES (1)",
        "INSERT INTO t1 VALUES (1), (2)",
    ),
    (
        "INSERT INTO t1 VALUES (1, now())",
        "INSERT INTO t1 VALUES (1, now()), (2, now())",
    ),
    // The column has a value either way.
    (
        "INSERT INTO t1 VALUES (1, DEFAULT)",
        "INSERT INTO t1 VALUES (1, 2)",
    ),
    (
        "SELECT a FROM t1 WHERE (a, b) IN ((1, 2))",
        "SELECT a FROM t1 WHERE (a, b) IN ((1, 2), (3, 4))",
    ),
    (
        "SELECT a FROM t1 WHERE b IN (f(1))",
        "SELECT a FROM t1 WHERE b IN (f(1), f(2))",
    ),
    (
        "SELECT a FROM t1 WHERE b IN (1, c)",
        "SELECT a FROM t1 WHERE b IN (1, c, 2)",
    ),
    // They are values; adjacent strings are one literal; drivers add introducers by themselves.
    ("SELECT TRUE", "SELECT 1"),
    ("SELECT 'a' 'b'", "SELECT 'a'"),
    ("SELECT _utf8mb4'a'", "SELECT 'a'"),
    // A sign belongs to its number; the server sees that in fewer places.
    ("SELECT BINARY -5", "SELECT BINARY 5"),
    // Columns and functions have no case; tables that differ in case only are one class, unless quoted.
    ("SELECT a FROM t1", "SELECT A FROM T1"),
    // A name by the server's lexer; more often a number that was cut off (`7777e3`).
    ("SELECT 7777e", "SELECT 7777"),
];

/// Then those that are two classes of ours and one of the server's.
const ONE_CLASS_OF_THE_SERVERS: &[(&str, &str)] = &[
    // The server folds every run of values; the number of arguments is not data.
    ("SELECT 1, 2", "SELECT 1, 2, 3"),
    ("SELECT f(1, 2)", "SELECT f(1, 2, 3)"),
    // A name stays as it is written, so that it can be searched for; a variable's name is no value.
    ("SELECT a FROM t1", "SELECT `a` FROM t1"),
    ("SET @a = 1", "SET @b = 1"),
    // Synonyms, which the server's lexer knows as one token (RLIKE, CHARACTER, STDDEV, SESSION_USER() and more); a
    // fingerprint says what was sent.
    ("SELECT a != b", "SELECT a <> b"),
    ("SHOW DATABASES", "SHOW SCHEMAS"),
    ("SHOW COLUMNS FROM t1", "SHOW FIELDS FROM t1"),
    ("SELECT substr(a, 1)", "SELECT substring(a, 1)"),
    ("CREATE TABLE t1 (a INT)", "CREATE TABLE t1 (a INTEGER)"),
    // The server skips version comments that are newer than itself; whose version a log is from is not known.
    ("SELECT /*!98000 1, */ 2", "SELECT 2"),
];

/// A digest text without the one difference that [`SHAPES`] have: the server tells one row from several.
fn without_rows(digest: &str) -> String {
    digest.replace(" /* , ... */", "")
}

/// Answers of a server.
struct Server {
    connection: mysql::Conn,
    question: mysql::Statement,
    _server: PrivateServer,
}

impl Server {
    /// `None` when the server was not fetched, which is said.
    fn start() -> Option<Self> {
        let server = started(&Options {
            kind: ServerKind::MySql9,
            ..Options::default()
        })?;
        let mut connection = server.login().connect(false, TIMEOUT).unwrap();
        // Names without a database have to be in one.
        connection.query_drop("CREATE DATABASE db1").unwrap();
        connection.query_drop("USE db1").unwrap();
        let question = connection.prep("SELECT STATEMENT_DIGEST_TEXT(?)").unwrap();
        Some(Self {
            connection,
            question,
            _server: server,
        })
    }

    /// `None` for what the server refuses: it is no statement, or none that it takes without a session that can run it.
    fn digest(&mut self, statement: &str) -> Option<String> {
        let answer: Result<Option<String>, mysql::Error> =
            self.connection.exec_first(&self.question, (statement,));
        answer.ok().flatten()
    }
}

/// How many statements are in the same company for us and for the server.
fn agreeing(pairs: &[(String, String)]) -> usize {
    let mut ours: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut theirs: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, (fingerprint, digest)) in pairs.iter().enumerate() {
        ours.entry(fingerprint).or_default().insert(index);
        theirs.entry(digest).or_default().insert(index);
    }
    let agrees = |(fingerprint, digest): &&(String, String)| {
        ours.get(fingerprint.as_str()) == theirs.get(digest.as_str())
    };
    pairs.iter().filter(agrees).count()
}

#[test]
fn classes_agree_with_a_real_server() {
    if let Some(mut server) = Server::start() {
        shapes_have_the_same_classes(&mut server);
        the_differences_are_those_that_are_documented(&mut server);
    }
}

fn shapes_have_the_same_classes(server: &mut Server) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut pairs = Vec::new();
    let mut refused = Vec::new();
    for shape in SHAPES {
        let before = pairs.len();
        for _ in 0..FORMS {
            let statement = random.statement(shape);
            if let Some(digest) = server.digest(&statement) {
                pairs.push((sql::fingerprint(&statement), digest));
            }
        }
        if pairs.len() == before {
            refused.push(shape);
        }
    }
    // The server refuses a value here and there: `?`, `PREPARE s FROM 5`.
    assert!(
        pairs.len() > SHAPES.len() * FORMS * 8 / 10,
        "{}",
        pairs.len()
    );
    assert!(refused.is_empty(), "{refused:#?}");
    eprintln!(
        "{} of {} statements are in the same class for us and for the server",
        agreeing(&pairs),
        pairs.len()
    );
    let mut theirs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut ours: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (fingerprint, digest) in &pairs {
        let digest = without_rows(digest);
        theirs
            .entry(digest.clone())
            .or_default()
            .insert(fingerprint);
        ours.entry(fingerprint).or_default().insert(digest);
    }
    let split: Vec<_> = theirs.iter().filter(|(_, ours)| ours.len() > 1).collect();
    let joined: Vec<_> = ours.iter().filter(|(_, theirs)| theirs.len() > 1).collect();
    assert!(split.is_empty(), "one class of the server's: {split:#?}");
    assert!(joined.is_empty(), "one class of ours: {joined:#?}");
}

fn the_differences_are_those_that_are_documented(server: &mut Server) {
    for (pairs, same_of_ours) in [(ONE_CLASS_OF_OURS, true), (ONE_CLASS_OF_THE_SERVERS, false)] {
        for (first, second) in pairs {
            let fingerprints_same = sql::fingerprint(first) == sql::fingerprint(second);
            let digests_same = server.digest(first).unwrap() == server.digest(second).unwrap();
            assert_eq!(fingerprints_same, same_of_ours, "{first} | {second}");
            assert_eq!(digests_same, !same_of_ours, "{first} | {second}");
        }
    }
}
