//! `freezeframe self-test`: does everything that a recording needs work here? A line each, in 10 s at the most.

mod clock;
mod disk;
mod facilities;
mod hooks;
mod stall;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use cli::output::{self, wrapped};
use serde_json::{Value, json};

use crate::args::SelfTest;
use crate::config::Config;

/// For all steps together: a disk that hangs is a result, too.
const TIME_MAX: Duration = Duration::from_secs(9);

/// For the directory, which the other steps on the disk need.
const FIRST_TIME_MAX: Duration = Duration::from_secs(4);

/// Columns of a line where standard output is no terminal.
const WIDTH_UNKNOWN: usize = 100;

/// How it is with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It works.
    Works,
    /// A recording goes without it, or it is odd.
    Note,
    /// A recording needs it.
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Works => "ok",
            Self::Note => "note",
            Self::Failed => "failed",
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckResult {
    pub(crate) check: String,
    pub(crate) state: State,
    pub(crate) says: String,
    /// What to do about it.
    pub(crate) to_do: Option<String>,
}

impl CheckResult {
    fn works(check: &str, says: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            state: State::Works,
            says: says.into(),
            to_do: None,
        }
    }

    fn note(check: &str, says: impl Into<String>) -> Self {
        Self {
            state: State::Note,
            ..Self::works(check, says)
        }
    }

    fn failed(check: &str, says: impl Into<String>, to_do: impl Into<String>) -> Self {
        Self {
            state: State::Failed,
            to_do: Some(to_do.into()),
            ..Self::works(check, says)
        }
    }

    fn advised(mut self, to_do: impl Into<String>) -> Self {
        self.to_do = Some(to_do.into());
        self
    }
}

/// Where it is tested.
pub(crate) struct TestSetup {
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
}

/// A part of the test, on a thread of its own.
struct Step {
    name: &'static str,
    run: fn(&TestSetup) -> Vec<CheckResult>,
}

const STEPS: [Step; 8] = [
    Step {
        name: "directory",
        run: disk::directory,
    },
    Step {
        name: "free space",
        run: disk::space,
    },
    Step {
        name: "incident file",
        run: disk::incident_file,
    },
    Step {
        name: "history",
        run: disk::history,
    },
    Step {
        name: "stall",
        run: stall::noticed_and_explained,
    },
    Step {
        name: "clock",
        run: clock::runs,
    },
    Step {
        name: "hooks",
        run: hooks::deliver,
    },
    Step {
        name: "kernel",
        run: facilities::of_kernel,
    },
];

/// All that was found.
pub(crate) struct Tested {
    pub(crate) found: Vec<CheckResult>,
    took: Duration,
}

impl Tested {
    pub(crate) fn is_sound(&self) -> bool {
        self.count(State::Failed) == 0
    }

    fn count(&self, state: State) -> usize {
        self.found.iter().filter(|one| one.state == state).count()
    }

    pub(crate) fn as_json(&self) -> Value {
        let checks: Vec<Value> = self
            .found
            .iter()
            .map(|one| {
                json!({
                    "check": one.check,
                    "state": one.state.name(),
                    "says": one.says,
                    "to_do": one.to_do,
                })
            })
            .collect();
        json!({
            "ok": self.is_sound(),
            "version": env!("CARGO_PKG_VERSION"),
            "took_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "checks": checks,
        })
    }

    fn as_text(&self) -> String {
        let width = match output::text_options().width {
            0 => WIDTH_UNKNOWN,
            width => width,
        };
        let mut text = String::new();
        for one in &self.found {
            let head = format!("  {:<7} {:<28} ", one.state.name(), one.check);
            text += &wrapped(&head, &one.says, width);
            if let Some(to_do) = &one.to_do {
                text += &wrapped("          to do: ", to_do, width);
            }
        }
        let (failed, notes) = (self.count(State::Failed), self.count(State::Note));
        let works = self.count(State::Works);
        let seconds = self.took.as_secs_f64();
        text += &match failed {
            0 => {
                format!("OK: {works} ok, {notes} notes, in {seconds:.1} s\n")
            }
            _ => format!(
                "FAILED: {failed} of {}, in {seconds:.1} s\n",
                self.found.len()
            ),
        };
        text
    }
}

