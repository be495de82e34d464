//! What the users felt of what was done to their server, by their own clock.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use testbed::{Hung, SLOT_MS, Waited, Watch};

/// Work that flows for less than this between two stretches does not part them, milliseconds.
pub(super) const FLOW_MS: i64 = 1000;

/// What clients waited in so long a time before a stall was made is nothing that it did, milliseconds. Two hundred of
/// them that take all they can get wait for half a second now and then.
pub(super) const CALM_MS: i64 = 15_000;

/// A stretch is felt, whatever was done, when something took so long, milliseconds.
const NOISE_MS_MIN: i64 = 500;

/// And so many times the usual.
pub(super) const TIMES_USUAL: f64 = 10.0;

/// Answers are slow, as the detector's own limits promise to tell it, when they take so long on the average in a
/// second,
const SLOW_MS_MIN: f64 = 50.0;

/// and so many times the usual.
const SLOW_TIMES_USUAL: f64 = 5.0;

/// A stall as the users felt it. Times are of the wall clock, milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClientStall {
    /// The first statement or connect that hung began.
    pub(super) from_ms: i64,
    /// The last one that hung came back, or the first one that was refused got in.
    pub(super) to_ms: i64,
    /// Nobody can say that it began later than [`Self::from_ms`], or earlier than this: the last answer before, or the
    /// moment when it was done to the server.
    pub(super) earliest_ms: i64,
    /// Nor that it ended later than this: the first answer after it.
    pub(super) latest_ms: i64,
    /// How many statements and connects hung or were refused.
    pub(super) count: usize,
    /// In which share of the time at least one hung.
    pub(super) share: f64,
}

impl ClientStall {
    pub(super) fn seconds(&self) -> f64 {
        (self.to_ms - self.from_ms) as f64 / 1000.0
    }

    /// Takes in the slow seconds that touch it, from when it was done on: whoever says that it began with them, or ended
    /// with them, is right.
    pub(super) fn with_slow(&mut self, slow: &[Range<i64>], done_ms: i64) {
        for second in slow {
            if (self.to_ms..=self.latest_ms + SLOT_MS).contains(&second.start) {
                self.latest_ms = self.latest_ms.max(second.end);
            }
        }
        for second in slow.iter().rev() {
            if (self.earliest_ms - SLOT_MS..=self.from_ms).contains(&second.end) {
                self.earliest_ms = self.earliest_ms.min(second.start.max(done_ms));
            }
        }
    }
}

/// The shortest answer that hangs, by what is usual.
pub(super) fn limit_ms(usual_ms: f64) -> i64 {
    testbed::HUNG_MS_MIN.max((usual_ms * TIMES_USUAL) as i64)
}

/// The longest that a client waited in a time, of what was over by its end. 0: nobody waited for long.
pub(super) fn longest_ms(hung: &[Hung], time: Range<i64>) -> i64 {
    hung.iter()
        .filter(|hung| hung.waited != Waited::Back && hung.error.is_none())
        .filter(|hung| hung.from_ms >= time.start && hung.to_ms <= time.end)
        .map(|hung| hung.to_ms - hung.from_ms)
        .max()
        .unwrap_or(0)
}

/// What hung because of what was done in this time; what goes on after it without a second of flow is of it, unless the
/// others got their answers meanwhile: `flows` says it of a time. Where work flowed for a second in between, it is the
/// longest stretch: of memory that is swapped, statements hang now and then.
pub(super) fn client_stall(
    hung: &[Hung],
    limit_ms: i64,
    done: Range<i64>,
    flows: impl Fn(Range<i64>) -> bool,
) -> Option<ClientStall> {
    let mut of_it: Vec<&Hung> = hung
        .iter()
        .filter(|hung| hangs(hung, limit_ms) && hung.to_ms >= done.start)
        .collect();
    of_it.sort_unstable_by_key(|hung| hung.from_ms);
    let mut end = done.end;
    of_it.retain(|hung| {
        let goes_on = || hung.from_ms < end + FLOW_MS && !flows(hung.from_ms..hung.to_ms);
        let is_of_it = hung.from_ms < done.end || goes_on();
        if is_of_it {
            end = end.max(hung.to_ms);
        }
        is_of_it
    });
    // What came in the second after it, by itself, is another matter.
    if !of_it.iter().any(|hung| hung.from_ms < done.end) {
        return None;
    }
    let of_it = longest_stretch(&of_it, done.start, &flows);
    let from_ms = of_it.first()?.from_ms.max(done.start);
    let to_ms = end_of(of_it, hung)?;
    let length_ms = (to_ms - from_ms).max(1);
    Some(ClientStall {
        from_ms,
        to_ms,
        earliest_ms: from_ms,
        latest_ms: to_ms,
        count: of_it.len(),
        share: covered(of_it, from_ms..to_ms) as f64 / length_ms as f64,
    })
}

