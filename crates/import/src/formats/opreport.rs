//! oprofile's `opreport`.

use crate::format::{Format, Gap, Group, Recogniser};
use crate::formats::pt_pmp;
use crate::read::listing;

pub(crate) static FORMAT: Format = Format {
    id: "opreport",
    group: Group::Stacks,
    name: "opreport listing",
    printed_by: "oprofile",
    content: "samples by function",
    recognisers: &[Recogniser::new(70, "sC", 0, |at| {
        is_opreport_header(at.text)
    })],
    // A row may look like one of pt-pmp.
    continues: |_, next| !next.text.is_empty() && next.own.is_none_or(|own| *own == pt_pmp::FORMAT),
    gap: Gap::Lines(4),
    read: listing::opreport,
    ..Format::NONE
};

fn is_opreport_header(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("samples") && words.any(|word| word == "%") && text.contains("symbol name")
        || (text.starts_with("CPU: ") && text.contains("speed"))
        || (text.starts_with("Counted ") && text.contains(" events"))
}
