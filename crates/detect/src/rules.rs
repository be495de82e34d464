//! The rules. Each looks at one sample and says whether it sees a sign of a stall.

use model::{Millis, ProbeOutcome, Sample};

use crate::baseline::Baseline;
use crate::{Config, UserTrigger};

/// Statements a second below which "completions fell" says nothing.
const COMPLETIONS_MIN: f64 = 10.0;

/// The processors have no more to give where so much of them is in use.
const USED_UP_SHARE: f64 = 0.95;

/// System CPU counts there from this part of its usual limit on.
const USED_UP_OF_MIN: f64 = 0.6;

/// How many times its baseline it must be there.
const USED_UP_TIMES_BASELINE: f64 = 5.0;

/// How long the sessions of `processlist.active_2s` have been in their statements, milliseconds.
const STUCK_MS: Millis = 2_000;

/// What a rule makes of a sample.
pub(crate) enum Sign {
    /// A sign, seen from this moment on, in words.
    Bad { since: Millis, says: String },
    /// Clearly no sign.
    Good,
    /// Between the limits, or nothing to judge by: everything stays as it was. In particular a
    /// reading that failed never resets a rule.
    Unclear,
}

/// A rule with what it remembers.
pub(crate) enum Rule {
    Probe {
        id: &'static str,
        latency: &'static str,
        outcome: &'static str,
        waiting: &'static str,
        /// The server answered once; before that there is nothing that could have stalled.
        armed: bool,
    },
    SystemCpu {
        baseline: Baseline,
        /// The previous sample's moment: a share covers the time since then.
        before: Option<Millis>,
    },
    Work {
        running: Baseline,
        completions: Baseline,
        before: Option<(Millis, f64)>,
    },
    Stuck {
        usual: Baseline,
    },
    Slow {
        running: Baseline,
        /// Seconds a statement takes.
        each: Baseline,
        before: Option<(Millis, f64)>,
    },
    User {
        trigger: UserTrigger,
        before: Option<(Millis, f64)>,
    },
}

impl Rule {
    pub(crate) fn all(config: &Config) -> Vec<Self> {
        let baseline = || Baseline::new(config.baseline_ms, config.baseline_min_ms);
        let mut rules = vec![
            Self::Probe {
                id: "query-probe",
                latency: "probe.query_us",
                outcome: "probe.query_outcome",
                waiting: "probe.query_waiting_us",
                armed: false,
            },
            Self::Probe {
                id: "connect-probe",
                latency: "probe.connect_us",
                outcome: "probe.connect_outcome",
                waiting: "probe.connect_waiting_us",
                armed: false,
            },
            Self::SystemCpu {
                baseline: baseline(),
                before: None,
            },
            Self::Work {
                running: baseline(),
                completions: baseline(),
                before: None,
            },
            Self::Stuck { usual: baseline() },
            Self::Slow {
                running: baseline(),
                each: baseline(),
                before: None,
            },
        ];
        rules.extend(config.user.iter().map(|trigger| Self::User {
            trigger: trigger.clone(),
            before: None,
        }));
        rules
    }

    pub(crate) fn id(&self) -> &'static str {
        match self {
            Self::Probe { id, .. } => id,
            Self::SystemCpu { .. } => "system-cpu",
            Self::Work { .. } => "work-not-completing",
            Self::Stuck { .. } => "sessions-stuck",
            Self::Slow { .. } => "statements-slow",
            Self::User { .. } => "user",
        }
    }

    /// How long the signs must last, milliseconds.
    pub(crate) fn hold_ms(&self, config: &Config) -> Millis {
        match self {
            Self::Probe { .. } => config.probe_hold_ms,
            Self::SystemCpu { .. } | Self::Work { .. } | Self::Stuck { .. } | Self::Slow { .. } => {
                config.hold_ms
            }
            Self::User { trigger, .. } => trigger.hold_ms,
        }
    }

    /// Looks at a sample. `calm` is false while a stall is announced: baselines learn only then.
    pub(crate) fn look(&mut self, sample: &Sample, config: &Config, calm: bool) -> Sign {
        match self {
            Self::Probe {
                latency,
                outcome,
                waiting,
                armed,
                ..
            } => look_at_probe(sample, config, [latency, outcome, waiting], armed),
            Self::SystemCpu { baseline, before } => {
                look_at_system_cpu(sample, config, calm, baseline, before)
            }
            Self::Work {
                running,
                completions,
                before,
            } => look_at_work(sample, config, calm, [running, completions], before),
            Self::Stuck { usual } => look_at_stuck(sample, config, calm, usual),
            Self::Slow {
                running,
                each,
                before,
            } => look_at_slow(sample, config, calm, [running, each], before),
            Self::User { trigger, before } => look_at_user_trigger(sample, trigger, before),
        }
    }
}

