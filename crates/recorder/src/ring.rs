//! The last minutes in memory, at full resolution.

use std::collections::{HashMap, VecDeque};

use model::{
    Absent, Fact, Incident, LateTimeline, Millis, Sample, TimedAbsent, TimedFact, TimedText, Window,
};

/// Different absences kept at the most; the rest is left out, for the first ones say enough.
const ABSENT_MAX: usize = 256;

/// Bytes of texts kept at the most, whatever their age.
const TEXT_BYTES_MAX: usize = 24 << 20;

/// How often the ring is cut, in milliseconds: cutting moves what is kept.
const CUT_EVERY_MS: Millis = 15_000;

#[derive(Debug, Default)]
pub(crate) struct Ring {
    timeline: LateTimeline,
    texts: VecDeque<TimedText>,
    text_bytes: usize,
    facts: Vec<TimedFact>,
    present_facts: HashMap<String, String>,
    absent: Vec<TimedAbsent>,
    cut_at: Millis,
}

impl Ring {
    /// Takes a sample in. Facts that are as they were are removed from it: they are no news for
    /// the history either.
    pub(crate) fn add(&mut self, sample: &mut Sample) {
        let at = sample.at;
        match &mut sample.outcome {
            Ok(taken) => {
                taken.facts.retain(|fact| self.is_news(fact));
                for fact in &taken.facts {
                    self.facts.push(TimedFact {
                        at,
                        fact: fact.clone(),
                    });
                }
                for text in &taken.texts {
                    self.text_bytes += text.body().len();
                    self.texts.push_back(TimedText {
                        at,
                        text: text.clone(),
                    });
                }
                for absent in &taken.absent {
                    self.add_absent(at, absent);
                }
            }
            Err(absent) => {
                let absent = absent.clone();
                self.add_absent(at, &absent);
            }
        }
        while self.text_bytes > TEXT_BYTES_MAX
            && let Some(oldest) = self.texts.pop_front()
        {
            self.text_bytes -= oldest.text.body().len();
        }
        self.timeline.push(sample);
    }

    fn is_news(&mut self, fact: &Fact) -> bool {
        if self.present_facts.get(&fact.name) == Some(&fact.value) {
            return false;
        }
        self.present_facts
            .insert(fact.name.clone(), fact.value.clone());
        true
    }

    fn add_absent(&mut self, at: Millis, absent: &Absent) {
        if let Some(known) = self.absent.iter_mut().find(|known| known.absent == *absent) {
            known.last = at;
            known.count += 1;
        } else if self.absent.len() < ABSENT_MAX {
            self.absent.push(TimedAbsent {
                first: at,
                last: at,
                count: 1,
                absent: absent.clone(),
            });
        }
    }

    /// The present value of a fact.
    pub(crate) fn fact(&self, name: &str) -> Option<&str> {
        self.present_facts.get(name).map(String::as_str)
    }

    /// Whether a signal was brought; names of status variables in any case.
    pub(crate) fn has_signal(&self, name: &str) -> bool {
        let is_status = name.starts_with("status.");
        self.timeline.series().iter().any(|series| {
            series.name == name || (is_status && series.name.eq_ignore_ascii_case(name))
        })
    }

    /// Forgets what is older than `from`, now and then.
    pub(crate) fn forget_before(&mut self, from: Millis) {
        if from < self.cut_at + CUT_EVERY_MS {
            return;
        }
        self.cut_at = from;
        self.timeline.forget_before(from);
        while self.texts.front().is_some_and(|text| text.at < from)
            && let Some(oldest) = self.texts.pop_front()
        {
            self.text_bytes -= oldest.text.body().len();
        }
        self.absent.retain(|absent| absent.last >= from);
        // Of an old fact only what held at `from` matters: the last of its name before it.
        let mut later: HashMap<String, Millis> = HashMap::new();
        for timed in self.facts.iter().filter(|timed| timed.at <= from) {
            later.insert(timed.fact.name.clone(), timed.at);
        }
        self.facts
            .retain(|timed| timed.at > from || later.get(&timed.fact.name) == Some(&timed.at));
    }

    /// Signals, values, bytes of texts, and different absences.
    pub(crate) fn size(&self) -> [u64; 4] {
        [
            self.timeline.series().len() as u64,
            self.timeline.values() as u64,
            self.text_bytes as u64,
            self.absent.len() as u64,
        ]
    }

    /// Fills an incident with what lies within its window.
    pub(crate) fn fill(&mut self, incident: &mut Incident) {
        let Window { from, to } = incident.window;
        incident.timeline = self.timeline.settled().between(incident.window);
        incident.texts = self
            .texts
            .iter()
            .filter(|text| text.at >= from && text.at <= to)
            .cloned()
            .collect();
        incident.facts = self
            .facts
            .iter()
            .filter(|fact| fact.at <= to)
            .cloned()
            .collect();
        incident.absent = self
            .absent
            .iter()
            .filter(|absent| absent.last >= from && absent.first <= to)
            .cloned()
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use model::{OwnText, Reading, Reason, SourceData, Text, Unit};

    use super::*;

    fn sample(at: Millis, fact: &str, text: &str) -> Sample {
        Sample {
            source: "status",
            at,
            took_us: 1,
            outcome: Ok(SourceData {
                readings: vec![Reading::gauge("status.x", Unit::Count, at as f64)],
                texts: vec![Text::own(OwnText::Processlist, text)],
                facts: vec![Fact::new("variables.a", fact)],
                absent: vec![Absent::new("y", Reason::Permission, "no")],
            }),
        }
    }

    #[test]
    fn facts_are_news_once_and_stay_known_after_a_cut() {
        let mut ring = Ring::default();
        for (at, fact) in [(1000, "1"), (2000, "1"), (3000, "2"), (100_000, "2")] {
            let mut sample = sample(at, fact, "t");
            ring.add(&mut sample);
            let news = sample.outcome.unwrap().facts.len();
            assert_eq!(news, usize::from(at == 1000 || at == 3000));
        }
        ring.forget_before(50_000);
        assert_eq!(ring.facts.len(), 1);
        assert_eq!((ring.texts.len(), ring.text_bytes), (1, 1));
        assert_eq!(ring.fact("variables.a"), Some("2"));
        assert_eq!(ring.absent[0].count, 4);
    }

    #[test]
    fn texts_are_bounded_in_bytes() {
        let mut ring = Ring::default();
        let body = "x".repeat(TEXT_BYTES_MAX / 4);
        for at in 0..10 {
            ring.add(&mut sample(at, "1", &body));
        }
        assert_eq!(ring.texts.len(), 4);
    }
}
