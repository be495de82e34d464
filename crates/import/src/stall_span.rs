//! Which part of a capture is the stall: other tools begin late, and go on when it is over.

use model::{Millis, Reading, Unit, Window};

use crate::read::{Read, Tick};
use crate::timestamps::Times;

/// Readings that follow one another, at the least: fewer show no course.
pub(crate) const FOLLOWED_MIN: usize = 8;

/// Calm readings in a row, at the least: one or two are a pause of the stall.
const CALM_MIN: usize = 3;

/// In the stall so many times as many sessions run as in calm, counted with one more on both sides, and so many more.
const TIMES_MIN: f64 = 2.5;
const MORE_MIN: f64 = 3.0;

/// Share of the readings from the first to the last busy one that are busy, at the least: else these are waves.
const BUSY_SHARE_MIN: f64 = 0.7;

/// Sessions that run a statement, and the statements, by the names of the server.
const RUNNING: &str = "status.Threads_running";
const STATEMENTS: [&str; 2] = ["status.Questions", "status.Queries"];

/// The stall within what was captured, on the clock of the incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StallSpan {
    /// Where calm readings stand before it; else it began before the capture.
    pub(crate) onset: Option<Millis>,
    /// Where calm readings stand behind it.
    pub(crate) end: Option<Millis>,
}

/// A reading of the server's status.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: Millis,
    running: f64,
    statements: Option<f64>,
}

/// Looks for the stall in the number of sessions that run a statement. `trigger` is why the other tool collected.
pub(crate) fn find(reads: &[Read], times: &Times, trigger: Option<&str>) -> StallSpan {
    let sections = reads.iter().map(|read| points(&read.ticks, times));
    let Some(points) = sections.max_by_key(Vec::len) else {
        return StallSpan::default();
    };
    if points.len() < FOLLOWED_MIN {
        return StallSpan::default();
    }
    let noticed = trigger.and_then(running_at_trigger);
    match calm_limit(&points) {
        Some(limit) => within(&points, limit, noticed.is_some_and(|value| value > limit)),
        None => ended_before(&points, noticed),
    }
}

fn points(ticks: &[Tick], times: &Times) -> Vec<Point> {
    let mut points: Vec<Point> = ticks
        .iter()
        .filter_map(|tick| {
            let value = |name: &str| {
                let mut readings = tick.readings.iter();
                let value = readings.find(|reading| reading.name == name)?.value;
                value.is_finite().then_some(value)
            };
            Some(Point {
                at: times.on_clock(tick.at, tick.after),
                running: value(RUNNING)?,
                statements: STATEMENTS.into_iter().find_map(value),
            })
        })
        .collect();
    points.sort_by_key(|point| point.at);
    points
}

fn is_apart(busy: f64, calm: f64) -> bool {
    busy + 1.0 >= TIMES_MIN * (calm + 1.0) && busy - calm >= MORE_MIN
}

/// The largest number of calm, where the numbers fall into two groups: at their widest gap.
fn calm_limit(points: &[Point]) -> Option<f64> {
    let mut values: Vec<f64> = points.iter().map(|point| point.running).collect();
    values.sort_by(f64::total_cmp);
    let gaps = values.iter().zip(values.iter().skip(1));
    let ratio = |(low, high): (&f64, &f64)| (high + 1.0) / (low + 1.0);
    let (low, high) = gaps.max_by(|one, other| ratio(*one).total_cmp(&ratio(*other)))?;
    is_apart(*high, *low).then_some(*low)
}

/// The stall from the first to the last busy reading. `noticed`: the tool that collected says that many ran.
fn within(points: &[Point], limit: f64, noticed: bool) -> StallSpan {
    let is_busy = |point: &Point| point.running > limit;
    let first = points.iter().position(is_busy);
    let last = points.iter().rposition(is_busy);
    let (Some(first), Some(last)) = (first, last) else {
        return StallSpan::default();
    };
    let (before, rest) = points.split_at(first);
    let (stall, after) = rest.split_at(last - first + 1);
    let busy = stall.iter().filter(|point| is_busy(point)).count();
    let is_one = busy as f64 >= BUSY_SHARE_MIN * stall.len() as f64;
    if !is_one || !(noticed || is_slower_when_busy(points, limit)) {
        return StallSpan::default();
    }
    let onset = before.last().filter(|_| before.len() >= CALM_MIN);
    let calm_again = after.first().filter(|_| after.len() >= CALM_MIN);
    // The first calm reading is none of the stall.
    let end = stall.last().zip(calm_again);
    StallSpan {
        onset: onset.map(|point| point.at),
        end: end.map(|(busy, calm)| busy.at.midpoint(calm.at)),
    }
}

/// Where many run because much is done, the time with few of them may be the stall: clients that cannot get in leave a
/// server without work. In a stall each that runs gets less done.
fn is_slower_when_busy(points: &[Point], limit: f64) -> bool {
    let mut busy = Work::default();
    let mut calm = Work::default();
    for (one, next) in points.iter().zip(points.iter().skip(1)) {
        let Some((begin, end)) = one.statements.zip(next.statements) else {
            continue;
        };
        let side = match next.running > limit {
            true => &mut busy,
            false => &mut calm,
        };
        if end >= begin && next.at > one.at {
            side.statements += end - begin;
            side.session_ms += next.running * (next.at - one.at) as f64;
        }
    }
    let (busy, calm) = (busy.speed(), calm.speed());
    busy.zip(calm).is_some_and(|(busy, calm)| busy < calm)
}

