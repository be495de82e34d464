//! The lexer: a statement as tokens, the way MySQL's own lexer cuts it (`lex_one_token` in sql/sql_lex.cc).

use crate::scan::{
    block_comment_end, byte, dollar_quoted_end, end_of, is_blank, is_word, line_comment_end,
    number_end, operator_length, quoted_end,
};
use crate::word::{ShortWord, is_character_set};

/// The parts of the server's `sql_mode` that decide where a literal ends. The default is the servers' default: neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SqlMode {
    /// `ANSI_QUOTES`: `"x"` is a name, not a string.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Blanks and control characters.
    Whitespace,
    /// `-- …`, `# …` or `/* … */`, also without its end. A line comment's newline is not part of it.
    Comment,
    /// `/*!`, `/*!80013` or `/*M!100100`: what follows up to [`TokenKind::VersionClose`] is SQL.
    VersionOpen,
    /// The `*/` of a version comment.
    VersionClose,
    /// `/*+` after the word that it advises; elsewhere it opens a comment.
    HintOpen,
    /// The `*/` of an optimizer hint.
    HintClose,
    /// A keyword or an unquoted name.
    Word,
    /// A name in backticks, or in double quotes under `ANSI_QUOTES`.
    QuotedName,
    /// A string, hexadecimal (`x'4D'`) or bit (`b'01'`) literal with its introducer, or a dollar-quoted text.
    String,
    /// A number without its sign: `1`, `1.5e3`, `.5`, `0xFF`, `0b01`.
    Number,
    /// `?`, the parameter of a prepared statement.
    Parameter,
    /// `@name`, `` @`name` ``, `@@name`, `@@global.name`; also the host of an unquoted account name.
    Variable,
    /// `=`, `<=>`, `->>`, `:=` and the like; also any character that belongs to no other kind.
    Operator,
    /// A point between names.
    Dot,
    /// `,`
    Comma,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `;`
    Semicolon,
    /// A string, quoted name or quoted variable in which the statement ends, from its introducer or quote on.
    /// Nothing of it may be shown.
    Unterminated,
}

/// One token and its text. The texts of all tokens, joined, are the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Its text; never empty.
    pub text: &'a str,
}