/// Of what hung, in the order of its beginnings, the longest part without a second of flow in it.
fn longest_stretch<'a, 'h>(
    of_it: &'a [&'h Hung],
    begin_ms: i64,
    flows: &impl Fn(Range<i64>) -> bool,
) -> &'a [&'h Hung] {
    let mut end_ms = i64::MIN;
    let parts = of_it.chunk_by(|before, next| {
        end_ms = end_ms.max(before.to_ms);
        next.from_ms < end_ms + FLOW_MS || !flows(end_ms..next.from_ms)
    });
    let length_ms = |part: &&[&Hung]| {
        let from_ms = part.first().map_or(0, |hung| hung.from_ms.max(begin_ms));
        let to_ms = part.iter().map(|hung| hung.to_ms).max();
        to_ms.unwrap_or(from_ms) - from_ms
    };
    parts.max_by_key(length_ms).unwrap_or(of_it)
}

/// The last one that hung came back; the first one that was refused got in.
fn end_of(of_it: &[&Hung], all: &[Hung]) -> Option<i64> {
    let answered = of_it.iter().filter(|hung| hung.error.is_none());
    let answered = answered.map(|hung| hung.to_ms).max();
    let refused = of_it.iter().filter(|hung| hung.error.is_some());
    let refused = refused.map(|hung| hung.to_ms).max();
    let back = refused.map(|refused| {
        let back = all
            .iter()
            .filter(|hung| hung.waited == Waited::Back && hung.to_ms >= refused);
        back.map(|hung| hung.to_ms).min().unwrap_or(refused)
    });
    answered.max(back)
}

fn hangs(hung: &Hung, limit_ms: i64) -> bool {
    hung.waited != Waited::Back && (hung.error.is_some() || hung.to_ms - hung.from_ms >= limit_ms)
}

/// How long at least one of them hung within a time; what follows a refusal for a second is of it.
fn covered(of_it: &[&Hung], within: Range<i64>) -> i64 {
    let mut covered = 0;
    let mut at = within.start;
    for hung in of_it {
        let after = if hung.error.is_some() { FLOW_MS } else { 0 };
        let to = (hung.to_ms + after).min(within.end);
        covered += (to - hung.from_ms.max(at)).max(0);
        at = at.max(to);
    }
    covered
}

/// All stretches in which something, or each answer on the average, took so long that nobody may call it a false
/// alarm, whatever the reason.
pub(super) fn excused(watch: &Watch) -> Vec<Range<i64>> {
    let mut excused = stretches(&watch.hung_from(0), watch.usual_ms());
    excused.extend(slow_seconds(watch));
    excused
}

/// Seconds, in the order of their beginnings, in which each answer took long on the average.
pub(super) fn slow_seconds(watch: &Watch) -> Vec<Range<i64>> {
    watch.slow_seconds(SLOW_MS_MIN.max(watch.usual_ms() * SLOW_TIMES_USUAL))
}

