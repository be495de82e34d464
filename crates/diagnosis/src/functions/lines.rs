//! Lines of a log, or of a status of InnoDB.

use std::sync::Arc;

use model::{Millis, TextKind, Window};
use server_text::StatusSections;

use super::{Arguments, Read};
use crate::evidence::{Evidence, LINES_MAX, LOG_REACH_MS, cut};
use crate::human::Show;
use crate::measure::{Function, Kind, Known, Measured, Seen, Sign, Taken, absent, known};
use crate::names::NamePattern;

pub(crate) static LOG: Kind = Kind {
    name: "log",
    documentation: r"
**Lines** of logs in the stall and 5 s around it, or of `SHOW ENGINE INNODB STATUS`, the largest number. `{each}` is the line.

| | |
|---|---|
| `log_lines(…)`, `innodb_lines(…)` | how many |
| `log_largest(…)`, `innodb_largest(…)` | the largest number by the group `number` in `line` |
| `line` (needed) | on a line, without literals |
| `log` (needed for `log_…`) | `error`, `kernel` |
| `section` (`innodb_…`) | heading, any case: `TRANSACTIONS`, `FILE I/O`. Without it the latest deadlock and foreign key error are left out: they may be old |

A log's baseline is a time of the same length before. A silent log that was followed is zero; one that was not read is no evidence. Numbers that the recorder takes out of the status are signals (`innodb.*`).
",
    taken: Taken::Events,
    each: Some("a line"),
    names: None,
    functions: &[
        known("log_lines", Show::Count, |from| Lines::of_log(from, false)),
        Known {
            unit: None,
            ..known("log_largest", Show::Count, |from| Lines::of_log(from, true))
        },
    ],
};

pub(crate) static INNODB: Kind = Kind {
    name: "innodb",
    documentation: "",
    taken: Taken::Events,
    each: Some("a line"),
    names: None,
    functions: &[
        known("innodb_lines", Show::Count, |from| {
            Lines::of_innodb(from, false)
        }),
        Known {
            unit: None,
            ..known("innodb_largest", Show::Count, |from| {
                Lines::of_innodb(from, true)
            })
        },
    ],
};

/// The name of the group in a pattern that captures the number for the largest one.
const NUMBER: &str = "number";

/// Longest quotation of a line in a sentence, in characters.
const QUOTE_CHARS_MAX: usize = 200;

#[derive(Debug)]
struct Lines {
    /// Where they stand.
    text: TextKind,
    /// Of a status the section, by its heading.
    section: Option<String>,
    line: NamePattern,
    /// The largest number that the group [`NUMBER`] captures; else how many lines there are: of a log all of the stall
    /// together, of a status those of the one with most.
    largest: bool,
}

impl Lines {
    fn of_log(from: &mut Arguments, largest: bool) -> Read<Arc<dyn Function>> {
        let logs = [
            ("error", TextKind::ErrorLog),
            ("kernel", TextKind::KernelLog),
        ];
        let log = from.word("log", &logs)?;
        match log {
            Some(log) => Self::read(from, log, None, largest),
            None => from.lack("needs log = error or log = kernel"),
        }
    }

    fn of_innodb(from: &mut Arguments, largest: bool) -> Read<Arc<dyn Function>> {
        let section = from.text("section")?;
        let section = section.map(|text| text.trim().to_owned());
        Self::read(from, TextKind::InnodbStatus, section, largest)
    }

    fn read(
        from: &mut Arguments,
        text: TextKind,
        section: Option<String>,
        largest: bool,
    ) -> Read<Arc<dyn Function>> {
        let line = from.needed("line")?;
        if largest && !line.text().contains("<number>") {
            let problem = "needs a group (?P<number>…) that captures what is counted";
            return from.refuse("line", problem);
        }
        Ok(Arc::new(Self {
            text,
            section,
            line,
            largest,
        }))
    }

    /// What a line says: nothing when it does not match, else its number where one is captured.
    fn number_in(&self, line: &str) -> Option<Option<f64>> {
        if !self.largest {
            return self.line.is_match(line).then_some(None);
        }
        let captures = self.line.captures(line)?;
        let number = captures.name(NUMBER);
        let number = number.and_then(|text| str::from_utf8(text.as_bytes()).ok()?.parse().ok());
        Some(number.filter(|number: &f64| number.is_finite()))
    }
}

