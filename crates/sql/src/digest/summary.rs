//! The digest at the end.

use model::{Absent, FoldedClasses, PER_CONNECTION, QueryClass, QueryDigest, QueryMethod, Reason};

use super::class::{Class, SummaryOptions, Translation};
use super::measure::{SECOND_US, Unit};
use super::names::INHERITED;
use super::{Digester, Order, Statistic};

/// What a log says in sum.
#[derive(Debug, Clone, PartialEq)]
pub struct LogDigest {
    /// By class.
    pub digest: QueryDigest,
    /// All statements as if they were one class.
    pub total: QueryClass,
}

impl Digester {
    /// Tells what was seen: classes in this order, of which so many are told one by one (all, when `None`) and the rest
    /// as one. Samples have their literals only when `literals` says so.
    pub fn finish(
        mut self,
        way: QueryMethod,
        order: &Order,
        limit: Option<usize>,
        literals: bool,
    ) -> LogDigest {
        // Nothing more comes, and what is told needs room.
        self.fingerprinter = crate::Fingerprinter::new(self.options.mode);
        let total = self.total();
        self.summarise_connections();
        let classes_before = self.classes.len() as u64;
        let mut classes = std::mem::take(&mut self.classes);
        self.sort(&mut classes, order);
        let rest = classes.split_off(limit.unwrap_or(usize::MAX).min(classes.len()));
        let options = SummaryOptions {
            slots: &self.attributes.slots,
            names: &self.names,
            errors_known: self.attributes.errors_known,
            samples: true,
            literals,
        };
        let slot = self.attributes.time_slot;
        let seconds = |class: &Class| {
            let measure = slot.and_then(|slot| class.measures.get(slot));
            measure.map_or(0.0, |measure| measure.sum() as f64 / SECOND_US)
        };
        let folded_before = self.folded_keys.len() as u64 + self.folded_more;
        let folded_count = self.folded.count + rest.iter().map(|class| class.count).sum::<u64>();
        let folded = (folded_count > 0).then(|| FoldedClasses {
            count: folded_count,
            seconds: slot.map(|_| seconds(&self.folded) + rest.iter().map(seconds).sum::<f64>()),
            classes_at_least: rest.len() as u64 + folded_before,
        });
        drop(rest);
        // One at a time, so that both forms are not in memory at once.
        let mut summary = Vec::with_capacity(classes.len());
        for class in classes {
            summary.push(class.summarise(&options));
        }
        let mut total = total.summarise(&SummaryOptions {
            samples: false,
            ..options
        });
        total.fingerprint = String::new();
        let digest = QueryDigest {
            tried: Vec::new(),
            connections: None,
            method: way,
            from_us: total.first_us,
            to_us: total.last_us,
            count: total.count,
            errors: total.errors,
            classes: summary,
            folded,
            lost: 0,
            blind: self.blind(way, classes_before, folded_before),
        };
        LogDigest { digest, total }
    }

    /// How often connections asked, as a measure of the classes: of all as one it would mean nothing.
    fn summarise_connections(&mut self) {
        if !self.options.per_connection {
            return;
        }
        let Some(slot) = self.attributes.slot_of(PER_CONNECTION, Unit::Whole) else {
            return;
        };
        let slots = self.attributes.slots.len();
        for (place, count) in self.connections.take() {
            let class = self.classes.get_mut(place);
            if let Some(measure) = class.and_then(|class| class.measure(slot, slots)) {
                measure.record(count, &mut self.room);
            }
        }
    }

    /// All classes as one.
    fn total(&mut self) -> Class {
        let names: Vec<u32> = (0..self.names.len()).collect();
        let slots: Vec<Option<usize>> = (0..self.attributes.slots.len()).map(Some).collect();
        let translation = Translation {
            slots: &slots,
            slots_count: slots.len(),
            names: &names,
            inherited: INHERITED,
        };
        // Its own room: it is one class.
        let mut room = 1 << 20;
        let mut total = Class::default();
        for class in self.classes.iter().chain([&self.folded]) {
            total.merge(class.without_sample(), &translation, &mut room);
        }
        total
    }

