//! What is enough at night.

use diagnosis::Verdict;
use model::Incident;

use super::page::{Page, Style, TextOptions};
use super::wrap;
use crate::content::brief;
use crate::document::terminal;
use crate::escape;

/// The five lines that are enough at night, since when it lasted, and what is absent; behind them where there is more:
/// words, and commands below them. No line is wider than the width.
pub fn brief_text(
    incident: &Incident,
    verdict: &Verdict,
    more: &[(String, String)],
    options: &TextOptions,
) -> String {
    let mut page = options.page();
    page.margin = 0;
    terminal::write_parts(&mut page, &brief::parts(incident, verdict));
    if !more.is_empty() {
        page.blank();
    }
    write_more(&mut page, more);
    page.finish()
}

/// All in one line where that has room for it, else a line each, or two.
fn write_more(page: &mut Page, more: &[(String, String)]) {
    let mut pieces: Vec<(String, Style)> = Vec::new();
    for (words, command) in more {
        for (text, style) in [(words, Style::Dim), (command, Style::Mark)] {
            if text.is_empty() {
                continue;
            }
            if !pieces.is_empty() {
                pieces.push((" ".to_owned(), Style::Plain));
            }
            pieces.push((escape::terminal(text), style));
        }
    }
    let columns: usize = pieces.iter().map(|(text, _)| wrap::columns(text)).sum();
    if columns <= page.width() {
        let pieces: Vec<(&str, Style)> = pieces
            .iter()
            .map(|(text, style)| (text.as_str(), *style))
            .collect();
        page.raw(&pieces);
        return;
    }
    for (words, command) in more {
        let (text, shown) = (escape::terminal(words), escape::terminal(command));
        if wrap::columns(&text) + 1 + wrap::columns(&shown) <= page.width() {
            page.raw(&[
                (&text, Style::Dim),
                (" ", Style::Plain),
                (&shown, Style::Mark),
            ]);
            continue;
        }
        page.paragraph(0, words, Style::Dim);
        page.command(2, command);
    }
}

/// What users felt, in one sentence.
pub fn client_impact(incident: &Incident) -> String {
    brief::client_impact(incident)
}

/// The finding that comes first with its level, in a few words; nothing where no cause was found.
pub fn first_finding(verdict: &Verdict) -> Option<String> {
    brief::found(verdict).map(brief::titled)
}
