//! Where a statement ends that has prose behind it.
//!
//! Neither InnoDB's status nor a general log marks the end of a statement. In one that somebody pasted, the sentence below
//! a statement reads as more of it, and its words as names. Word by word nobody can tell: most words may be names. But SQL
//! does not put names side by side. Between two of them stands a word of its grammar or a sign; the one exception is an
//! alias, which nobody writes on a line of its own. So a line ends the statement if it
//!
//! - begins with a name or a number, and the line before it was complete,
//! - has three names or numbers in a row, or one behind `IS`,
//! - has a sign where prose has it and SQL has not: `Alice: x`, `help!`, `why?`, `done. Then`.
//!
//! The first line of a statement is as the server printed it and ends nothing. Of prose that is made of SQL's words alone
//! a line stays.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use crate::lexer::{Lexer, SqlMode, Token, TokenKind};

/// Words that stand between names, or begin a line of a statement.
static GRAMMAR: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("grammar-words.txt")
        .split_ascii_whitespace()
        .collect()
});

/// Longest of them.
const WORD_BYTES_MAX: usize = 26;

/// Words of the grammar behind which an expression or a statement may be complete.
const COMPLETE: [&str; 16] = [
    "asc",
    "begin",
    "commit",
    "committed",
    "default",
    "desc",
    "end",
    "false",
    "locked",
    "mode",
    "nowait",
    "null",
    "rollback",
    "rollup",
    "true",
    "uncommitted",
];

/// What may stand behind `IS`.
const BEHIND_IS: [&str; 7] = [
    "distinct", "false", "json", "not", "null", "true", "unknown",
];

/// The words with which statements begin.
const STARTS: &str = "alter analyze backup begin binlog cache call change check checksum clone commit create deallocate \
    delete desc describe do drop execute explain flush grant handler help if import insert install kill load lock \
    optimize prepare purge release rename repair replace reset restart resignal revoke rollback \
    savepoint select set show shutdown signal start stop table truncate uninstall unlock update use \
    values with xa";

/// Whether a word is one of SQL's grammar, in any case.
pub(crate) fn is_of_grammar(word: &str) -> bool {
    GRAMMAR.contains(lower(word).as_str())
}

/// Whether a word may stand behind `IS`, in any case.
pub(crate) fn is_behind_is(word: &str) -> bool {
    BEHIND_IS.contains(&lower(word).as_str())
}

/// What a label of a stored procedure stands in front of: `fetched: LOOP`.
const LABELLED: [&str; 4] = ["begin", "loop", "repeat", "while"];

/// So many names in a row are in no statement.
const NAMES_IN_A_ROW: usize = 3;

/// Whether a statement may begin with a line: a remark in front of it, a parenthesis or one of the words.
///
/// ```
/// assert!(sql::may_begin("/* app */ select 1"));
/// assert!(!sql::may_begin("her name is Alice"));
/// ```
pub fn may_begin(line: &str) -> bool {
    starts_statement(line)
}

/// The lines of a text that are a statement, without what stands before and behind it. Empty where there is none.
///
/// ```
/// let text = "and here it is:\nupdate t\nset a = 1\nher name is Alice\n";
/// assert_eq!(&text[sql::statement_within(text)], "update t\nset a = 1\n");
/// ```
pub fn statement_within(text: &str) -> Range<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if starts_statement(line) {
            let rest = text.get(at..).unwrap_or_default();
            return at..at + end_of_statement(rest);
        }
        at += line.len();
    }
    0..0
}

/// Where the statement ends that begins with the text: at its end, or at the begin of a line.
pub fn end_of_statement(text: &str) -> usize {
    let mut reader = Reader {
        text,
        last: Last::Start,
        line: 0,
        begins_line: true,
        has_gap: false,
        in_hint: false,
        names: 0,
        alias: None,
        is_behind_for: false,
    };
    let mut at = 0;
    for token in Lexer::new(text, SqlMode::default()) {
        let start = at;
        at += token.text.len();
        // What stands in the first line is as the server printed it.
        if let Some(end) = reader.read(token, start).filter(|end| *end > 0) {
            return end;
        }
    }
    reader.alias.unwrap_or(text.len())
}

