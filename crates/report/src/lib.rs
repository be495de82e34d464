//! An incident and its verdict for readers: [`text`] for a terminal, [`json`] for programs,
//! [`html`] as one page that needs nothing else. No I/O; what was recorded is outside text and
//! is escaped in all three.
//!
//! **One document.** What a report says is built once by `report/src/content`, as parts of a document
//! (`report/src/document`: paragraphs, lists, steps, tables, stacks, bars, blocks that unfold).
//! `document/terminal.rs` and `html/document.rs` render the parts and word nothing. What one medium alone has is
//! visible in the model: `Part::PageOnly`, `Prose::terminal`, `Column::page_only`, a limit of rows for each. The
//! order of sections, the head of a report and the drawings are each medium's own.
//!
//! **On paper** (`content/print_sheets`, `html/print_sheets`). The page of an incident ends with two sheets that a screen does not
//! show; in print, style shows them in place of all else, so no script is needed. First what it was, what users felt,
//! the pictures and what to do; then the signs of the first finding, who did it, what is absent, and where it is
//! from. Each thing has a bound, so that both fit. Nothing in them has an id or a link: what it would lead to is not
//! printed.

mod anchors;
mod axis;
mod chart;
mod compare_json;
mod content;
mod curve;
mod derived;
mod document;
mod escape;
pub mod evidence;
mod flame_part;
mod flame_side;
mod flame_tree;
pub mod format;
mod html;
mod json;
mod line_breaks;
mod markup;
mod pick;
pub mod plain_words;
mod standard;
mod steps;
mod strip;
#[cfg(test)]
mod testing;
mod text;
mod time_format;
mod units;

pub use compare_json::compare_json;
pub use document::terminal::document_text;
pub use document::{Bar, BarGroup, BarUnit, Bars, Document, Interval, Part, Section, Tone};
pub use html::{
    HtmlOptions, compare_html, document_html, html, pair_html, profile_diff_page, profile_page,
    queries_diff_page, queries_page, served,
};
pub use json::json;
pub use text::brief::{brief_text, client_impact, first_finding};
pub use text::compare::compare_text;
pub use text::page::TextOptions;
pub use text::text;
pub use time_format::duration;
