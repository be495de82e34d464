//! Reads the witnesses of a cause file, and what stands against it.

use toml::Spanned;

use super::raw::RawSign;
use super::{MISSING, Read, Reader, is_id};
use crate::human::Show;
use crate::measure::{Call, FactTest, Limits, Need, Sign, SignalsTest, Taken, Test, Wanted};
use crate::moments::Over;
use crate::names::NamePattern;
use crate::template::Template;
use expression::{Condition, Expression};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    For,
    Against,
}

impl Reader<'_> {
    pub(super) fn signs(&self, raws: &[Spanned<RawSign>], side: Side) -> Vec<Sign> {
        let mut signs: Vec<Sign> = Vec::new();
        for raw in raws {
            let Some(sign) = self.sign(raw, side) else {
                continue;
            };
            if signs.iter().any(|before| before.id == sign.id) {
                self.note(self.at(&raw.get_ref().id, "id", "is there twice"));
            }
            if let Need::InsteadOf(id) = &sign.need
                && let Some(key) = &raw.get_ref().instead_of
                && !signs
                    .iter()
                    .any(|before| before.id == *id && before.need.is_needed())
            {
                let problem = "must name a witness before it that is necessary or one of a group";
                self.note(self.at(key, "instead_of", problem));
            }
            signs.push(sign);
        }
        signs
    }

    fn need(&self, raw: &RawSign) -> Read<Need> {
        let others = "cannot stand beside necessary or one_of";
        Ok(match (&raw.necessary, &raw.one_of, &raw.instead_of) {
            (Some(_), Some(key), _) => {
                return Err(self.at(key, "one_of", "cannot stand beside necessary"));
            }
            (Some(_), _, Some(key)) | (_, Some(_), Some(key)) => {
                return Err(self.at(key, "instead_of", others));
            }
            (_, Some(group), None) => Need::OneOf(group.get_ref().clone()),
            (_, None, Some(id)) => Need::InsteadOf(id.get_ref().clone()),
            (Some(necessary), None, None) if *necessary.get_ref() => Need::Necessary,
            _ => Need::Optional,
        })
    }

    fn sign(&self, spanned: &Spanned<RawSign>, side: Side) -> Option<Sign> {
        let raw = spanned.get_ref();
        let at = spanned.span().start;
        let id = self.noted(self.there(&raw.id, "id", at));
        if id.is_some() && !is_id(raw.id.get_ref()) {
            self.note(self.at(&raw.id, "id", "must be lower-case letters, digits and '-'"));
        }
        let need = self.noted(self.need(raw));
        let test = self.noted(self.test(spanned));
        let says = self.there(&raw.says, "says", at);
        let says = self.noted(says.and_then(|()| self.says(raw)));
        let only_if = self.noted(self.conditions(&raw.only_if, "only_if"));
        let left_out_if = self.noted(self.conditions(&raw.left_out_if, "left_out_if"));
        let limits = self.noted(self.limits(raw));
        let (need, test, says, limits) = (need?, test?, says?, limits?);
        self.foreign_keys(raw, &test, side);
        let (known, each) = match &test {
            Test::Signals(_) => (baseline_known(&limits), flag(&raw.each, false)),
            Test::Call(call) => (baseline_known(&limits), call.kind.each.is_some()),
            Test::Fact(_) => (false, false),
        };
        let checked = says.check(known, each);
        self.noted(checked.map_err(|problem| self.at(&raw.says, "says", problem)))?;
        Some(Sign {
            id: raw.id.get_ref().clone(),
            says,
            need,
            conclusive: flag(&raw.conclusive, false),
            counts: !is_setting(&test) && flag(&raw.counts, true),
            refutes: flag(&raw.refutes, true),
            only_if: only_if?,
            left_out_if: left_out_if?,
            each: flag(&raw.each, false),
            over: over(raw, &test, &limits, side),
            show: self.noted(self.show(spanned, &test))?,
            limits,
            test,
        })
    }

    fn test(&self, spanned: &Spanned<RawSign>) -> Read<Test> {
        let raw = spanned.get_ref();
        match (&raw.measure, &raw.fact) {
            (Some(text), None) => self.measure(raw, text),
            (None, Some(name)) => Ok(Test::Fact(self.fact(raw, name)?)),
            (Some(_), Some(key)) => Err(self.at(key, "fact", "cannot stand beside measure")),
            (None, None) => Err(self.at(spanned, "measure", MISSING)),
        }
    }

    fn says(&self, raw: &RawSign) -> Read<Template> {
        let text = raw.says.get_ref().trim();
        if text.is_empty() || text.ends_with('.') {
            let problem = "must be a clause: not empty, without a full stop at its end";
            return Err(self.at(&raw.says, "says", problem));
        }
        Template::parse(raw.says.get_ref()).map_err(|problem| self.at(&raw.says, "says", problem))
    }

    /// Keys that do not belong to what the sign looks at, or to its side.
    fn foreign_keys(&self, raw: &RawSign, test: &Test, side: Side) {
        let is_signals = matches!(test, Test::Signals(_));
        let is_fact = matches!(test, Test::Fact(_));
        let has_window = match test {
            Test::Signals(_) => true,
            Test::Call(call) => call.kind.taken == Taken::Snapshots,
            Test::Fact(_) => false,
        };
        let has_unit = !matches!(test, Test::Call(call) if call.unit.is_some());
        let for_it = (side == Side::For, "belongs to [[witness]] only");
        let against_it = (side == Side::Against, "belongs to [[against]] only");
        let signals = (is_signals, "belongs to a measure of signals");
        let slices = (
            has_window,
            "belongs to signals, sessions and threads: this is one number over the stall",
        );
        let unit = (has_unit, "is that of the function: it must not stand here");
        let measure = (!is_fact, "belongs to a measure, which a fact is not");
        let fact = (is_fact, "belongs to a fact");
        let keys = [
            ("necessary", begin(&raw.necessary), for_it),
            ("one_of", begin(&raw.one_of), for_it),
            ("instead_of", begin(&raw.instead_of), for_it),
            ("conclusive", begin(&raw.conclusive), for_it),
            ("counts", begin(&raw.counts), for_it),
            ("refutes", begin(&raw.refutes), against_it),
            ("each", begin(&raw.each), signals),
            ("left_out_if", begin(&raw.left_out_if), signals),
            ("window", begin(&raw.window), slices),
            ("unit", begin(&raw.unit), unit),
            ("only_if", begin(&raw.only_if), measure),
            ("times_baseline", begin(&raw.times_baseline), measure),
            (
                "at_most_times_baseline",
                begin(&raw.at_most_times_baseline),
                measure,
            ),
            ("baseline_optional", begin(&raw.baseline_optional), measure),
            ("equals", begin(&raw.equals), fact),
            ("not", begin(&raw.not), fact),
            ("matches", begin(&raw.matches), fact),
        ];
        for (key, at, (belongs, problem)) in keys {
            if let (Some(at), false) = (at, belongs) {
                self.note(self.error(at, Some(key), problem));
            }
        }
    }

    fn measure(&self, raw: &RawSign, text: &Spanned<String>) -> Read<Test> {
        let misread = |error| self.within(text, "measure", error);
        if let Some(call) = Call::parse(text.get_ref(), self.compiled).map_err(misread)? {
            return Ok(Test::Call(call));
        }
        let expression = Expression::parse(text.get_ref()).map_err(misread)?;
        let patterns = expression.patterns();
        if patterns.is_empty() && expression.first_fact().is_none() {
            return Err(self.at(text, "measure", "measures nothing"));
        }
        let has_star = |pattern: &&str| pattern.matches('*').count() == 1;
        if flag(&raw.each, false) && !patterns.iter().any(has_star) {
            return Err(self.at(text, "measure", "each = true needs a signal with one '*'"));
        }
        Ok(Test::Signals(SignalsTest {
            text: text.get_ref().clone(),
            expression,
        }))
    }

    /// How the number is written: of a function as it says.
    fn show(&self, spanned: &Spanned<RawSign>, test: &Test) -> Read<Show> {
        let given = spanned.get_ref().unit.as_ref().map(|unit| *unit.get_ref());
        match (test, given) {
            (Test::Signals(_), None) => Err(self.at(spanned, "unit", MISSING)),
            (Test::Call(call), given) => Ok(call.unit.or(given).unwrap_or(Show::Count)),
            (Test::Signals(_) | Test::Fact(_), given) => Ok(given.unwrap_or(Show::Count)),
        }
    }

    fn fact(&self, raw: &RawSign, name: &Spanned<String>) -> Read<FactTest> {
        let text = |key: &Option<Spanned<String>>| Some(key.as_ref()?.get_ref().clone());
        let limit = |key: &Option<Spanned<f64>>| Some(*key.as_ref()?.get_ref());
        let pattern = raw.matches.as_ref().map(|text| {
            let problem = |error: String| format!("not a regular expression: {error}");
            let read = NamePattern::parse(text.get_ref(), self.compiled);
            read.map_err(|error| self.at(text, "matches", problem(error)))
        });
        let wanted = [
            text(&raw.equals).map(|text| Ok(Wanted::Equals(text))),
            text(&raw.not).map(|text| Ok(Wanted::Not(text))),
            pattern.map(|pattern| pattern.map(Wanted::Matches)),
            limit(&raw.above).map(|limit| Ok(Wanted::Above(limit))),
            limit(&raw.below).map(|limit| Ok(Wanted::Below(limit))),
        ];
        let mut wanted: Vec<Read<Wanted>> = wanted.into_iter().flatten().collect();
        let (Some(wanted), true) = (wanted.pop(), wanted.is_empty()) else {
            let problem = "needs exactly one of equals, not, matches, above and below";
            return Err(self.at(name, "fact", problem));
        };
        Ok(FactTest {
            name: name.get_ref().clone(),
            wanted: wanted?,
            show: raw.unit.as_ref().map(|unit| *unit.get_ref()),
        })
    }

    fn conditions(
        &self,
        list: &Option<Spanned<Vec<Spanned<String>>>>,
        key: &str,
    ) -> Read<Vec<Condition>> {
        let list = list.as_ref().map(|list| list.get_ref().as_slice());
        let list = list.unwrap_or_default().iter();
        list.map(|text| {
            Condition::parse(text.get_ref()).map_err(|error| self.within(text, key, error))
        })
        .collect()
    }

    fn limits(&self, raw: &RawSign) -> Read<Limits> {
        if raw.fact.is_some() {
            return Ok(Limits::default());
        }
        let number = |value: &Option<Spanned<f64>>, key: &str| -> Read<Option<f64>> {
            match value {
                Some(value) if !value.get_ref().is_finite() => {
                    Err(self.at(value, key, "must be a number"))
                }
                value => Ok(value.as_ref().map(|value| *value.get_ref())),
            }
        };
        let limits = Limits {
            above: number(&raw.above, "above")?,
            below: number(&raw.below, "below")?,
            times_baseline: number(&raw.times_baseline, "times_baseline")?,
            at_most_times_baseline: number(&raw.at_most_times_baseline, "at_most_times_baseline")?,
            baseline_optional: flag(&raw.baseline_optional, false),
        };
        let low = [
            ("below", &raw.below),
            ("at_most_times_baseline", &raw.at_most_times_baseline),
        ]
        .into_iter()
        .find_map(|(key, value)| Some((key, value.as_ref()?)));
        match low {
            Some((key, value)) if limits.wants_high() => {
                let problem = "cannot stand beside above or times_baseline";
                return Err(self.at(value, key, problem));
            }
            None if !limits.wants_high() => {
                let problem =
                    "needs a limit: above, below, times_baseline or at_most_times_baseline";
                return Err(self.at(&raw.id, "id", problem));
            }
            _ => {}
        }
        if let Some(optional) = &raw.baseline_optional
            && limits.times_baseline.is_none()
        {
            let problem = "needs times_baseline as well";
            return Err(self.at(optional, "baseline_optional", problem));
        }
        if limits.baseline_optional && limits.above.is_none() {
            return Err(self.at(&raw.id, "baseline_optional", "needs above as well"));
        }
        Ok(limits)
    }
}

