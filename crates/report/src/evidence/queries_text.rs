//! A digest of statements as people read it: the layout of pt-query-digest, all of it without literals.

use model::{QueryClass, QueryDigest};

use super::queries_diff::{QueriesDiff, QueriesDiffOptions, side_words};
use crate::TextOptions;
use crate::content::{absences, queries};
use crate::document::{Section, terminal};
use crate::text::page::{Page, Style};

/// Columns of a line where the terminal does not tell: a statement needs some.
const WIDTH_USUAL: usize = 120;

/// How a digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueriesTextOptions {
    /// Width and colours.
    pub text: TextOptions,
    /// Classes have pt-query-digest's identities in the profile.
    pub compat_ids: bool,
}

/// A page for statements: parts begin at its first column.
pub(super) fn page(options: &TextOptions) -> Page {
    let width = match options.width {
        0 => WIDTH_USUAL,
        width => width.max(40),
    };
    let mut page = Page::new(width, options.color);
    page.margin = 0;
    page
}

/// The digest as text: all statements together, the profile of classes, then each class.
pub fn queries_text(
    digest: &QueryDigest,
    overall: Option<&QueryClass>,
    options: &QueriesTextOptions,
) -> String {
    let mut page = page(&options.text);
    for (index, line) in queries::head(digest).iter().enumerate() {
        let style = if index == 0 {
            Style::Bold
        } else {
            Style::Plain
        };
        page.paragraph(0, line, style);
    }
    if let Some(overall) = overall.filter(|overall| overall.count > 0) {
        page.blank();
        terminal::write_parts(&mut page, &queries::measures(&overall.measures, None));
    }
    if digest.count > 0 {
        let profile = vec![queries::profile(digest, options.compat_ids)];
        section(&mut page, "Profile", profile);
    }
    for class in queries::details(digest, overall) {
        page.blank();
        terminal::write_parts(&mut page, &[class]);
    }
    section(&mut page, "Not seen", absences::list(&digest.blind));
    section(&mut page, "Tried before", absences::list(&digest.tried));
    page.finish()
}

fn section(page: &mut Page, title: &str, parts: Vec<crate::document::Part>) {
    if let Some(section) = Section::from_parts(title, parts) {
        terminal::write_section(page, &section);
    }
}

/// The comparison as text, most changed first.
pub fn diff_text(diff: &QueriesDiff, options: &QueriesDiffOptions<'_>) -> String {
    let mut page = page(&options.text);
    for (name, mark, side) in [
        (options.names.0, "before  ", &diff.before),
        (options.names.1, "during  ", &diff.during),
    ] {
        let text = format!("{name}: {}", side_words(side));
        page.item(0, mark, &text, Style::Plain);
    }
    let changes = queries::changes(diff, options.limit);
    if let Some(section) = Section::from_parts("What changed", changes) {
        terminal::write_section(&mut page, &section);
    }
    page.finish()
}
