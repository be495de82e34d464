//! `/proc/PID/limits`.

use model::Fact;

use crate::format::{Format, Group, Recogniser};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "limits",
    group: Group::Host,
    name: "/proc/PID/limits",
    printed_by: "the kernel",
    content: "limits as settings",
    recognisers: &[Recogniser::new(230, "LM", 0, |at| is_limit(at.text))],
    continues: |_, next| next.text.starts_with("Max "),
    read,
    ..Format::NONE
};

/// `Max open files    1024    4096    files`.
fn is_limit(text: &str) -> bool {
    (text.starts_with("Limit ") && text.contains("Soft Limit"))
        || (text.starts_with("Max ") && {
            let words: Vec<&str> = text.split_whitespace().collect();
            let number = |word: &&str| **word == *"unlimited" || word.parse::<u64>().is_ok();
            words.len() >= 4 && words.iter().filter(|word| number(word)).count() == 2
        })
}

/// All limits of a process (proc(5), `/proc/pid/limits`).
const LIMITS: [&str; 16] = [
    "cpu time",
    "file size",
    "data size",
    "stack size",
    "core file size",
    "resident set",
    "processes",
    "open files",
    "locked memory",
    "address space",
    "file locks",
    "pending signals",
    "msgqueue size",
    "nice priority",
    "realtime priority",
    "realtime timeout",
];

fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        let Some((name, values)) = line
            .trimmed()
            .strip_prefix("Max ")
            .and_then(|rest| rest.split_once("  "))
        else {
            continue;
        };
        let soft = values.split_whitespace().next().unwrap_or_default();
        let name = name.trim();
        // A table of somebody's may have such a row.
        if !LIMITS.contains(&name) || (soft != "unlimited" && soft.parse::<u64>().is_err()) {
            continue;
        }
        let name = name.replace(' ', "_");
        read.facts.push(Fact::new(format!("limits.{name}"), soft));
    }
    read.brought = format!("{} limits", read.facts.len());
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn what_is_no_number_is_no_limit() {
        let read = read(&clean::lines(
            "Max orders  hunter2  10  20\nMax pin  4711  10\nMax processes  10  20  processes\n",
        ));
        assert_eq!(read.facts, [Fact::new("limits.processes", "10")]);
    }

    #[test]
    fn limits_are_facts() {
        let read = read(&clean::lines(
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024   4096   files\nMax core file size  unlimited  unlimited  bytes\n",
        ));
        assert_eq!(
            read.fact_list(),
            [
                ("limits.open_files", "1024"),
                ("limits.core_file_size", "unlimited")
            ]
        );
    }
}