fn starts_statement(line: &str) -> bool {
    let first = Lexer::new(line, SqlMode::default())
        .find(|token| !matches!(token.kind, TokenKind::Whitespace | TokenKind::LeftParen));
    first.is_some_and(|token| match token.kind {
        TokenKind::Comment | TokenKind::VersionOpen | TokenKind::Parameter => true,
        TokenKind::Word => {
            let word = lower(token.text);
            STARTS.split(' ').any(|start| start == word)
        }
        _ => false,
    })
}

/// A word in lower case; empty when it is longer than any that is compared.
fn lower(word: &str) -> String {
    match word.len() <= WORD_BYTES_MAX {
        true => word.to_ascii_lowercase(),
        false => String::new(),
    }
}

/// What stands before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Start,
    /// A name or a number, or what may end an expression as well.
    Whole,
    /// A string.
    Literal,
    /// `)`
    Close,
    /// A word or a sign behind which more must follow.
    Link,
    /// `IS`
    Is,
    /// A point behind a name.
    Dot,
    /// `;`
    Semicolon,
}

struct Reader<'a> {
    text: &'a str,
    last: Last,
    /// Where the present line begins.
    line: usize,
    /// Nothing stands before it in its line.
    begins_line: bool,
    /// A blank or a comment stands before it.
    has_gap: bool,
    in_hint: bool,
    /// Names and numbers side by side.
    names: usize,
    /// The line that begins with a name behind a parenthesis: an alias, if the statement goes on behind it.
    alias: Option<usize>,
    /// The last word is `FOR`.
    is_behind_for: bool,
}

