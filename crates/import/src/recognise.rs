//! Which format a line is of, by its own words.

use std::sync::LazyLock;

use crate::format::{Candidate, Format, Recogniser};
use crate::formats::FORMATS;
use model::OrderBy;

type Entry = (Recogniser, &'static Format);

/// For each first byte of a line those that look at it, in order.
static BY_FIRST: LazyLock<Vec<Vec<Entry>>> = LazyLock::new(|| {
    let all = in_order();
    let of_byte = |byte: u8| {
        let first =
            |entry: &&Entry| entry.0.first.is_empty() || entry.0.first.as_bytes().contains(&byte);
        all.iter().filter(first).copied().collect()
    };
    (0..=u8::MAX).map(of_byte).collect()
});

fn in_order() -> Vec<Entry> {
    let of_format = |format: &&'static Format| {
        let format = *format;
        format.recognisers.iter().map(move |one| (*one, format))
    };
    let mut all: Vec<Entry> = FORMATS.iter().flat_map(of_format).collect();
    all.order_by_key(|(recogniser, _)| recogniser.rank);
    all
}

/// What the line is by itself, `text` without the blanks around it; `next` are the lines behind it.
pub(crate) fn recognise_line(line: &str, text: &str, next: &[&str]) -> Option<&'static Format> {
    let first = text.as_bytes().first()?;
    let candidate = Candidate::new(line, text, next);
    let mut looking = BY_FIRST.get(usize::from(*first))?.iter();
    looking
        .find(|(one, _)| candidate.has(one.signs) && (one.is)(&candidate))
        .map(|(_, format)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a line would be if nothing told beforehand what need not be looked at.
    fn by_all(all: &[Entry], line: &str, next: &[&str]) -> Option<&'static Format> {
        let candidate = Candidate::new(line, line.trim(), next);
        all.iter()
            .find(|(one, _)| !candidate.text.is_empty() && (one.is)(&candidate))
            .map(|(_, format)| *format)
    }

    fn is_same(text: &str, name: &str) {
        let all = in_order();
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let next = &lines[index + 1..(index + 9).min(lines.len())];
            let by_first = recognise_line(line, line.trim(), next);
            // Prompts and rules above a listing, which only the lines behind make its head.
            if line.starts_with("$ ") || line.starts_with("--") {
                continue;
            }
            assert_eq!(by_first, by_all(&all, line, next), "{name}: {line}");
        }
    }

    #[test]
    fn no_two_have_the_same_rank() {
        let all = in_order();
        let mut pairs = all.iter().zip(all.iter().skip(1));
        let same = pairs.find(|((one, _), (next, _))| one.rank == next.rank);
        assert!(
            same.is_none(),
            "{:?}",
            same.map(|(one, next)| (one.1, next.1))
        );
    }

    #[test]
    fn what_is_not_looked_at_is_none() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
        let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures");
        let mut left = vec![std::path::PathBuf::from(here), captures.into()];
        let mut files = 0;
        while let Some(path) = left.pop() {
            match std::fs::read_dir(&path) {
                Ok(entries) => left.extend(entries.map(|entry| entry.unwrap().path())),
                Err(_) => {
                    let Ok(bytes) = std::fs::read(&path) else {
                        continue;
                    };
                    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]);
                    is_same(&text, &path.display().to_string());
                    files += 1;
                }
            }
        }
        assert!(files > 10, "{files} files");
    }
}
