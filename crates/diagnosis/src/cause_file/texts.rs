//! Reads the witnesses that look at what the server and the kernel wrote.

use toml::Spanned;

use super::raw::{RawCounting, RawLog, RawSign};
use super::{Read, Reader};
use crate::human::Show;
use crate::texts::{
    LineCounting, LinePattern, LinesOf, LinesTest, NUMBER, SemaphoresTest, WaitCounting,
};

impl Reader<'_> {
    pub(super) fn semaphores(&self, spanned: &Spanned<RawSign>) -> Read<SemaphoresTest> {
        let raw = spanned.get_ref();
        let counting = self.counting(
            spanned,
            &[
                (RawCounting::Waits, WaitCounting::Waits),
                (RawCounting::Share, WaitCounting::Share),
                (RawCounting::Seconds, WaitCounting::Seconds),
            ],
            "waits, share or seconds",
        )?;
        let min_seconds = match &raw.min_seconds {
            None => 0.0,
            Some(seconds) if seconds.get_ref().is_finite() && *seconds.get_ref() >= 0.0 => {
                *seconds.get_ref()
            }
            Some(seconds) => {
                return Err(self.at(seconds, "min_seconds", "must be 0 or more"));
            }
        };
        let test = SemaphoresTest {
            asked_at: self.optional_pattern(&raw.asked_at, "asked_at")?,
            created_at: self.optional_pattern(&raw.created_at, "created_at")?,
            last_locked_at: self.optional_pattern(&raw.last_locked_at, "last_locked_at")?,
            lock: self.optional_pattern(&raw.lock, "lock")?,
            lock_kind: self.optional_pattern(&raw.lock_kind, "lock_kind")?,
            holder_query: self.optional_pattern(&raw.holder_query, "holder_query")?,
            min_seconds,
            min_waits: raw
                .min_waits
                .as_ref()
                .map_or(1, |min| *min.get_ref())
                .max(1),
            counting,
            only_if: self.only_if(raw)?,
            limits: self.limits(spanned)?,
        };
        let chosen = [
            &test.asked_at,
            &test.created_at,
            &test.last_locked_at,
            &test.lock,
            &test.lock_kind,
            &test.holder_query,
        ];
        let is_any = test.min_seconds <= 0.0 && chosen.iter().all(|one| one.is_none());
        if is_any && counting == WaitCounting::Share {
            let problem = "a share needs asked_at, created_at, last_locked_at, lock, lock_kind, \
                           holder_query or min_seconds";
            return Err(self.at(spanned, "counting", problem));
        }
        Ok(test)
    }

    pub(super) fn log(&self, spanned: &Spanned<RawSign>) -> Read<LinesTest> {
        let log = self.needed(spanned, &spanned.get_ref().log, "log")?;
        let of = match log.get_ref() {
            RawLog::Error => LinesOf::ErrorLog,
            RawLog::Kernel => LinesOf::KernelLog,
        };
        self.lines(spanned, of)
    }

    pub(super) fn innodb(&self, spanned: &Spanned<RawSign>) -> Read<LinesTest> {
        let section = match &spanned.get_ref().section {
            Some(section) if section.get_ref().trim().is_empty() => {
                return Err(self.at(section, "section", "must not be empty"));
            }
            section => section
                .as_ref()
                .map(|text| text.get_ref().trim().to_owned()),
        };
        self.lines(spanned, LinesOf::InnodbStatus { section })
    }

    fn lines(&self, spanned: &Spanned<RawSign>, of: LinesOf) -> Read<LinesTest> {
        let raw = spanned.get_ref();
        let counting = self.counting(
            spanned,
            &[
                (RawCounting::Lines, LineCounting::Lines),
                (RawCounting::Largest, LineCounting::Largest),
            ],
            "lines or largest",
        )?;
        let text = self.needed(spanned, &raw.line, "line")?;
        let line = match counting {
            LineCounting::Lines => LinePattern::Matches(self.pattern(text, "line")?),
            LineCounting::Largest => {
                let regex = self.regex(text, "line")?;
                if !regex.capture_names().any(|name| name == Some(NUMBER)) {
                    let problem = "needs a group (?P<number>…) that captures what is counted";
                    return Err(self.at(text, "line", problem));
                }
                LinePattern::Captures(regex)
            }
        };
        let show = match (&raw.unit, counting) {
            (Some(unit), LineCounting::Lines) => {
                return Err(self.at(unit, "unit", "belongs to counting = \"largest\""));
            }
            (Some(unit), LineCounting::Largest) => *unit.get_ref(),
            (None, _) => Show::Count,
        };
        Ok(LinesTest {
            of,
            line,
            counting,
            show,
            only_if: self.only_if(raw)?,
            limits: self.limits(spanned)?,
        })
    }
}
