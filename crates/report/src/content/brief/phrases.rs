//! Numbers, times and names as somebody needs them who was woken up.

use crate::text::wrap::columns;
use crate::time_format;
use crate::units;

/// Things, or things a second: no more digits than matter.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => units::grouped(value.round() as i64),
        size if size >= 0.95 => {
            let text = format!("{value:.1}");
            text.trim_end_matches(".0").to_owned()
        }
        size if size > 0.0 => "less than 1".to_owned(),
        _ => "0".to_owned(),
    }
}

/// How often a second: an average, so that of thousands only the first digits say something.
pub(super) fn rate(value: f64) -> String {
    match value.abs() >= 1000.0 {
        true => units::rounded(value),
        false => number(value),
    }
}

/// A text whose numbers have no more digits than matter: `7.19/s` is `7.2/s`, `25.4 sessions` are `25 sessions`,
/// `0.0435 before` is `less than 0.1 before`.
pub(super) fn coarse(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let nexts = words.iter().skip(1).copied().chain([""]);
    words
        .iter()
        .zip(nexts)
        .map(|(word, next)| coarse_word(word, next))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether a number, with these letters behind it and this word next, is an amount of something; it may be a setting else,
/// or a time, of which a small part matters.
fn is_amount(tail: &str, next: &str) -> bool {
    let next = next.trim_end_matches([',', '.', ';', ':', ')']);
    tail.starts_with("/s") || matches!(next, "before" | "afterwards" | "%")
}

fn coarse_word(word: &str, next: &str) -> String {
    let begin = word
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(word.len());
    let (head, rest) = word.split_at(begin);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, tail) = rest.split_at(end.unwrap_or(rest.len()));
    let stop = if digits.ends_with('.') { "." } else { "" };
    let digits = digits.trim_end_matches('.');
    // No release, no address, no part of a name.
    let is_number = digits.matches('.').count() == 1
        && head.chars().all(|c| c == '(' || c == '-')
        && tail
            .chars()
            .all(|c| matches!(c, ')' | ',' | ';' | ':' | '/' | 's' | '%' | '.'));
    match digits.parse::<f64>() {
        Ok(value) if is_number && value >= 0.095 => {
            let shown = match value {
                // Nearly all is not all.
                value if value > 99.0 && value < 100.0 => format!("{value:.1}"),
                value if value >= 9.95 => units::grouped(value.round() as i64),
                value => format!("{value:.1}").trim_end_matches(".0").to_owned(),
            };
            format!("{head}{shown}{stop}{tail}")
        }
        Ok(value) if is_number && value > 0.0 && is_amount(tail, next) => {
            format!("{head}less than 0.1{stop}{tail}")
        }
        _ => word.to_owned(),
    }
}

/// A time: `140 ms`, `1.2 s`, `7 h 11 min`.
pub(crate) fn span(seconds: f64) -> String {
    let ms = (seconds * 1000.0).max(0.0);
    match ms {
        // Most ages are whole seconds.
        ms if ms >= 999.5 => time_format::duration(ms.round() as u64).replace(".0 s", " s"),
        ms if ms >= 1.0 => format!("{ms:.0} ms"),
        _ => "less than 1 ms".to_owned(),
    }
}

/// A text with a capital at its begin.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase());
    first.into_iter().flatten().chain(chars).collect()
}

/// A text that ends as a sentence does.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches([';', ',', ':']);
    match text.ends_with(['.', '!', '?', '…']) {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

/// Whether a text has none of what only somebody reads who knows the insides: patterns, signals, functions of a
/// program with their scope, formulas.
pub(super) fn is_plain(text: &str) -> bool {
    text.split_whitespace().all(|word| {
        let word = word.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | ':' | '(' | ')'));
        let has_odd =
            word.contains(['*', '\\', '^', '|', '{', '}', '[', '&']) || word.contains("::");
        let is_signal = word.contains('.') && model::area_of(word).is_some();
        !has_odd && !is_signal
    })
}

/// Whether it has names of the server's own source in it, which have an underscore.
pub(super) fn has_names(text: &str) -> bool {
    text.contains('_')
}

