//! Lines of the kernel's log and of InnoDB, word by word, after the forms of names.
//!
//! What they say is made of some thousand words, of numbers, and of names of functions, devices, drivers and files of
//! sources, which have signs and digits between words. What has another word in it becomes `?`, as in a server's log: it is
//! no name that could be followed. A function of which an offset is told stays, whatever it is called.

use super::paths::{self, is_number, is_version};
use super::pseudonyms::{Pseudonyms, is_pseudonym};
use super::{variables, well_known};

/// Stands for what is not known.
const GONE: &str = "?";

/// Behind the name of a function stands where in it.
const OFFSET: &str = "+0x";

/// The text without words that neither kernels nor servers have. `also` are parts of words that stay where the text stands.
pub(super) fn known_only(
    pseudonyms: &Pseudonyms<'_>,
    text: &str,
    also: fn(&str) -> bool,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_piece = is_of_piece(first);
        let end = rest.find(|c| is_of_piece(c) != is_piece);
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
        match is_piece && !is_known(pseudonyms, word, also) {
            true => out.push_str(&piece.replacen(word, GONE, 1)),
            false => out.push_str(piece),
        }
    }
    out
}

/// What stands in names of functions, files and devices, and in numbers.
fn is_of_piece(c: char) -> bool {
    c.is_alphanumeric() || "_/.+:-@#$".contains(c)
}

/// Whether a word may stay: it is a number, a version, or all its parts between signs are known.
fn is_known(pseudonyms: &Pseudonyms<'_>, word: &str, also: fn(&str) -> bool) -> bool {
    if is_number(word) || is_version(word) {
        return true;
    }
    // In front of an offset stands a name of the kernel's.
    let named = match word.split_once(OFFSET) {
        Some((head, _)) => head.rfind(|c: char| !(c.is_alphanumeric() || "_.".contains(c))),
        None => Some(word.len()),
    };
    let judged = word.get(..named.unwrap_or(0)).unwrap_or_default();
    // What stands for a name has a sign of its own.
    let parts = judged.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let nexts = parts.clone().skip(1).chain([""]);
    parts.zip(nexts).all(|(part, next)| {
        let lower = part.to_lowercase();
        is_pseudonym(&lower)
            || also(part)
            || well_known::INNODB_NAMES.contains(&lower.as_str())
            || (paths::is_source(next) && server_text::innodb::is_source(part))
            || part.split('_').all(|part| is_known_part(pseudonyms, part))
    })
}

/// A part without signs: a number, an address, or all its runs of letters are known.
fn is_known_part(pseudonyms: &Pseudonyms<'_>, part: &str) -> bool {
    pseudonyms.is_own(part) || server_text::is_kernel_part(part, |run| is_word(pseudonyms, run))
}

fn is_word(pseudonyms: &Pseudonyms<'_>, run: &str) -> bool {
    let lower = run.to_lowercase();
    let lower = lower.as_str();
    server_text::is_kernel_word(run)
        || variables::is_kernels(lower)
        || well_known::PROGRAMS.contains(&lower)
        || pseudonyms.is_own(lower)
}
