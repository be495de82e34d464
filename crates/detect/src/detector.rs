//! The detector: samples in; the start, the triggers and the end of stalls out.

use std::collections::VecDeque;

use model::{Millis, Sample, Trigger};

use crate::Config;
use crate::rules::{Now, Rule, Sign};
use crate::usual::{Learnt, Usual};
use crate::view::{View, number};

/// A rule that fired and has brought nothing clearly good or bad for this long no longer keeps a stall
/// open, milliseconds: its source is gone, or its value has settled between the limits.
const STALE_MS: Millis = 30_000;

const HOUR_MS: Millis = 3_600_000;

/// Clients are looked at once a second.
const SECOND_MS: Millis = 1000;

/// A clock that goes back this far, or ahead by so much, is another one.
const CLOCK_BACK_MS: Millis = 60_000;
const CLOCK_AHEAD_MS: Millis = HOUR_MS;

/// What is seen this long before an onset is not learnt either, milliseconds: a sample of a second.
const BEFORE_ONSET_MS: Millis = 1000;

/// What becomes of a stall that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announce {
    /// It is an incident of its own.
    New,
    /// It follows the one before so closely that it is one more episode of its incident.
    SameIncident,
    /// It is over the limit of incidents an hour: remembered, not captured.
    OverLimit,
}

