//! Pressure stall information: how much of the time tasks waited for processors, memory or disks. What a line is about stands
//! in front of it (`grep . /proc/pressure/*`) or in the line before (`cat io.pressure`).

use model::{Reading, Unit};

use crate::columns::number;
use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};

pub(crate) static FORMAT: Format = Format {
    id: "pressure",
    group: Group::Host,
    name: "pressure stall information",
    printed_by: "the kernel: `/proc/pressure/*`, `*.pressure` of a control group",
    content: "how long tasks waited for processors, memory, disks",
    recognisers: &[
        Recogniser::new(485, "/mci.", sign::EQUAL | sign::DIGIT, |at| {
            at.text.len() <= BYTES_MAX && stalled(at.text).is_some() && resource(at.text).is_some()
        }),
        Recogniser::new(486, "", 0, |at| {
            let next = at.next.first();
            next.is_some_and(|next| next.trim_start().starts_with(SOME))
                && resource(at.text).is_some()
        }),
    ],
    continues: |_, next| stalled(next.text).is_some(),
    gap: Gap::Lines(2),
    preference: 25,
    read,
    ..Format::NONE
};

/// Longest line, with the path of a control group.
const BYTES_MAX: usize = 400;

/// How a print begins.
const SOME: &str = "some avg10=";

/// What `avg10` is the mean of, in milliseconds and in microseconds.
const SPAN_MS: u64 = 10_000;
const SPAN_US: f64 = 10_000_000.0;

/// The signals of a resource: some tasks waited, or all that were not idle did.
type Signals = (&'static str, &'static str);

/// What is waited for, by how files and people name it.
const RESOURCES: [([&str; 3], Signals); 3] = [
    (
        ["pressure/cpu", "cpu.pressure", "cpu:"],
        ("psi.cpu.some_us", "psi.cpu.full_us"),
    ),
    (
        ["pressure/memory", "memory.pressure", "memory:"],
        ("psi.memory.some_us", "psi.memory.full_us"),
    ),
    (
        ["pressure/io", "io.pressure", "io:"],
        ("psi.io.some_us", "psi.io.full_us"),
    ),
];

fn resource(text: &str) -> Option<Signals> {
    let is_it = |names: &[&str; 3]| {
        let [file, group, short] = names;
        text.contains(file) || text.contains(group) || text.starts_with(short)
    };
    let found = RESOURCES.iter().find(|(names, _)| is_it(names));
    found.map(|(_, signals)| *signals)
}

/// Whether it is of all tasks, and the share of the last ten seconds: `some avg10=91.20 avg60=…`.
fn stalled(text: &str) -> Option<(bool, f64)> {
    let kinds = [(SOME, false), ("full avg10=", true)];
    kinds.into_iter().find_map(|(begin, is_full)| {
        let (_, rest) = text.split_once(begin)?;
        let share = rest.split_whitespace().next().and_then(number)? / 100.0;
        (0.0..=1.0).contains(&share).then_some((is_full, share))
    })
}

/// Each share becomes a counter that grew in ten seconds, so that it is compared like those that are recorded.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read {
        relative: true,
        ..Read::default()
    };
    let (mut before, mut after): (Vec<Reading>, Vec<Reading>) = (Vec::new(), Vec::new());
    let mut signals = None;
    for line in lines {
        let text = line.trimmed();
        signals = resource(text).or(signals);
        let Some(((some, full), (is_full, share))) = signals.zip(stalled(text)) else {
            continue;
        };
        let name = if is_full { full } else { some };
        // Of several prints the first.
        if after.iter().any(|reading| reading.name == name) {
            continue;
        }
        before.push(Reading::counter(name, Unit::Microseconds, 0.0));
        after.push(Reading::counter(name, Unit::Microseconds, share * SPAN_US));
    }
    read.brought = counted(after.len(), "share", "shares");
    read.push("pressure", None, 0, before);
    read.push("pressure", None, SPAN_MS, after);
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    const IO: &str = "some avg10=91.20 avg60=88.11 avg300=60.10 total=912201112\nfull avg10=88.00 avg60=81.02 avg300=55.00 total=...\n";

    #[test]
    fn what_is_waited_for_stands_in_front_or_before() {
        let many = "/proc/pressure/cpu:some avg10=2.00 avg60=2.00 avg300=2.00 total=212\n/proc/pressure/io:some avg10=91.20 avg60=88.11 avg300=60.10 total=912201112\n/proc/pressure/io:full avg10=88.00 avg60=81.02 avg300=55.00 total=812201112\n";
        let before = [
            format!("$ cat /proc/pressure/io\n{IO}"),
            format!("io.pressure\n{IO}"),
        ];
        for text in before.iter().map(String::as_str).chain([many]) {
            let read = read(&clean::lines(text));
            assert_eq!(read.values("psi.io.some_us"), [0.0, 9_120_000.0], "{text}");
            assert_eq!(read.values("psi.io.full_us"), [0.0, 8_800_000.0], "{text}");
        }
        let read = read(&clean::lines(many));
        assert_eq!(read.values("psi.cpu.some_us"), [0.0, 200_000.0]);
    }

    #[test]
    fn what_it_is_about_is_not_guessed() {
        assert!(read(&clean::lines(IO)).ticks.is_empty());
        for text in ["io: 5", "some avg10= of it", "full avg10=412 avg60=1"] {
            assert!(stalled(text).is_none(), "{text}");
        }
    }
}
