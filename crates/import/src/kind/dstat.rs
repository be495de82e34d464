//! `dstat` and `dool`: groups of columns that bars part, and numbers with units.

use super::number;

/// The names of the columns, group by group: `usr sys idl wai hiq siq| read  writ|  in   out | int   csw`.
pub(crate) fn columns(text: &str) -> Option<Vec<Vec<&str>>> {
    if !text.contains("usr sys idl") {
        return None;
    }
    let groups = text.split('|');
    Some(
        groups
            .map(|group| group.split_whitespace().collect())
            .collect(),
    )
}

/// The line above the columns: `----total-cpu-usage---- -dsk/total- …`.
pub(super) fn is_title(text: &str) -> bool {
    text.starts_with("--") && text.contains("cpu-usage--")
}

/// A row: values parted by blanks, and bars between groups.
pub(crate) fn is_dstat_row(text: &str) -> bool {
    let is_time = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || b"-:".contains(&byte))
    };
    let mut words = text.split(['|', ' ']).filter(|word| !word.is_empty());
    text.contains('|')
        && text.starts_with(|c: char| c.is_ascii_digit())
        && words.all(|word| value(word).is_some() || is_time(word))
}

/// `14k`, `3.1M`, `120B`, `7`: decimal prefixes of 1000 stand for counts, of 1024 for bytes; the difference is not told.
pub(crate) fn value(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(['B', 'k', 'M', 'G']);
    let unit = match word.get(digits.len()..)? {
        "" | "B" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number(digits)? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_values() {
        assert_eq!(value("14k"), Some(14_000.0));
        assert_eq!(value("120B"), Some(120.0));
        assert_eq!(value("3.5M"), Some(3_500_000.0));
        for word in ["k", "1kk", "soon", ""] {
            assert_eq!(value(word), None, "{word}");
        }
        assert!(is_dstat_row("9   2  89   0   0   0|  14k  151k|   0     0"));
        assert!(is_dstat_row("23-11 10:11:12|  9   2  89|2133  3210"));
        for text in ["9 2 89", "| 9 | app |", "9|it was so|"] {
            assert!(!is_dstat_row(text), "{text}");
        }
    }
}
