//! Why pt-stalk collected.

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "stalk_trigger",
    group: Group::Server,
    name: "pt-stalk trigger",
    printed_by: "pt-stalk",
    content: "why it collected",
    recognisers: &[Recogniser::new(120, "", sign::EQUAL, |at| {
        at.text.contains(" pt-stalk ran with --") || at.text.contains(" Check results: ")
    })],
    read,
    ..Format::NONE
};

/// Why pt-stalk collected: `Check results: status(Threads_running)=30, matched=yes, cycles_true=5`.
fn read(lines: &[Line<'_>]) -> Read {
    const WORDS_MAX: usize = 200;
    let mut read = Read::default();
    for line in lines {
        let Some((_, check)) = line.trimmed().split_once(" Check results: ") else {
            continue;
        };
        let check: String = check.chars().take(WORDS_MAX).collect();
        read.brought.clone_from(&check);
        read.trigger = Some(format!("pt-stalk: {check}"));
    }
    if read.trigger.is_none() {
        read.skipped
            .push((0, "pt-stalk collected at once, without a trigger".into()));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn what_made_pt_stalk_collect() {
        let read = read(&clean::lines(
            "2026_11_21_12_55_42 Check results: status(Threads_running)=30, matched=yes, cycles_true=5\n2026_11_21_12_55_42 pt-stalk ran with --function=status\n",
        ));
        let words = "status(Threads_running)=30, matched=yes, cycles_true=5";
        assert_eq!(read.trigger, Some(format!("pt-stalk: {words}")));
    }
}
