//! Reads the witnesses that look at stacks, profiles, locks and statements.

use model::{QueryWay, RunState, Side as CallSide};
use toml::Spanned;

use super::raw::{RawCounting, RawOf, RawPlace, RawSide, RawSign, RawWay};
use super::sign::{Side, flag, over};
use super::{Read, Reader};
use crate::deep::{
    LockCounting, LockTest, ProfileCounting, ProfileTest, StacksCounting, StacksTest,
    StatementsCounting, StatementsTest,
};
use crate::names::NamePattern;

/// Samples that a profile must have where a file does not say it: a tenth of them is 5 ± 2.
const MIN_SAMPLES: u64 = 50;

/// Statements that must have been seen where a file does not say it.
const MIN_STATEMENTS: u64 = 50;

/// Patterns in a list, at the most.
const PATTERNS_MAX: usize = 16;

impl Reader<'_> {
    pub(super) fn profile(&self, spanned: &Spanned<RawSign>) -> Read<ProfileTest> {
        let raw = spanned.get_ref();
        let functions = self.needed(spanned, &raw.functions, "functions")?;
        Ok(ProfileTest {
            functions: self.pattern(functions, "functions")?,
            under: self.optional_pattern(&raw.under, "under")?,
            only_self: match raw.place.as_ref().map(|place| *place.get_ref()) {
                Some(RawPlace::Innermost) => true,
                Some(RawPlace::Anywhere) | None => false,
            },
            side: match raw.side.as_ref().map(|side| *side.get_ref()) {
                Some(RawSide::Kernel) => Some(CallSide::Kernel),
                Some(RawSide::User) => Some(CallSide::User),
                Some(RawSide::Any) | None => None,
            },
            machine: raw
                .of
                .as_ref()
                .is_some_and(|of| *of.get_ref() == RawOf::Machine),
            counting: self.counting(
                spanned,
                &[
                    (RawCounting::Share, ProfileCounting::Share),
                    (RawCounting::Cpus, ProfileCounting::Cpus),
                ],
                "share or cpus",
            )?,
            min_samples: at_least_one(&raw.min_samples, MIN_SAMPLES),
            only_if: self.only_if(raw)?,
            limits: self.limits(spanned)?,
        })
    }

    pub(super) fn stacks(&self, spanned: &Spanned<RawSign>, side: Side) -> Read<StacksTest> {
        let raw = spanned.get_ref();
        let frames = self.patterns(&raw.frames, "frames")?;
        let state = raw.state.as_ref().map(|state| self.run_state(state));
        if frames.is_empty() && state.is_none() {
            return Err(self.at(spanned, "witness", "needs frames, or a state"));
        }
        let limits = self.limits(spanned)?;
        Ok(StacksTest {
            frames,
            direct: flag(&raw.direct, false),
            state: state.transpose()?,
            thread: self.optional_pattern(&raw.thread, "thread")?,
            counting: self.counting(
                spanned,
                &[
                    (RawCounting::Share, StacksCounting::Share),
                    (RawCounting::Threads, StacksCounting::Threads),
                ],
                "share or threads",
            )?,
            only_if: self.only_if(raw)?,
            over: over(raw, &limits, side),
            limits,
        })
    }

    pub(super) fn lock(&self, spanned: &Spanned<RawSign>) -> Read<LockTest> {
        let raw = spanned.get_ref();
        let lock = self.needed(spanned, &raw.lock, "lock")?;
        Ok(LockTest {
            lock: self.pattern(lock, "lock")?,
            caller: self.optional_pattern(&raw.caller, "caller")?,
            holder: self.patterns(&raw.holder, "holder")?,
            counting: self.counting(
                spanned,
                &[
                    (RawCounting::Share, LockCounting::Share),
                    (RawCounting::Waiters, LockCounting::Waiters),
                    (RawCounting::Waiting, LockCounting::Waiting),
                    (RawCounting::PerSecond, LockCounting::PerSecond),
                ],
                "share, waiters, waiting or per_second",
            )?,
            only_if: self.only_if(raw)?,
            limits: self.limits(spanned)?,
        })
    }

    pub(super) fn statements(&self, spanned: &Spanned<RawSign>) -> Read<StatementsTest> {
        let raw = spanned.get_ref();
        let statement = raw.statement.as_ref();
        if raw.class.is_none() && statement.is_none() {
            return Err(self.at(spanned, "witness", "needs class, statement or both"));
        }
        let way = raw.way.as_ref().map(|way| match way.get_ref() {
            RawWay::SlowLog => QueryWay::SlowLog,
            RawWay::GeneralLog => QueryWay::GeneralLog,
            RawWay::PerformanceSchema => QueryWay::PerformanceSchema,
            RawWay::Packets => QueryWay::Packets,
            RawWay::Status => QueryWay::StatementCounters,
        });
        let counting = self.counting(
            spanned,
            &[
                (RawCounting::Share, StatementsCounting::Share),
                (RawCounting::Time, StatementsCounting::Time),
                (RawCounting::PerSecond, StatementsCounting::PerSecond),
            ],
            "share, time or per_second",
        )?;
        if let (Some(key), Some(QueryWay::StatementCounters)) = (&raw.way, way)
            && (statement.is_some() || counting == StatementsCounting::Time)
        {
            let problem = "status knows classes of statements, neither statements nor times";
            return Err(self.at(key, "way", problem));
        }
        Ok(StatementsTest {
            class: raw.class.as_ref().map(|class| class.get_ref().clone()),
            statement: statement
                .map(|text| self.regex(text, "statement"))
                .transpose()?,
            way,
            counting,
            min_statements: at_least_one(&raw.min_statements, MIN_STATEMENTS),
            only_if: self.only_if(raw)?,
            limits: self.limits(spanned)?,
        })
    }

    /// What a sign counts; `words` are the ones that its kind knows.
    pub(super) fn counting<T: Copy>(
        &self,
        sign: &Spanned<RawSign>,
        known: &[(RawCounting, T)],
        words: &str,
    ) -> Read<T> {
        let raw = self.needed(sign, &sign.get_ref().counting, "counting")?;
        known
            .iter()
            .find(|(counting, _)| counting == raw.get_ref())
            .map(|(_, meant)| *meant)
            .ok_or_else(|| self.at(raw, "counting", format!("must be {words} for this kind")))
    }

    fn run_state(&self, text: &Spanned<String>) -> Read<RunState> {
        [
            RunState::Running,
            RunState::Sleeping,
            RunState::Uninterruptible,
            RunState::Stopped,
        ]
        .into_iter()
        .find(|state| state.words() == text.get_ref())
        .ok_or_else(|| {
            let problem = "must be running, sleeping, uninterruptible or stopped for this kind";
            self.at(text, "state", problem)
        })
    }

    pub(super) fn pattern(&self, text: &Spanned<String>, key: &str) -> Read<NamePattern> {
        if text.get_ref().trim().is_empty() {
            return Err(self.at(text, key, "must not be empty"));
        }
        NamePattern::parse(text.get_ref())
            .map_err(|error| self.at(text, key, format!("not a regular expression: {error}")))
    }

    pub(super) fn optional_pattern(
        &self,
        text: &Option<Spanned<String>>,
        key: &str,
    ) -> Read<Option<NamePattern>> {
        text.as_ref()
            .map(|text| self.pattern(text, key))
            .transpose()
    }

    fn patterns(
        &self,
        list: &Option<Spanned<Vec<Spanned<String>>>>,
        key: &str,
    ) -> Read<Vec<NamePattern>> {
        let Some(list) = list else {
            return Ok(Vec::new());
        };
        let texts = list.get_ref();
        if texts.is_empty() || texts.len() > PATTERNS_MAX {
            let problem = format!("must have 1 to {PATTERNS_MAX} regular expressions");
            return Err(self.at(list, key, problem));
        }
        texts.iter().map(|text| self.pattern(text, key)).collect()
    }
}

fn at_least_one(value: &Option<Spanned<u64>>, default: u64) -> u64 {
    value
        .as_ref()
        .map_or(default, |value| *value.get_ref())
        .max(1)
}
