//! `time > 2 and user != monitor`: which rows of a table are shown.
//!
//! `crate expression` reads formulas over signals; a table has texts as well, and what is compared are its own columns.

use std::fmt;

/// Longest filter, characters: it is typed.
pub const LENGTH_MAX: usize = 200;

/// Parentheses and `not` in one another, at the most.
const DEPTH_MAX: usize = 20;

/// What a column of a row holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(f64),
}

/// A condition on a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Both.
    And(Box<Filter>, Box<Filter>),
    /// One of them.
    Or(Box<Filter>, Box<Filter>),
    /// Not this.
    Not(Box<Filter>),
    /// A column compared.
    Column(String, Comparison, String),
    /// A text that some column has in it.
    Anywhere(String),
}

/// How a column is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Is,
    /// `!=`
    IsNot,
    /// `~`: has it in it
    Has,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// Why a filter cannot be read. The last one that could be stays in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError(pub String);

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Filter {
    /// Reads a filter; `columns` are the names that it may use.
    pub fn parse(text: &str, columns: &[&str]) -> Result<Self, FilterError> {
        if text.chars().count() > LENGTH_MAX {
            return Err(FilterError(format!("longer than {LENGTH_MAX} characters")));
        }
        let mut reader = Reader {
            words: tokens(text)?,
            at: 0,
            columns,
        };
        let filter = reader.or(0)?;
        match reader.words.get(reader.at) {
            None => Ok(filter),
            Some(word) => Err(FilterError(format!(
                "`{}`: `and` or `or` is missing before it",
                word.text
            ))),
        }
    }

    /// Whether a row is shown. `get` tells a column by its name, `all` is its whole text.
    pub fn holds<'a>(&self, get: &impl Fn(&str) -> Option<Value<'a>>, all: &str) -> bool {
        match self {
            Self::And(left, right) => left.holds(get, all) && right.holds(get, all),
            Self::Or(left, right) => left.holds(get, all) || right.holds(get, all),
            Self::Not(inner) => !inner.holds(get, all),
            Self::Anywhere(word) => has(all, word),
            Self::Column(name, how, with) => match get(name) {
                None => *how == Comparison::IsNot,
                Some(value) => how.holds(value, with),
            },
        }
    }
}

fn has(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

impl Comparison {
    fn holds(self, value: Value<'_>, with: &str) -> bool {
        let text = match value {
            Value::Text(text) => text.to_owned(),
            Value::Number(number) => number.to_string(),
        };
        let numbers = match value {
            Value::Number(number) => number_of(with).map(|with| (number, with)),
            Value::Text(text) => number_of(text).zip(number_of(with)),
        };
        match (self, numbers) {
            (Self::Is, Some((left, right))) => left == right,
            (Self::Is, None) => text.eq_ignore_ascii_case(with),
            (Self::IsNot, _) => !Self::Is.holds(value, with),
            (Self::Has, _) => has(&text, with),
            (Self::Above, Some((left, right))) => left > right,
            (Self::AtLeast, Some((left, right))) => left >= right,
            (Self::Below, Some((left, right))) => left < right,
            (Self::AtMost, Some((left, right))) => left <= right,
            // Texts have no order here.
            (Self::Above | Self::AtLeast | Self::Below | Self::AtMost, None) => false,
        }
    }
}

/// `12`, `1.5k`, `2M`, `40%`.
fn number_of(text: &str) -> Option<f64> {
    let (digits, factor) = match text.chars().last()? {
        'k' => (text.strip_suffix('k')?, 1e3),
        'M' => (text.strip_suffix('M')?, 1e6),
        'G' => (text.strip_suffix('G')?, 1e9),
        '%' => (text.strip_suffix('%')?, 0.01),
        _ => (text, 1.0),
    };
    let number: f64 = digits.parse().ok()?;
    Some(number * factor).filter(|number| number.is_finite())
}

#[derive(Debug)]
struct Word {
    text: String,
    quoted: bool,
}

fn tokens(text: &str) -> Result<Vec<Word>, FilterError> {
    let mut words = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next() {
        let mut word = String::from(first);
        let mut quoted = false;
        match first {
            ' ' | '\t' => continue,
            '(' | ')' | '~' => {}
            '>' | '<' | '=' | '!' => {
                if letters.next_if_eq(&'=').is_some() {
                    word.push('=');
                }
            }
            '\'' | '"' => {
                quoted = true;
                word.clear();
                loop {
                    match letters.next() {
                        Some(letter) if letter == first => break,
                        Some(letter) => word.push(letter),
                        None => return Err(FilterError("a quote is not closed".to_owned())),
                    }
                }
            }
            _ => {
                let inside = |letter: &char| !" \t()~><=!".contains(*letter);
                while let Some(letter) = letters.next_if(inside) {
                    word.push(letter);
                }
            }
        }
        words.push(Word { text: word, quoted });
    }
    Ok(words)
}

struct Reader<'a> {
    words: Vec<Word>,
    at: usize,
    columns: &'a [&'a str],
}

