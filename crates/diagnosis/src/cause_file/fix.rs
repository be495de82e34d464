//! Reads the `[[fix]]` tables: what a program can do about a cause.

use model::{Fix, FixAction, FixValue, FixWhen, Releases};
use toml::Spanned;

use super::raw::RawFix;
use super::{Read, Reader};
use crate::actors;
use crate::sentence::and;

/// Changes that one cause may ask for.
const FIXES_MAX: usize = 16;

/// The longest value, bytes.
const VALUE_BYTES_MAX: usize = 500;

/// An action: its name; its own keys, of which `value` stands for all that give a number; when it counts without `for`; and
/// how it is read. Only one that counts at once and later may be asked for either alone.
type Action = (
    &'static str,
    &'static str,
    FixWhen,
    fn(&Reader, &Spanned<RawFix>) -> Read<FixAction>,
);

#[rustfmt::skip]
const ACTIONS: [Action; 9] = [
    ("thp-never", "", FixWhen::Both, |_, _| Ok(FixAction::ThpNever)),
    ("sysctl", "key value from", FixWhen::Both, |reader, raw| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let key = reader.name(raw, &raw.get_ref().key, "key", is_plain)?;
        Ok(FixAction::Sysctl { key, value: reader.value(raw)? })
    }),
    ("set-global", "variable value from", FixWhen::Both, |reader, raw| {
        let variable = reader.variable(raw)?;
        Ok(FixAction::SetGlobal { variable, value: reader.value(raw)? })
    }),
    ("option-file", "variable value from", FixWhen::Durable, |reader, raw| {
        let variable = reader.variable(raw)?;
        Ok(FixAction::OptionFile { variable, value: reader.value(raw)? })
    }),
    ("preload-allocator", "", FixWhen::Durable, |_, _| Ok(FixAction::PreloadAllocator)),
    ("server-environment", "variable value from", FixWhen::Durable, |reader, raw| {
        let variable = reader.variable(raw)?;
        match reader.value(raw)? {
            FixValue::Exactly(value) if plain_environment(&value) => {
                Ok(FixAction::ServerEnvironment { variable, value })
            }
            _ => {
                let problem = "needs value = \"...\", without blanks, quotes, % and \\";
                Err(reader.at(raw, "value", problem))
            }
        }
    }),
    ("open-files-limit", "value", FixWhen::Durable, |reader, raw| {
        Ok(FixAction::OpenFilesLimit { value: reader.value(raw)? })
    }),
    ("tasks-limit", "value", FixWhen::Durable, |reader, raw| {
        Ok(FixAction::TasksLimit { value: reader.value(raw)? })
    }),
    ("end-session", "who", FixWhen::Now, |reader, raw| {
        let Some(who) = &raw.get_ref().who else {
            return Err(reader.at(raw, "who", "is missing"));
        };
        if actors::general(who.get_ref()).is_none() {
            return Err(reader.at(who, "who", "is no part that the catalogue knows"));
        }
        Ok(FixAction::EndSession { who: who.get_ref().clone() })
    }),
];

