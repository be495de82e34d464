//! The limits of the rules, and how signs become stalls and stalls become incidents.

use model::Millis;

use crate::UserTrigger;

/// Limits of the rules. None of them depends on how many clients a server has: what is unusual is
/// judged by this server's own usual.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// A probe that takes longer than this is a sign of a stall, milliseconds.
    pub probe_limit_ms: Millis,
    /// How long probes must be bad without a good one between, milliseconds.
    pub probe_hold_ms: Millis,
    /// For how long a server may be gone (connections refused or lost) as in a restart, milliseconds.
    pub restart_ms: Millis,
    /// The work stops: statements a second at this share of their usual number or less, while
    /// sessions hang.
    pub completions_share: f64,
    /// And of the sessions that usually finish something each moment, this share hangs at least.
    pub hung_share: f64,
    /// A statement takes so long, on the average of those that complete: milliseconds,
    pub statement_limit_ms: Millis,
    /// and so many times as long as usual.
    pub statement_times_usual: f64,
    /// So many sessions more than usual are in their statements for two seconds or longer.
    pub stuck_above_usual: f64,
    /// System CPU of the server itself, as a share of all CPUs, below which it is never a sign.
    pub system_share_min: f64,
    /// How many times its usual value it must be.
    pub system_times_usual: f64,
    /// A trivial statement must take so many times as long as usual for a sign of the host to count,
    pub answer_times_usual: f64,
    /// and so long, milliseconds.
    pub answer_limit_ms: Millis,
    /// Slow burn: statements take so many times as long as an hour ago,
    pub burn_times_hour_ago: f64,
    /// and so long on the average, milliseconds.
    pub burn_limit_ms: Millis,
    /// How much of the past the usual values cover, milliseconds.
    pub baseline_ms: Millis,
    /// How much of the past a usual value needs before a rule may use it, milliseconds.
    pub baseline_min_ms: Millis,
    /// Statements that are slow for so long, while nobody hangs, have become the usual, milliseconds.
    pub new_usual_ms: Millis,
    /// When a stall ends and begins again.
    pub hysteresis: Hysteresis,
    /// The user's own triggers.
    pub user: Vec<UserTrigger>,
}

/// What makes one stall of many signs, and one incident of stalls that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Hysteresis {
    /// Work must flow for so long before a stall is called over, milliseconds. Its end is when the
    /// work began to flow.
    pub quiet_ms: Millis,
    /// A stall that begins this soon after another is one more episode of the same incident,
    /// milliseconds.
    pub same_incident_ms: Millis,
    /// Incidents announced in any hour at the most. The rest is remembered, not captured.
    pub per_hour: usize,
}

/// Why less than [`Config::statement_limit_ms`] is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Processors have room, and half of all clients are in statements.
    ManyWait,
    /// Processors have room, a crowd is in statements, and a trivial one takes long as well.
    AllWait,
}

impl Config {
    /// A statement takes so long, milliseconds, though the processors have room for it.
    pub fn statement_room_limit_ms(&self, room: Room) -> f64 {
        let share = match room {
            Room::ManyWait => 0.4,
            Room::AllWait => 0.2,
        };
        self.statement_limit_ms as f64 * share
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            probe_limit_ms: 500,
            probe_hold_ms: 1000,
            restart_ms: 10_000,
            completions_share: 0.2,
            hung_share: 0.5,
            statement_limit_ms: 50,
            statement_times_usual: 5.0,
            stuck_above_usual: 20.0,
            system_share_min: 0.35,
            system_times_usual: 2.0,
            answer_times_usual: 5.0,
            answer_limit_ms: 1,
            burn_times_hour_ago: 5.0,
            burn_limit_ms: 20,
            baseline_ms: 300_000,
            baseline_min_ms: 10_000,
            new_usual_ms: 1_800_000,
            hysteresis: Hysteresis::default(),
            user: Vec::new(),
        }
    }
}

impl Default for Hysteresis {
    fn default() -> Self {
        Self {
            quiet_ms: 1000,
            same_incident_ms: 10_000,
            per_hour: 6,
        }
    }
}
