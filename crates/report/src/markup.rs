//! Markup of a page, as a type: a [`Markup`] is safe to stand in a page, a `String` is not.
//!
//! A `Markup` is made by [`markup!`] from a literal whose arguments are escaped, from a text that is
//! escaped, or of other `Markup`. There is no way from a `String` to a `Markup` that does not escape, so
//! a missed escape is a type error, and so is one too many.

use std::fmt;
use std::ops::AddAssign;

use model::{is_deceptive, push_visible};
use serde::Serialize;

/// Bytes of markup of a text in a table's cell at the most, about: outside text may be anything.
const CELL_BYTES_MAX: usize = 1_500;

/// A piece of a page: balanced or not, but nothing in it is text that was taken for a tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self(String::new())
    }

    /// What the source code says: a tag, a script, a style.
    pub(crate) fn literal(markup: &'static str) -> Self {
        Self(markup.to_owned())
    }

    /// A text, cut so that its markup has at most about `bytes_max` bytes; a cut is shown by "…".
    pub(crate) fn cut(text: &str, bytes_max: usize) -> Self {
        Self(escaped(text, bytes_max))
    }

    /// A value as JSON between `<script type="application/json">` and `</script>`: a string is the only
    /// place where a "<" can stand, and JSON reads the escape back.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        let json = serde_json::to_string(value).unwrap_or_default();
        Self(json.replace('<', "\\u003c"))
    }

    /// The pieces with a literal between them.
    pub(crate) fn join(pieces: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let pieces: Vec<String> = pieces.into_iter().map(|piece| piece.0).collect();
        Self(pieces.join(between))
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The finished page.
    pub(crate) fn into_string(self) -> String {
        self.0
    }

    /// For [`markup!`] alone: the format is a literal and every argument a [`Shown`].
    #[doc(hidden)]
    pub(crate) fn from_shown(arguments: fmt::Arguments<'_>) -> Self {
        Self(arguments.to_string())
    }
}

impl AddAssign for Markup {
    fn add_assign(&mut self, more: Self) {
        self.0.push_str(&more.0);
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Markup>>(pieces: I) -> Self {
        Self::join(pieces, "")
    }
}

/// What may stand in markup: text escaped, markup and numbers as they are.
pub(crate) trait Show {
    /// Writes it as markup.
    fn show(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// It as a table's cell: a long text is cut.
    fn cell(&self) -> Markup {
        Markup(Shown(self).to_string())
    }
}

impl Show for str {
    fn show(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&escaped(self, usize::MAX))
    }

    fn cell(&self) -> Markup {
        Markup::cut(self, CELL_BYTES_MAX)
    }
}

impl Show for String {
    fn show(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().show(formatter)
    }

    fn cell(&self) -> Markup {
        self.as_str().cell()
    }
}

impl Show for Markup {
    fn show(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<T: Show + ?Sized> Show for &T {
    fn show(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).show(formatter)
    }

    fn cell(&self) -> Markup {
        (**self).cell()
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Show for $number {
            fn show(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, formatter)
            }
        })*
    };
}
numbers!(char f64 i32 i64 u32 u64 usize);

/// Escapes text for HTML content and for quoted attributes, cut so that the result has at most about
/// `bytes_max` bytes; a cut is shown by "…".
///
/// Line ends and tabs stay; other control characters and the ones that reorder or hide text
/// become visible.
fn escaped(text: &str, bytes_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(bytes_max));
    for character in text.chars() {
        if out.len() >= bytes_max {
            out.push('…');
            break;
        }
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            _ if is_deceptive(character) => push_visible(&mut out, character),
            _ => out.push(character),
        }
    }
    out
}

/// An argument of [`markup!`].
pub(crate) struct Shown<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Show + ?Sized> fmt::Display for Shown<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(formatter)
    }
}

/// `markup!("<p>{}</p>", text)`: as `format!`, but each argument is escaped that is not markup itself.
/// A name in braces alone (`{text}`) does not compile, it would pass by the escape: `..text` among the
/// arguments stands for `text = text`.
macro_rules! markup {
    ($format:literal $(, $($arguments:tt)*)?) => {
        $crate::markup::shown!([$format] [] $($($arguments)*)?)
    };
}

/// Wraps the arguments of [`markup!`] one after another.
macro_rules! shown {
    ([$format:literal] [$($done:tt)*]) => {
        // `concat!` keeps `format_args!` from capturing names.
        $crate::markup::Markup::from_shown(format_args!(concat!($format) $($done)*))
    };
    ([$format:literal] [$($done:tt)*] ..$name:ident $(, $($rest:tt)*)?) => {
        $crate::markup::shown!(
            [$format] [$($done)*, $name = $crate::markup::Shown(&$name)] $($($rest)*)?
        )
    };
    ([$format:literal] [$($done:tt)*] $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::markup::shown!(
            [$format] [$($done)*, $name = $crate::markup::Shown(&$value)] $($($rest)*)?
        )
    };
    ([$format:literal] [$($done:tt)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::markup::shown!([$format] [$($done)*, $crate::markup::Shown(&$value)] $($($rest)*)?)
    };
}

/// The cells of a table's row.
macro_rules! row {
    ($($cell:expr),* $(,)?) => {
        vec![$($crate::markup::Show::cell(&$cell)),*]
    };
}

pub(crate) use {markup, row, shown};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_entities_and_visible_controls() {
        assert_eq!(
            escaped("<a href=\"x\">'&\u{1b}\n", usize::MAX),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\\x1b\n"
        );
        assert_eq!(escaped("a\u{202e}b", usize::MAX), "a\\u{202e}b");
        assert_eq!(escaped("<<<<", 6), "&lt;&lt;…");
    }

    #[test]
    fn text_is_escaped_and_markup_is_not() {
        let evil = String::from("<script>'\u{1b}");
        let bold = markup!("<b>{}</b>", evil);
        assert_eq!(
            markup!(
                "<p>{} {name} {width:.1}</p>",
                bold,
                name = "&",
                width = 1.25
            )
            .into_string(),
            "<p><b>&lt;script&gt;&#39;\\x1b</b> &amp; 1.2</p>"
        );
        let pieces = ["<", ">"].map(|text| markup!("{}", text));
        assert_eq!(Markup::join(pieces, "<br>").into_string(), "&lt;<br>&gt;");
    }

    #[test]
    fn cells_are_cut_and_data_cannot_end_a_script() {
        let cells: Vec<Markup> = row!["<".repeat(9_999), 5_u64];
        assert!(cells[0].len() < CELL_BYTES_MAX + 20);
        assert_eq!(cells[1].clone().into_string(), "5");
        let data = Markup::json(&"</script>").into_string();
        assert_eq!(data, "\"\\u003c/script>\"");
    }
}
