//! Signs that look at lines of logs, and of statuses of InnoDB.

use model::{Millis, Window};

use super::{Number, Outcome, Seen, absent, over_stall};
use crate::catalogue::Sign;
use crate::evidence::Evidence;
use crate::human::Show;
use crate::statuses::Status;
use crate::texts::{LineCounting, LinesOf, LinesTest};

/// Lines of a log that are read, at the most: of a log that is flooded the beginning tells enough.
pub(crate) const LINES_MAX: usize = 50_000;

/// Longest part of a line that is looked at, in bytes.
const LINE_BYTES_MAX: usize = 2_000;

/// Longest quotation of a line in a sentence, in characters.
const QUOTE_CHARS_MAX: usize = 200;

/// How long before the onset and after the end of the stall a log still tells of it, in
/// milliseconds: what made a server stall is often logged just before, and how long something took
/// when it is over.
const LOG_REACH_MS: Millis = 5_000;

pub(super) fn test(sign: &Sign, test: &LinesTest, evidence: &Evidence) -> Outcome {
    let (stall, before) = match &test.of {
        LinesOf::InnodbStatus { section } => statuses(test, section.as_deref(), evidence),
        LinesOf::ErrorLog | LinesOf::KernelLog => log(test, evidence),
    };
    let missing = test.of.name();
    let (seen, each) = match &stall {
        None => (absent(missing), None),
        Some(counted) => match counted.number(test.counting) {
            Some(number) => (Seen::Number(number), counted.quote.clone()),
            None => (Seen::Nothing, None),
        },
    };
    let number = Number {
        seen,
        baseline: before,
        what: what(test, &test.line.short()),
        show: match test.counting {
            LineCounting::Lines => Show::Count,
            LineCounting::Largest => test.show,
        },
        each: Some(each.unwrap_or_else(|| "no line".to_owned())),
        source: missing,
    };
    over_stall(sign, &test.limits, &test.only_if, evidence, number)
}

/// What is counted, in words.
pub(crate) fn what(test: &LinesTest, line: &str) -> String {
    let what = match test.counting {
        LineCounting::Lines => "the number of lines",
        LineCounting::Largest => "the largest number",
    };
    let of = match &test.of {
        LinesOf::ErrorLog => "the server's error log".to_owned(),
        LinesOf::KernelLog => "the kernel's log".to_owned(),
        LinesOf::InnodbStatus { section: None } => "InnoDB's status".to_owned(),
        LinesOf::InnodbStatus {
            section: Some(section),
        } => format!("InnoDB's status, {section},"),
    };
    format!("{what} in {of} like /{line}/")
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
    fn add(&mut self, test: &LinesTest, line: &str) {
        let line = cut(line);
        let Some(number) = test.line.read(line) else {
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

    fn number(&self, counting: LineCounting) -> Option<f64> {
        match counting {
            LineCounting::Lines => Some(self.lines as f64),
            LineCounting::Largest => self.largest,
        }
    }
}

/// All lines of a log in and around the stall, and the number before: of lines as many as a time of
/// the same length had. Nothing where the log was not read.
fn log(test: &LinesTest, evidence: &Evidence) -> (Option<Counted>, Option<f64>) {
    let stall = Window {
        from: evidence.stall.from.saturating_sub(LOG_REACH_MS),
        to: evidence.stall.to.saturating_add(LOG_REACH_MS),
    };
    let texts = || {
        let texts = evidence.incident.texts.iter();
        texts.filter(|timed| timed.text.kind() == test.of.kind())
    };
    let count = |window: Window| {
        let inside = texts().filter(|timed| timed.at >= window.from && timed.at <= window.to);
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
        let inside = |at: Millis| at >= window.from && at <= window.to;
        let mut moments = texts().map(|timed| timed.at);
        let between = texts().any(|timed| timed.at < window.from)
            && texts().any(|timed| timed.at > window.to);
        moments.any(inside) || between || {
            let timeline = &evidence.incident.timeline;
            let signal = timeline.get(&format!("{}.lines", test.of.name()));
            signal.is_some_and(|series| timeline.points_in(series, window).next().is_some())
        }
    };
    let before = evidence.baseline.map(|window| Window {
        to: window.to.saturating_sub(LOG_REACH_MS).max(window.from),
        ..window
    });
    let before = before.filter(|window| was_read(*window));
    let length = |window: Window| window.to.saturating_sub(window.from).max(1) as f64;
    let before = before.and_then(|window| {
        let number = count(window).number(test.counting)?;
        Some(match test.counting {
            LineCounting::Lines => number * length(stall) / length(window),
            LineCounting::Largest => number,
        })
    });
    let stall = was_read(stall).then(|| count(stall));
    let is_quoted = evidence.is_quoted(test.of.name());
    (
        stall.filter(|counted| counted.lines > 0 || !is_quoted),
        before,
    )
}

/// The status of the stall with most in it, and the number of the one before.
fn statuses(
    test: &LinesTest,
    section: Option<&str>,
    evidence: &Evidence,
) -> (Option<Counted>, Option<f64>) {
    let worst = |tells: &dyn Fn(Millis) -> bool| {
        let statuses = evidence.statuses().iter();
        statuses
            .filter(|status| tells(status.at))
            .filter_map(|status| count(test, section, status))
            .reduce(|most, one| {
                let is_more = one.number(test.counting) > most.number(test.counting);
                if is_more { one } else { most }
            })
    };
    (
        worst(&|at| evidence.tells_of_stall(at, at)),
        worst(&|at| evidence.tells_of_before(at, at))
            .and_then(|counted| counted.number(test.counting)),
    )
}

/// Nothing when the text was cut off before the section could come.
fn count(test: &LinesTest, section: Option<&str>, status: &Status) -> Option<Counted> {
    let mut counted = Counted::default();
    let lines = status.lines(section)?;
    if test.line.may_match_in(status.text) {
        lines.for_each(|line| counted.add(test, line));
    }
    Some(counted)
}

fn cut(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LINE_BYTES_MAX))
        .unwrap_or(line)
        .trim_end()
}

/// A line without its date and time, short.
fn quote(line: &str) -> String {
    let is_time = |word: &str| {
        word.bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit())
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
