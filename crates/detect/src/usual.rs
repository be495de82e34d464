//! What is usual for this server.

use model::Millis;
use serde::{Deserialize, Serialize};

use crate::Config;
use crate::baseline::{Baseline, LearntLevel};
use crate::burn::{Burn, LearntBurn};
use crate::view::{View, is_second_look};

/// The levels that rules compare with.
#[derive(Debug)]
pub(crate) struct Usual {
    /// Statements a second.
    pub(crate) completions: Baseline,
    /// Sessions in a statement that somebody waits for.
    pub(crate) in_flight: Baseline,
    /// Sessions that finish something in a second.
    pub(crate) finished: Baseline,
    /// Rows a second.
    pub(crate) rows: Baseline,
    /// Statements that change data, a second.
    pub(crate) writes: Baseline,
    /// Those of them that were seen to take a second.
    pub(crate) hung_writes: Baseline,
    /// Time of a trivial statement, microseconds.
    pub(crate) answer_us: Baseline,
    /// Time of a new connection, microseconds.
    pub(crate) connect_us: Baseline,
    /// System CPU of the server, share of all CPUs.
    pub(crate) system: Baseline,
    /// How much longer whatever the server does takes by its waits for a processor ([`crate::view::Queue::stretch`]).
    pub(crate) stretch: Baseline,
    /// Sessions in their statements for two seconds or longer.
    pub(crate) stuck: Baseline,
    /// How long statements took in the last hours.
    pub(crate) burn: Burn,
    /// The last regular reading of the status and of the sessions.
    status_at: Option<Millis>,
    crowd_at: Option<Millis>,
}

/// What a detector learnt, to keep over a restart of the recorder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learnt {
    completions: LearntLevel,
    in_flight: LearntLevel,
    finished: LearntLevel,
    rows: LearntLevel,
    writes: LearntLevel,
    hung_writes: LearntLevel,
    answer_us: LearntLevel,
    connect_us: LearntLevel,
    system: LearntLevel,
    stretch: LearntLevel,
    stuck: LearntLevel,
    burn: LearntBurn,
}

impl Usual {
    pub(crate) fn new(config: &Config, learnt: &Learnt) -> Self {
        let level =
            |learnt| Baseline::new(config.baseline_ms, config.baseline_min_ms, Some(learnt));
        Self {
            completions: level(&learnt.completions),
            in_flight: level(&learnt.in_flight),
            finished: level(&learnt.finished),
            rows: level(&learnt.rows),
            writes: level(&learnt.writes),
            hung_writes: level(&learnt.hung_writes),
            answer_us: level(&learnt.answer_us),
            connect_us: level(&learnt.connect_us),
            system: level(&learnt.system),
            stretch: level(&learnt.stretch),
            stuck: level(&learnt.stuck),
            burn: Burn::with(&learnt.burn),
            status_at: None,
            crowd_at: None,
        }
    }

    pub(crate) fn learnt(&self) -> Learnt {
        Learnt {
            completions: self.completions.learnt(),
            in_flight: self.in_flight.learnt(),
            finished: self.finished.learnt(),
            rows: self.rows.learnt(),
            writes: self.writes.learnt(),
            hung_writes: self.hung_writes.learnt(),
            answer_us: self.answer_us.learnt(),
            connect_us: self.connect_us.learnt(),
            system: self.system.learnt(),
            stretch: self.stretch.learnt(),
            stuck: self.stuck.learnt(),
            burn: self.burn.learnt(),
        }
    }

    /// Learns from a sample of calm that the view has taken in.
    pub(crate) fn learn(&mut self, source: &str, at: Millis, view: &View, stuck: Option<f64>) {
        // A second look is made because many were seen in statements: it tells nothing of the usual.
        let last = match source {
            "status" => Some(&mut self.status_at),
            "processlist" => Some(&mut self.crowd_at),
            _ => None,
        };
        if let Some(last) = last {
            if last.is_some_and(|last| is_second_look(last, at)) {
                return;
            }
            *last = Some(at);
        }
        match source {
            "status" => {
                if let Some(work) = view.work.filter(|work| work.at == at) {
                    self.completions.add(at, work.completions);
                    if let Some(rows) = work.rows {
                        self.rows.add(at, rows);
                    }
                    if let Some(writes) = work.writes {
                        self.writes.add(at, writes);
                    }
                }
            }
            "processlist" | "connections" => {
                if let Some(crowd) = view.crowd.filter(|crowd| crowd.at == at) {
                    self.in_flight.add(at, crowd.in_flight);
                    self.finished.add(at, crowd.finished);
                    self.hung_writes.add(at, crowd.hung_writes);
                }
                if let Some(stuck) = stuck {
                    self.stuck.add(at, stuck);
                }
                let crowd = view.crowd.filter(|_| source == "processlist");
                if let (Some(work), Some(crowd)) = (view.work_at(at), crowd) {
                    self.burn.add(at, crowd.in_flight, work.completions);
                }
            }
            "query-probe" => {
                if let Some(us) = view.answer_us() {
                    self.answer_us.add(at, us);
                }
            }
            "connect-probe" => {
                if let Some(us) = view.connect_us() {
                    self.connect_us.add(at, us);
                }
            }
            "process" => {
                if let Some(share) = view.own_system_share {
                    self.system.add(at, share);
                }
            }
            "threads" => {
                if let Some(queue) = view.last_queue_at(at).filter(|queue| queue.at == at) {
                    self.stretch.add(at, queue.stretch());
                }
            }
            _ => {}
        }
    }

    fn levels(&mut self) -> [&mut Baseline; 11] {
        [
            &mut self.completions,
            &mut self.in_flight,
            &mut self.finished,
            &mut self.rows,
            &mut self.writes,
            &mut self.hung_writes,
            &mut self.answer_us,
            &mut self.connect_us,
            &mut self.system,
            &mut self.stretch,
            &mut self.stuck,
        ]
    }

    /// A stall began at this moment: what came since is not usual.
    pub(crate) fn forget_from(&mut self, from: Millis) {
        for level in self.levels() {
            level.forget_from(from);
        }
        self.burn.interrupt();
    }

    /// The clock starts anew.
    pub(crate) fn restart(&mut self) {
        for level in self.levels() {
            level.restart();
        }
        self.burn.restart();
    }

    /// What is now is the usual from now on.
    pub(crate) fn begin_anew(&mut self, config: &Config) {
        *self = Self::new(config, &Learnt::default());
    }

    /// How long a statement usually takes, seconds: those that run, by those that complete.
    pub(crate) fn each_seconds(&self) -> Option<f64> {
        let each = self.in_flight.mean()? / self.completions.mean()?;
        each.is_finite().then_some(each)
    }
}
