//! Text with marked places.

use std::fmt::Display;

use super::Stack;
use crate::html::unfolds;
use crate::line_breaks;
use crate::markup::{Markup, markup};
use crate::steps;

/// Text with marked places: a page marks them, a terminal shows the text.
#[derive(Debug, Clone, Default)]
pub struct Prose(Vec<Span>);

#[derive(Debug, Clone)]
enum Span {
    Plain(String),
    Strong(String),
    Code(String),
    /// To the element of a page that has this id.
    Link(String, String),
    /// A path of calls, which unfolds on a page to the whole stack.
    Path(String, Stack),
    TerminalOnly(String),
    PageOnly(Markup),
}

impl<T: Into<String>> From<T> for Prose {
    fn from(text: T) -> Self {
        Self(vec![Span::Plain(text.into())])
    }
}

impl Prose {
    fn with(mut self, span: Span) -> Self {
        self.0.push(span);
        self
    }

    /// Text in which what stands between backticks is code; a terminal has the backticks.
    pub(crate) fn with_code(text: &str) -> Self {
        let spans = steps::spans(text).into_iter();
        spans.fold(Self::default(), |out, (code, part)| match code {
            true => out.terminal("`").code(part).terminal("`"),
            false => out.text(part),
        })
    }

    /// More text.
    pub(crate) fn text(self, text: impl Display) -> Self {
        self.with(Span::Plain(text.to_string()))
    }

    /// What matters in it.
    pub(crate) fn strong(self, text: impl Display) -> Self {
        self.with(Span::Strong(text.to_string()))
    }

    /// A name that a machine knows.
    pub(crate) fn code(self, text: impl Display) -> Self {
        self.with(Span::Code(text.to_string()))
    }

    /// A link to the element of the page that has this id; text on a terminal.
    pub(crate) fn link(self, id: String, text: impl Display) -> Self {
        self.with(Span::Link(id, text.to_string()))
    }

    /// A path of calls, which unfolds on a page to the whole stack.
    pub(crate) fn path(self, text: String, stack: Stack) -> Self {
        self.with(Span::Path(text, stack))
    }

    /// What a terminal alone shows.
    pub(crate) fn terminal(self, text: impl Display) -> Self {
        self.with(Span::TerminalOnly(text.to_string()))
    }

    /// What a page alone shows.
    pub(crate) fn page(self, markup: Markup) -> Self {
        self.with(Span::PageOnly(markup))
    }

    /// Another text behind this one.
    pub(crate) fn then(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a terminal has it, not escaped yet.
    pub(crate) fn plain(&self) -> String {
        self.0
            .iter()
            .map(|span| match span {
                Span::Plain(text)
                | Span::Strong(text)
                | Span::Code(text)
                | Span::Link(_, text)
                | Span::Path(text, _)
                | Span::TerminalOnly(text) => text.as_str(),
                Span::PageOnly(_) => "",
            })
            .collect()
    }

    /// As a page has it, each of its texts at most about so many bytes long.
    pub(crate) fn markup(&self, bytes_max: usize) -> Markup {
        let cut = |text: &String| Markup::cut(text, bytes_max);
        let words = |text: &String| line_breaks::text(text, bytes_max);
        self.0
            .iter()
            .map(|span| match span {
                Span::Plain(text) => words(text),
                Span::Strong(text) => markup!("<b>{}</b>", words(text)),
                Span::Code(text) => {
                    markup!("<code>{}</code>", line_breaks::command(text, bytes_max))
                }
                Span::Link(id, text) => markup!("<a href=\"#{}\">{}</a>", id, cut(text)),
                Span::Path(text, stack) => unfolds(cut(text), stack),
                Span::PageOnly(markup) => markup.clone(),
                Span::TerminalOnly(_) => Markup::new(),
            })
            .collect()
    }
}