/// Statements that were done, and how long sessions ran for them.
#[derive(Default)]
struct Work {
    statements: f64,
    session_ms: f64,
}

impl Work {
    fn speed(&self) -> Option<f64> {
        (self.session_ms > 0.0).then(|| self.statements / self.session_ms)
    }
}

/// Many ran when the tool was triggered, and few in each reading: it was over when the first one was taken.
fn ended_before(points: &[Point], noticed: Option<f64>) -> StallSpan {
    let most = points.iter().map(|point| point.running).reduce(f64::max);
    let is_over = noticed
        .zip(most)
        .is_some_and(|(noticed, most)| is_apart(noticed, most));
    StallSpan {
        onset: None,
        end: points.first().filter(|_| is_over).map(|point| point.at),
    }
}

/// `status(Threads_running)=290, matched=yes`.
fn running_at_trigger(says: &str) -> Option<f64> {
    let (_, value) = says.split_once("Threads_running)=")?;
    let digits = value.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// How many ran when the tool was triggered, as a reading.
pub(crate) fn at_trigger(says: &str) -> Option<Reading> {
    running_at_trigger(says).map(|running| Reading::gauge(RUNNING, Unit::Count, running))
}

/// The stall of a window that ends with the capture.
pub(crate) fn stall(span: StallSpan, window: Window) -> Window {
    let from = span.onset.unwrap_or(window.from);
    Window::new(from, span.end.unwrap_or(window.to).max(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading each second: how many run, and how many statements were done since the one before.
    fn read(course: &[(u32, u32)]) -> Vec<Read> {
        let mut statements = 0.0;
        let tick = |(index, (running, done)): (usize, &(u32, u32))| {
            statements += f64::from(*done);
            Tick {
                source: "status",
                at: None,
                after: index as u64 * 1000,
                readings: vec![
                    Reading::gauge(RUNNING, Unit::Count, f64::from(*running)),
                    Reading::counter(STATEMENTS[0], Unit::Count, statements),
                ],
            }
        };
        vec![Read {
            ticks: course.iter().enumerate().map(tick).collect(),
            ..Read::default()
        }]
    }

    fn find(course: &[&[(u32, u32)]], trigger: Option<&str>) -> StallSpan {
        let times = Times { zero: None };
        super::find(&read(&course.concat()), &times, trigger)
    }

    const CALM: &[(u32, u32)] = &[(1, 400), (3, 410), (2, 390), (2, 400)];
    const BUSY: &[(u32, u32)] = &[(41, 10), (43, 12), (40, 9), (42, 14), (41, 11)];

    fn span(onset: Option<Millis>, end: Option<Millis>) -> StallSpan {
        StallSpan { onset, end }
    }

    #[test]
    fn a_stall_ends_where_few_run_again() {
        assert_eq!(find(&[BUSY, CALM], None), span(None, Some(5_500)));
        assert_eq!(
            find(&[CALM, BUSY, CALM], None),
            span(Some(4_000), Some(9_500))
        );
        assert_eq!(find(&[CALM, BUSY], None), span(Some(4_000), None));
        // One reading at its very begin, as of a tool that waits for five in a row.
        assert_eq!(
            find(
                &[&[(256, 0)], CALM, CALM],
                Some("status(Threads_running)=290")
            ),
            span(None, Some(1_500))
        );
        // Few of them are a pause.
        assert_eq!(find(&[BUSY, BUSY, &CALM[..2]], None), span(None, None));
        assert_eq!(
            find(&[BUSY, &CALM[..1], BUSY, CALM], None),
            span(None, Some(11_500))
        );
    }

    #[test]
    fn a_pool_of_four_is_a_crowd_too() {
        let hung: &[(u32, u32)] = &[(5, 0), (5, 0), (5, 0), (5, 0)];
        assert_eq!(
            find(&[CALM_OF_FEW, hung, CALM_OF_FEW], None),
            span(Some(4_000), Some(8_500))
        );
    }

    const CALM_OF_FEW: &[(u32, u32)] = &[(1, 40), (1, 41), (1, 40), (1, 42)];

    #[test]
    fn it_was_over_when_the_first_reading_was_taken() {
        let over = find(
            &[CALM, CALM],
            Some("pt-stalk: status(Threads_running)=290, matched=yes"),
        );
        assert_eq!(over, span(None, Some(1_000)));
        assert_eq!(
            find(&[CALM, CALM], Some("status(Threads_running)=4")),
            span(None, None)
        );
        assert_eq!(find(&[CALM, CALM], None), span(None, None));
    }

    #[test]
    fn what_is_no_stall() {
        // Much is done by many: the quiet time may be the stall.
        let work: &[(u32, u32)] = &[(41, 40_000), (43, 41_000), (40, 39_000), (42, 40_000)];
        let idle: &[(u32, u32)] = &[(1, 2), (1, 2), (1, 2), (1, 2)];
        assert_eq!(find(&[work, idle], None), span(None, None));
        // Waves, a slow rise, and too few readings.
        let wave = [&BUSY[..1], &CALM[..2]].concat();
        assert_eq!(find(&[&wave, &wave, &wave, CALM], None), span(None, None));
        let rise: Vec<(u32, u32)> = (10..40).map(|running| (running, 100)).collect();
        assert_eq!(find(&[&rise], None), span(None, None));
        assert_eq!(find(&[&BUSY[..3], CALM], None), span(None, None));
        assert_eq!(find(&[], None), span(None, None));
    }
}
