//! Reads the witnesses of a cause file, and what stands against it.

use toml::Spanned;

use super::raw::{RawCounting, RawKind, RawSign, RawWindow};
use super::{MISSING, Read, Reader, is_id};
use crate::catalogue::{
    Column, Counting, FactTest, Limits, MeasureTest, Need, Over, ProcesslistTest, Sign, Test,
    Wanted,
};
use crate::expression::{Condition, Expression};
use crate::names::regular_expression;
use crate::template::Template;

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
        if !is_id(raw.id.get_ref()) {
            self.note(self.at(&raw.id, "id", "must be lower-case letters, digits and '-'"));
        }
        self.foreign_keys(raw, side);
        let need = self.noted(self.need(raw));
        let test = self.noted(self.test(spanned, side));
        let says = self.noted(self.says(raw));
        let (need, test, says) = (need?, test?, says?);
        let (baseline, each) = match &test {
            Test::Measure(test) => (baseline_known(&test.limits), test.each),
            Test::Processlist(test) => (baseline_known(&test.limits), false),
            Test::Fact(_) => (false, false),
            Test::Profile(test) => (baseline_known(&test.limits), true),
            Test::Stacks(test) => (baseline_known(&test.limits), false),
            Test::Lock(test) => (baseline_known(&test.limits), true),
            Test::Statements(test) => (baseline_known(&test.limits), false),
            Test::Semaphores(test) => (baseline_known(&test.limits), true),
            Test::Lines(test) => (baseline_known(&test.limits), true),
        };
        let checked = says.check(baseline, each);
        self.noted(checked.map_err(|problem| self.at(&raw.says, "says", problem)))?;
        Some(Sign {
            id: raw.id.get_ref().clone(),
            says,
            need,
            conclusive: flag(&raw.conclusive, false),
            counts: !is_setting(&test) && flag(&raw.counts, true),
            refutes: flag(&raw.refutes, true),
            test,
        })
    }

    fn test(&self, spanned: &Spanned<RawSign>, side: Side) -> Read<Test> {
        Ok(match spanned.get_ref().kind.get_ref() {
            RawKind::Measure => Test::Measure(self.measure(spanned, side)?),
            RawKind::Processlist => Test::Processlist(self.processlist(spanned, side)?),
            RawKind::Fact => Test::Fact(self.fact(spanned)?),
            RawKind::Profile => Test::Profile(self.profile(spanned)?),
            RawKind::Stacks => Test::Stacks(self.stacks(spanned, side)?),
            RawKind::Lock => Test::Lock(self.lock(spanned)?),
            RawKind::Statements => Test::Statements(self.statements(spanned)?),
            RawKind::Semaphores => Test::Semaphores(Box::new(self.semaphores(spanned)?)),
            RawKind::Log => Test::Lines(self.log(spanned)?),
            RawKind::Innodb => Test::Lines(self.innodb(spanned)?),
        })
    }

    fn says(&self, raw: &RawSign) -> Read<Template> {
        let text = raw.says.get_ref().trim();
        if text.is_empty() || text.ends_with('.') {
            let problem = "must be a clause: not empty, without a full stop at its end";
            return Err(self.at(&raw.says, "says", problem));
        }
        Template::parse(raw.says.get_ref()).map_err(|problem| self.at(&raw.says, "says", problem))
    }

    /// Keys that do not belong to the kind of sign, or to its side.
    fn foreign_keys(&self, raw: &RawSign, side: Side) {
        use RawKind::{
            Fact, Innodb, Lock, Log, Measure, Processlist, Profile, Semaphores, Stacks, Statements,
        };
        let numbers: &[RawKind] = &[
            Measure,
            Processlist,
            Profile,
            Stacks,
            Lock,
            Statements,
            Semaphores,
            Log,
            Innodb,
        ];
        let limited: &[RawKind] = &[
            Measure,
            Processlist,
            Profile,
            Stacks,
            Lock,
            Statements,
            Semaphores,
            Log,
            Innodb,
            Fact,
        ];
        let counted: &[RawKind] = &[
            Processlist,
            Profile,
            Stacks,
            Lock,
            Statements,
            Semaphores,
            Log,
            Innodb,
        ];
        let keys: [(&str, Option<usize>, &[RawKind]); 46] = [
            ("asked_at", begin(&raw.asked_at), &[Semaphores]),
            ("created_at", begin(&raw.created_at), &[Semaphores]),
            ("last_locked_at", begin(&raw.last_locked_at), &[Semaphores]),
            ("lock_kind", begin(&raw.lock_kind), &[Semaphores]),
            ("holder_query", begin(&raw.holder_query), &[Semaphores]),
            ("min_seconds", begin(&raw.min_seconds), &[Semaphores]),
            ("min_waits", begin(&raw.min_waits), &[Semaphores]),
            ("log", begin(&raw.log), &[Log]),
            ("line", begin(&raw.line), &[Log, Innodb]),
            ("section", begin(&raw.section), &[Innodb]),
            ("functions", begin(&raw.functions), &[Profile]),
            ("under", begin(&raw.under), &[Profile]),
            ("where", begin(&raw.place), &[Profile]),
            ("side", begin(&raw.side), &[Profile]),
            ("of", begin(&raw.of), &[Profile]),
            ("min_samples", begin(&raw.min_samples), &[Profile]),
            ("frames", begin(&raw.frames), &[Stacks]),
            ("direct", begin(&raw.direct), &[Stacks]),
            ("thread", begin(&raw.thread), &[Stacks]),
            ("lock", begin(&raw.lock), &[Lock, Semaphores]),
            ("caller", begin(&raw.caller), &[Lock]),
            ("holder", begin(&raw.holder), &[Lock]),
            ("way", begin(&raw.way), &[Statements]),
            ("min_statements", begin(&raw.min_statements), &[Statements]),
            ("measure", begin(&raw.measure), &[Measure]),
            ("unit", begin(&raw.unit), &[Measure, Fact, Log, Innodb]),
            ("each", begin(&raw.each), &[Measure]),
            (
                "window",
                begin(&raw.window),
                &[Measure, Processlist, Stacks],
            ),
            (
                "only_if",
                raw.only_if
                    .as_ref()
                    .and_then(|list| Some(list.first()?.span().start)),
                numbers,
            ),
            (
                "left_out_if",
                raw.left_out_if
                    .as_ref()
                    .and_then(|list| Some(list.first()?.span().start)),
                &[Measure],
            ),
            ("above", begin(&raw.above), limited),
            ("below", begin(&raw.below), limited),
            ("times_baseline", begin(&raw.times_baseline), numbers),
            (
                "at_most_times_baseline",
                begin(&raw.at_most_times_baseline),
                numbers,
            ),
            ("baseline_optional", begin(&raw.baseline_optional), numbers),
            ("class", begin(&raw.class), &[Processlist, Statements]),
            ("state", begin(&raw.state), &[Processlist, Stacks]),
            ("command", begin(&raw.command), &[Processlist]),
            ("user", begin(&raw.user), &[Processlist]),
            (
                "statement",
                begin(&raw.statement),
                &[Processlist, Statements],
            ),
            ("counting", begin(&raw.counting), counted),
            ("min_sessions", begin(&raw.min_sessions), &[Processlist]),
            ("fact", begin(&raw.fact), &[Fact]),
            ("equals", begin(&raw.equals), &[Fact]),
            ("not", begin(&raw.not), &[Fact]),
            ("matches", begin(&raw.matches), &[Fact]),
        ];
        for (key, at, kinds) in keys {
            if let Some(at) = at
                && !kinds.contains(raw.kind.get_ref())
            {
                self.note(self.error(at, Some(key), "does not belong to this kind"));
            }
        }
        let sides = [
            ("necessary", begin(&raw.necessary), Side::For),
            ("one_of", begin(&raw.one_of), Side::For),
            ("instead_of", begin(&raw.instead_of), Side::For),
            ("conclusive", begin(&raw.conclusive), Side::For),
            ("counts", begin(&raw.counts), Side::For),
            ("refutes", begin(&raw.refutes), Side::Against),
        ];
        for (key, at, of) in sides {
            if let Some(at) = at
                && of != side
            {
                let problem = match of {
                    Side::For => "belongs to [[witness]] only",
                    Side::Against => "belongs to [[against]] only",
                };
                self.note(self.error(at, Some(key), problem));
            }
        }
    }

    fn measure(&self, spanned: &Spanned<RawSign>, side: Side) -> Read<MeasureTest> {
        let raw = spanned.get_ref();
        let text = self.needed(spanned, &raw.measure, "measure")?;
        let unit = self.needed(spanned, &raw.unit, "unit")?;
        let expression = Expression::parse(text.get_ref())
            .map_err(|error| self.at(text, "measure", error.to_string()))?;
        if expression.patterns().is_empty() && expression.first_fact().is_none() {
            return Err(self.at(text, "measure", "measures nothing"));
        }
        let each = flag(&raw.each, false);
        let stars = |pattern: &&str| pattern.matches('*').count();
        if each
            && !expression
                .patterns()
                .iter()
                .any(|pattern| stars(pattern) == 1)
        {
            return Err(self.at(text, "measure", "each = true needs a signal with one '*'"));
        }
        let limits = self.limits(spanned)?;
        Ok(MeasureTest {
            text: text.get_ref().clone(),
            expression,
            only_if: self.only_if(raw)?,
            left_out_if: self.conditions(&raw.left_out_if, "left_out_if")?,
            each,
            over: over(raw, &limits, side),
            limits,
            show: *unit.get_ref(),
        })
    }

    fn processlist(&self, spanned: &Spanned<RawSign>, side: Side) -> Read<ProcesslistTest> {
        let raw = spanned.get_ref();
        let regex = |text: &Spanned<String>, key: &str| self.regex(text, key);
        let columns = [
            raw.class
                .as_ref()
                .map(|text| Ok(Column::Class(text.get_ref().clone()))),
            raw.state
                .as_ref()
                .map(|text| regex(text, "state").map(Column::State)),
            raw.command
                .as_ref()
                .map(|text| regex(text, "command").map(Column::Command)),
            raw.user
                .as_ref()
                .map(|text| regex(text, "user").map(Column::User)),
            raw.statement
                .as_ref()
                .map(|text| regex(text, "statement").map(Column::Statement)),
        ];
        let mut columns: Vec<Read<Column>> = columns.into_iter().flatten().collect();
        let (Some(column), true) = (columns.pop(), columns.is_empty()) else {
            let problem = "needs exactly one of class, state, command, user and statement";
            return Err(self.at(spanned, "witness", problem));
        };
        let limits = self.limits(spanned)?;
        Ok(ProcesslistTest {
            column: column?,
            counting: self.counting(
                spanned,
                &[
                    (RawCounting::Share, Counting::Share),
                    (RawCounting::Sessions, Counting::Sessions),
                ],
                "share or sessions",
            )?,
            min_sessions: raw.min_sessions.as_ref().map_or(1, |min| *min.get_ref()),
            only_if: self.only_if(raw)?,
            over: over(raw, &limits, side),
            limits,
        })
    }

    fn fact(&self, spanned: &Spanned<RawSign>) -> Read<FactTest> {
        let raw = spanned.get_ref();
        let name = self.needed(spanned, &raw.fact, "fact")?;
        let wanted = [
            raw.equals
                .as_ref()
                .map(|text| Ok(Wanted::Equals(text.get_ref().clone()))),
            raw.not
                .as_ref()
                .map(|text| Ok(Wanted::Not(text.get_ref().clone()))),
            raw.matches
                .as_ref()
                .map(|text| self.regex(text, "matches").map(Wanted::Matches)),
            raw.above
                .as_ref()
                .map(|limit| Ok(Wanted::Above(*limit.get_ref()))),
            raw.below
                .as_ref()
                .map(|limit| Ok(Wanted::Below(*limit.get_ref()))),
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

    pub(super) fn needed<'r, T>(
        &self,
        sign: &Spanned<RawSign>,
        value: &'r Option<Spanned<T>>,
        key: &str,
    ) -> Read<&'r Spanned<T>> {
        value.as_ref().ok_or_else(|| self.at(sign, key, MISSING))
    }

    pub(super) fn regex(&self, text: &Spanned<String>, key: &str) -> Read<regex::Regex> {
        regular_expression(text.get_ref())
            .map_err(|error| self.at(text, key, format!("not a regular expression: {error}")))
    }

    pub(super) fn only_if(&self, raw: &RawSign) -> Read<Vec<Condition>> {
        self.conditions(&raw.only_if, "only_if")
    }

    fn conditions(&self, list: &Option<Vec<Spanned<String>>>, key: &str) -> Read<Vec<Condition>> {
        let list = list.as_deref().unwrap_or_default();
        list.iter()
            .map(|text| {
                Condition::parse(text.get_ref())
                    .map_err(|error| self.at(text, key, error.to_string()))
            })
            .collect()
    }

    pub(super) fn limits(&self, spanned: &Spanned<RawSign>) -> Read<Limits> {
        let raw = spanned.get_ref();
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
            let problem = "needs times_baseline beside it";
            return Err(self.at(optional, "baseline_optional", problem));
        }
        if limits.baseline_optional && limits.above.is_none() {
            return Err(self.at(&raw.id, "baseline_optional", "needs above beside it"));
        }
        Ok(limits)
    }
}

