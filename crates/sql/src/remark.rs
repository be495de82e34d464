//! What people write behind a statement, in the same line: `COMMIT, Alice says …`, `LIMIT 1 => ours`.
//!
//! In prose a line below a statement is told by its begin ([`crate::end_of_statement`]); in the line itself nothing but the
//! grammar tells where the statement was over. SQL puts two names side by side at the most, the second is an alias; there
//! are arrows that it has not; and few words follow `COMMIT`. So a statement of somebody's text ends where it cannot be
//! one any more. Only of kinds whose grammar is all here: `SHOW` and the commands of plugins put any words side by side.

use crate::class::statement_class;
use crate::lexer::{Lexer, SqlMode, Token, TokenKind};
use crate::prose::{is_behind_is, is_of_grammar};

/// Kinds of statements that are looked at, as [`statement_class`] calls them.
const CLASSES: [&str; 9] = [
    "begin", "call", "commit", "delete", "insert", "replace", "rollback", "select", "update",
];

/// What may follow `COMMIT` and `ROLLBACK`.
const BEHIND_COMMIT: [&str; 7] = ["and", "chain", "no", "prepared", "release", "to", "work"];

/// Units of an interval, which stand behind its number.
const UNITS: [&str; 9] = [
    "day",
    "hour",
    "microsecond",
    "minute",
    "month",
    "quarter",
    "second",
    "week",
    "year",
];

/// Words of the grammar behind which a statement may be over.
const COMPLETE: [&str; 10] = [
    "asc", "begin", "commit", "desc", "end", "false", "locked", "null", "rollback", "true",
];

/// What no statement has: arrows that people draw, and remarks of other languages; as a fingerprint has them, too.
const SIGNS: [&str; 6] = ["=>", "= >", "<- ", "<--", "//", "/ /"];

/// So many names in a row are in no statement.
const NAMES_IN_A_ROW: usize = 3;

/// The statement up to where it cannot be one any more; nearly always all of it.
///
/// ```
/// assert_eq!(sql::without_remark("COMMIT, her name is Alice"), "COMMIT");
/// assert_eq!(sql::without_remark("select a from t b where c = 5"), "select a from t b where c = 5");
/// ```
pub fn without_remark(statement: &str) -> &str {
    if !CLASSES.contains(&statement_class(statement)) {
        return statement;
    }
    let mut reader = Reader::default();
    let mut at = 0;
    for token in Lexer::new(statement, SqlMode::default()) {
        let start = at;
        at += token.text.len();
        let rest = statement.get(start..).unwrap_or_default();
        if let Some(end) = reader.read(token, start, rest) {
            return statement.get(..end).unwrap_or_default().trim_end();
        }
    }
    statement
}

/// What stands before a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    /// A word or a sign behind which more must follow, or nothing.
    #[default]
    Link,
    Name,
    Number,
    /// What may be the end of a statement.
    Whole,
    Comma,
    Dot,
    /// `IS`
    Is,
}

#[derive(Default)]
struct Reader {
    last: Last,
    /// Words so far.
    words: usize,
    is_commit: bool,
    in_hint: bool,
    /// Names and numbers side by side.
    names: usize,
    /// What stood before them, where they begin, and where the first of them ends.
    before: Last,
    begin: usize,
    first_end: usize,
    /// Where the last comma stands.
    sign: usize,
    /// Where what is no statement begins, if `IS` turns out to be of prose.
    end_before_is: usize,
}

impl Reader {
    /// Takes the next token, with which `rest` begins; answers where the statement was over.
    fn read(&mut self, token: Token<'_>, start: usize, rest: &str) -> Option<usize> {
        match token.kind {
            TokenKind::Whitespace
            | TokenKind::Comment
            | TokenKind::VersionOpen
            | TokenKind::VersionClose => None,
            TokenKind::HintOpen => self.hint(true),
            TokenKind::HintClose => self.hint(false),
            _ if self.in_hint => None,
            _ => self.significant(token, start, rest),
        }
    }

    fn hint(&mut self, is_open: bool) -> Option<usize> {
        self.in_hint = is_open;
        None
    }

