//! What a stage has found so far, told as soon as it can be judged.

use std::time::Instant;

use anyhow::Result;

use super::client_latency::{self, ClientStall};
use super::judge::{Judged, is_excused, judge};
use super::lines::{Alarm, Line, Stall};
use super::notices::Notice;
use super::stalls::{JUDGED_AFTER_MS, Made, Run};

impl Run<'_> {
    /// Judges everything, and tells what was over long enough ago and is not told yet. No stall is under way then.
    pub(super) fn tell_all(&mut self) -> Result<()> {
        self.told_at = Instant::now();
        let now_ms = self.now_ms();
        let over_by_ms = now_ms - JUDGED_AFTER_MS;
        let is_over = |made: &Made| !made.is_told && made.end_ms() <= over_by_ms;
        if self.made.iter().any(is_over) {
            let slow = client_latency::slow_seconds(&self.users.watch);
            for made in self.made.iter_mut().filter(|made| is_over(made)) {
                let done_ms = made.done_ms.0;
                if let Some(felt) = &mut made.felt {
                    felt.with_slow(&slow, done_ms);
                }
            }
        }
        let felt: Vec<ClientStall> = self
            .made
            .iter()
            .filter_map(|made| made.felt.clone())
            .collect();
        let (judged, of_none) = judge(&felt, &self.recorder.told, now_ms);
        let mut judged = judged.into_iter();
        let mut lines = Vec::new();
        let mut over = Vec::new();
        for (index, made) in self.made.iter().enumerate() {
            let judged = made.felt.as_ref().and_then(|_| judged.next());
            if is_over(made) {
                lines.push(Line::Stall(Box::new(
                    self.line(made, &judged.unwrap_or_default()),
                )));
                over.push(index);
            }
        }
        for index in over {
            if let Some(made) = self.made.get_mut(index) {
                made.is_told = true;
            }
        }
        for number in of_none {
            let told = self.recorder.told.get(number);
            let is_old = |told: &&Notice| told.trigger_ms <= over_by_ms;
            let Some(told) = told
                .filter(is_old)
                .filter(|_| !self.alarms_told.contains(&number))
            else {
                continue;
            };
            self.alarms_told.push(number);
            let watch = &self.users.watch;
            let mut stretches = client_latency::excused(watch);
            // Where nobody of the pool asked for anything just then, it was a stall all the same.
            stretches.extend(self.made.iter().map(|made| made.done_ms.0..made.done_ms.1));
            if !is_excused(told, &stretches) {
                self.frames_wanted.extend(told.id.clone());
                lines.push(Line::FalseAlarm(Alarm::new(
                    &self.from,
                    self.beside(told.onset_ms),
                    told,
                )));
            }
        }
        self.has_failed |= lines.iter().any(Line::is_failure);
        self.report.keep(&lines)
    }

    /// What was going on at a moment.
    fn beside(&self, ms: i64) -> String {
        let before = self.made.iter().rev().find(|made| made.done_ms.0 <= ms);
        before.map_or_else(
            || "before the first stall".to_owned(),
            |made| {
                let seconds = (ms - made.done_ms.1) as f64 / 1000.0;
                format!(
                    "{seconds:.1} s after the end of {}",
                    made.cell.mechanism.name()
                )
            },
        )
    }

    /// Time in which nothing was done, seconds.
    pub(super) fn calm_s(&self, begun: Instant) -> f64 {
        let stalled = self
            .made
            .iter()
            .map(|made| made.end_ms() - made.done_ms.0)
            .sum::<i64>();
        begun.elapsed().as_secs_f64() - stalled as f64 / 1000.0
    }

    fn line(&self, made: &Made, judged: &Judged) -> Stall {
        let seconds = |ms: Option<i64>| ms.map(|ms| ms as f64 / 1000.0);
        let told = judged
            .told
            .and_then(|number| self.recorder.told.get(number));
        Stall {
            from: self.from.clone(),
            cell: made.cell,
            done_ms: made.done_ms,
            distance_s: made.distance_s,
            felt: made.felt.clone(),
            usual_ms: made.usual_ms,
            noticed: told.is_some(),
            merged: judged.is_merged,
            pieces: judged.pieces,
            delay_s: seconds(judged.delay_ms),
            onset_error_s: seconds(judged.onset_error_ms),
            end_error_s: seconds(judged.end_error_ms),
            rule: told.map(|told| told.rule.clone()),
            says: told.map(|told| told.says.clone()),
            machine_load: made.machine_load,
        }
    }
}