pub(crate) fn run(args: &SelfTest) -> Result<ExitCode> {
    let tested = test(args.dir.as_deref(), args.config.as_deref());
    match args.json {
        true => output::print_json(&tested.as_json())?,
        false => output::print(&tested.as_text())?,
    }
    Ok(match tested.is_sound() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Runs every step. With a configuration that cannot be read, the rest is tested with the defaults.
pub(crate) fn test(dir: Option<&std::path::Path>, config: Option<&std::path::Path>) -> Tested {
    let begin = Instant::now();
    let (config, first) = match Config::load(config) {
        Ok(config) => (config, CheckResult::works("configuration", "can be read")),
        Err(error) => {
            let says = format!("{error:#}");
            let to_do = "correct this line; until then nothing is recorded";
            let failed = CheckResult::failed("configuration", says, to_do);
            (Config::default(), failed)
        }
    };
    let dir = config.directory(dir);
    let scene = Arc::new(TestSetup { dir, config });
    let made = disk::CreatedDirs::missing_below(&scene.dir);
    let mut found = vec![first];
    let left = |most: Duration| most.min(TIME_MAX.saturating_sub(begin.elapsed()));
    let (first, others) = (&STEPS[..1], &STEPS[1..]);
    for step in first {
        found.extend(step.begin(&scene).in_time(left(FIRST_TIME_MAX)));
    }
    // The others at once: what hangs takes no time of what works.
    let begun: Vec<Begun> = others.iter().map(|step| step.begin(&scene)).collect();
    for step in begun {
        found.extend(step.in_time(left(TIME_MAX)));
    }
    made.take_away();
    Tested {
        found,
        took: begin.elapsed(),
    }
}

/// A step that runs.
struct Begun {
    name: &'static str,
    since: Instant,
    found: Result<Receiver<Vec<CheckResult>>, std::io::Error>,
}

impl Step {
    fn begin(&self, scene: &Arc<TestSetup>) -> Begun {
        let (sender, found) = sync_channel(1);
        let (run, scene) = (self.run, scene.clone());
        let spawned = kernel::own_threads::start("ff-self-test", move || {
            // Nobody may be waiting any more.
            let _ = sender.send(run(&scene));
        });
        Begun {
            name: self.name,
            since: Instant::now(),
            found: spawned.map(|_| found),
        }
    }
}

impl Begun {
    /// What it found; it is not waited for any longer than that.
    fn in_time(self, patience: Duration) -> Vec<CheckResult> {
        let found = match self.found {
            Ok(found) => found,
            Err(error) => {
                let to_do = "raise the limit on threads (TasksMax= of the unit, ulimit -u)";
                let says = format!("cannot start a thread: {error}");
                return vec![CheckResult::failed(self.name, says, to_do)];
            }
        };
        match found.recv_timeout(patience) {
            Ok(found) => found,
            Err(RecvTimeoutError::Timeout) => vec![CheckResult::failed(
                self.name,
                format!(
                    "not finished in {:.1} s",
                    self.since.elapsed().as_secs_f64()
                ),
                "the disk or this host hangs: see dmesg and /proc/pressure",
            )],
            Err(RecvTimeoutError::Disconnected) => vec![CheckResult::failed(
                self.name,
                "internal error",
                "please report the line above",
            )],
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn scene() -> Arc<TestSetup> {
        Arc::new(TestSetup {
            dir: "/dev/null".into(),
            config: Config::default(),
        })
    }

    #[test]
    fn what_hangs_and_what_panics_is_a_failure_in_time() {
        let hangs = Step {
            name: "hangs",
            run: |_| {
                std::thread::sleep(Duration::from_secs(600));
                Vec::new()
            },
        };
        let begin = Instant::now();
        let found = hangs.begin(&scene()).in_time(Duration::from_millis(50));
        assert!(begin.elapsed() < Duration::from_secs(30));
        assert_eq!(found[0].state, State::Failed);
        assert!(found[0].says.starts_with("not finished in "), "{found:?}");
        let ends = Step {
            name: "ends",
            run: |_| std::panic::resume_unwind(Box::new(())),
        };
        let found = ends.begin(&scene()).in_time(Duration::from_secs(30));
        assert_eq!(found[0].says, "internal error");
    }

    #[test]
    fn one_failure_makes_it_unsound_and_a_note_does_not() {
        let mut tested = Tested {
            found: vec![CheckResult::works("a", "x"), CheckResult::note("b", "y")],
            took: Duration::from_millis(1234),
        };
        assert!(tested.is_sound());
        assert_eq!(
            tested.as_text(),
            "  ok      a                            x\n  note    b                            y\n\
             OK: 1 ok, 1 notes, in 1.2 s\n"
        );
        tested.found.push(CheckResult::failed("c", "z", "mend it"));
        assert!(!tested.is_sound());
        let text = tested.as_text();
        assert!(
            text.contains("  failed  c                            z\n          to do: mend it\n")
        );
        assert!(text.ends_with("FAILED: 1 of 3, in 1.2 s\n"), "{text}");
        let json = tested.as_json();
        assert_eq!(
            (&json["ok"], &json["took_ms"]),
            (&json!(false), &json!(1234))
        );
        assert_eq!(json["checks"][2]["to_do"], "mend it");
        assert_eq!(json["checks"][0]["to_do"], Value::Null);
    }
}
