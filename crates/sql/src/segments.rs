//! A statement without what never counts: comments and blanks are gone, literals are `?`. It ends where nobody can tell
//! what is a literal.

use crate::broken_string::{ends_too_early, holds_mark, is_escaped_mark};
use crate::hints::{are_hints, is_of_no_version};
use crate::lexer::{Lexer, SqlMode, Token, TokenKind};
use crate::output::CUT_MARK;
use crate::unquoted_secret::UnquotedSecrets;
use crate::word::{ShortWord, expects_operand, takes_sign};

/// What a piece is, seen from what may stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    /// A literal or a parameter; adjacent strings are one.
    Literal,
    /// A name, or a keyword that ends an operand or is none.
    Word,
    /// A keyword after which an operand starts.
    Keyword,
    QuotedName,
    Variable,
    /// A `+` or `-` before its only operand.
    Sign,
    Operator,
    /// `->` or `->>`
    Arrow,
    /// The `@` between the quoted parts of an account name.
    At,
    /// A point between names.
    Dot,
    Comma,
    LeftParen,
    RightParen,
    Semicolon,
    HintOpen,
    HintClose,
}

/// One piece.
#[derive(Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub(crate) kind: SegmentKind,
    /// Its text; `?` for a literal, whatever it was.
    pub(crate) text: &'a str,
    /// The word that it is, unless it is part of a longer name; otherwise empty.
    pub(crate) word: ShortWord,
    /// Blanks or comments are before it.
    pub(crate) gap: bool,
}

/// Iterator over the pieces of a statement.
pub(crate) struct Segments<'a> {
    lexer: Lexer<'a>,
    previous: Option<SegmentKind>,
    /// The piece before is a word after which a sign is a number's.
    after_default: bool,
    after_string: bool,
    secrets: UnquotedSecrets<'a>,
    /// Of what follows nothing is told.
    is_over: bool,
}

impl<'a> Segments<'a> {
    pub(crate) fn new(statement: &'a str, mode: SqlMode) -> Self {
        Self {
            lexer: Lexer::new(statement, mode),
            previous: None,
            after_default: false,
            after_string: false,
            secrets: UnquotedSecrets::default(),
            is_over: false,
        }
    }

    /// A statement whose begin was cut away, as the first token tells: it may begin within a literal.
    fn has_no_begin(&self, token: Token<'_>) -> bool {
        let goes_on = || !self.lexer.rest().trim().is_empty();
        self.previous.is_none()
            && match token.kind {
                TokenKind::Dot => self.lexer.rest().starts_with(".."),
                TokenKind::Word => {
                    token.text.starts_with(CUT_MARK)
                        && (token.text.len() > CUT_MARK.len_utf8() || goes_on())
                }
                _ => false,
            }
    }

