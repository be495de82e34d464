use model::Millis;

use crate::UserTrigger;

/// Limits of the rules. The defaults suit a server whose clients wait for milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// A probe that takes longer than this is a sign of a stall, milliseconds.
    pub probe_limit_ms: Millis,
    /// How long probes must be bad without a good one between, milliseconds.
    pub probe_hold_ms: Millis,
    /// System CPU share of all CPUs below which the CPU rule never fires.
    pub system_share_min: f64,
    /// How many times its own recent baseline the system CPU share must be.
    pub system_times_baseline: f64,
    /// How long the CPU rule and the work rule must hold, milliseconds. Their samples come each
    /// second: less than two of them, so that the jitter of a beat does not ask for a third.
    pub hold_ms: Millis,
    /// Running threads above the baseline without which the work rule never fires.
    pub running_above_baseline: f64,
    /// Completions must fall below this share of their baseline for the work rule.
    pub completions_share: f64,
    /// Sessions that have been in their statements for two seconds or longer, above the baseline,
    /// without which the rule for stuck sessions never fires; for the rule for slow statements all
    /// that run count.
    pub stuck_above_baseline: f64,
    /// A statement must take so long for the rule for slow statements, milliseconds: by the number
    /// that runs and the number that completes.
    pub statement_limit_ms: Millis,
    /// How many times its baseline that time must be.
    pub statement_times_baseline: f64,
    /// How much of the past the baselines cover, milliseconds.
    pub baseline_ms: Millis,
    /// How much of the past a baseline needs before a rule may use it, milliseconds.
    pub baseline_min_ms: Millis,
    /// When a stall ends and begins again.
    pub hysteresis: Hysteresis,
    /// The user's own triggers.
    pub user: Vec<UserTrigger>,
}

/// What keeps one stall from becoming many.
#[derive(Debug, Clone, PartialEq)]
pub struct Hysteresis {
    /// A stall that lasts longer than this is over as an episode, milliseconds: it has become the
    /// new state of things. Its rules are silent until they see a good sample, the others are not.
    pub longest_ms: Millis,
    /// A stall has ended when no rule fired for this long, milliseconds.
    pub quiet_ms: Millis,
    /// After an end no new stall is announced for this long, milliseconds. A rule that still
    /// fires then triggers with its true onset.
    pub cool_down_ms: Millis,
    /// Stalls announced in any hour at the most; the rest is counted.
    pub per_hour: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            probe_limit_ms: 500,
            probe_hold_ms: 1000,
            system_share_min: 0.35,
            system_times_baseline: 2.0,
            hold_ms: 1500,
            running_above_baseline: 10.0,
            completions_share: 0.5,
            stuck_above_baseline: 20.0,
            statement_limit_ms: 100,
            statement_times_baseline: 5.0,
            baseline_ms: 300_000,
            baseline_min_ms: 10_000,
            hysteresis: Hysteresis::default(),
            user: Vec::new(),
        }
    }
}

impl Default for Hysteresis {
    fn default() -> Self {
        Self {
            longest_ms: 600_000,
            quiet_ms: 5000,
            cool_down_ms: 30_000,
            per_hour: 6,
        }
    }
}