impl Function for Lines {
    /// The name under which the lines are missed, too.
    fn source(&self) -> &'static str {
        match self.text {
            TextKind::ErrorLog => "error_log",
            TextKind::KernelLog => "kernel_log",
            _ => "innodb",
        }
    }

    fn words(&self, in_full: bool) -> String {
        let what = match self.largest {
            false => "the number of lines",
            true => "the largest number",
        };
        let line = self.line.shown(in_full || self.largest);
        let of = match (self.text, &self.section) {
            (TextKind::ErrorLog, _) => "the server's error log",
            (TextKind::KernelLog, _) => "the kernel's log",
            (_, None) => "InnoDB's status",
            (_, Some(section)) => &format!("InnoDB's status, {section},"),
        };
        format!("{what} in {of} like /{line}/")
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        let (stall, before) = match self.text {
            TextKind::InnodbStatus => statuses(self, evidence),
            _ => log(self, evidence),
        };
        let (seen, each) = match stall {
            None => (absent(self.source()), None),
            Some(counted) => match counted.number(self) {
                Some(number) => (Seen::Number(number), counted.quote),
                None => (Seen::Nothing, None),
            },
        };
        let mut measured = Measured::over_stall(sign, evidence, seen, before);
        // "A long semaphore wait" announces InnoDB's list: where that was taken by itself, both tell of the same waits.
        if each.as_ref().is_some_and(|it| it.contains("emaphore wait"))
            && evidence.captured("semaphores") != Some("error log")
            && evidence
                .semaphores()
                .iter()
                .any(|(_, list)| !list.is_empty())
        {
            measured.source = Some("innodb".to_owned());
        }
        measured.each = Some(each.unwrap_or_else(|| "no line".to_owned()));
        measured
    }

    fn is_said(&self, evidence: &Evidence) -> bool {
        !evidence.is_quoted(self.source())
    }
}

/// What some lines came to.
#[derive(Default)]
struct Counted {
    lines: u64,
    largest: Option<f64>,
    /// The first of the lines, or the one with the largest number.
    quote: Option<String>,
}

impl Counted {
    fn add(&mut self, test: &Lines, line: &str) {
        let line = cut(line);
        let Some(number) = test.number_in(line) else {
            return;
        };
        self.lines += 1;
        let is_largest =
            number.is_some_and(|number| self.largest.is_none_or(|largest| number > largest));
        if is_largest {
            self.largest = number;
        }
        if self.quote.is_none() || is_largest {
            self.quote = Some(quote(line));
        }
    }

    fn number(&self, of: &Lines) -> Option<f64> {
        match of.largest {
            false => Some(self.lines as f64),
            true => self.largest,
        }
    }
}

/// All lines of a log in and around the stall, and the number before: of lines as many as a time of
/// the same length had. Nothing where the log was not read.
fn log(test: &Lines, evidence: &Evidence) -> (Option<Counted>, Option<f64>) {
    let stall = evidence.around_stall();
    let texts = || {
        let texts = evidence.incident.texts.iter();
        texts.filter(|timed| timed.text.kind() == test.text)
    };
    let count = |window: Window| {
        let inside = texts().filter(|timed| window.contains(timed.at));
        let lines = inside.flat_map(|timed| timed.text.body().lines());
        let mut counted = Counted::default();
        lines
            .take(LINES_MAX)
            .for_each(|line| counted.add(test, line));
        counted
    };
    // A log that is followed is evidence when nothing is written to it, too: that it was read is a
    // signal.
    let was_read = |window: Window| {
        let mut moments = texts().map(|timed| timed.at);
        let between = texts().any(|timed| timed.at < window.from)
            && texts().any(|timed| timed.at > window.to);
        moments.any(|at| window.contains(at)) || between || {
            let timeline = &evidence.incident.timeline;
            let signal = timeline.get(&format!("{}.lines", test.source()));
            signal.is_some_and(|series| timeline.points_in(series, window).next().is_some())
        }
    };
    let before = evidence.baseline.map(|window| Window {
        to: window.to.saturating_sub(LOG_REACH_MS).max(window.from),
        ..window
    });
    let before = before.filter(|window| was_read(*window));
    let length = |window: Window| window.length().max(1) as f64;
    let before = before.and_then(|window| {
        let number = count(window).number(test)?;
        Some(match test.largest {
            false => number * length(stall) / length(window),
            true => number,
        })
    });
    let stall = was_read(stall).then(|| count(stall));
    let is_in_part = evidence.is_shown_in_part(test.source());
    (
        stall.filter(|counted| counted.lines > 0 || !is_in_part),
        before,
    )
}

/// The status of the stall with most in it, and the number of the one before.
fn statuses(test: &Lines, evidence: &Evidence) -> (Option<Counted>, Option<f64>) {
    let may_match = test.line.may_match_in();
    let worst = |tells: &dyn Fn(Millis) -> bool| {
        let statuses = evidence.statuses().iter();
        statuses
            .filter(|(at, _)| tells(*at))
            .filter_map(|(_, status)| count(test, status, &may_match))
            .reduce(|most, one| {
                let is_more = one.number(test) > most.number(test);
                if is_more { one } else { most }
            })
    };
    (
        worst(&|at| evidence.tells_of_stall(at, at)),
        worst(&|at| evidence.tells_of_before(at, at)).and_then(|counted| counted.number(test)),
    )
}

/// Nothing when the text was cut off before the section could come.
fn count(
    test: &Lines,
    status: &StatusSections,
    may_match: impl Fn(&str) -> bool,
) -> Option<Counted> {
    let mut counted = Counted::default();
    let lines = status.lines(test.section.as_deref())?;
    if may_match(status.text()) {
        lines
            .take(LINES_MAX)
            .for_each(|line| counted.add(test, line));
    }
    Some(counted)
}

/// A line without its date and time, short.
fn quote(line: &str) -> String {
    let is_time = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"-:.TZ+".contains(&byte))
    };
    let mut line = line.trim();
    while let Some((word, rest)) = line.split_once(' ')
        && is_time(word)
    {
        line = rest.trim_start();
    }
    let mut text: String = line.chars().take(QUOTE_CHARS_MAX).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}