    /// Goes behind what a lexer calls a hint or a version comment, and is none.
    fn skip_comment(&mut self) {
        let mut open = 1_usize;
        for token in self.lexer.by_ref() {
            match token.kind {
                TokenKind::VersionOpen | TokenKind::HintOpen => open += 1,
                TokenKind::VersionClose | TokenKind::HintClose => open -= 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// Whether what is before can be the left side of an operator.
    fn after_operand(&self) -> bool {
        matches!(
            self.previous,
            Some(
                SegmentKind::Literal
                    | SegmentKind::Word
                    | SegmentKind::QuotedName
                    | SegmentKind::Variable
                    | SegmentKind::RightParen
            )
        )
    }

    fn operator(&self, text: &str) -> SegmentKind {
        match text {
            "+" | "-" if self.after_default || !self.after_operand() => SegmentKind::Sign,
            "->" | "->>" => SegmentKind::Arrow,
            "@" => SegmentKind::At,
            _ => SegmentKind::Operator,
        }
    }

    /// A variable's name takes the points that follow it, so a point after one joins nothing.
    fn dot(&self) -> SegmentKind {
        if self.after_operand() && self.previous != Some(SegmentKind::Variable) {
            SegmentKind::Dot
        } else {
            SegmentKind::Operator
        }
    }

    /// `?`, or the `?+` that a fingerprint writes for a list, which then stays as it is in a fingerprint's fingerprint.
    fn parameter(&mut self) -> &'static str {
        let Some(rest) = self.lexer.rest().strip_prefix('+') else {
            return "?";
        };
        let is_list_end = rest.is_empty()
            || rest.starts_with(')')
            || rest
                .strip_prefix(' ')
                .is_some_and(|rest| rest.strip_prefix(CUT_MARK) == Some(""));
        if !is_list_end {
            return "?";
        }
        self.lexer.next();
        "?+"
    }
}

/// Whether a token is neither a gap nor a comment, nor a mark of either.
fn is_significant(token: Token<'_>) -> bool {
    !matches!(
        token.kind,
        TokenKind::Whitespace
            | TokenKind::Comment
            | TokenKind::VersionOpen
            | TokenKind::VersionClose
            | TokenKind::HintOpen
    )
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let mut gap = false;
        let mut word = ShortWord::default();
        loop {
            if self.is_over {
                return None;
            }
            let token = self.lexer.next()?;
            let is_hidden = is_significant(token)
                && (self.secrets.take(token, &self.lexer)
                    || self.has_no_begin(token)
                    || is_escaped_mark(token, &self.lexer));
            let (kind, text) = match token.kind {
                _ if is_hidden => {
                    self.is_over = true;
                    if self.after_string {
                        return None;
                    }
                    (SegmentKind::Literal, "?")
                }
                TokenKind::VersionOpen if is_of_no_version(token.text) => {
                    self.skip_comment();
                    gap = true;
                    continue;
                }
                TokenKind::HintOpen if !are_hints(&self.lexer) => {
                    self.skip_comment();
                    gap = true;
                    continue;
                }
                TokenKind::Whitespace
                | TokenKind::Comment
                | TokenKind::VersionOpen
                | TokenKind::VersionClose => {
                    gap = true;
                    continue;
                }
                TokenKind::String | TokenKind::Unterminated => {
                    self.is_over = ends_too_early(&self.lexer);
                    if self.after_string {
                        gap = false;
                        continue;
                    }
                    (SegmentKind::Literal, "?")
                }
                TokenKind::Number => (SegmentKind::Literal, "?"),
                TokenKind::Word if holds_mark(token.text) => {
                    self.is_over = true;
                    if self.after_string {
                        return None;
                    }
                    (SegmentKind::Literal, "?")
                }
                TokenKind::Parameter => (SegmentKind::Literal, self.parameter()),
                TokenKind::Word => {
                    if self.previous != Some(SegmentKind::Dot) {
                        word = ShortWord::new(token.text);
                    }
                    (
                        if expects_operand(word) {
                            SegmentKind::Keyword
                        } else {
                            SegmentKind::Word
                        },
                        token.text,
                    )
                }
                // No statement begins with a name in quotes: it is a whole one that somebody marked as code.
                TokenKind::QuotedName if self.previous.is_none() => (SegmentKind::Literal, "?"),
                TokenKind::QuotedName => (SegmentKind::QuotedName, token.text),
                TokenKind::Variable => (SegmentKind::Variable, token.text),
                TokenKind::Operator => (self.operator(token.text), token.text),
                TokenKind::Dot => (self.dot(), token.text),
                TokenKind::Comma => (SegmentKind::Comma, token.text),
                TokenKind::LeftParen => (SegmentKind::LeftParen, token.text),
                TokenKind::RightParen => (SegmentKind::RightParen, token.text),
                TokenKind::Semicolon => (SegmentKind::Semicolon, token.text),
                TokenKind::HintOpen => (SegmentKind::HintOpen, token.text),
                TokenKind::HintClose => (SegmentKind::HintClose, token.text),
            };
            self.previous = Some(kind);
            self.after_default = takes_sign(word);
            self.after_string = matches!(token.kind, TokenKind::String | TokenKind::Unterminated);
            return Some(Segment {
                kind,
                text,
                word,
                gap,
            });
        }
    }
}
