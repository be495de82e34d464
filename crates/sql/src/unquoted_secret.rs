//! Passwords that somebody forgot to quote.
//!
//! `CREATE USER a IDENTIFIED BY hunter2` is a syntax error, and stands in the general log, in packets and in lists of
//! sessions all the same. To a lexer the password is a name. But SQL says in a few places that what follows is a secret;
//! there whatever is no string is one, and of a statement with a mistake nobody can tell where it ends.

use model::names_a_secret;

use crate::lexer::{Lexer, Token, TokenKind};
use crate::output::CUT_MARK;
use crate::word::ShortWord;

/// What a token stands behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Anything else.
    #[default]
    Elsewhere,
    /// `IDENTIFIED`
    Identified,
    /// `IDENTIFIED WITH`, `IDENTIFIED VIA`: a plugin follows.
    Plugin,
    /// The plugin.
    BehindPlugin,
    /// `IDENTIFIED BY` and the like: a string follows.
    Password,
    /// The string: `REPLACE` and the old one may follow.
    BehindPassword,
    /// A setting whose name says that it is a secret.
    Name,
    /// Its `=`: an expression follows.
    Setting,
    /// `PASSWORD` with a parenthesis behind it, and the parenthesis.
    Function,
    Argument,
}

/// Looks for such a place, token by token.
#[derive(Default)]
pub(crate) struct UnquotedSecrets<'a> {
    place: Place,
    /// Tokens so far, and the first two of them where they are words.
    tokens: usize,
    first: ShortWord,
    second: ShortWord,
    /// The `=` of `SET PASSWORD FOR a = …` is behind.
    is_set: bool,
    /// What stands here is between `SET` and `WHERE` of a statement that changes rows.
    is_assigned: bool,
    /// The name of a secret to which something is given.
    name: &'a str,
}

impl<'a> UnquotedSecrets<'a> {
    /// Takes the next token that is neither a blank nor a comment, with what is `behind` it: whether it is a secret, or
    /// begins one.
    pub(crate) fn take(&mut self, token: Token<'a>, behind: &Lexer<'_>) -> bool {
        let word = match token.kind {
            TokenKind::Word => ShortWord::new(token.text),
            _ => ShortWord::default(),
        };
        match self.tokens {
            0 => self.first = word,
            1 => self.second = word,
            _ => {}
        }
        self.tokens = self.tokens.saturating_add(1);
        match word.as_bytes() {
            b"set" => self.is_assigned = true,
            // `ON DUPLICATE KEY UPDATE`
            b"update" => self.is_assigned = self.tokens > 1,
            b"limit" | b"on" | b"order" | b"returning" | b"select" | b"where" => {
                self.is_assigned = false;
            }
            _ => {}
        }
        let is_cut = token.kind == TokenKind::Word && token.text.chars().eq([CUT_MARK]);
        let place = std::mem::take(&mut self.place);
        match place {
            _ if is_cut => false,
            Place::Password => self.password(token, word, behind),
            Place::Setting => self.setting(token, word, behind),
            Place::Argument => {
                let is_value = matches!(
                    token.kind,
                    TokenKind::Word
                        | TokenKind::QuotedName
                        | TokenKind::Number
                        | TokenKind::Operator
                );
                is_value && next(behind) != Some(TokenKind::LeftParen)
            }
            _ => {
                self.place = self.behind(place, token, word, behind);
                false
            }
        }
    }

    /// Behind `IDENTIFIED BY`.
    fn password(&mut self, token: Token<'a>, word: ShortWord, behind: &Lexer<'_>) -> bool {
        let is_call = || next(behind) == Some(TokenKind::LeftParen);
        self.place = match (token.kind, word.as_bytes()) {
            (TokenKind::String | TokenKind::Unterminated | TokenKind::Parameter, _) => {
                Place::BehindPassword
            }
            (_, b"password" | b"old_password") if is_call() => Place::Function,
            (_, b"password") => Place::Password,
            (_, b"random") => Place::Elsewhere,
            // As servers write it into their own logs.
            (TokenKind::Operator, _)
                if token.text == "<" && behind.rest().starts_with("secret>") =>
            {
                Place::Elsewhere
            }
            _ => return true,
        };
        false
    }

    /// Behind the `=` of a secret.
    fn setting(&mut self, token: Token<'a>, word: ShortWord, behind: &Lexer<'_>) -> bool {
        let is_call = || next(behind) == Some(TokenKind::LeftParen);
        // A column may be given another one of another table, and what it has.
        let is_column = || {
            self.changes_rows() && (next(behind) == Some(TokenKind::Dot) || token.text == self.name)
        };
        match token.kind {
            TokenKind::Operator => {
                self.place = Place::Setting;
                false
            }
            TokenKind::Word if is_password(word) && is_call() => {
                self.place = Place::Function;
                false
            }
            TokenKind::Word => {
                let is_flag = matches!(
                    word.as_bytes(),
                    b"case" | b"default" | b"null" | b"on" | b"off" | b"true" | b"false"
                );
                !is_flag && !is_call() && !is_column()
            }
            TokenKind::QuotedName => !is_column(),
            // `4711-abc`
            TokenKind::Number => {
                let is_whole = matches!(
                    next(behind),
                    None | Some(TokenKind::Comma | TokenKind::Semicolon | TokenKind::RightParen)
                );
                !is_whole && !self.changes_rows()
            }
            _ => false,
        }
    }

