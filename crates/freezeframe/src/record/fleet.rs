//! The recorders of this process. Each has threads of its own from the look-up of its host's name on, so that none waits
//! for another; those with a name come and go while the others go on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cli::output;
use recorder::{Notice, Recorder, RecorderConfig, Target, host_name};
use signal_hook::consts::SIGHUP;

use super::reporter::{Known, Servers};
use super::service::Service;
use crate::config::Config;
use crate::control::{ControlledRecorder, ControlledRecorders};
use crate::listen::Board;
use crate::refused::RefusedLogin;
use crate::resource_limits;
use crate::target_config::TargetConfig;
use crate::targets_file;

/// How soon the end, a signal, and a recorder that has ended are seen.
pub(super) const NAP: Duration = Duration::from_millis(200);

/// How long the end waits for who looks up a host's name.
const LOOKING_MAX: Duration = Duration::from_millis(500);

/// Where targets are from.
#[derive(Debug, Clone)]
pub(super) enum TargetsFrom {
    /// `--targets`.
    File(PathBuf),
    /// The configuration that was named, or the usual one.
    Config(Option<PathBuf>),
}

impl TargetsFrom {
    /// Reads them, with the configuration that holds for them.
    fn read(&self, config: &Config) -> Result<(Config, Vec<TargetConfig>)> {
        match self {
            Self::File(path) => Ok((config.clone(), targets_file::read(path)?)),
            Self::Config(path) => {
                let config = Config::load(path.as_deref())?;
                let targets = config.targets.clone();
                anyhow::ensure!(!targets.is_empty(), "no [[targets]] any more");
                Ok((config, targets))
            }
        }
    }
}

/// What a recorder needs that comes or goes.
#[derive(Clone)]
pub(super) struct Around {
    recording: RecorderConfig,
    notices: Sender<(String, Notice)>,
    pub(super) service: Option<Arc<Service>>,
    board: Arc<Board>,
    recorded: ControlledRecorders,
    servers: Servers,
}

/// The recorders.
pub(super) struct Fleet {
    pub(super) around: Around,
    pub(super) stop: Arc<AtomicBool>,
    next: usize,
    pub(super) running: Vec<Running>,
}

pub(super) struct Running {
    pub(super) label: String,
    pub(super) number: usize,
    pub(super) stop: Arc<AtomicBool>,
    /// It records, and is waited for at the end.
    began: Arc<AtomicBool>,
    pub(super) thread: JoinHandle<()>,
    from: Option<TargetConfig>,
    /// What was found on this host.
    pub(super) found: Option<Target>,
}

impl Fleet {
    pub(super) fn new(
        recording: RecorderConfig,
        stop: Arc<AtomicBool>,
        notices: Sender<(String, Notice)>,
        service: Option<Arc<Service>>,
        board: Arc<Board>,
    ) -> Self {
        Self {
            around: Around {
                recording,
                notices,
                service,
                board,
                recorded: ControlledRecorders::default(),
                servers: Servers::default(),
            },
            stop,
            next: 0,
            running: Vec::new(),
        }
    }

    pub(super) fn recorded(&self) -> ControlledRecorders {
        self.around.recorded.clone()
    }