/// Iterator over the tokens of a statement, in one pass.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    position: usize,
    mode: SqlMode,
    /// How many version comments are open here.
    version_comments: usize,
    in_hint: bool,
    /// The last token that is no blank, comment or mark of a version comment, if it is a word; otherwise empty.
    last_word: &'a str,
    /// The token that ends where the next one starts.
    previous: Option<TokenKind>,
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of `statement`.
    pub fn new(statement: &'a str, mode: SqlMode) -> Self {
        Self {
            text: statement,
            position: 0,
            mode,
            version_comments: 0,
            in_hint: false,
            last_word: "",
            previous: None,
        }
    }

    /// What is not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    /// Kind and end of the token that starts at `start` with `first`.
    fn kind_and_end(&self, start: usize, first: u8) -> (TokenKind, usize) {
        let text = self.text;
        let second = byte(text, start + 1);
        let one = start + 1;
        match first {
            _ if is_blank(first) => (TokenKind::Whitespace, end_of(text, one, is_blank)),
            b'\'' => self.string(start),
            b'"' if !self.mode.ansi_quotes => self.string(start),
            b'"' | b'`' => self.quoted_name(start, TokenKind::QuotedName),
            b'#' if !self.in_hint => (TokenKind::Comment, line_comment_end(text, one)),
            b'-' if second == b'-' && is_blank(byte(text, start + 2)) && !self.in_hint => {
                (TokenKind::Comment, line_comment_end(text, one))
            }
            b'/' if second == b'*' => self.block_comment(start),
            b'*' if second == b'/' && self.in_hint => (TokenKind::HintClose, start + 2),
            b'*' if second == b'/' && self.version_comments > 0 => {
                (TokenKind::VersionClose, start + 2)
            }
            b'.' if !second.is_ascii_digit() || self.after_operand() => (TokenKind::Dot, one),
            b'.' | b'0'..=b'9' => self.number_or_word(start),
            b'@' => self.variable(start),
            b'$' => match dollar_quoted_end(text, start) {
                Some(end) => self.closed(TokenKind::String, end),
                None => self.word(start),
            },
            b'?' => (TokenKind::Parameter, one),
            b',' => (TokenKind::Comma, one),
            b'(' => (TokenKind::LeftParen, one),
            b')' => (TokenKind::RightParen, one),
            b';' => (TokenKind::Semicolon, one),
            _ if is_word(first) => self.word(start),
            _ => (
                TokenKind::Operator,
                start + operator_length(first, second, byte(text, start + 2)),
            ),
        }
    }

    /// A point that directly follows one of these separates names, even before a digit (`MY_LEX_IDENT_SEP`).
    fn after_operand(&self) -> bool {
        matches!(
            self.previous,
            Some(
                TokenKind::Word
                    | TokenKind::QuotedName
                    | TokenKind::String
                    | TokenKind::Number
                    | TokenKind::Parameter
                    | TokenKind::RightParen
            )
        )
    }

    fn closed(&self, kind: TokenKind, end: Option<usize>) -> (TokenKind, usize) {
        end.map_or((TokenKind::Unterminated, self.text.len()), |end| {
            (kind, end)
        })
    }

    fn string(&self, quote: usize) -> (TokenKind, usize) {
        self.closed(
            TokenKind::String,
            quoted_end(self.text, quote, !self.mode.no_backslash_escapes),
        )
    }

    fn quoted_name(&self, quote: usize, kind: TokenKind) -> (TokenKind, usize) {
        self.closed(kind, quoted_end(self.text, quote, false))
    }

    fn block_comment(&self, start: usize) -> (TokenKind, usize) {
        let text = self.text;
        if !self.in_hint {
            let version = match (byte(text, start + 2), byte(text, start + 3)) {
                (b'!', _) => Some(start + 3),
                (b'M', b'!') => Some(start + 4),
                (b'+', _) if self.hint_may_follow() => return (TokenKind::HintOpen, start + 3),
                _ => None,
            };
            if let Some(version) = version {
                // A version has five or six digits; fewer are a number inside the comment.
                let digits = (version..version + 6)
                    .take_while(|&at| byte(text, at).is_ascii_digit())
                    .count();
                return (
                    TokenKind::VersionOpen,
                    if digits < 5 {
                        version
                    } else {
                        version + digits
                    },
                );
            }
        }
        (TokenKind::Comment, block_comment_end(text, start))
    }

    /// The words whose statements take hints (MySQL 8.4 Reference Manual, 10.9.3 "Optimizer Hints").
    fn hint_may_follow(&self) -> bool {
        matches!(
            ShortWord::new(self.last_word).as_bytes(),
            b"select" | b"insert" | b"update" | b"delete" | b"replace"
        )
    }

    fn number_or_word(&self, start: usize) -> (TokenKind, usize) {
        match number_end(self.text, start) {
            Some(end) => (TokenKind::Number, end),
            None => (TokenKind::Word, end_of(self.text, start, is_word)),
        }
    }

    fn variable(&self, start: usize) -> (TokenKind, usize) {
        let name = if byte(self.text, start + 1) == b'@' {
            start + 2
        } else {
            start + 1
        };
        if byte(self.text, name) == b'`' {
            return self.quoted_name(name, TokenKind::Variable);
        }
        let end = end_of(self.text, name, |byte| is_word(byte) || byte == b'.');
        if end > name {
            (TokenKind::Variable, end)
        } else {
            (TokenKind::Operator, start + 1)
        }
    }

    fn word(&self, start: usize) -> (TokenKind, usize) {
        let text = self.text;
        let end = end_of(text, start, is_word);
        match byte(text, start) {
            b'n' | b'N' | b'x' | b'X' | b'b' | b'B'
                if end == start + 1 && byte(text, end) == b'\'' =>
            {
                self.string(end)
            }
            b'_' if is_character_set(text.get(start + 1..end).unwrap_or_default()) => {
                self.introduced(end).unwrap_or((TokenKind::Word, end))
            }
            _ => (TokenKind::Word, end),
        }
    }

    /// The literal after an introducer that ends at `from`, if there is one.
    fn introduced(&self, from: usize) -> Option<(TokenKind, usize)> {
        let text = self.text;
        let start = end_of(text, from, is_blank);
        match (byte(text, start), byte(text, start + 1)) {
            (b'\'', _) => Some(self.string(start)),
            (b'"', _) if !self.mode.ansi_quotes => Some(self.string(start)),
            (b'x' | b'X' | b'b' | b'B', b'\'') => Some(self.string(start + 1)),
            (b'0', b'x' | b'X' | b'b' | b'B') => {
                number_end(text, start).map(|end| (TokenKind::String, end))
            }
            _ => None,
        }
    }

    /// Inside a version comment or a hint, a quote or line comment that runs over a `*/` is read in two ways: a server
    /// that executes the inside skips that `*/`, one that does not ends the comment there. No reading that shows
    /// nothing of a literal holds for both, so all the rest counts as not to be shown.
    fn is_ambiguous(&self, kind: TokenKind, text: &str) -> bool {
        let may_hide_end = match kind {
            TokenKind::String | TokenKind::QuotedName | TokenKind::Variable => true,
            TokenKind::Comment => !text.starts_with("/*"),
            _ => false,
        };
        may_hide_end && (self.version_comments > 0 || self.in_hint) && text.contains("*/")
    }

    fn remember(&mut self, token: Token<'a>) {
        self.previous = Some(token.kind);
        match token.kind {
            TokenKind::Whitespace | TokenKind::Comment => return,
            TokenKind::VersionOpen => {
                self.version_comments += 1;
                return;
            }
            TokenKind::VersionClose => {
                self.version_comments -= 1;
                return;
            }
            TokenKind::HintOpen => self.in_hint = true,
            TokenKind::HintClose => self.in_hint = false,
            _ => {}
        }
        self.last_word = if token.kind == TokenKind::Word {
            token.text
        } else {
            ""
        };
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let start = self.position;
        let first = *self.text.as_bytes().get(start)?;
        let (kind, end) = self.kind_and_end(start, first);
        let mut token = Token {
            kind,
            text: self.text.get(start..end)?,
        };
        if self.is_ambiguous(kind, token.text) {
            token = Token {
                kind: TokenKind::Unterminated,
                text: self.text.get(start..)?,
            };
        }
        self.position = start + token.text.len();
        self.remember(token);
        Some(token)
    }
}