    /// The place behind a token that is none of a secret.
    fn behind(
        &mut self,
        place: Place,
        token: Token<'a>,
        word: ShortWord,
        behind: &Lexer<'_>,
    ) -> Place {
        let is_name = matches!(
            token.kind,
            TokenKind::Word | TokenKind::QuotedName | TokenKind::String
        );
        match (place, word.as_bytes()) {
            (Place::Identified, b"by") | (Place::BehindPlugin, b"by" | b"as" | b"using") => {
                return Place::Password;
            }
            (Place::Identified, b"with" | b"via") | (Place::BehindPlugin, b"or" | b"and") => {
                return Place::Plugin;
            }
            (Place::BehindPassword, b"replace") => return Place::Password,
            (Place::Plugin, _) if is_name => return Place::BehindPlugin,
            (Place::Function, _) if token.kind == TokenKind::LeftParen => return Place::Argument,
            (Place::Name, _) if matches!(token.text, "=" | ":=") => return Place::Setting,
            (_, b"identified") => return Place::Identified,
            _ => {}
        }
        let sets = self.first.as_bytes() == b"set";
        // A key of a table may be called so, too, and has a parenthesis behind its name.
        if sets && is_password(word) && next(behind) == Some(TokenKind::LeftParen) {
            return Place::Function;
        }
        // `CREATE SERVER s … OPTIONS (PASSWORD 'x')`
        if word.as_bytes() == b"password" && self.second.as_bytes() == b"server" {
            return Place::Password;
        }
        if !self.is_setting() {
            return Place::Elsewhere;
        }
        if matches!(
            token.kind,
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Variable
        ) && names_a_secret(token.text)
        {
            self.name = token.text;
            return Place::Name;
        }
        let sets_password = sets && self.second.as_bytes() == b"password";
        if sets_password && token.text == "=" && !self.is_set {
            self.is_set = true;
            return Place::Setting;
        }
        Place::Elsewhere
    }

    /// Statements, or parts of them, that are names and values. In all others a name stands for a column as well.
    fn is_setting(&self) -> bool {
        match self.changes_rows() {
            true => self.is_assigned,
            false => {
                matches!(self.first.as_bytes(), b"change" | b"set" | b"start")
                    && self.second.as_bytes() != b"statement"
            }
        }
    }

    fn changes_rows(&self) -> bool {
        matches!(self.first.as_bytes(), b"insert" | b"replace" | b"update")
    }
}

fn is_password(word: ShortWord) -> bool {
    matches!(word.as_bytes(), b"password" | b"old_password")
}