impl Reader<'_> {
    /// Takes the next token; answers where the statement ended before it.
    fn read(&mut self, token: Token<'_>, start: usize) -> Option<usize> {
        match token.kind {
            TokenKind::Whitespace => {
                self.has_gap = true;
                if let Some(at) = token.text.rfind('\n') {
                    self.line = start + at + 1;
                    self.begins_line = true;
                }
                return None;
            }
            TokenKind::Comment | TokenKind::VersionOpen | TokenKind::VersionClose => {
                self.has_gap = true;
                return None;
            }
            TokenKind::HintOpen => self.in_hint = true,
            TokenKind::HintClose => self.in_hint = false,
            _ if self.in_hint => {}
            _ => {
                let end = self.significant(token, start + token.text.len());
                self.begins_line = false;
                self.has_gap = false;
                return end;
            }
        }
        None
    }

    fn significant(&mut self, token: Token<'_>, end: usize) -> Option<usize> {
        let is_first_of_more = self.last == Last::Semicolon;
        match token.kind {
            TokenKind::Word => {
                // Behind a point any word is a name.
                if self.last == Last::Dot {
                    return self.part();
                }
                let word = lower(token.text);
                if GRAMMAR.contains(word.as_str()) {
                    return self.word(&word);
                }
                if self.is_label(end) {
                    return self.link(Last::Link);
                }
                self.name()
            }
            TokenKind::QuotedName | TokenKind::Number if self.last == Last::Dot => self.part(),
            // `app@localhost`
            TokenKind::Variable if !self.has_gap && self.last == Last::Whole => None,
            // `why?`
            TokenKind::Parameter if !self.has_gap && self.last == Last::Whole => Some(self.line),
            TokenKind::QuotedName
            | TokenKind::Number
            | TokenKind::Variable
            | TokenKind::Parameter => self.name(),
            TokenKind::String | TokenKind::Unterminated => {
                self.alias = None;
                self.names = 1;
                self.last = Last::Literal;
                is_first_of_more.then_some(self.line)
            }
            TokenKind::Operator => {
                let is_bracket = self.begins_line && token.text == "[";
                let is_prose = is_bracket
                    || (self.last == Last::Whole
                        && matches!(token.text, ":" | "!")
                        && self.is_blank(end));
                self.link(Last::Link);
                is_prose.then_some(self.line)
            }
            TokenKind::Dot => {
                // `done.`, and nothing behind it.
                let is_prose = self.last == Last::Whole && self.is_blank(end);
                self.last = Last::Dot;
                is_prose.then_some(self.line)
            }
            TokenKind::RightParen => self.link(Last::Close),
            TokenKind::Semicolon => self.link(Last::Semicolon),
            _ => self.link(Last::Link),
        }
    }

    /// A name, or a number.
    fn name(&mut self) -> Option<usize> {
        let before = self.last;
        self.last = Last::Whole;
        self.is_behind_for = false;
        if let Some(alias) = self.alias.take() {
            return Some(alias);
        }
        match before {
            Last::Semicolon | Last::Is | Last::Dot => return Some(self.line),
            Last::Whole | Last::Literal if self.begins_line => return Some(self.line),
            Last::Close if self.begins_line => self.alias = Some(self.line),
            _ => {}
        }
        self.names += 1;
        (self.names >= NAMES_IN_A_ROW).then_some(self.line)
    }

    /// The rest of a name with points.
    fn part(&mut self) -> Option<usize> {
        self.last = Last::Whole;
        None
    }

    /// A word of the grammar.
    fn word(&mut self, word: &str) -> Option<usize> {
        let is_prose = self.last == Last::Is && !BEHIND_IS.contains(&word);
        // `FOR UPDATE` ends a statement, `ON UPDATE` does not.
        let is_complete = COMPLETE.contains(&word) || (self.is_behind_for && word == "update");
        self.link(match word {
            "is" => Last::Is,
            _ if is_complete => Last::Whole,
            _ => Last::Link,
        });
        self.is_behind_for = word == "for";
        is_prose.then_some(self.line)
    }

    /// What stands between names.
    fn link(&mut self, what: Last) -> Option<usize> {
        self.alias = None;
        self.names = 0;
        self.last = what;
        self.is_behind_for = false;
        None
    }

    /// Whether a word that ends at a place is a label.
    fn is_label(&self, end: usize) -> bool {
        let rest = self.text.get(end..).unwrap_or_default();
        let labelled = rest.trim_ascii_start().strip_prefix(':');
        labelled.is_some_and(|rest| {
            let rest = rest.trim_ascii_start();
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
            LABELLED.iter().any(|word| {
                let begin = rest.get(..word.len()).unwrap_or_default();
                let behind = rest.get(word.len()..).unwrap_or_default();
                begin.eq_ignore_ascii_case(word) && !behind.starts_with(is_of_word)
            })
        })
    }

    /// Whether a blank, or nothing, stands at a place.
    fn is_blank(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_below_a_statement_is_none_of_it() {
        for statement in [
            "update t set a = 1",
            "update t set a = 'x'",
            "update t\nset a = 1\nwhere id = 5",
            "select * from a.b c where d = `e`",
            "select count(*) from t",
            "select * from t for update",
            "select * from t lock in share mode",
            "insert into t values (1, 'x')",
            "select a from t order by b desc",
            "update t set a = null",
            "commit",
            "select 1;",
        ] {
            for prose in [
                "her password is hunter2",
                "Alice says that it hangs",
                "please help, the card is 4111 1111",
                "4111 1111 1111 1111",
                "k7horse",
                "and then Alice said hunter2 to me",
                "is hunter2 all right?",
                "From Alice: hunter2",
                "to log in use hunter2!",
                "das Kennwort lautet geheim",
                "[Alice] hunter2",
            ] {
                let text = format!("{statement}\n{prose}\nThanks, Alice\n");
                let end = end_of_statement(&text);
                assert_eq!(&text[..end], format!("{statement}\n"), "{text}");
            }
        }
    }

    #[test]
    fn a_statement_of_several_lines_is_whole() {
        for statement in [
            "select a.b,\n  c d,\n  e as f\nfrom t u\njoin v w\n  on u.id = w.id\n  and u.x in (1,\n 2)\nwhere x is not null\n  and y like 'a%'\n  and z between 1 and 2\ngroup by a.b\nhaving count(*) > 5\norder by 1 desc,\n 2\nlimit 10\noffset 5",
            "insert into t\n(a, b)\nvalues\n(1, 'x'),\n(2, 'y')\non duplicate key\nupdate a = values(a)",
            "create table t (\n  id int unsigned not null auto_increment,\n  name varchar(20) collate utf8mb4_bin default null,\n  at timestamp(6) default current_timestamp,\n  primary key (id),\n  key a (name)\n) engine=InnoDB\ncomment='x'",
            "with a as (\nselect 1\n)\nselect * from a",
            "select * from (\nselect 1\n)\nx\nwhere 1",
            "select case\nwhen a = 1\nthen 'x'\nelse 'y'\nend as b\nfrom t",
            "create procedure p()\nbegin\ndeclare x int default 0;\nset x = 1;\nupdate t set a = x;\nend",
            "alter table t\nadd column a int\nafter b,\ndrop index c",
            "delete from t\nwhere a = @b\nand c = ?\nand d = 'x'\n'y'",
            "select /*+ INDEX(t a b c) */ a\nfrom t",
            "create procedure p()\nbegin\ndeclare c cursor for select 1;\nopen c;\nfetched: LOOP\nfetch c into a;\nend loop;\nend",
            "alter table t\nexchange partition p\nwith table u\nwithout validation",
            "create table t (a int) engine=InnoDB\nkey_block_size=8\nstats_persistent=0",
            "create table t (a int)\npartition by range (a)\nsubpartition by hash (b)\nsubpartitions 4\n(partition p values less than (5))",
            "create sequence s\nstart with 1\nminvalue 1\nincrement by 2\nnocycle",
            "create event e\non schedule every 1 day\nstarts '2026-01-01'\nends '2027-01-01'\ndo call p()",
            "create user a\nidentified by 'x'\nwith max_queries_per_hour 5\nmax_user_connections 3\nfailed_login_attempts 3 password_lock_time 2",
            "grant select,\nreplication master admin\non *.* to a",
            "select a from t\nminus\nselect a from u",
            "load data infile 'x'\ninto table t\nfields terminated by ','\n(a, b)",
            "grant select on a.*\nto app@localhost\nidentified by 'x'",
            "select a\nfrom t -- her password is hunter2\nwhere b = 1",
            "select t.key,\nt.is from t",
            "",
        ] {
            assert_eq!(end_of_statement(statement), statement.len(), "{statement}");
        }
    }

    #[test]
    fn the_first_line_is_as_it_was_printed() {
        for statement in ["show engine innodb status", "foo bar baz qux", "her: x"] {
            assert_eq!(end_of_statement(statement), statement.len());
        }
    }

    #[test]
    fn a_text_without_a_statement_has_none() {
        for text in [
            "her password is hunter2\nthanks, Alice",
            "",
            "\n\n",
            "4711\n'x",
        ] {
            assert!(statement_within(text).is_empty(), "{text}");
        }
        for text in [
            "/* app */ select 1",
            "(select 1)",
            "?",
            "/* of\ntwo lines */\nselect 1",
        ] {
            assert_eq!(statement_within(text), 0..text.len(), "{text}");
        }
    }

    #[test]
    fn lists_have_words_in_lower_case_that_are_not_too_long() {
        let lists = COMPLETE.into_iter().chain(BEHIND_IS).chain(LABELLED);
        for word in lists.chain(STARTS.split(' ')) {
            assert!(GRAMMAR.contains(word), "{word}");
        }
        assert!(GRAMMAR.iter().all(|word| lower(word) == *word));
    }
}
