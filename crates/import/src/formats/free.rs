//! `free`: the host's memory. Which unit it prints is told by `-h` only, and else by what hosts have.

use model::{Reading, Unit};

use crate::columns::{Head, number};
use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "free",
    group: Group::Host,
    name: "free output",
    printed_by: "free, in any language",
    content: "memory and swap",
    recognisers: &[Recogniser::new(360, "", 0, |at| {
        !at.has(sign::DIGIT) && !at.has(sign::COLON) && is_free_header(at.text, at.next)
    })],
    continues: |_, next| {
        ["Mem:", "Swap:", "-/+ "]
            .iter()
            .any(|start| next.text.starts_with(start))
            || (next.own.is_none() && free_row(next.text).is_some())
    },
    preference: 14,
    read,
    ..Format::NONE
};

/// `total used free shared buff/cache available`; in other languages six words above a row of as many numbers with a
/// name, and a row of three.
fn is_free_header(text: &str, next: &[&str]) -> bool {
    is_english_free(text)
        || (is_words(text)
            && next
                .first()
                .and_then(|row| free_row(row.trim()))
                .is_some_and(|(_, values)| values.len() == text.split_whitespace().count())
            && next
                .iter()
                .skip(1)
                .take(2)
                .filter_map(|row| free_row(row.trim()))
                .any(|(_, values)| values.len() == 3))
}

fn is_english_free(text: &str) -> bool {
    text.starts_with("total ") && text.contains(" used ") && text.contains(" free")
}

/// The names of columns in any language.
fn is_words(text: &str) -> bool {
    text.len() < 150
        && text.split_whitespace().count() >= 4
        && !text.contains(|c: char| c.is_ascii_digit() || c == ':')
}

/// A row of `free`: `Mem:  16384 1 8192 1 1 8192`, with the name in the word of each language.
fn free_row(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.split_once(':')?;
    let is_name = (1..=24).contains(&name.len()) && name.starts_with(char::is_alphabetic);
    let values: Vec<&str> = rest.split_whitespace().collect();
    let is_value = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    (is_name && (3..=7).contains(&values.len()) && values.iter().all(is_value))
        .then_some((name, values))
}

/// The columns of `free`, in the order that all languages have.
const FREE: [&str; 6] = ["total", "used", "free", "shared", "buff/cache", "available"];

/// `free`: the host's memory. Which unit it prints is told by `-h` only, and else by what hosts have.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut head = Head::default();
    // Of another language: the rows are told by their place.
    let mut next_row = None;
    let mut prints: u64 = 0;
    let mut unit = None;
    for line in lines {
        let text = line.trimmed();
        if is_english_free(text) {
            head = Head::parse(text);
            next_row = None;
            continue;
        }
        if is_words(text) {
            head.0 = FREE.into();
            next_row = Some("Mem");
            continue;
        }
        let Some((kind, values)) = free_row(text) else {
            continue;
        };
        let kind = next_row.replace("Swap").unwrap_or(kind);
        let value = |name: &str| head.cell(&values, &[name]);
        if kind == "Mem" {
            unit = value("total").map(unit_of);
        }
        let unit = unit.unwrap_or(1024.0);
        let names: &[(&str, &str)] = match kind {
            "Mem" => &[
                ("total", "meminfo.MemTotal"),
                ("free", "meminfo.MemFree"),
                ("available", "meminfo.MemAvailable"),
            ],
            "Swap" => &[("total", "meminfo.SwapTotal"), ("free", "meminfo.SwapFree")],
            _ => continue,
        };
        let readings: Vec<Reading> = names
            .iter()
            .filter_map(|(column, name)| {
                let bytes = bytes_of(value(column)?, unit)?;
                Some(Reading::gauge(*name, Unit::Bytes, bytes))
            })
            .collect();
        if kind == "Mem" {
            prints += 1;
            if let Some(total) = readings.first() {
                read.brought = format!("{:.1} GiB of memory", total.value / 1_073_741_824.0);
            }
        }
        let after = prints.saturating_sub(1) * 1000;
        read.push("meminfo", None, after, readings);
    }
    read
}

/// Bytes of one of the units in which the total is printed: hosts of databases have from 512 MiB to
/// 8 TiB.
fn unit_of(total: &str) -> f64 {
    match total.parse::<f64>() {
        Ok(total) if total >= 8e9 => 1.0,
        Ok(total) if total >= 2e6 => 1024.0,
        Ok(total) if total >= 500.0 => 1_048_576.0,
        _ => 1_073_741_824.0,
    }
}

/// `15Gi`, `512Mi`, `1.5G`, `1024`.
fn bytes_of(text: &str, unit: f64) -> Option<f64> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
    let value = number(text.strip_suffix(letters)?)?;
    let factor = match letters.chars().next() {
        None => unit,
        Some('B') => 1.0,
        Some('K' | 'k') => 1024.0,
        Some('M') => 1_048_576.0,
        Some('G') => 1_073_741_824.0,
        Some('T') => 1_099_511_627_776.0,
        Some(_) => return None,
    };
    Some(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn free_in_any_unit() {
        let text = |row: &str| {
            format!(
                "               total        used        free      shared  buff/cache   available\nMem:  {row}\nSwap: 0 0 0\n"
            )
        };
        for row in [
            "16777216 1 8388608 1 1 8388608",
            "16384 1 8192 1 1 8192",
            "17179869184 1 8589934592 1 1 8589934592",
            "16Gi 1Gi 8Gi 1Mi 1Gi 8192Mi",
        ] {
            let read = read(&clean::lines(&text(row)));
            assert_eq!(
                read.points("meminfo.MemTotal")[0].1,
                17_179_869_184.0,
                "{row}"
            );
            assert_eq!(
                read.points("meminfo.MemAvailable")[0].1,
                8_589_934_592.0,
                "{row}"
            );
        }
    }
}
