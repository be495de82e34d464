//! `/proc/PID/limits`, the kernel's log, and what keepers of containers say of their ends.

use model::{Fact, OwnText, Text};

use super::Read;
use crate::clean::Line;
use crate::moments::Moment;

/// Bytes of log lines that are kept of one piece.
const LOG_BYTES_MAX: usize = 256 << 10;

pub(super) fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        let Some((name, values)) = line
            .trimmed()
            .strip_prefix("Max ")
            .and_then(|rest| rest.split_once("  "))
        else {
            continue;
        };
        let Some(soft) = values.split_whitespace().next() else {
            continue;
        };
        let name = name.trim().replace(' ', "_");
        read.facts.push(Fact::new(format!("limits.{name}"), soft));
    }
    read.brought = format!("{} limits", read.facts.len());
    read
}

/// Lines as they stand there.
pub(super) fn kernel_log(lines: &[Line<'_>]) -> Read {
    let mut body = String::new();
    let mut kept = 0_usize;
    let mut read = Read::default();
    for line in lines.iter().filter(|line| !line.is_blank()) {
        if body.len() + line.text.len() > LOG_BYTES_MAX {
            read.skipped.push((
                line.number,
                format!("lines of the log over {LOG_BYTES_MAX} bytes").into(),
            ));
            break;
        }
        body.push_str(&line.text);
        body.push('\n');
        kept += 1;
    }
    read.brought = format!("{kept} lines");
    if kept > 0 {
        read.texts
            .push((Moment::default(), Text::own(OwnText::KernelLog, body)));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn limits_are_facts() {
        let read = read(&clean::lines(
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024   4096   files\nMax core file size  unlimited  unlimited  bytes\n",
        ));
        let facts: Vec<(&str, &str)> = read
            .facts
            .iter()
            .map(|fact| (fact.name.as_str(), fact.value.as_str()))
            .collect();
        assert_eq!(
            facts,
            [
                ("limits.open_files", "1024"),
                ("limits.core_file_size", "unlimited")
            ]
        );
    }
}
