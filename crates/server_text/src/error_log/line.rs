//! One line of the log.

use super::phrases::{self, Span};
use super::words::{self, GONE, Word};
use super::{After, head};

/// What is known of the text that has been passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    /// All of it is the server's.
    Known,
    /// It held a word that is not: numbers may be its, too.
    Doubtful,
    /// It held a quote: nobody can say where the value ends.
    Value,
}

/// Writes what may be kept of a line; says what may follow it. `behind_value`: a value of the line before
/// may go on in it.
pub(super) fn redact(line: &str, behind_value: bool, out: &mut String) -> After {
    let (head, message) = line.split_at(head::length(line));
    out.push_str(head);
    let marks = phrases::marks(message);
    let mut writer = Writer {
        out,
        mode: if behind_value {
            Mode::Value
        } else {
            Mode::Known
        },
        has_gone: false,
    };
    let mut at = 0;
    let mut phrases = marks.phrases.iter().copied().peekable();
    while at < message.len() {
        if at >= marks.value_from {
            writer.mode = Mode::Value;
        }
        while phrases.next_if(|span| span.start < at).is_some() {}
        if let Some(Span { end, .. }) = phrases.next_if(|span| span.start == at) {
            writer.keep(message.get(at..end).unwrap_or_default());
            at = end;
            continue;
        }
        let limit = phrases.peek().map_or(message.len(), |span| span.start);
        let limit = match marks.value_from > at {
            true => limit.min(marks.value_from),
            false => limit,
        };
        let rest = message.get(at..limit).unwrap_or_default();
        let length = run_length(rest);
        let behind = message.get(at + length..).unwrap_or_default();
        let is_quote_next = behind.chars().next().map(kind) == Some(Kind::Quote);
        writer.run(rest.get(..length).unwrap_or_default(), is_quote_next);
        at += length;
    }
    match writer.mode {
        _ if marks.has_statement => After::Statement,
        Mode::Known => After::Known,
        Mode::Doubtful | Mode::Value => After::Value,
    }
}

/// Bytes up to the next blank or quote, which stand alone: `s<data,7a;n` is one word to whoever wrote it.
fn run_length(rest: &str) -> usize {
    let mut length = 0;
    loop {
        let tail = rest.get(length..).unwrap_or_default();
        let is_end = tail
            .chars()
            .next()
            .is_none_or(|c| matches!(kind(c), Kind::Blank | Kind::Quote));
        match (is_end, length) {
            (true, 0) => return token_length(tail),
            (true, length) => return length,
            (false, _) => length += token_length(tail),
        }
    }
}

/// Bytes of the next token: blanks, one sign, or a word.
fn token_length(rest: &str) -> usize {
    let Some(first) = rest.chars().next() else {
        return rest.len().max(1);
    };
    let kind = kind(first);
    if kind == Kind::Sign || kind == Kind::Quote {
        return first.len_utf8();
    }
    rest.char_indices()
        // An apostrophe within a word is not a quote: `can't`.
        .find(|(at, c)| *at > 0 && self::kind(*c) != kind && !(*c == '\'' && is_within(rest, *at)))
        .map_or(rest.len(), |(at, _)| at)
}

/// The tokens of a run.
fn tokens(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        let (token, behind) = rest.split_at_checked(token_length(rest))?;
        rest = behind;
        (!token.is_empty()).then_some(token)
    })
}

fn is_word(token: &str) -> bool {
    token.chars().next().map(kind) == Some(Kind::Word)
}