/// What the detector tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A stall: the first statement that hangs began at `onset`, the rule was sure at `at`.
    Triggered {
        /// When it began.
        onset: Millis,
        /// Now.
        at: Millis,
        /// The rule and what users feel.
        trigger: Trigger,
        /// What becomes of it.
        announce: Announce,
    },
    /// Another rule fired within the stall.
    Joined {
        /// Now.
        at: Millis,
        /// The rule and what it saw.
        trigger: Trigger,
    },
    /// The stall is over: work flows again since `end`.
    Ended {
        /// When work began to flow.
        end: Millis,
        /// Now.
        at: Millis,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct RuleState {
    /// First of the unbroken signs.
    since: Option<Millis>,
    last_sign: Option<Millis>,
    /// The last sign was an answer that came late.
    answered: Option<Millis>,
    /// Since when it sees no sign any more, and the moment when it saw that first.
    good: Option<(Millis, Millis)>,
    /// It held long enough.
    fired: bool,
    /// Its firing was told to the outside.
    told: bool,
}

/// The stall that lasts.
#[derive(Debug, Clone, Copy)]
struct Lasting {
    onset: Millis,
    announce: Announce,
    /// When clients were last seen to hang though no rule sees a sign any more.
    hangs_at: Option<Millis>,
}

/// Notices stalls in samples.
pub struct Detector {
    config: Config,
    rules: Vec<(Rule, RuleState)>,
    view: View,
    usual: Usual,
    lasting: Option<Lasting>,
    /// The end of the stall before, and what became of that one.
    before: Option<(Millis, Announce)>,
    announced: VecDeque<Millis>,
    now: Option<Millis>,
}

impl Detector {
    /// A detector that has seen nothing yet.
    pub fn new(config: Config) -> Self {
        Self::with_learnt(config, &Learnt::default())
    }

    /// A detector that knows what an earlier one had learnt.
    pub fn with_learnt(config: Config, learnt: &Learnt) -> Self {
        let rules = Rule::all(&config)
            .into_iter()
            .map(|rule| (rule, RuleState::default()))
            .collect();
        Self {
            usual: Usual::new(&config, learnt),
            config,
            rules,
            view: View::default(),
            lasting: None,
            before: None,
            announced: VecDeque::new(),
            now: None,
        }
    }

    /// What is usual, to keep over a restart of the recorder.
    pub fn learnt(&self) -> Learnt {
        self.usual.learnt()
    }

    /// Whether a stall is known that has not ended, announced or not.
    pub fn in_stall(&self) -> bool {
        self.lasting.is_some()
    }

    /// Takes the next sample. Samples come in the order of their time, within a second.
    pub fn observe(&mut self, sample: &Sample) -> Vec<Event> {
        let mut events = Vec::new();
        let now = self.keep_time(sample.at, &mut events);
        self.view.take(sample);
        if self.view.restarted {
            for (rule, _) in &mut self.rules {
                rule.restart();
            }
        }
        for index in 0..self.rules.len() {
            self.check(index, now, sample, &mut events);
        }
        self.calm_down(now, &mut events);
        if self.is_calm(now) {
            let stuck = match sample.source {
                "processlist" => number(sample, "processlist.active_2s"),
                _ => None,
            };
            self.usual
                .learn(sample.source, sample.at, &self.view, stuck);
        }
        events
    }

    /// Nothing that is the server's own doing is wrong.
    fn is_calm(&self, now: Millis) -> bool {
        !self
            .rules
            .iter()
            .any(|(rule, state)| rule.is_built_in() && (state.fired || rule.doubts(now)))
    }

    /// The moment that counts: time stands still rather than going back a little. Another clock
    /// ends what was known by the old one.
    fn keep_time(&mut self, at: Millis, events: &mut Vec<Event>) -> Millis {
        let now = self.now.unwrap_or(at);
        if at.saturating_add(CLOCK_BACK_MS) < now || at > now.saturating_add(CLOCK_AHEAD_MS) {
            if self.lasting.take().is_some() {
                events.push(Event::Ended { end: at, at });
            }
            self.before = None;
            self.announced.clear();
            self.view.restart();
            self.usual.restart();
            for (rule, state) in &mut self.rules {
                rule.restart();
                *state = RuleState::default();
            }
            self.now = Some(at);
            return at;
        }
        let now = now.max(at);
        self.now = Some(now);
        now
    }

    fn check(&mut self, index: usize, now: Millis, sample: &Sample, events: &mut Vec<Event>) {
        let Some((rule, state)) = self.rules.get_mut(index) else {
            return;
        };
        let sign = rule.check(&Now {
            sample,
            view: &self.view,
            usual: &self.usual,
            config: &self.config,
        });
        let says = match sign {
            Sign::Bad { since, says } => {
                // Signs far apart are not one episode.
                if state
                    .last_sign
                    .is_some_and(|last| now >= last.saturating_add(STALE_MS))
                {
                    state.since = None;
                }
                let since = since.min(now);
                state.since = Some(state.since.map_or(since, |first| first.min(since)));
                state.last_sign = Some(now);
                state.good = None;
                // A late answer is slow, and it is an answer: when no other slow one follows, the
                // server has worked since.
                state.answered = match rule {
                    Rule::Probe(probe) if probe.is_answer(sample) => Some(now),
                    _ => None,
                };
                says
            }
            Sign::Good { since } => {
                let since = state.answered.unwrap_or(since);
                let since = since.max(state.last_sign.unwrap_or(0)).min(now);
                state.good.get_or_insert((since, now));
                if !state.fired {
                    state.since = None;
                }
                return;
            }
            Sign::Lasting => {
                // Less slow than at first, and far from usual: half a minute of it is no end.
                if state.fired {
                    state.last_sign = Some(now);
                }
                return;
            }
            Sign::Unclear => return,
        };
        let held = state.since.map_or(0, |since| now.saturating_sub(since));
        if !state.fired && held < rule.hold_ms(&self.config) {
            return;
        }
        state.fired = true;
        if state.told {
            return;
        }
        state.told = true;
        let trigger = Trigger {
            rule: rule.id().to_owned(),
            says,
        };
        events.push(self.fire(now, trigger));
    }

    fn fire(&mut self, now: Millis, trigger: Trigger) -> Event {
        if self.lasting.is_some() {
            return Event::Joined { at: now, trigger };
        }
        let end_before = self.before.map_or(0, |(end, _)| end);
        // All signs that are there now tell when it began.
        let onset = self
            .rules
            .iter()
            .filter(|(_, state)| {
                state
                    .last_sign
                    .is_some_and(|last| now < last.saturating_add(STALE_MS))
            })
            .filter_map(|(_, state)| state.since)
            .min()
            .unwrap_or(now)
            .clamp(end_before.min(now), now);
        let announce = self.announce(onset, now);
        self.lasting = Some(Lasting {
            onset,
            announce,
            hangs_at: None,
        });
        self.usual
            .forget_from(onset.saturating_sub(BEFORE_ONSET_MS));
        Event::Triggered {
            onset,
            at: now,
            trigger,
            announce,
        }
    }

    fn announce(&mut self, onset: Millis, now: Millis) -> Announce {
        let hysteresis = &self.config.hysteresis;
        if let Some((end, before)) = self.before
            && onset < end.saturating_add(hysteresis.same_incident_ms)
        {
            return match before {
                Announce::New => Announce::SameIncident,
                same => same,
            };
        }
        while self
            .announced
            .front()
            .is_some_and(|at| at.saturating_add(HOUR_MS) <= now)
        {
            self.announced.pop_front();
        }
        if self.announced.len() >= hysteresis.per_hour {
            return Announce::OverLimit;
        }
        self.announced.push_back(now);
        Announce::New
    }

    /// Lets go of rules whose signs are over; ends the stall with the last of them, or with the last client that hangs.
    fn calm_down(&mut self, now: Millis, events: &mut Vec<Event>) {
        let quiet_ms = self.config.hysteresis.quiet_ms;
        let over = |state: &RuleState| match state.good {
            Some((_, seen)) => now >= seen.saturating_add(quiet_ms),
            None => now >= state.last_sign.unwrap_or(0).saturating_add(STALE_MS),
        };
        let Some(lasting) = &mut self.lasting else {
            return;
        };
        let fired = || self.rules.iter().filter(|(_, state)| state.fired);
        let all_soft = fired().all(|(rule, _)| rule.is_soft());
        let is_usual = all_soft && now >= lasting.onset.saturating_add(self.config.new_usual_ms);
        let end = fired()
            .map(|(_, state)| match state.good {
                Some((since, _)) if !is_usual => since,
                _ => state.last_sign.unwrap_or(now),
            })
            .max()
            .unwrap_or(now);
        // A trivial statement may be answered long before the first of the clients' own.
        let clients = self.view.clients_at(now);
        if let Some(clients) =
            clients.filter(|clients| clients.at > end && clients.hangs_since(end))
            && fired().all(|(_, state)| state.good.is_some())
        {
            lasting.hangs_at = Some(clients.at);
        }
        let hangs_at = lasting.hangs_at.filter(|at| *at > end);
        let looked_at = clients.map_or(now, |clients| clients.at);
        let hangs =
            hangs_at.is_some_and(|at| at >= looked_at && now < end.saturating_add(STALE_MS));
        let ends = fired().all(|(_, state)| over(state)) && !hangs;
        if !ends && !is_usual {
            return;
        }
        let end = match hangs_at {
            Some(at) if !is_usual => at.midpoint(looked_at.clamp(at, at + SECOND_MS)),
            _ => end,
        };
        let end = end.clamp(lasting.onset.min(now), now);
        let announce = lasting.announce;
        if is_usual && !ends {
            self.usual.begin_anew(&self.config);
        }
        self.lasting = None;
        self.before = Some((end, announce));
        for (_, state) in &mut self.rules {
            *state = RuleState::default();
        }
        events.push(Event::Ended { end, at: now });
    }
}
