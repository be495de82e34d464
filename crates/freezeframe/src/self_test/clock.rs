//! The clocks: the recorder's own runs on, and the time of day is one that can be believed.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kernel::clock::{boot_id, boottime_ms, wall_ms};
use kernel::roots::ProcRoot;

use super::{CheckResult, TestSetup};

/// 2026-01-01: this program is younger, so an earlier time of day is wrong.
const BORN_MS: i64 = 1_767_225_600_000;

/// How long both clocks are watched.
const WATCHED: Duration = Duration::from_millis(200);

/// How far they may part meanwhile; slewing is far slower.
const PARTED_MS_MAX: i64 = 50;

/// A file may be younger than now by so much: clocks of network file systems.
const AHEAD_MS_MAX: i64 = 60_000;

pub(super) fn runs(scene: &TestSetup) -> Vec<CheckResult> {
    let (boot, wall) = both();
    std::thread::sleep(WATCHED);
    let (boot_then, wall_then) = both();
    let passed = i64::try_from(boot_then.saturating_sub(boot)).unwrap_or(i64::MAX);
    let parted = wall_then.saturating_sub(wall).saturating_sub(passed);
    let has_boot_id = boot_id(&ProcRoot::default()).is_ok();
    vec![judged(
        wall_ms(),
        passed,
        parted,
        newest_ms(&scene.dir),
        has_boot_id,
    )]
}

/// Both clocks at one moment: on a busy host we may stand still between the two readings.
fn both() -> (u64, i64) {
    const TRIES: usize = 100;
    let mut last = (boottime_ms(), wall_ms());
    for _ in 0..TRIES {
        last = (boottime_ms(), wall_ms());
        if boottime_ms().saturating_sub(last.0) <= 1 {
            break;
        }
    }
    last
}

fn judged(
    wall_ms: i64,
    passed_ms: i64,
    parted_ms: i64,
    newest_ms: Option<i64>,
    has_boot_id: bool,
) -> CheckResult {
    const CHECK: &str = "clock";
    let set = "set it: timedatectl set-ntp true, or chronyd";
    if passed_ms <= 0 {
        let says = "the clock since boot does not move: records cannot be ordered";
        return CheckResult::failed(CHECK, says, "please report it, with the kernel's version");
    }
    if wall_ms < BORN_MS {
        let says = format!(
            "the time of day is {}, which is before this program was built",
            date_time(wall_ms)
        );
        return CheckResult::failed(CHECK, says, set);
    }
    if parted_ms.abs() > PARTED_MS_MAX {
        let says = format!(
            "the time of day jumped by {parted_ms} ms in {passed_ms} ms; records keep their order, but not their time of day"
        );
        return CheckResult::note(CHECK, says).advised(set);
    }
    if let Some(newest) = newest_ms.filter(|newest| *newest > wall_ms + AHEAD_MS_MAX) {
        let says = format!(
            "it is {}, but there are records from {}: the clock was set back",
            date_time(wall_ms),
            date_time(newest)
        );
        return CheckResult::note(CHECK, says).advised("nothing, if the time is right now");
    }
    if !has_boot_id {
        let says = "the kernel has no boot id: times of two boots cannot be distinguished";
        return CheckResult::note(CHECK, says);
    }
    CheckResult::works(CHECK, format!("runs evenly; it is {}", date_time(wall_ms)))
}

fn date_time(wall_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(wall_ms)
        .map_or_else(|_| wall_ms.to_string(), |moment| moment.to_string())
}

/// When the recorder last wrote something there.
fn newest_ms(dir: &Path) -> Option<i64> {
    let times = std::fs::read_dir(dir).ok()?.filter_map(|entry| {
        let modified: SystemTime = entry.ok()?.metadata().ok()?.modified().ok()?;
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    });
    times.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::State;

    #[test]
    fn a_wrong_clock_is_a_failure_and_a_clock_that_was_set_a_note() {
        const NOW: i64 = BORN_MS + 86_400_000;
        let of = |wall, passed, parted, newest| judged(wall, passed, parted, newest, true);
        assert_eq!(of(NOW, 200, 0, Some(NOW)).state, State::Works);
        assert_eq!(
            of(NOW, 200, 0, None).says,
            "runs evenly; it is 2026-01-02T00:00:00Z"
        );
        assert_eq!(of(0, 200, 0, None).state, State::Failed);
        assert_eq!(of(NOW, 0, 0, None).state, State::Failed);
        assert_eq!(of(NOW, 200, -3_600_000, None).state, State::Note);
        let back = of(NOW, 200, 0, Some(NOW + 3_600_000));
        assert_eq!(back.state, State::Note);
        assert!(
            back.says
                .ends_with("2026-01-02T01:00:00Z: the clock was set back")
        );
        assert_eq!(judged(NOW, 200, 0, None, false).state, State::Note);
    }
}
