//! Reads the `[[advice]]` tables: steps of a remedy that are about somebody.

use toml::Spanned;

use super::raw::RawAdvice;
use super::{Read, Reader};
use crate::actors;
use crate::advice;
use crate::cause::Advice;

impl Reader<'_> {
    pub(super) fn advice(&self, spanned: &Spanned<RawAdvice>) -> Read<Advice> {
        let raw = spanned.get_ref();
        self.there(&raw.who, "who", spanned.span().start)?;
        let who = raw.who.get_ref();
        if actors::general(who).is_none() {
            let problem = format!("'{who}' is none of {}", actors::parts());
            return Err(self.at(&raw.who, "who", problem));
        }
        let optional = |text: &Option<Spanned<String>>, key| {
            let text = text.as_ref().map(|text| self.step(text, key));
            text.transpose()
        };
        Ok(Advice {
            list: raw.list,
            who: who.clone(),
            step: optional(&raw.step, "step")?,
            perhaps: optional(&raw.perhaps, "perhaps")?,
            unknown: optional(&raw.unknown, "unknown")?,
            nobody: optional(&raw.nobody, "nobody")?,
        })
    }

    fn step(&self, text: &Spanned<String>, key: &str) -> Read<String> {
        let words = text.get_ref();
        let problem = match words.trim().is_empty() {
            true => Some("must not be empty".to_owned()),
            false if matches!(key, "unknown" | "nobody") && words.contains('{') => {
                Some("has no places: nobody is known there".to_owned())
            }
            false => advice::mistake(words),
        };
        match problem {
            Some(problem) => Err(self.at(text, key, problem)),
            None => Ok(words.clone()),
        }
    }
}
