//! What a client program prints when it was called in a way that it does not know. Its words are those of options
//! (`Use compression in server/client protocol`), and nobody says them of the server.

use crate::format::{Format, Gap, Group, Next, Recogniser, sign};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "usage",
    group: Group::Server,
    name: "help text of a program",
    printed_by: "`mysqladmin`, `mysql` and other clients that were called in a wrong way, as pt-stalk keeps it",
    content: "",
    recognisers: &[Recogniser::new(125, "Uu", sign::BRACKET, |at| {
        let text = at.text.to_ascii_lowercase();
        text.starts_with("usage: ") && text.contains("[options]")
    })],
    continues: |_, next| is_part(next),
    gap: Gap::Lines(3),
    is_inventory: true,
    read,
    ..Format::NONE
};

/// Lines between the lists of options and of their values (mysys/my_getopt.c, my_default.c).
const HEADS: [&str; 7] = [
    "default options are read",
    "the following ",
    "variables (--",
    "and boolean options",
    "where command is",
    "/etc/my",
    "---",
];

fn is_part(next: &Next<'_>) -> bool {
    let text = next.text.to_ascii_lowercase();
    if text.starts_with("--") || HEADS.iter().any(|head| text.starts_with(head)) {
        return true;
    }
    let is_option = |text: &str| {
        let mut letters = text.strip_prefix('-').unwrap_or_default().chars();
        letters
            .next()
            .is_some_and(|c| c.is_alphabetic() || "#?".contains(c))
            && letters.next() == Some(',')
    };
    let is_indented = next.line.starts_with([' ', '\t']);
    if is_indented && (is_option(&text) || next.own.is_none()) {
        return true;
    }
    // `connect-timeout      43200`
    let name = text.split(' ').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_name && text[name.len()..].starts_with("  ")
}

fn read(_: &[Line<'_>]) -> Read {
    Read {
        skipped: vec![(
            0,
            "help text of a program, nothing that the server did".into(),
        )],
        ..Read::default()
    }
}