/// What comes next, without blanks and comments.
fn next(behind: &Lexer<'_>) -> Option<TokenKind> {
    let mut kinds = behind.clone().map(|token| token.kind);
    kinds.find(|kind| {
        !matches!(
            kind,
            TokenKind::Whitespace
                | TokenKind::Comment
                | TokenKind::VersionOpen
                | TokenKind::VersionClose
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::{Fingerprinter, SqlMode, fingerprint, redact, redact_in};

    #[test]
    fn a_password_without_quotes_is_not_shown() {
        for (statement, redacted) in [
            (
                "CREATE USER a IDENTIFIED BY hunter2",
                "CREATE USER a IDENTIFIED BY ?",
            ),
            (
                "CREATE USER a IDENTIFIED BY hunter2@home! REQUIRE SSL",
                "CREATE USER a IDENTIFIED BY ?",
            ),
            (
                "create user a identified by /* new */ 4711-hunter2",
                "create user a identified by ?",
            ),
            (
                "CREATE USER a IDENTIFIED BY `hunter2`",
                "CREATE USER a IDENTIFIED BY ?",
            ),
            (
                "CREATE USER a IDENTIFIED BY !hunter2",
                "CREATE USER a IDENTIFIED BY ?",
            ),
            (
                "CREATE USER a IDENTIFIED BY PASSWORD *HUNTER2",
                "CREATE USER a IDENTIFIED BY PASSWORD ?",
            ),
            (
                "ALTER USER a IDENTIFIED WITH 'p' AS hunter2",
                "ALTER USER a IDENTIFIED WITH ? AS ?",
            ),
            (
                "ALTER USER a IDENTIFIED VIA p OR q USING PASSWORD(hunter2)",
                "ALTER USER a IDENTIFIED VIA p OR q USING PASSWORD(?",
            ),
            (
                "ALTER USER a IDENTIFIED BY 'x' REPLACE hunter2",
                "ALTER USER a IDENTIFIED BY ? REPLACE ?",
            ),
            (
                "GRANT ALL ON *.* TO a@b IDENTIFIED BY hunter2 WITH GRANT OPTION",
                "GRANT ALL ON *.* TO a@b IDENTIFIED BY ?",
            ),
            (
                "UPDATE users SET name = 'x', password = hunter2 WHERE id = 5",
                "UPDATE users SET name = ?, password = ?",
            ),
            (
                "INSERT INTO users SET `api_token` = `hunter2`, a = 5",
                "INSERT INTO users SET `api_token` = ?",
            ),
            (
                "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE pwd = hunter2",
                "INSERT INTO t (a) VALUES (?) ON DUPLICATE KEY UPDATE pwd = ?",
            ),
            ("SET PASSWORD = hunter2", "SET PASSWORD = ?"),
            ("SET PASSWORD FOR a@b = hunter2", "SET PASSWORD FOR a@b = ?"),
            (
                "SET PASSWORD FOR a@b = PASSWORD(hunter2)",
                "SET PASSWORD FOR a@b = PASSWORD(?",
            ),
            (
                "SET GLOBAL wsrep_sst_auth = hunter2",
                "SET GLOBAL wsrep_sst_auth = ?",
            ),
            ("SET @api_token := ey4.hunter2", "SET @api_token := ?"),
            (
                "SET @@global.report_password=-hunter2",
                "SET @@global.report_password=?",
            ),
            (
                "CHANGE MASTER TO MASTER_HOST='x', MASTER_PASSWORD=hunter2, MASTER_PORT=5",
                "CHANGE MASTER TO MASTER_HOST=?, MASTER_PASSWORD=?",
            ),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 4711-hunter2",
                "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = ?",
            ),
            (
                "START REPLICA USER='a' PASSWORD=hunter2",
                "START REPLICA USER=? PASSWORD=?",
            ),
            (
                "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'a', PASSWORD hunter2)",
                "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER ?, PASSWORD ?",
            ),
        ] {
            assert_eq!(redact(statement), redacted);
            assert_eq!(redact(redacted), redacted);
            let print = fingerprint(statement);
            assert!(!print.contains("hunter2"), "{print}");
            assert_eq!(fingerprint(&print), print);
            let mut classes = Fingerprinter::new(SqlMode::default());
            let class = classes.class_of(statement.as_bytes());
            assert_eq!(classes.fingerprint_of(class), Some(print.as_str()));
        }
        let mode = SqlMode {
            ansi_quotes: true,
            ..SqlMode::default()
        };
        for value in ["5", "'x'", "-5", "?"] {
            let statement = format!("UPDATE t SET token = {value} WHERE id = 1");
            assert_eq!(redact(&statement), "UPDATE t SET token = ? WHERE id = ?");
        }
        assert_eq!(
            redact_in("CREATE USER a IDENTIFIED BY \"hunter2\"", mode),
            "CREATE USER a IDENTIFIED BY ?"
        );
    }

    #[test]
    fn other_statements_are_whole() {
        for statement in [
            "CREATE USER a IDENTIFIED BY ? REQUIRE SSL PASSWORD EXPIRE ACCOUNT LOCK",
            "CREATE USER a IDENTIFIED BY RANDOM PASSWORD ACCOUNT LOCK",
            "CREATE USER a IDENTIFIED BY <secret> REQUIRE NONE PASSWORD EXPIRE DEFAULT",
            "CREATE USER a IDENTIFIED BY …",
            "ALTER USER a IDENTIFIED VIA unix_socket OR mysql_native_password USING ?",
            "ALTER USER a IDENTIFIED WITH p BY ? REPLACE ? RETAIN CURRENT PASSWORD",
            "SET PASSWORD FOR a TO RANDOM",
            "SET PASSWORD = PASSWORD(?)",
            "SET GLOBAL disconnect_on_expired_password = ON, GLOBAL max_connections = ?",
            "SET GLOBAL mysql_native_password_proxy_users = ?, GLOBAL max_connections = ?",
            "SET GLOBAL validate_password.policy = MEDIUM",
            "SET @token = md5(concat(a, b)), @c = d",
            "SET STATEMENT max_statement_time=? FOR SELECT a FROM t WHERE token = u",
            "SELECT a FROM t WHERE password = new_password AND token = u.token",
            "UPDATE t SET password = ? WHERE password = new_password",
            "UPDATE t, u SET t.password = u.password, t.token = t.token WHERE t.id = u.id",
            "UPDATE t SET token = token, `pwd` = `pwd`, secret = NULL, header = concat(a, b)",
            "INSERT INTO t (token) VALUES (?) AS n ON DUPLICATE KEY UPDATE token = n.token",
            "INSERT INTO t (token) VALUES (?) ON DUPLICATE KEY UPDATE token = VALUES(token)",
            "INSERT INTO t (token) SELECT a FROM u WHERE token = b",
            "INSERT INTO t (password) VALUES (PASSWORD(?))",
            "SELECT identified, a AS b FROM t",
            "CREATE TABLE t (password varchar(?), token int, KEY password (password))",
            "ALTER TABLE t ADD KEY password (password), ADD KEY token (token)",
            "START TRANSACTION READ ONLY",
        ] {
            assert_eq!(redact(statement), statement);
        }
    }
}
