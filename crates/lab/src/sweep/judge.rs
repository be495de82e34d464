//! What was felt against what was told.

use std::ops::Range;

use super::client_latency::ClientStall;
use super::notices::Notice;

/// How far beside a felt stall something may be told of it, milliseconds.
pub(super) const SLACK_MS: i64 = 2000;

/// What was told of one felt stall.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Judged {
    /// The number of the first thing told of it. None: nothing of its own was.
    pub(super) told: Option<usize>,
    /// What was told of an earlier stall goes on over this one.
    pub(super) is_merged: bool,
    /// How many were told of it: more than one is a stall in pieces.
    pub(super) pieces: usize,
    /// From the first that hung to the trigger, milliseconds; below 0 where the recorder knew before its users.
    pub(super) delay_ms: Option<i64>,
    /// How far the onset is from the truth, milliseconds; below 0 is too early.
    pub(super) onset_error_ms: Option<i64>,
    /// The same of the end. None: no end was told.
    pub(super) end_error_ms: Option<i64>,
}

/// Each felt stall with what was told of it, and the numbers of what was told of none.
pub(super) fn judge(
    felt: &[ClientStall],
    told: &[Notice],
    now_ms: i64,
) -> (Vec<Judged>, Vec<usize>) {
    let mut judged = vec![Judged::default(); felt.len()];
    let mut of_none = Vec::new();
    for (number, told) in told.iter().enumerate() {
        let range = range(told, now_ms);
        let nearest = felt
            .iter()
            .enumerate()
            .map(|(index, felt)| (index, overlap_ms(&range, felt), felt))
            .filter(|(_, overlap, _)| *overlap >= -SLACK_MS)
            // What began before anything was done is of something else.
            .filter(|(.., felt)| told.onset_ms >= felt.earliest_ms - SLACK_MS)
            // A stall that began before the other one's end is told of the one that it began in.
            .min_by_key(|(_, overlap, felt)| {
                let is_beside = *overlap < 0;
                (is_beside, (told.onset_ms - felt.from_ms).abs())
            });
        let Some((index, _, felt)) = nearest else {
            of_none.push(number);
            continue;
        };
        let Some(judged) = judged.get_mut(index) else {
            continue;
        };
        judged.pieces += 1;
        if judged.told.is_none() {
            judged.told = Some(number);
            judged.delay_ms = Some(told.trigger_ms - felt.from_ms);
            judged.onset_error_ms = Some(beyond(told.onset_ms, felt.earliest_ms..felt.from_ms));
        }
        judged.end_error_ms = told
            .end_ms
            .map(|end| beyond(end, felt.to_ms..felt.latest_ms));
    }
    for (judged, felt) in judged.iter_mut().zip(felt) {
        judged.is_merged = judged.told.is_none()
            && told
                .iter()
                .any(|told| overlap_ms(&range(told, now_ms), felt) > 0);
    }
    (judged, of_none)
}

/// Whether something told began in or beside one of these stretches, and so is no false alarm.
pub(super) fn is_excused(told: &Notice, stretches: &[Range<i64>]) -> bool {
    let is_beside = |stretch: &Range<i64>| {
        let around = stretch.start - SLACK_MS..=stretch.end + SLACK_MS;
        around.contains(&told.onset_ms) || around.contains(&told.trigger_ms)
    };
    stretches.iter().any(is_beside)
}

fn range(told: &Notice, now_ms: i64) -> Range<i64> {
    told.onset_ms..told.end_ms.unwrap_or(now_ms).max(told.onset_ms)
}

/// Milliseconds that both have; below 0 is the distance between them.
fn overlap_ms(range: &Range<i64>, felt: &ClientStall) -> i64 {
    range.end.min(felt.to_ms) - range.start.max(felt.from_ms)
}

/// How far a moment is outside of a range: below 0 is before it.
fn beyond(ms: i64, range: Range<i64>) -> i64 {
    if ms < range.start {
        ms - range.start
    } else {
        (ms - range.end).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn felt(from_ms: i64, to_ms: i64) -> ClientStall {
        ClientStall {
            from_ms,
            to_ms,
            earliest_ms: from_ms - 100,
            latest_ms: to_ms + 100,
            count: 3,
            share: 1.0,
        }
    }

    fn told(onset_ms: i64, trigger_ms: i64, end_ms: Option<i64>) -> Notice {
        Notice {
            event: "triggered".to_owned(),
            id: None,
            onset_ms,
            trigger_ms,
            end_ms,
            rule: "hung-statements".to_owned(),
            says: String::new(),
        }
    }

    #[test]
    fn each_felt_stall_gets_its_own() {
        let felt = [felt(10_000, 15_000), felt(18_000, 20_000)];
        let told = [
            told(9_700, 11_500, Some(15_400)),
            told(18_200, 19_000, Some(20_050)),
        ];
        let (judged, of_none) = judge(&felt, &told, 60_000);
        assert!(of_none.is_empty());
        let expected = Judged {
            told: Some(0),
            is_merged: false,
            pieces: 1,
            delay_ms: Some(1_500),
            onset_error_ms: Some(-200),
            end_error_ms: Some(300),
        };
        assert_eq!(judged[0], expected);
        assert_eq!(judged[1].told, Some(1));
        assert_eq!(judged[1].onset_error_ms, Some(200));
        assert_eq!(judged[1].end_error_ms, Some(0));
    }

    #[test]
    fn one_told_over_two_is_merged_and_its_end_is_wrong() {
        let felt = [felt(10_000, 15_000), felt(18_000, 20_000)];
        let (judged, _) = judge(&felt, &[told(10_000, 11_000, Some(20_000))], 60_000);
        assert_eq!(judged[0].end_error_ms, Some(4_900));
        assert!(judged[1].is_merged && judged[1].told.is_none());
    }

    #[test]
    fn what_was_told_long_before_is_not_of_it() {
        let felt = [felt(30_000, 35_000)];
        let (judged, of_none) = judge(&felt, &[told(10_000, 11_000, Some(35_000))], 60_000);
        assert_eq!(of_none, [0]);
        assert!(judged[0].is_merged && judged[0].told.is_none());
    }

    #[test]
    fn pieces_are_counted_and_what_never_ends_has_no_end() {
        let felt = [felt(10_000, 30_000)];
        let told = [
            told(10_000, 11_000, Some(14_000)),
            told(16_000, 17_000, None),
        ];
        let (judged, _) = judge(&felt, &told, 60_000);
        assert_eq!((judged[0].pieces, judged[0].end_error_ms), (2, None));
        assert_eq!(judged[0].delay_ms, Some(1_000));
    }

    #[test]
    fn what_is_told_of_nothing_is_a_false_alarm_unless_something_was_slow() {
        let felt = [felt(10_000, 15_000)];
        let all = [
            told(17_500, 18_000, Some(19_000)),
            told(16_500, 17_000, Some(17_500)),
        ];
        let (judged, of_none) = judge(&felt, &all, 60_000);
        assert_eq!(of_none, [0]);
        assert_eq!(judged[0].told, Some(1));
        let is_excused =
            |from_ms, to_ms| is_excused(&all[0], std::slice::from_ref(&(from_ms..to_ms)));
        assert!(is_excused(19_900, 21_500));
        assert!(!is_excused(20_500, 22_500));
    }
}