/// The begin of a text up to the end of a clause, where all of it is longer than `length`; nothing is cut within one, and
/// no command is taken from those that belong together.
pub(super) fn clause(text: &str, length: usize) -> &str {
    if columns(text) <= length {
        return text;
    }
    let mut ends: Vec<usize> = Vec::new();
    let mut depth = 0_i32;
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            // No apostrophe of a word.
            '\'' if is_quoted
                || text
                    .get(..at)
                    .is_some_and(|head| head.ends_with([' ', '('])) =>
            {
                is_quoted = !is_quoted;
            }
            _ => {}
        }
        let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
        if matches!(c, '.' | ';') && depth <= 0 && !is_quoted && rest.starts_with(' ') {
            let next = rest.trim_start();
            let word = next.split(' ').next().unwrap_or_default();
            let is_command = word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
            if !is_command {
                ends.push(at);
            }
        }
    }
    let fits = |end: &&usize| text.get(..**end).is_some_and(|it| columns(it) <= length);
    let last = ends.iter().rev().find(fits).or(ends.first());
    last.and_then(|end| text.get(..*end)).unwrap_or(text)
}

/// A step that is too long for a line or two: without its last remark, else to the end of a clause.
pub(super) fn shortened(step: &str, length: usize) -> &str {
    if columns(step) <= length {
        return step;
    }
    let bare = step.ends_with(')').then(|| step.rfind(" (")).flatten();
    let bare = bare.and_then(|at| step.get(..at)).unwrap_or(step);
    clause(bare, length)
}

/// A sentence of at most about so many characters: to the end of a clause, else to the end of a word.
pub(crate) fn quoted(text: &str, length: usize) -> String {
    let text = clause(text.trim(), length);
    if columns(text) <= length {
        return sentence(text);
    }
    let mut out = String::new();
    for word in text.split(' ') {
        if columns(&out) + columns(word) >= length {
            break;
        }
        out.push_str(word);
        out.push(' ');
    }
    format!("{}…", out.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        for (value, words) in [
            (0.0, "0"),
            (0.2, "less than 1"),
            (3.0, "3"),
            (4.26, "4.3"),
            (61.8, "62"),
            (1083.4, "1,083"),
        ] {
            assert_eq!(number(value), words);
        }
        for (value, words) in [(61.8, "62"), (999.8, "1,000"), (4_805.3, "4,810")] {
            assert_eq!(rate(value), words);
        }
        for (seconds, words) in [
            (0.0004, "less than 1 ms"),
            (0.0184, "18 ms"),
            (0.9996, "1 s"),
            (25_904.0, "7 h 11 min"),
        ] {
            assert_eq!(span(seconds), words);
        }
    }

    #[test]
    fn numbers_in_a_text_lose_the_digits_that_nobody_needs() {
        for (text, shown) in [
            (
                "stopped at 7.19/s, 0.111/s before.",
                "stopped at 7.2/s, 0.1/s before.",
            ),
            (
                "25.4 sessions (5.02 k), 83.2 % of 99.64 % of it",
                "25 sessions (5 k), 83 % of 99.6 % of it",
            ),
            (
                "3.6 threads waited, 0.0435 before; 0.005 %, 0.02/s, 0.03 ms, x is 0.04",
                "3.6 threads waited, less than 0.1 before; less than 0.1 %, less than 0.1/s, 0.03 ms, x is 0.04",
            ),
            (
                "MySQL 8.0.28 at 10.0.0.7 in 0.004 s, v1.25, 12",
                "MySQL 8.0.28 at 10.0.0.7 in 0.004 s, v1.25, 12",
            ),
        ] {
            assert_eq!(coarse(text), shown);
        }
    }

    #[test]
    fn what_only_insiders_read_is_not_plain() {
        for text in [
            "4 sessions at a time waited for a metadata lock",
            "the file system at /tmp/.x/data was 100 % full",
            "innodb_spin_wait_delay is 6",
            "a statement took 1.5 s on average, against 2 ms before the onset",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "5 threads waited below btr_search_*",
            "cpu.max is 10000 100000 (microseconds in each period)",
            "87 % of the samples were in Query_cache::lock",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_between_its_clauses() {
        let risk = "A killed session loses its locks; the rollback takes time. More is not said.";
        assert_eq!(clause(risk, 40), "A killed session loses its locks");
        assert_eq!(
            clause(risk, 60),
            "A killed session loses its locks; the rollback takes time"
        );
        assert_eq!(clause(risk, 10), "A killed session loses its locks");
        assert_eq!(clause("short", 40), "short");
        assert_eq!(clause("no end in it at all", 5), "no end in it at all");
        let both = "raise both: SET GLOBAL x = 1; SET GLOBAL y = 1; it is measured";
        assert_eq!(
            clause(both, 40),
            "raise both: SET GLOBAL x = 1; SET GLOBAL y = 1"
        );
        assert_eq!(quoted("no end in it at all", 10), "no end in…");
    }
}