/// A setting is a circumstance, not a sign of what happened: it is shown and does not count.
fn is_setting(test: &Test) -> bool {
    match test {
        Test::Fact(_) => true,
        Test::Signals(test) => test.expression.patterns().is_empty(),
        Test::Call(_) => false,
    }
}

/// Whether a sign that holds always knows its baseline.
fn baseline_known(limits: &Limits) -> bool {
    let compared = limits.times_baseline.is_some() || limits.at_most_times_baseline.is_some();
    compared && !limits.baseline_optional
}

/// Where no window is given: a sign of high values looks for the worst slice; a sign against by
/// low values must hold in every slice ("was never high").
fn over(raw: &RawSign, test: &Test, limits: &Limits, side: Side) -> Over {
    if matches!(test, Test::Call(call) if call.kind.taken != Taken::Snapshots) {
        return Over::Stall;
    }
    match raw.window.as_ref().map(|window| *window.get_ref()) {
        Some(window) => window,
        None if side == Side::Against && !limits.wants_high() => Over::Every,
        None => Over::Worst,
    }
}

fn flag(value: &Option<Spanned<bool>>, default: bool) -> bool {
    value.as_ref().map_or(default, |value| *value.get_ref())
}

fn begin<T>(value: &Option<Spanned<T>>) -> Option<usize> {
    value.as_ref().map(|value| value.span().start)
}