/// A setting is a circumstance, not a sign of what happened: it is shown and does not count.
fn is_setting(test: &Test) -> bool {
    match test {
        Test::Fact(_) => true,
        Test::Measure(test) => test.expression.patterns().is_empty(),
        Test::Processlist(_)
        | Test::Profile(_)
        | Test::Stacks(_)
        | Test::Lock(_)
        | Test::Statements(_)
        | Test::Semaphores(_)
        | Test::Lines(_) => false,
    }
}

/// Whether a sign that holds always knows its baseline.
fn baseline_known(limits: &Limits) -> bool {
    let compared = limits.times_baseline.is_some() || limits.at_most_times_baseline.is_some();
    compared && !limits.baseline_optional
}

/// Where no window is given: a sign of high values looks for the worst slice; a sign against by
/// low values must hold in every slice ("was never high").
pub(super) fn over(raw: &RawSign, limits: &Limits, side: Side) -> Over {
    match raw.window.as_ref().map(|window| *window.get_ref()) {
        Some(RawWindow::Worst) => Over::Worst,
        Some(RawWindow::Every) => Over::Every,
        Some(RawWindow::Stall) => Over::Stall,
        None if side == Side::Against && !limits.wants_high() => Over::Every,
        None => Over::Worst,
    }
}

pub(super) fn flag(value: &Option<Spanned<bool>>, default: bool) -> bool {
    value.as_ref().map_or(default, |value| *value.get_ref())
}

fn begin<T>(value: &Option<Spanned<T>>) -> Option<usize> {
    value.as_ref().map(|value| value.span().start)
}