fn stretches(hung: &[Hung], usual_ms: f64) -> Vec<Range<i64>> {
    let limit = NOISE_MS_MIN.max((usual_ms * TIMES_USUAL) as i64);
    let mut slow: Vec<Range<i64>> = hung
        .iter()
        .filter(|hung| hangs(hung, limit))
        .map(|hung| hung.from_ms..hung.to_ms)
        .collect();
    slow.sort_unstable_by_key(|stretch| stretch.start);
    let mut stretches: Vec<Range<i64>> = Vec::new();
    for stretch in slow {
        match stretches.last_mut() {
            Some(last) if stretch.start < last.end + FLOW_MS => {
                last.end = last.end.max(stretch.end);
            }
            _ => stretches.push(stretch),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn hung(from_ms: i64, to_ms: i64) -> Hung {
        Hung {
            client: 0,
            waited: Waited::Statement,
            from_ms,
            to_ms,
            error: None,
        }
    }

    fn refused(at_ms: i64) -> Hung {
        Hung {
            waited: Waited::Connect,
            error: Some("server error 1040".to_owned()),
            ..hung(at_ms, at_ms + 1)
        }
    }

    fn back(at_ms: i64) -> Hung {
        Hung {
            waited: Waited::Back,
            ..hung(at_ms, at_ms)
        }
    }

    #[test]
    fn from_the_first_that_hung_to_the_last_that_came_back() {
        let all = [
            hung(10_300, 15_010),
            hung(10_100, 15_020),
            hung(3_000, 3_400),
            hung(15_900, 16_200),
        ];
        let felt = client_stall(&all, 250, 10_000..15_000, |_| false).unwrap();
        assert_eq!((felt.from_ms, felt.to_ms, felt.count), (10_100, 16_200, 3));
        assert!((0.8..0.9).contains(&felt.share), "{}", felt.share);
    }

    #[test]
    fn work_that_flows_for_a_second_is_the_end_and_what_is_usual_is_not_felt() {
        let all = [hung(10_100, 15_020), hung(16_500, 17_000)];
        assert_eq!(
            client_stall(&all, 250, 10_000..15_000, |_| false)
                .unwrap()
                .to_ms,
            15_020
        );
        assert_eq!(client_stall(&all, 6_000, 10_000..15_000, |_| false), None);
        assert_eq!(client_stall(&all, 250, 20_000..25_000, |_| false), None);
        assert_eq!(client_stall(&all, 250, 15_500..16_000, |_| false), None);
        assert_eq!(limit_ms(1.0), 250);
        assert_eq!(limit_ms(100.0), 1000);
    }

    #[test]
    fn work_that_flows_in_between_parts_it_and_the_longest_part_counts() {
        let all = [
            hung(10_100, 10_900),
            hung(13_000, 16_000),
            hung(16_500, 17_000),
        ];
        let felt = |flows: bool| client_stall(&all, 250, 10_000..20_000, |_| flows).unwrap();
        let times = |felt: ClientStall| (felt.from_ms, felt.to_ms, felt.count);
        assert_eq!(times(felt(true)), (13_000, 17_000, 2));
        assert_eq!(times(felt(false)), (10_100, 17_000, 3));
    }

    #[test]
    fn slow_seconds_that_touch_it_may_be_told_as_of_it() {
        let mut felt = ClientStall {
            from_ms: 12_000,
            to_ms: 15_000,
            earliest_ms: 11_900,
            latest_ms: 15_010,
            count: 1,
            share: 1.0,
        };
        let slow = [
            8_000..9_000,
            10_500..11_500,
            11_000..12_000,
            15_000..16_000,
            15_800..16_800,
            19_000..20_000,
        ];
        felt.with_slow(&slow, 10_700);
        assert_eq!((felt.earliest_ms, felt.latest_ms), (10_700, 16_800));
        assert_eq!((felt.from_ms, felt.to_ms), (12_000, 15_000));
    }

    #[test]
    fn what_comes_late_while_the_others_are_answered_is_not_of_it() {
        let all = [hung(10_100, 15_020), hung(15_100, 15_600)];
        let to_ms = |flows: bool| {
            client_stall(&all, 250, 10_000..15_000, |_| flows)
                .unwrap()
                .to_ms
        };
        assert_eq!((to_ms(false), to_ms(true)), (15_600, 15_020));
    }

    #[test]
    fn who_is_refused_feels_it_until_the_first_gets_in() {
        let all = [
            refused(10_500),
            refused(11_000),
            refused(11_900),
            back(12_300),
            back(12_800),
        ];
        let felt = client_stall(&all, 250, 10_000..12_000, |_| false).unwrap();
        assert_eq!((felt.from_ms, felt.to_ms), (10_500, 12_300));
        assert!(felt.share > 0.9, "{}", felt.share);
    }

    #[test]
    fn what_was_waited_before_it_is_the_usual() {
        let all = [
            hung(0, 4_000),
            hung(5_000, 5_400),
            hung(9_000, 15_000),
            refused(8_000),
        ];
        assert_eq!(longest_ms(&all, 4_500..10_000), 400);
        assert_eq!(longest_ms(&all, 6_000..10_000), 0);
    }

    #[test]
    fn stretches_are_what_anybody_would_call_slow() {
        let all = [
            hung(0, 400),
            hung(1_000, 1_600),
            hung(2_000, 3_000),
            hung(9_000, 9_700),
        ];
        assert_eq!(stretches(&all, 1.0), [1_000..3_000, 9_000..9_700]);
        assert_eq!(stretches(&all, 80.0), vec![all[2].from_ms..all[2].to_ms]);
    }
}