fn is_within(text: &str, at: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
    letter(text.get(..at).and_then(|head| head.chars().next_back()))
        && letter(text.get(at + 1..).and_then(|tail| tail.chars().next()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    /// Stands between words and says nothing.
    Sign,
    /// A value may begin.
    Quote,
    Word,
}

fn kind(c: char) -> Kind {
    match c {
        ' ' | '\t' => Kind::Blank,
        '\'' | '"' | '`' | '‘' | '’' | '‚' | '“' | '”' | '„' | '«' | '»' | '‹' | '›' | '「'
        | '」' | '『' | '』' => Kind::Quote,
        ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '=' | '|' | '&' | '!' | '?'
        | '#' | '%' => Kind::Sign,
        _ => Kind::Word,
    }
}

struct Writer<'a> {
    out: &'a mut String,
    mode: Mode,
    /// The last that was written stands for something left out.
    has_gone: bool,
}

impl Writer<'_> {
    fn keep(&mut self, text: &str) {
        // The blanks of a value are gone with it, and a phrase stands apart from what is before it.
        let is_apart = self
            .out
            .ends_with(|c: char| c.is_whitespace() || "([{<".contains(c));
        if self.mode == Mode::Value && !self.out.is_empty() && !is_apart {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.has_gone = false;
    }

    /// Of what is left out in one place one mark is shown.
    fn gone(&mut self) {
        if self.has_gone {
            return;
        }
        let is_apart = self.mode == Mode::Value
            && !self.out.is_empty()
            && !self
                .out
                .ends_with(|c: char| c.is_whitespace() || "([{<='\"`".contains(c));
        if is_apart {
            self.out.push(' ');
        }
        self.out.push_str(GONE);
        self.has_gone = true;
    }

    /// What stands between two blanks. If a part of it is not the server's, none of it is: the other parts and the signs
    /// between would tell how a password looks.
    fn run(&mut self, run: &str, is_quote_next: bool) {
        let is_joined =
            token_length(run) < run.len() || (is_quote_next && self.mode == Mode::Doubtful);
        if !is_joined || self.mode == Mode::Value || self.is_own(run, is_quote_next) {
            for token in tokens(run) {
                self.token(token);
            }
            return;
        }
        if !run.is_ascii() {
            self.mode = Mode::Value;
        }
        self.mode = self.mode.max(Mode::Doubtful);
        self.gone();
    }

    /// Whether all parts of a run may be kept.
    fn is_own(&self, run: &str, is_quote_next: bool) -> bool {
        // A path that has been redacted already.
        let is_path =
            run.starts_with(['/', '.']) && tokens(run).all(|part| part == GONE || is_word(part));
        let may_keep = |part: &str| match words::judge(part) {
            Word::Own | Word::Path(_) => true,
            Word::Number => self.mode == Mode::Known,
            Word::Unknown => false,
        };
        is_path
            || (!(is_quote_next && self.mode == Mode::Doubtful)
                && tokens(run).filter(|part| is_word(part)).all(may_keep))
    }

    fn token(&mut self, token: &str) {
        let kind = token.chars().next().map_or(Kind::Blank, kind);
        if kind == Kind::Quote && self.mode < Mode::Value {
            self.mode = Mode::Value;
            return self.gone();
        }
        if self.mode == Mode::Value {
            let is_sign = kind == Kind::Sign && token != GONE;
            let is_stop =
                kind == Kind::Word && token.bytes().all(|byte| byte.is_ascii_punctuation());
            if !(kind == Kind::Blank || is_sign || is_stop) {
                self.gone();
            }
            return;
        }
        match kind {
            Kind::Blank | Kind::Sign | Kind::Quote => {
                // A mark that stands there already is our own.
                if token == GONE {
                    return self.gone();
                }
                self.out.push_str(token);
                self.has_gone = false;
            }
            Kind::Word => match words::judge(token) {
                Word::Own => self.word(token),
                Word::Number if self.mode == Mode::Known => self.word(token),
                Word::Path(path) => self.word(&path),
                Word::Number => self.gone(),
                Word::Unknown => {
                    // A message in a language that is not read: its words tell nothing of where a value ends.
                    let is_foreign = !token.is_ascii();
                    self.mode = if is_foreign {
                        Mode::Value
                    } else {
                        Mode::Doubtful
                    };
                    self.gone();
                }
            },
        }
    }

    fn word(&mut self, word: &str) {
        self.out.push_str(word);
        self.has_gone = false;
    }
}
