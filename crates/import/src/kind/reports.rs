//! Reports of tools that are known and not read: what they found in averages since the server's start, or by the
//! hour, tells of no stall.

/// MySQLTuner's first line, or a line of iotop.
pub(super) fn report_of(text: &str) -> Option<&'static str> {
    // Behind marks that look like those of quoted mail.
    let version = text
        .trim_start_matches(['>', ' '])
        .strip_prefix("MySQLTuner ");
    if version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())) {
        return Some("MySQLTuner report");
    }
    is_iotop(text).then_some("iotop output")
}

/// `Total DISK READ : …`, `TID PRIO USER DISK READ …`, `412 be/3 root 0.00 B/s 15.50 K/s 0.00 % 99.91 % [jbd2/sda1-8]`.
fn is_iotop(text: &str) -> bool {
    const HEADS: [&str; 3] = ["Total DISK READ", "Actual DISK READ", "TID  PRIO  USER"];
    if HEADS.iter().any(|head| text.starts_with(head)) {
        return true;
    }
    let mut words = text.split_whitespace();
    let is_thread = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
    let is_priority = words.next().is_some_and(|word| {
        let class = word.split('/').next().unwrap_or_default();
        ["be", "rt", "id", "idle"].contains(&class) && word.len() <= 5
    });
    is_thread
        && is_priority
        && ["B/s ", "K/s ", "M/s "]
            .iter()
            .any(|unit| text.contains(unit))
        && text.contains(" % ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_known_reports() {
        for (text, name) in [
            (
                "MySQLTuner 1.7.17 - Major Hayden <major@mhtx.net>",
                "MySQLTuner report",
            ),
            (">>  MySQLTuner 2.2.8", "MySQLTuner report"),
            (
                "Total DISK READ :       0.00 B/s | Total DISK WRITE :      21.11 M/s",
                "iotop output",
            ),
            (
                "412 be/3 root 0.00 B/s 15.50 K/s 0.00 % 99.91 % [jbd2/sda1-8]",
                "iotop output",
            ),
        ] {
            assert_eq!(report_of(text), Some(name), "{text}");
        }
        for text in [
            "MySQLTuner says so",
            "412 be careful at 5 m/s ",
            "12 idlers",
        ] {
            assert_eq!(report_of(text), None, "{text}");
        }
    }
}