    fn sort(&self, classes: &mut [Class], order: &Order) {
        let number = |class: &Class| -> f64 {
            let slot_named = |name: &str| {
                let slots = &self.attributes.slots;
                slots
                    .iter()
                    .position(|slot| slot.name.eq_ignore_ascii_case(name))
            };
            match order {
                Order::Count => class.count as f64,
                Order::Usual => match self.attributes.time_slot {
                    Some(slot) => class.measures.get(slot).map_or(0.0, |m| m.sum() as f64),
                    None => class.count as f64,
                },
                Order::Measure(name, statistic) => {
                    let Some(slot) = slot_named(name) else {
                        return 0.0;
                    };
                    let (Some(measure), Some(known)) =
                        (class.measures.get(slot), self.attributes.slots.get(slot))
                    else {
                        return 0.0;
                    };
                    match statistic {
                        Statistic::Sum => measure.sum() as f64,
                        Statistic::Max => measure.max() as f64,
                        _ => {
                            let summary = measure.summarise("", known.unit);
                            match statistic {
                                Statistic::Min => summary.min.unwrap_or_default(),
                                Statistic::Average => summary.sum / (summary.count.max(1) as f64),
                                Statistic::Count => summary.count as f64,
                                Statistic::Median => summary.median.unwrap_or_default(),
                                Statistic::P95 => summary.p95.unwrap_or_default(),
                                _ => summary.p99.unwrap_or_default(),
                            }
                        }
                    }
                }
            }
        };
        classes.sort_by_cached_key(|class| {
            // Most first; what is equal by count and by name, so that two runs tell the same.
            let ordered = u64::MAX - order_bits(number(class));
            (ordered, u64::MAX - class.count, class.label.clone())
        });
    }

    /// Whether the log has numbers of this name, in any case of letters.
    pub fn measures(&self, name: &str) -> bool {
        self.measure_names()
            .any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Names of the numbers in the log.
    pub fn measure_names(&self) -> impl Iterator<Item = &str> {
        let slots = self.attributes.slots.iter().map(|slot| &*slot.name);
        // It has no slot before the end.
        slots.chain(self.options.per_connection.then_some(PER_CONNECTION))
    }

    fn blind(&self, way: QueryMethod, classes: u64, folded: u64) -> Vec<Absent> {
        let mut blind = Vec::new();
        let mut add =
            |what: &str, reason, detail: String| blind.push(Absent::new(what, reason, detail));
        match way {
            QueryMethod::SlowLog => add(
                "statements",
                Reason::Unsupported,
                "a slow log has what was slower than long_query_time when it was written, and no more".to_owned(),
            ),
            QueryMethod::GeneralLog => add(
                "times",
                Reason::Unsupported,
                "a general log tells neither how long statements took nor whether they failed".to_owned(),
            ),
            _ => {}
        }
        if self.attributes.rate_max > 1 {
            add(
                "statements",
                Reason::NotRecorded,
                format!(
                    "the log is a sample: down to one statement or session in {} (Log_slow_rate_limit)",
                    self.attributes.rate_max
                ),
            );
        }
        if folded > 0 {
            add(
                "classes",
                Reason::Limit,
                format!(
                    "{classes} classes are told apart; statements of later ones are counted together"
                ),
            );
        }
        if self.cut > 0 {
            add(
                "statements",
                Reason::Limit,
                format!(
                    "{} statements are cut off, or longer than is looked at",
                    self.cut
                ),
            );
        }
        if self.attributes.dropped > 0 {
            add(
                "numbers",
                Reason::Limit,
                format!(
                    "{} numbers of too many different names",
                    self.attributes.dropped
                ),
            );
        }
        blind
    }
}

/// A number that is not negative as one that sorts the same.
fn order_bits(number: f64) -> u64 {
    number.max(0.0).to_bits()
}
