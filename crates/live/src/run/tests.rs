use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use diagnosis::Verdict;
use model::{Clock, Incident, Server, StackEvidence, Stall, Timeline, Window};

use super::*;

/// A history: it has ended as long as no recorder tells anything.
#[derive(Clone, Default)]
struct Recorded {
    told: Arc<Mutex<Option<RecorderState>>>,
    every: Option<Duration>,
    readings: Arc<AtomicUsize>,
}

impl Recorded {
    fn tells(&self, told: RecorderState) {
        *self.told.lock().unwrap() = Some(told);
    }

    fn shown(&self) -> Opened {
        let options = Options {
            palette: Palette::Off,
            is_ascii: true,
            is_ordinary: true,
        };
        opened(Box::new(self.clone()), &Precedence::new(), options, 0).unwrap()
    }
}

/// Goes around the loop until something is so, for some seconds at the most.
fn go_around(top: &mut Opened, until: impl Fn(&Opened) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !until(top) && Instant::now() < end {
        top.take();
        top.ask();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(until(top));
}

impl Source for Recorded {
    fn read(&mut self, _around: Option<i64>) -> Result<Option<Model>> {
        self.readings.fetch_add(1, Ordering::Relaxed);
        let recorder = self.recorder_state();
        let kind = match &recorder {
            Some(_) => RecordingKind::Recorder,
            None => RecordingKind::History,
        };
        let incident = Incident {
            mentions: Vec::new(),
            known_words: Vec::new(),
            id: "3306".to_owned(),
            host: "db7".to_owned(),
            tool_version: String::new(),
            server: Server::default(),
            clock: Clock::default(),
            stall: Stall {
                onset: 0,
                trigger: 0,
                end: Some(0),
                triggers: Vec::new(),
                earlier: Vec::new(),
            },
            window: Window { from: 0, to: 1000 },
            timeline: Timeline::default(),
            texts: Vec::new(),
            facts: Vec::new(),
            stacks: StackEvidence::default(),
            queries: Vec::new(),
            absent: Vec::new(),
        };
        Ok(Some(Model {
            stalls: Vec::new(),
            incident: Arc::new(incident),
            verdict: None,
            kind,
            path: String::new(),
            incidents: Vec::new(),
            recorder,
            is_newest: true,
            read_wall_ms: None,
            notes: Vec::new(),
            recent: None,
            usual: Arc::default(),
            derived: crate::derived::Derived::default(),
        }))
    }

    fn every(&self) -> Option<Duration> {
        self.every
    }

    fn awaits(&self) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn recorder_state(&mut self) -> Option<RecorderState> {
        self.told.lock().unwrap().clone()
    }

    fn export(&mut self, _model: &Model, _directory: &Path) -> Result<PathBuf> {
        anyhow::bail!("nobody asks for it")
    }
}

#[test]
fn a_view_of_an_ended_history_goes_over_to_a_recorder_that_starts() {
    for (frozen_at, said) in [
        (None, "a recorder runs now"),
        (Some(500), "a recorder runs now: End goes there"),
    ] {
        let source = Recorded::default();
        let mut top = source.shown();
        top.state.at_wall_ms = frozen_at;
        for _ in 0..20 {
            top.take();
            top.ask();
            std::thread::sleep(Duration::from_millis(2));
        }
        // Meanwhile only the recorder is looked for.
        assert_eq!(source.readings.load(Ordering::Relaxed), 1);
        assert_eq!(top.state.message, None);
        source.tells(RecorderState::default());
        go_around(&mut top, |top| top.model.kind == RecordingKind::Recorder);
        assert_eq!(top.state.message.as_deref(), Some(said));
    }
}

#[test]
fn a_verdict_is_read_as_soon_as_the_recorder_tells_it() {
    let source = Recorded {
        every: Some(Duration::from_secs(600)),
        ..Recorded::default()
    };
    let stalls = RecorderState {
        stalled_ms: Some(3_000),
        ..RecorderState::default()
    };
    source.tells(stalls.clone());
    let mut top = source.shown();
    let read = || source.readings.load(Ordering::Relaxed);
    // With the stacks.
    go_around(&mut top, |top| read() == 2 && !top.is_reading);
    assert!(top.awaits_verdict());
    source.tells(RecorderState {
        verdict: Some(Verdict {
            sentence: String::new(),
            findings: Vec::new(),
            folded: Vec::new(),
            mechanism: Vec::new(),
            rejected: Vec::new(),
            absent: Vec::new(),
            sources: Vec::new(),
        }),
        ..stalls
    });
    go_around(&mut top, |top| !top.awaits_verdict());
    assert_eq!(read(), 3);
    assert_eq!(top.state.message, None, "it is looked at already");
}