    pub(super) fn servers(&self) -> Servers {
        self.around.servers.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Records a server until the end.
    pub(super) fn record(&mut self, target: Target) -> Result<()> {
        let stop = self.stop.clone();
        self.record_until(target, stop)
    }

    /// Records a server until it is told to stop.
    pub(super) fn record_until(&mut self, target: Target, stop: Arc<AtomicBool>) -> Result<()> {
        let number = self.number();
        let label = target.label.clone();
        let found = Some(target.clone());
        let recorder = self
            .around
            .begin(target, number, stop.clone(), Default::default())?;
        let thread = kernel::own_threads::start(format!("ff-{label}"), move || recorder.run())?;
        self.running.push(Running {
            label,
            number,
            stop,
            began: Arc::new(AtomicBool::new(true)),
            thread,
            from: None,
            found,
        });
        Ok(())
    }

    /// Records a server with a name, until the end or until it is no longer wanted.
    fn record_named(&mut self, wanted: &TargetConfig, config: &Config) -> Result<()> {
        let number = self.number();
        let stop = Arc::new(AtomicBool::new(false));
        let began = Arc::new(AtomicBool::new(false));
        let mut around = self.around.clone();
        around.recording.dir = around
            .recording
            .dir
            .join(store::TARGETS_DIR)
            .join(&wanted.name);
        let thread = {
            let (wanted, config) = (wanted.clone(), config.clone());
            let (stop, began) = (stop.clone(), began.clone());
            let name = format!("ff-{}", wanted.name);
            let look = move || {
                let found = wanted.find(&config);
                // Nobody waits for it any more.
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let begun = found.and_then(|target| {
                    around.begin(target, number, stop.clone(), wanted.labels.clone())
                });
                match begun {
                    Ok(recorder) => {
                        began.store(true, Ordering::Relaxed);
                        recorder.run();
                    }
                    Err(error) => around.not_started(&wanted.name, &error),
                }
            };
            kernel::own_threads::start(name, look)?
        };
        self.running.push(Running {
            label: wanted.name.clone(),
            number,
            stop,
            began,
            thread,
            from: Some(wanted.clone()),
            found: None,
        });
        Ok(())
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Waits for the recorders on a thread of its own. Nobody else holds the way of the notices then, so that the last
    /// recorder's end is the end of the telling.
    pub(super) fn wait_for_end(self) -> Result<JoinHandle<()>> {
        let Self {
            around, running, ..
        } = self;
        drop(around);
        let join = move || {
            for running in running {
                let _ = running.thread.join();
            }
        };
        Ok(kernel::own_threads::start("ff-targets", join)?)
    }

    /// Records the targets, and looks after them on a thread of its own.
    pub(super) fn record_targets(
        mut self,
        from: TargetsFrom,
        config: &Config,
    ) -> Result<JoinHandle<()>> {
        let hangup = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, hangup.clone()).context("cannot handle signals")?;
        let (config, mut wanted) = from.read(config)?;
        let mut base = config.clone();
        warn_of_limits(wanted.len());
        self.apply(&wanted, &base);
        let look_after = move || {
            while !self.stop.load(Ordering::Relaxed) {
                std::thread::sleep(NAP);
                let mut is_other = !self.is_settled(wanted.len());
                if hangup.swap(false, Ordering::Relaxed) {
                    is_other = true;
                    match from.read(&config) {
                        Ok((config, targets)) => {
                            if targets.len() > wanted.len() {
                                warn_of_limits(targets.len());
                            }
                            (base, wanted) = (config, targets);
                            self.give_up_failed();
                        }
                        Err(error) => {
                            output::note(&format!("the targets stay as they are: {error:#}"));
                        }
                    }
                }
                // With hundreds of targets to compare there is something to do only then.
                if is_other {
                    self.apply(&wanted, &base);
                }
            }
            self.finish();
        };
        let thread = kernel::own_threads::start("ff-targets", look_after)?;
        Ok(thread)
    }

    /// All that are wanted are there, and none is ending.
    fn is_settled(&self, wanted: usize) -> bool {
        let mut running = self.running.iter();
        self.running.len() == wanted && !running.any(|one| one.stop.load(Ordering::Relaxed))
    }

    /// What could not be begun is tried again: a file may be right now.
    fn give_up_failed(&self) {
        for running in &self.running {
            if running.thread.is_finished() {
                running.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Ends what is not wanted, or not as it is, and begins what is missing; the others go on.
    fn apply(&mut self, wanted: &[TargetConfig], config: &Config) {
        for running in &self.running {
            let is_wanted = wanted.iter().any(|one| Some(one) == running.from.as_ref());
            if !is_wanted && !running.stop.swap(true, Ordering::Relaxed) {
                self.around.is_unwanted(running.number);
            }
        }
        // A history has one writer: the next recorder of a name begins when the last one is gone.
        let around = &self.around;
        self.running.retain(|running| {
            let is_gone = running.stop.load(Ordering::Relaxed)
                && (running.thread.is_finished() || !running.began.load(Ordering::Relaxed));
            if is_gone {
                around.forget(&running.label);
            }
            !is_gone
        });
        for one in wanted {
            let is_there = self.running.iter().any(|running| running.label == one.name);
            if !is_there && let Err(error) = self.record_named(one, config) {
                self.around.not_started(&one.name, &error);
            }
        }
    }

    /// Waits for the recorders, which write what they have.
    pub(super) fn finish(self) {
        for running in &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
        let end = Instant::now() + LOOKING_MAX;
        for running in self.running {
            while !running.began.load(Ordering::Relaxed)
                && !running.thread.is_finished()
                && Instant::now() < end
            {
                std::thread::sleep(NAP / 10);
            }
            // Who still looks up a name writes nothing.
            if running.began.load(Ordering::Relaxed) || running.thread.is_finished() {
                let _ = running.thread.join();
            }
        }
    }
}

/// What is too small for so many servers is told before it ends them.
fn warn_of_limits(targets: usize) {
    for line in resource_limits::too_small(targets) {
        output::note(&line);
    }
}

impl Around {
    fn begin(
        &self,
        target: Target,
        number: usize,
        stop: Arc<AtomicBool>,
        labels: std::collections::BTreeMap<String, String>,
    ) -> Result<Recorder> {
        let label = target.label.clone();
        let known = Known {
            name: target.name(),
            host: target.other_host.clone().unwrap_or_else(host_name),
            is_elsewhere: target.other_host.is_some(),
            who: RefusedLogin::of(&target),
            pulse: OnceLock::new(),
            labels,
        };
        let (name, labels) = (known.name.clone(), known.labels.clone());
        // Before the first notice.
        self.servers.insert(&label, known);
        let mut recorder =
            Recorder::start(target, self.recording.clone(), stop, self.notices.clone())?;
        if let Some(known) = self.servers.get(&label) {
            known.pulse.get_or_init(|| recorder.pulse());
        }
        if let Some(service) = self.service.clone() {
            service.expect(number);
            recorder.watched_by(Box::new(move |beating| service.beat(number, beating)));
        }
        self.board.add(&label, &name, recorder.pulse());
        self.board.labels(&label, &labels);
        self.recorded.add(ControlledRecorder {
            label,
            asked: recorder.capture_requests(),
            pulse: recorder.pulse(),
            stacks: recorder.recent_stacks(),
        });
        Ok(recorder)
    }

    /// A target that cannot be recorded is one in trouble.
    pub(super) fn not_started(&self, name: &str, error: &anyhow::Error) {
        self.board.add(name, name, Arc::default());
        self.board.ended(name);
        let notice = Notice::NotStarted(error.to_string());
        let _ = self.notices.send((name.to_owned(), notice));
    }

    /// It ends alone: the service goes on.
    pub(super) fn is_unwanted(&self, number: usize) {
        if let Some(service) = &self.service {
            service.forget(number);
        }
    }

    pub(super) fn forget(&self, label: &str) {
        self.board.remove(label);
        self.recorded.remove(label);
        self.servers.remove(label);
    }
}