    fn significant(&mut self, token: Token<'_>, start: usize, rest: &str) -> Option<usize> {
        let end = start + token.text.len();
        let is_alone = self.words == 1 && self.last == Last::Whole;
        let is_word = token.kind == TokenKind::Word;
        let lower = match is_word {
            true => token.text.to_ascii_lowercase(),
            false => String::new(),
        };
        if self.is_commit && is_alone {
            let may_follow = match token.kind {
                TokenKind::Word => BEHIND_COMMIT.contains(&lower.as_str()),
                TokenKind::Semicolon => true,
                _ => false,
            };
            if !may_follow {
                return Some(start);
            }
        }
        self.words += 1;
        match token.kind {
            // Behind a point any word is a name, and a part of the one before.
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Number
                if self.last == Last::Dot =>
            {
                self.last = Last::Name;
                if self.names == 1 {
                    self.first_end = end;
                }
                None
            }
            TokenKind::Word if is_of_grammar(&lower) => self.word(&lower, start),
            TokenKind::Word if self.names == 1 && UNITS.contains(&lower.as_str()) => {
                self.link(Last::Whole)
            }
            TokenKind::Word
            | TokenKind::QuotedName
            | TokenKind::Number
            | TokenKind::Variable
            | TokenKind::Parameter => {
                if self.last == Last::Is && is_word && !is_behind_is(&lower) {
                    return Some(self.end_before_is);
                }
                let is_number = matches!(token.kind, TokenKind::Number | TokenKind::Parameter);
                self.name(is_number, start, end)
            }
            TokenKind::String | TokenKind::Unterminated => self.link(Last::Whole),
            TokenKind::Comma => {
                if is_alone {
                    return Some(start);
                }
                self.sign = start;
                self.link(Last::Comma)
            }
            // A function has a name in front.
            TokenKind::LeftParen if self.last == Last::Number => Some(start),
            TokenKind::RightParen | TokenKind::Semicolon => self.link(Last::Whole),
            TokenKind::Dot => self.dot(rest),
            TokenKind::Operator => self.operator(token.text, start, rest),
            _ => self.link(Last::Link),
        }
    }

    /// A word of the grammar.
    fn word(&mut self, word: &str, start: usize) -> Option<usize> {
        if word == "is" {
            self.end_before_is = match self.names >= 2 {
                true => self.end(),
                false => start,
            };
        }
        self.is_commit |= self.words == 1 && matches!(word, "commit" | "rollback");
        self.link(match word {
            "is" => Last::Is,
            word if COMPLETE.contains(&word) => Last::Whole,
            _ => Last::Link,
        })
    }

    /// A name or a number.
    fn name(&mut self, is_number: bool, start: usize, end: usize) -> Option<usize> {
        if self.names == 0 {
            (self.before, self.begin, self.first_end) = (self.last, start, end);
        }
        self.names += 1;
        self.last = if is_number { Last::Number } else { Last::Name };
        (self.names >= NAMES_IN_A_ROW).then(|| self.end())
    }

    /// Where the statement is over if the names in a row are of prose.
    fn end(&self) -> usize {
        match self.before {
            Last::Comma => self.sign,
            Last::Whole => self.begin,
            _ => self.first_end,
        }
    }

    /// `done. Then`; a point in a name has no blank behind it.
    fn dot(&mut self, rest: &str) -> Option<usize> {
        if self.is_behind_whole() && rest.starts_with(". ") {
            return Some(self.end());
        }
        self.last = Last::Dot;
        None
    }

    fn operator(&mut self, text: &str, start: usize, rest: &str) -> Option<usize> {
        // `Alice: x`, `help!`
        let is_prose = self.names > 0
            && matches!(text, ":" | "!")
            && rest
                .get(text.len()..)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        if is_prose {
            return Some(match self.is_behind_whole() {
                true => self.end(),
                false => start,
            });
        }
        // `a -> '$.b'` is of JSON.
        let arrow = rest.strip_prefix("-> ").map(str::trim_start);
        let is_arrow = arrow.is_some_and(|behind| behind.starts_with(char::is_alphabetic));
        if is_arrow || SIGNS.iter().any(|sign| rest.starts_with(sign)) {
            return Some(start);
        }
        self.link(Last::Link)
    }

    /// Whether the last name needs not be there: the statement may have been over before it.
    fn is_behind_whole(&self) -> bool {
        self.names >= 2 || (self.names == 1 && matches!(self.before, Last::Whole | Last::Comma))
    }

