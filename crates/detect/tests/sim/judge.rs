//! What the detector said, against what was true.

use detect::Event;
use model::Millis;

use super::Truth;

/// A stall as the detector told it.
#[derive(Debug, Clone)]
pub struct Episode {
    pub onset: Millis,
    pub trigger: Millis,
    pub end: Option<Millis>,
    pub rule: String,
    pub says: String,
}

pub fn episodes(events: &[Event]) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = Vec::new();
    for event in events {
        match event {
            Event::Triggered {
                onset, at, trigger, ..
            } => {
                assert!(episodes.last().is_none_or(|last| last.end.is_some()));
                episodes.push(Episode {
                    onset: *onset,
                    trigger: *at,
                    end: None,
                    rule: trigger.rule.clone(),
                    says: trigger.says.clone(),
                });
            }
            Event::Ended { end, .. } => {
                if let Some(last) = episodes.last_mut() {
                    assert!(*end >= last.onset);
                    last.end = Some(*end);
                }
            }
            Event::Joined { .. } => {}
        }
    }
    episodes
}

/// One true stall and what became of it.
#[derive(Debug, Clone, Default)]
pub struct Noticed {
    /// From the first statement that hung to the trigger, milliseconds.
    pub delay: Option<i64>,
    /// The onset told, less the true one.
    pub onset_error: i64,
    pub end_error: Option<i64>,
    /// Other episodes within it: it was taken for several.
    pub pieces: usize,
}

/// How far outside a stretch a moment is.
fn outside(at: Millis, (from, to): (Millis, Millis)) -> i64 {
    match at {
        at if at < from => at as i64 - from as i64,
        at if at > to => at as i64 - to as i64,
        _ => 0,
    }
}

pub fn judge(episodes: &[Episode], truth: Truth) -> Noticed {
    let (onset, end) = (truth.onset.0, truth.end.1);
    let within: Vec<&Episode> = episodes
        .iter()
        .filter(|episode| episode.trigger >= onset && episode.trigger <= end + 2000)
        .collect();
    let (Some(first), Some(last)) = (within.first(), within.last()) else {
        return Noticed::default();
    };
    Noticed {
        delay: Some(first.trigger as i64 - truth.onset.1 as i64),
        onset_error: outside(first.onset, truth.onset),
        end_error: last.end.map(|told| outside(told, truth.end)),
        pieces: within.len(),
    }
}
