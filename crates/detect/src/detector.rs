use std::collections::VecDeque;

use model::{Millis, Sample, Trigger};

use crate::Config;
use crate::rules::{Rule, Sign};

/// A rule that fired and has brought nothing clearly good or bad for this long no longer keeps a stall
/// open, milliseconds: its source is gone, or its value has settled between the limits.
const STALE_MS: Millis = 30_000;

const HOUR_MS: Millis = 3_600_000;

/// What the detector announces.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A stall: its first sign was at `onset`, the rule was sure at `at`.
    Triggered {
        /// First sign.
        onset: Millis,
        /// Now.
        at: Millis,
        /// The rule and what it saw.
        trigger: Trigger,
    },
    /// Another rule fired within the stall.
    Joined {
        /// Now.
        at: Millis,
        /// The rule and what it saw.
        trigger: Trigger,
    },
    /// The stall is over: its last sign was at `end`.
    Ended {
        /// Last sign.
        end: Millis,
        /// Now.
        at: Millis,
    },
    /// A stall that is not announced because of the limit an hour.
    Suppressed {
        /// Now.
        at: Millis,
        /// The rule and what it saw.
        trigger: Trigger,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct RuleState {
    /// First of the unbroken signs.
    since: Option<Millis>,
    last_sign: Option<Millis>,
    /// A clearly good sample came after the last sign.
    good_since: bool,
    /// It held long enough.
    fired: bool,
    /// Its firing was told to the outside.
    told: bool,
    /// It outlasted a stall: nothing counts until a clearly good sample.
    muted: bool,
}

/// Notices stalls in samples.
pub struct Detector {
    config: Config,
    rules: Vec<(Rule, RuleState)>,
    /// Since when a stall is announced.
    in_stall: Option<Millis>,
    ended_at: Option<Millis>,
    announced: VecDeque<Millis>,
}

impl Detector {
    /// A detector that has seen nothing yet.
    pub fn new(config: Config) -> Self {
        let rules = Rule::all(&config)
            .into_iter()
            .map(|rule| (rule, RuleState::default()))
            .collect();
        Self {
            config,
            rules,
            in_stall: None,
            ended_at: None,
            announced: VecDeque::new(),
        }
    }

    /// Whether a stall is announced and has not ended.
    pub fn in_stall(&self) -> bool {
        self.in_stall.is_some()
    }

    /// Takes the next sample. Samples come in the order of their time, within a second.
    pub fn observe(&mut self, sample: &Sample) -> Vec<Event> {
        let now = sample.at;
        let mut events = Vec::new();
        let calm = self.in_stall.is_none() && self.rules.iter().all(|(_, state)| !state.fired);
        for index in 0..self.rules.len() {
            let (rule, state) = &mut self.rules[index];
            let says = match rule.look(sample, &self.config, calm) {
                Sign::Bad { .. } if state.muted => continue,
                Sign::Bad { since, says } => {
                    // Signs far apart are not one episode.
                    if state.last_sign.is_some_and(|last| now >= last + STALE_MS) {
                        state.since = None;
                    }
                    state.since = Some(state.since.map_or(since, |first| first.min(since)));
                    state.last_sign = Some(now);
                    state.good_since = false;
                    says
                }
                Sign::Good => {
                    state.good_since = true;
                    state.muted = false;
                    if !state.fired {
                        state.since = None;
                    }
                    continue;
                }
                Sign::Unclear => continue,
            };
            let held = state.since.map_or(0, |since| now.saturating_sub(since));
            if held >= rule.hold_ms(&self.config) {
                state.fired = true;
                let trigger = Trigger {
                    rule: rule.id().to_owned(),
                    says,
                };
                events.extend(self.fire(index, now, trigger));
            }
        }
        self.calm_down(now, &mut events);
        events
    }

    fn fire(&mut self, index: usize, now: Millis, trigger: Trigger) -> Option<Event> {
        let hysteresis = &self.config.hysteresis;
        let state = &mut self.rules[index].1;
        if state.told {
            return None;
        }
        if self.in_stall.is_some() {
            state.told = true;
            return Some(Event::Joined { at: now, trigger });
        }
        let cooling = self
            .ended_at
            .is_some_and(|ended| now < ended + hysteresis.cool_down_ms);
        if cooling {
            return None;
        }
        state.told = true;
        while self.announced.front().is_some_and(|at| at + HOUR_MS <= now) {
            self.announced.pop_front();
        }
        if self.announced.len() >= hysteresis.per_hour {
            return Some(Event::Suppressed { at: now, trigger });
        }
        self.announced.push_back(now);
        self.in_stall = Some(now);
        let onset = self
            .rules
            .iter()
            .filter(|(_, state)| state.last_sign.is_some_and(|last| now < last + STALE_MS))
            .filter_map(|(_, state)| state.since)
            .min()
            .unwrap_or(now);
        Some(Event::Triggered {
            onset,
            at: now,
            trigger,
        })
    }

    /// Lets go of rules whose signs are over; ends the stall with the last of them.
    fn calm_down(&mut self, now: Millis, events: &mut Vec<Event>) {
        let quiet_ms = self.config.hysteresis.quiet_ms;
        let over = |state: &RuleState| {
            let last = state.last_sign.unwrap_or(0);
            (state.good_since && now >= last + quiet_ms) || now >= last + STALE_MS
        };
        let fired = || {
            self.rules
                .iter()
                .map(|(_, state)| state)
                .filter(|state| state.fired)
        };
        if let Some(announced) = self.in_stall {
            // The whole stall ends at once, so that rules that take turns are one stall.
            let outlasts = now >= announced + self.config.hysteresis.longest_ms;
            if outlasts || fired().all(over) {
                let end = fired()
                    .filter_map(|state| state.last_sign)
                    .max()
                    .unwrap_or(now);
                self.in_stall = None;
                self.ended_at = Some(now);
                for (_, state) in &mut self.rules {
                    // What outlasted an earlier stall is still the state of things.
                    let muted = state.muted || (outlasts && state.fired && !over(state));
                    *state = RuleState {
                        muted,
                        ..RuleState::default()
                    };
                }
                events.push(Event::Ended { end, at: now });
            }
        } else {
            for (_, state) in &mut self.rules {
                if state.fired && over(state) {
                    *state = RuleState::default();
                }
            }
        }
    }
}