    /// What stands between names.
    fn link(&mut self, what: Last) -> Option<usize> {
        self.names = 0;
        self.last = what;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_in_the_line_of_a_statement_is_none_of_it() {
        for (text, statement) in [
            ("COMMIT, Alice says hunter2", "COMMIT"),
            ("COMMIT Alice", "COMMIT"),
            ("commit hunter2 is it", "commit"),
            ("ROLLBACK (Alice, hunter2)", "ROLLBACK"),
            ("begin, says Alice", "begin"),
            (
                "select * from t limit 1 => Alice",
                "select * from t limit 1",
            ),
            (
                "select * from t limit 1 <- Alice",
                "select * from t limit 1",
            ),
            (
                "select * from t limit 1 <-- Alice",
                "select * from t limit 1",
            ),
            (
                "select * from t limit 1 // Alice",
                "select * from t limit 1",
            ),
            (
                "select * from t limit ? = > alice",
                "select * from t limit ?",
            ),
            (
                "select * from t limit 1 -> Alice",
                "select * from t limit 1",
            ),
            (
                "select * from t limit 1 \u{2190} Alice",
                "select * from t limit 1",
            ),
            (
                "select * from t limit 1 (Alice, hunter2)",
                "select * from t limit 1",
            ),
            (
                "select * from t where id = 5 Alice says that it hangs",
                "select * from t where id = 5",
            ),
            (
                "update orders set a = 'x' where b in (1, 2) her password is hunter2",
                "update orders set a = 'x' where b in (1, 2)",
            ),
            (
                "delete from orders Alice says hunter2",
                "delete from orders",
            ),
            (
                "delete from shop.orders Alice says hunter2",
                "delete from shop.orders",
            ),
            (
                "select a from t where id = 5, Alice says hunter2",
                "select a from t where id = 5",
            ),
            (
                "select a from t where id = 5 this is hunter2",
                "select a from t where id = 5",
            ),
            (
                "select a from t order by b desc Alice: hunter2",
                "select a from t order by b desc",
            ),
            (
                "select a from t where id = 5 Alice: hunter2",
                "select a from t where id = 5",
            ),
            (
                "select a from t where id = 5 done. Alice",
                "select a from t where id = 5",
            ),
        ] {
            assert_eq!(without_remark(text), statement);
        }
    }

    #[test]
    fn statements_are_whole() {
        for statement in [
            "commit",
            "COMMIT AND NO CHAIN RELEASE",
            "commit work;",
            "rollback to savepoint a",
            "ROLLBACK TO a",
            "begin",
            "BEGIN NOT ATOMIC select 1; END",
            "/* app */ select a.b c, d e from f.g h join i j on h.k = j.l where m.n is not null and o in (1, 2)",
            "select now() + interval 1 day tomorrow, a from t",
            "select date_add(a, interval ? hour) b from t",
            "select a->'$.b' c, d->>'$.e' from t where f <-5 and g < -h",
            "select `a b` `c` from `d`.`e` `f` where g=-1",
            "select a -> '$.b' c, a -> ? from t. u where d = interval n day",
            "select /*+ MAX_EXECUTION_TIME(5) NO_INDEX_MERGE(a b c) */ a from t",
            "select /*!40001 SQL_NO_CACHE */ * from t for update skip locked",
            "select a from t match (b) against ('x' in natural language mode) c",
            "select case when a = 1 then b else c end d from t",
            "select @a := @a + 1 b, @@global.c d from (select @a := 0) e",
            "select 'x' a, N'y' b, _utf8mb4'z' c, date '2026-01-01' d, x'41' e",
            "select count(*) over (partition by a order by b rows between 1 preceding and current row) c from t",
            "select a from t use index (b) where c like 'd%' escape '|' limit 5, 10",
            "select * from t for system_time as of timestamp '2026-01-01' u",
            "insert into t (a, b) values (1, 'x'), (?, ?) on duplicate key update a = values(a)",
            "insert into t select a, b from u where c = 1 lock in share mode",
            "insert ignore into t set a = 1",
            "insert into a.b values row(1, 2) as n(c, d) on duplicate key update e = n.c",
            "replace into t values (default, null, true, 0x41, 1e5, .5)",
            "update low_priority a b, c d set b.e = d.f where b.g = d.h",
            "update t set a = (select max(b) from u v) order by c desc limit 1",
            "delete a, b from a inner join b using (c)",
            "delete from t where a between 1 and 2 returning b",
            "with recursive a (b) as (select 1 union all select b + 1 from a) select * from a",
            "call a.b(1, 'x', @c)",
            "select a from t where b = ? \u{2026}",
            "select a from t into outfile 'x' fields terminated by ','",
            // Others are left alone.
            "show engine innodb status",
            "show full processlist Alice says hunter2",
            "create table t (a int) engine=x foo bar baz",
            "",
        ] {
            assert_eq!(without_remark(statement), statement);
        }
    }
}