impl Reader<'_> {
    fn next_is(&mut self, wanted: &str) -> bool {
        let is = self
            .words
            .get(self.at)
            .is_some_and(|word| !word.quoted && word.text.eq_ignore_ascii_case(wanted));
        self.at += usize::from(is);
        is
    }

    fn or(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let mut left = self.and(depth)?;
        while self.next_is("or") {
            left = Filter::Or(Box::new(left), Box::new(self.and(depth)?));
        }
        Ok(left)
    }

    fn and(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let mut left = self.one(depth)?;
        while self.next_is("and") {
            left = Filter::And(Box::new(left), Box::new(self.one(depth)?));
        }
        Ok(left)
    }

    fn one(&mut self, depth: usize) -> Result<Filter, FilterError> {
        if depth > DEPTH_MAX {
            return Err(FilterError("too many parentheses".to_owned()));
        }
        if self.next_is("not") || self.next_is("!") {
            return Ok(Filter::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.next_is("(") {
            let inner = self.or(depth + 1)?;
            return match self.next_is(")") {
                true => Ok(inner),
                false => Err(FilterError("`)` is missing".to_owned())),
            };
        }
        let Some((text, quoted)) = self.take() else {
            return Err(FilterError("something is missing at the end".to_owned()));
        };
        let how = self.how().filter(|_| !quoted);
        let Some(how) = how else {
            return match how_of(&text) {
                Some(_) if !quoted => Err(FilterError(format!(
                    "`{text}`: a column is missing before it"
                ))),
                _ => Ok(Filter::Anywhere(text)),
            };
        };
        let known = self
            .columns
            .iter()
            .find(|name| name.eq_ignore_ascii_case(&text));
        let Some(known) = known else {
            let names = self.columns.join(", ");
            return Err(FilterError(format!("no column `{text}`; here are {names}")));
        };
        match self.take() {
            Some((with, _)) => Ok(Filter::Column((*known).to_owned(), how, with)),
            None => Err(FilterError(format!(
                "{text}: the value to compare with is missing"
            ))),
        }
    }

    fn take(&mut self) -> Option<(String, bool)> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some((word.text.clone(), word.quoted))
    }

    fn how(&mut self) -> Option<Comparison> {
        let word = self.words.get(self.at).filter(|word| !word.quoted)?;
        let how = how_of(&word.text)?;
        self.at += 1;
        Some(how)
    }
}

fn how_of(word: &str) -> Option<Comparison> {
    Some(match word {
        "=" | "==" => Comparison::Is,
        "!=" => Comparison::IsNot,
        "~" => Comparison::Has,
        ">" => Comparison::Above,
        ">=" => Comparison::AtLeast,
        "<" => Comparison::Below,
        "<=" => Comparison::AtMost,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 3] = ["time", "user", "state"];

    fn shown(filter: &str, time: f64, user: &str) -> bool {
        let get = |name: &str| match name {
            "time" => Some(Value::Number(time)),
            "user" => Some(Value::Text(user)),
            _ => None,
        };
        let filter = Filter::parse(filter, &COLUMNS).unwrap();
        filter.holds(&get, &format!("{time} {user} Sending data"))
    }

    #[test]
    fn rows_are_chosen() {
        for (filter, wanted) in [
            ("time > 2 and user != monitor", [true, false, false]),
            ("time>2 or user=monitor", [true, true, false]),
            ("not (time >= 1)", [false, false, true]),
            ("! user = app", [false, true, false]),
            ("user ~ MON", [false, true, false]),
            ("sending", [true, true, true]),
            ("'sending data' and time < 1", [false, false, true]),
            ("time = 3", [true, true, false]),
            ("state != x", [true, true, true]),
            ("time > 0.002k", [true, true, false]),
        ] {
            let rows = [(3.0, "app"), (3.0, "monitor"), (0.5, "app")];
            let seen = rows.map(|(time, user)| shown(filter, time, user));
            assert_eq!(seen, wanted, "{filter}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (filter, wanted) in [
            ("", "something is missing"),
            ("time >", "the value to compare with"),
            ("cpu > 2", "no column `cpu`; here are time, user, state"),
            ("(time > 2", "`)` is missing"),
            ("time > 2 user = x", "missing before it"),
            ("> 2", "a column is missing"),
            ("'x", "a quote"),
        ] {
            let error = Filter::parse(filter, &COLUMNS).unwrap_err().to_string();
            assert!(error.contains(wanted), "{filter}: {error}");
        }
        let deep = "(".repeat(100) + "x";
        assert!(Filter::parse(&deep, &COLUMNS).is_err());
        assert!(Filter::parse(&"x".repeat(300), &COLUMNS).is_err());
    }
}