impl Reader<'_> {
    pub(super) fn fixes(&self, list: &[Spanned<RawFix>]) -> Vec<Fix> {
        if let Some(over) = list.get(FIXES_MAX) {
            self.note(self.at(over, "fix", format!("at most {FIXES_MAX} of them")));
        }
        list.iter()
            .filter_map(|spanned| self.noted(self.fix(spanned)))
            .collect()
    }

    fn fix(&self, spanned: &Spanned<RawFix>) -> Read<Fix> {
        let raw = spanned.get_ref();
        self.there(&raw.action, "action", spanned.span().start)?;
        let wanted = raw.action.get_ref();
        let mut actions = ACTIONS.iter();
        let Some((name, keys, usual, read)) = actions.find(|(name, ..)| name == wanted) else {
            let names = ACTIONS.map(|(name, ..)| name);
            let problem = format!("'{wanted}' is none of {}", and(&names));
            return Err(self.at(&raw.action, "action", problem));
        };
        let action = read(self, spanned)?;
        self.nothing_else(spanned, name, keys)?;
        let when = match raw.when.as_ref() {
            None => *usual,
            Some(when) => self.when(when, name, *usual)?,
        };
        Ok(Fix {
            action,
            when,
            from: self.words(&raw.from, "from"),
            risk: self.words(&raw.risk, "risk"),
            consent: self.words(&raw.consent, "consent"),
            mysql: self.releases(&raw.mysql, "mysql")?,
            mariadb: self.releases(&raw.mariadb, "mariadb")?,
        })
    }

    /// A key that the action does not know would be overlooked in silence.
    fn nothing_else(&self, spanned: &Spanned<RawFix>, action: &str, keys: &str) -> Read<()> {
        let raw = spanned.get_ref();
        let given = [
            ("who", "who", raw.who.is_some()),
            ("key", "key", raw.key.is_some()),
            ("variable", "variable", raw.variable.is_some()),
            ("value", "value", raw.value.is_some()),
            ("at_least", "value", raw.at_least.is_some()),
            ("at_most", "value", raw.at_most.is_some()),
            ("times", "value", raw.times.is_some()),
            ("per_cpu", "value", raw.per_cpu.is_some()),
            ("from", "from", raw.from.is_some()),
        ];
        let is_known = |wanted: &str| keys.split(' ').any(|key| key == wanted);
        let mut given = given.iter().filter(|(.., given)| *given);
        match given.find(|(_, of, _)| !is_known(of)) {
            Some((key, ..)) => Err(self.at(spanned, key, format!("not a key of {action}"))),
            None => Ok(()),
        }
    }

    fn when(&self, when: &Spanned<String>, action: &str, usual: FixWhen) -> Read<FixWhen> {
        let word = match when.get_ref().as_str() {
            "now" => FixWhen::Now,
            "durable" => FixWhen::Durable,
            "both" => FixWhen::Both,
            _ => return Err(self.at(when, "for", "must be now, durable or both")),
        };
        let only = match usual {
            FixWhen::Both => return Ok(word),
            usual if usual == word => return Ok(word),
            FixWhen::Now => "at once: now",
            FixWhen::Durable => "from the next start on: durable",
        };
        Err(self.at(when, "for", format!("{action} counts {only}")))
    }

    fn variable(&self, spanned: &Spanned<RawFix>) -> Read<String> {
        self.name(spanned, &spanned.get_ref().variable, "variable", |byte| {
            byte.is_ascii_alphanumeric() || byte == b'_'
        })
    }

    /// Names become part of statements and of paths.
    fn name(
        &self,
        spanned: &Spanned<RawFix>,
        name: &Option<Spanned<String>>,
        key: &str,
        allowed: impl Fn(u8) -> bool,
    ) -> Read<String> {
        let Some(name) = name else {
            return Err(self.at(spanned, key, "is missing"));
        };
        let text = name.get_ref();
        let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
        if !begins || text.len() > 64 || !text.bytes().all(allowed) || text.contains("..") {
            return Err(self.at(name, key, "is no name of a setting"));
        }
        Ok(text.clone())
    }

    fn value(&self, spanned: &Spanned<RawFix>) -> Read<FixValue> {
        let raw = spanned.get_ref();
        match (
            &raw.value,
            &raw.at_least,
            &raw.at_most,
            &raw.times,
            &raw.per_cpu,
        ) {
            (Some(value), None, None, None, None) => {
                let text = value.get_ref();
                let plain = !text.is_empty()
                    && text.len() <= VALUE_BYTES_MAX
                    && !text.chars().any(char::is_control);
                if !plain {
                    return Err(self.at(value, "value", "must be one line of text"));
                }
                Ok(FixValue::Exactly(text.clone()))
            }
            (None, Some(least), None, None, None) => Ok(FixValue::AtLeast(*least.get_ref())),
            (None, None, Some(most), None, None) => Ok(FixValue::AtMost(*most.get_ref())),
            (None, None, Some(limit), Some(times), None) => {
                let factor = *times.get_ref();
                if !(factor > 1.0 && factor <= 10.0) {
                    return Err(self.at(times, "times", "must be more than 1 and at most 10"));
                }
                Ok(FixValue::Times {
                    factor,
                    limit: *limit.get_ref(),
                })
            }
            (None, None, None, None, Some(per)) => Ok(FixValue::PerCpu(*per.get_ref())),
            _ => Err(self.at(
                spanned,
                "value",
                "needs one of value, at_least, at_most, per_cpu, or times with at_most as its limit",
            )),
        }
    }

    fn words(&self, text: &Option<Spanned<String>>, key: &str) -> Option<String> {
        let text = text.as_ref()?;
        self.text(text, key);
        Some(text.get_ref().clone())
    }

    fn releases(&self, text: &Option<Spanned<String>>, key: &str) -> Read<Releases> {
        let Some(text) = text else {
            return Ok(Releases::ALL);
        };
        Releases::parse(text.get_ref()).ok_or_else(|| {
            let problem = "must be none, or a range such as '>= 8.0.30', '< 10.5', '>= 5.7 < 8.0'";
            self.at(text, key, problem)
        })
    }
}

/// What needs no quotes in a unit file, an option file or a shell, and has no meaning there.
fn plain_environment(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-.,:/=+".contains(&b))
}
