//! An incident and its verdict for readers: [`text`] for a terminal, [`json`] for programs,
//! [`html`] as one page that needs nothing else. No I/O; what was recorded is outside text and
//! is escaped in all three.

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
mod flame_half;
mod flame_tree;
mod html;
mod json;
mod markup;
mod pick;
mod standard;
mod steps;
mod strip;
#[cfg(test)]
mod testing;
mod text;
mod units;
mod when;
pub mod words;

pub use compare_json::compare_json;
pub use document::terminal::document_text;
pub use document::{Bar, BarGroup, BarUnit, Bars, Document, Interval, Part, Section, Tone};
pub use html::{
    HtmlOptions, compare_html, document_html, html, pair_html, profile_diff_page, profile_page,
    queries_diff_page, queries_page, served,
};
pub use json::json;
pub use text::brief::{brief_text, felt, first_finding};
pub use text::compare::compare_text;
pub use text::page::TextOptions;
pub use text::text;
pub use when::duration;
