//! What the machine itself takes from a run: a second true cause, which nobody broke.

use kernel::procfs::stat::{self, CpuTicks};
use kernel::roots::ProcRoot;
use serde_json::Value;

/// The cause that names it.
const CAUSE: &str = "steal-time";

/// From this share of a whole run on, a reader of the score is told.
pub const WITHHELD_MUCH: f64 = 0.05;

/// From this share of a whole run on, its worst seconds may be those of the cause, which asks for a tenth of five.
pub const WITHHELD_SOME: f64 = 0.01;

/// CPU time that the hypervisor withholds from this machine, by the lab's own two looks at `/proc/stat`: whether a verdict
/// says it rightly is not judged by the evidence of the verdict.
#[derive(Debug, Clone, Copy)]
pub struct Withheld {
    before: Option<CpuTicks>,
}

impl Withheld {
    /// Looks from now on.
    pub fn start() -> Self {
        Self { before: now() }
    }

    /// The share since then, of all processors' time; 0 where the kernel does not tell.
    pub fn share(&self) -> f64 {
        self.before
            .zip(now())
            .map_or(0.0, |(before, now)| between(&before, &now))
    }

    /// The verdict's causes that somebody may have made: all of them, but the hypervisor's where it did withhold some.
    pub fn others<'a>(&self, findings: &'a Value) -> Vec<&'a Value> {
        others(findings, self.share())
    }
}

/// Whether a verdict names the machine itself as a cause, and that is true: the hypervisor withheld much of a whole run.
pub fn machine_did_it_too(cause: &str, share: f64) -> bool {
    cause == CAUSE && share >= WITHHELD_MUCH
}

fn others(findings: &Value, share: f64) -> Vec<&Value> {
    let findings = findings.as_array().into_iter().flatten();
    findings
        .filter(|finding| share < WITHHELD_SOME || finding["cause"] != CAUSE)
        .collect()
}

fn now() -> Option<CpuTicks> {
    stat::read(&ProcRoot::default()).ok()?.total
}

fn between(before: &CpuTicks, now: &CpuTicks) -> f64 {
    let grown = |pick: fn(&CpuTicks) -> u64| pick(now).saturating_sub(pick(before)) as f64;
    let steal = grown(|ticks| ticks.steal.unwrap_or(0));
    let ours = grown(|t| t.user + t.nice + t.system + t.idle + t.iowait + t.irq + t.softirq);
    if steal > 0.0 {
        steal / (steal + ours)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cause_of_the_machine_counts_only_where_it_is_there() {
        let ticks = |idle, steal| CpuTicks {
            user: 100,
            idle,
            steal: Some(steal),
            ..CpuTicks::default()
        };
        let share = between(&ticks(50, 10), &ticks(110, 50));
        assert!((share - 0.4).abs() < 1e-9, "{share}");
        assert_eq!(between(&ticks(50, 10), &ticks(110, 10)), 0.0);
        let findings = json!([{"cause": "steal-time"}, {"cause": "mdl-pileup"}]);
        assert_eq!(others(&findings, share), [&findings[1]]);
        assert_eq!(others(&findings, 0.009), [&findings[0], &findings[1]]);
        assert_eq!(others(&Value::Null, share), Vec::<&Value>::new());
        assert!(machine_did_it_too("steal-time", share));
        assert!(!machine_did_it_too("mdl-pileup", share));
        assert!(!machine_did_it_too("steal-time", 0.049));
    }
}