fn look_at_probe(
    sample: &Sample,
    config: &Config,
    [latency, outcome, waiting]: [&'static str; 3],
    armed: &mut bool,
) -> Sign {
    let slow = |us: f64| us >= config.probe_limit_ms as f64 * 1000.0;
    let since = |us: f64| sample.at.saturating_sub((us / 1000.0) as Millis);
    if let Some(us) = sample.value(waiting) {
        return if *armed && slow(us) {
            Sign::Bad {
                since: since(us),
                says: format!(
                    "a probe has had no answer for {:.1} s (limit {} ms)",
                    us / 1e6,
                    config.probe_limit_ms
                ),
            }
        } else {
            Sign::Unclear
        };
    }
    let Some(outcome) = sample.value(outcome).and_then(ProbeOutcome::from_code) else {
        return Sign::Unclear;
    };
    let us = sample.value(latency).unwrap_or(0.0);
    if outcome == ProbeOutcome::Ok {
        *armed = true;
    }
    if !*armed {
        return Sign::Unclear;
    }
    if outcome.is_stall_sign() {
        return Sign::Bad {
            since: since(us),
            says: format!("probe: {}", outcome.words()),
        };
    }
    if slow(us) {
        return Sign::Bad {
            since: since(us),
            says: format!(
                "a probe took {:.0} ms (limit {} ms)",
                us / 1000.0,
                config.probe_limit_ms
            ),
        };
    }
    Sign::Good
}

fn look_at_system_cpu(
    sample: &Sample,
    config: &Config,
    calm: bool,
    baseline: &mut Baseline,
    before: &mut Option<Millis>,
) -> Sign {
    let Some(share) = sample.value("cpu.system_share") else {
        return Sign::Unclear;
    };
    let since = before.replace(sample.at).unwrap_or(sample.at);
    let usual = baseline.median();
    if calm {
        baseline.add(sample.at, share);
    }
    let Some(usual) = usual else {
        return Sign::Unclear;
    };
    let mut enter = config
        .system_share_min
        .max(usual * config.system_times_baseline);
    // With no processor left, a flood of small statements shares them with what the kernel does for
    // it: the faster the machine, the smaller the kernel's part.
    if sample
        .value("cpu.busy_share")
        .is_some_and(|busy| busy >= USED_UP_SHARE)
    {
        let used_up = config.system_share_min * USED_UP_OF_MIN;
        enter = enter.min(used_up.max(usual * USED_UP_TIMES_BASELINE));
    }
    if share >= enter {
        return Sign::Bad {
            since,
            says: format!(
                "system CPU at {:.0} % of all CPUs, {:.0} % before (limit {:.0} %)",
                share * 100.0,
                usual * 100.0,
                enter * 100.0
            ),
        };
    }
    // Half-way back to the baseline, so that a share dancing on the limit stays one stall.
    if share < (usual + enter) / 2.0 {
        Sign::Good
    } else {
        Sign::Unclear
    }
}

/// What runs and what completes: the moment of the sample before, running threads, statements a second
/// since then.
fn work(sample: &Sample, before: &mut Option<(Millis, f64)>) -> Option<(Millis, f64, f64)> {
    let running = sample.value("status.Threads_running")?;
    let questions = sample.value("status.Questions")?;
    let (since, questions_before) = before.replace((sample.at, questions))?;
    if questions < questions_before || sample.at <= since {
        return None;
    }
    let completions = (questions - questions_before) * 1000.0 / (sample.at - since) as f64;
    Some((since, running, completions))
}

/// Work arrives and does not complete: running threads above their baseline while completions
/// fall below theirs. Either alone is load, not a stall.
fn look_at_work(
    sample: &Sample,
    config: &Config,
    calm: bool,
    [running_usual, completions_usual]: [&mut Baseline; 2],
    before: &mut Option<(Millis, f64)>,
) -> Sign {
    let Some((since, running, completions)) = work(sample, before) else {
        return Sign::Unclear;
    };
    let usual = (running_usual.median(), completions_usual.median());
    if calm {
        running_usual.add(sample.at, running);
        completions_usual.add(sample.at, completions);
    }
    let (Some(usual_running), Some(usual_completions)) = usual else {
        return Sign::Unclear;
    };
    if usual_completions < COMPLETIONS_MIN {
        return Sign::Unclear;
    }
    let crowded =
        running >= (usual_running * 2.0).max(usual_running + config.running_above_baseline);
    let stuck = completions <= usual_completions * config.completions_share;
    match (crowded, stuck) {
        (true, true) => Sign::Bad {
            since,
            says: format!(
                "{running:.0} threads running ({usual_running:.0} before) while statements fell to \
                 {completions:.0}/s ({usual_completions:.0}/s before)"
            ),
        },
        (false, _) => Sign::Good,
        (true, false) => Sign::Unclear,
    }
}

/// Many sessions hang in their statements, whatever the others get done: a pile-up on one table or
/// row leaves the rest of the work as it was.
fn look_at_stuck(sample: &Sample, config: &Config, calm: bool, usual: &mut Baseline) -> Sign {
    let Some(stuck) = sample.value("processlist.active_2s") else {
        return Sign::Unclear;
    };
    let median = usual.median();
    if calm {
        usual.add(sample.at, stuck);
    }
    let Some(median) = median else {
        return Sign::Unclear;
    };
    let limit = (median * 2.0).max(median + config.stuck_above_baseline);
    if stuck >= limit {
        Sign::Bad {
            // They began so long ago, which is also how long the sign has lasted.
            since: sample.at.saturating_sub(STUCK_MS),
            says: format!(
                "{stuck:.0} sessions have been in their statements for 2 s or longer, {median:.0} before \
                 (limit {limit:.0})"
            ),
        }
    } else if stuck < (median + limit) / 2.0 {
        Sign::Good
    } else {
        Sign::Unclear
    }
}

/// Many statements run, and each takes long: as many complete as ever, because the processors have no
/// more to give, and everybody waits. The time of one is that of the queue (Little's law): those
/// that run, by those that complete in a second.
fn look_at_slow(
    sample: &Sample,
    config: &Config,
    calm: bool,
    [running_usual, each_usual]: [&mut Baseline; 2],
    before: &mut Option<(Millis, f64)>,
) -> Sign {
    let Some((since, running, completions)) = work(sample, before) else {
        return Sign::Unclear;
    };
    if completions <= 0.0 {
        return Sign::Unclear;
    }
    // The one that asks is always among them.
    let each = (running - 1.0).max(0.0) / completions;
    let usual = (running_usual.median(), each_usual.median());
    if calm {
        running_usual.add(sample.at, running);
        each_usual.add(sample.at, each);
    }
    let (Some(usual_running), Some(usual_each)) = usual else {
        return Sign::Unclear;
    };
    let crowd = (usual_running * 2.0).max(usual_running + config.stuck_above_baseline);
    let limit = (config.statement_limit_ms as f64 / 1000.0)
        .max(usual_each * config.statement_times_baseline);
    if running >= crowd && each >= limit {
        return Sign::Bad {
            since,
            says: format!(
                "{running:.0} statements ran at once and each took {:.0} ms ({usual_running:.0} and {:.0} ms before, \
                 limits {crowd:.0} and {:.0} ms)",
                each * 1000.0,
                usual_each * 1000.0,
                limit * 1000.0
            ),
        };
    }
    if running < (usual_running + crowd) / 2.0 || each < limit / 2.0 {
        Sign::Good
    } else {
        Sign::Unclear
    }
}

fn look_at_user_trigger(
    sample: &Sample,
    trigger: &UserTrigger,
    before: &mut Option<(Millis, f64)>,
) -> Sign {
    let Some(value) = trigger.value_in(sample) else {
        return Sign::Unclear;
    };
    let previous = before.replace((sample.at, value));
    let (since, value) = if trigger.rate {
        match previous {
            Some((since, old)) if value >= old && sample.at > since => {
                (since, (value - old) * 1000.0 / (sample.at - since) as f64)
            }
            _ => return Sign::Unclear,
        }
    } else {
        (sample.at, value)
    };
    if trigger.holds(value) {
        Sign::Bad {
            since,
            says: format!("{}: it is {}", trigger.text, rounded(value)),
        }
    } else {
        Sign::Good
    }
}

/// A number as people write it: whole when it is large, two places when it is not.
fn rounded(value: f64) -> String {
    if value.abs() >= 1000.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
