//! What may be changed about a cause, as data: a cause file's `[[fix]]` tables. What becomes of one on a given system
//! is the business of crate `remedy`.

use serde::{Deserialize, Serialize};

/// A change that helps against a cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fix {
    /// What is changed.
    pub action: FixAction,
    /// Whether it is for the running system, for the next start, or for both.
    pub when: FixWhen,
    /// Only where the setting has this value now: a larger one is not always more.
    pub from: Option<String>,
    /// What may go wrong; without it what the remedy says.
    pub risk: Option<String>,
    /// What somebody else must agree to: it is done only when the user says that they do.
    pub consent: Option<String>,
    /// The releases of MySQL and Percona Server that it is for.
    pub mysql: Releases,
    /// The releases of MariaDB that it is for.
    pub mariadb: Releases,
}

/// When a change counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixWhen {
    /// At once, until the next start.
    Now,
    /// From the next start on.
    Durable,
    /// Both.
    Both,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FixAction {
    /// Transparent huge pages, and the defragmentation for them, are `never` on this host.
    ThpNever,
    /// A kernel setting below `/proc/sys`.
    Sysctl {
        /// Its name with dots, as sysctl(8) has it.
        key: String,
        /// The value that it is set to.
        value: FixValue,
    },
    /// A variable of the server that can be set while it runs.
    SetGlobal {
        /// The variable, as the server or the program spells it.
        variable: String,
        /// The value that it is set to.
        value: FixValue,
    },
    /// A variable of the server that is read at its start only.
    OptionFile {
        /// The variable, as the server or the program spells it.
        variable: String,
        /// The value that it is set to.
        value: FixValue,
    },
    /// Another memory allocator (jemalloc or tcmalloc) for the server.
    PreloadAllocator,
    /// A variable in the environment that the server is started with.
    ServerEnvironment {
        /// The variable, as the server or the program spells it.
        variable: String,
        /// The value that it is given.
        value: String,
    },
    /// The limit of open files that the server is started with.
    OpenFilesLimit {
        /// The value that it is set to.
        value: FixValue,
    },
    /// A session that others wait behind is ended. There is no undo.
    EndSession {
        /// Whose part it has in the incident: a name of the catalogue's `who`.
        who: String,
    },
    /// The limit of tasks, which threads are, of the server's control group.
    TasksLimit {
        /// The value that it is set to.
        value: FixValue,
    },
}

impl FixAction {
    /// Its name in cause files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ThpNever => "thp-never",
            Self::Sysctl { .. } => "sysctl",
            Self::SetGlobal { .. } => "set-global",
            Self::OptionFile { .. } => "option-file",
            Self::PreloadAllocator => "preload-allocator",
            Self::ServerEnvironment { .. } => "server-environment",
            Self::OpenFilesLimit { .. } => "open-files-limit",
            Self::EndSession { .. } => "end-session",
            Self::TasksLimit { .. } => "tasks-limit",
        }
    }
}

/// What a setting becomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "value")]
pub enum FixValue {
    /// This text. `{utc_offset}` in it stands for the server's offset from UTC (`+02:00`).
    Exactly(String),
    /// This number, unless it is that large already.
    AtLeast(u64),
    /// This number, unless it is that small already.
    AtMost(u64),
    /// So many times what it is, up to the limit.
    Times {
        /// How many times.
        factor: f64,
        /// The largest that it becomes.
        limit: u64,
    },
    /// So many for each processor.
    PerCpu(u64),
}

/// Releases of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Releases {
    /// None of them.
    None,
    /// From the first one, this included, to the second one, this not included.
    Range {
        /// The first; absent: from the beginning.
        from: Option<Release>,
        /// The first that is too new; absent: no end.
        before: Option<Release>,
    },
}

/// The number of a release: `8.0.30` is `[8, 0, 30]`.
pub type Release = [u32; 3];

impl Releases {
    /// All of them.
    pub const ALL: Self = Self::Range {
        from: None,
        before: None,
    };

    /// Reads `none`, `>= 8.0.30`, `< 10.5`, or `>= 5.7 < 8.0`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "none" {
            return Some(Self::None);
        }
        let mut words = text.split_whitespace();
        let (mut from, mut before) = (None, None);
        while let Some(sign) = words.next() {
            let side = match sign {
                ">=" => &mut from,
                "<" => &mut before,
                _ => return None,
            };
            if side.replace(release(words.next()?)?).is_some() {
                return None;
            }
        }
        (from.is_some() || before.is_some()).then_some(Self::Range { from, before })
    }

    /// Whether a release is one of them.
    pub fn has(&self, release: Release) -> bool {
        match self {
            Self::None => false,
            Self::Range { from, before } => {
                from.is_none_or(|from| release >= from)
                    && before.is_none_or(|before| release < before)
            }
        }
    }

    /// In words, behind the name of the server: ` 8.0.30 and later`.
    pub fn to_text(&self) -> String {
        let text = |release: &Release| {
            let [major, minor, patch] = release;
            if *patch == 0 {
                format!("{major}.{minor}")
            } else {
                format!("{major}.{minor}.{patch}")
            }
        };
        match self {
            Self::None => ": none".to_owned(),
            Self::Range { from, before } => match (from, before) {
                (Some(from), Some(before)) => {
                    format!(" {} and later, before {}", text(from), text(before))
                }
                (Some(from), None) => format!(" {} and later", text(from)),
                (None, Some(before)) => format!(" before {}", text(before)),
                (None, None) => String::new(),
            },
        }
    }
}

/// The number at the beginning of a version: of `10.11.14-MariaDB-0+deb12u2` that is `[10, 11, 14]`.
pub fn release(version: &str) -> Option<Release> {
    let end = version
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(version.len());
    let mut numbers = version.get(..end)?.trim_end_matches('.').split('.');
    let mut next = || numbers.next().map_or(Some(0), |number| number.parse().ok());
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        assert_eq!(release("10.11.14-MariaDB-0+deb12u2"), Some([10, 11, 14]));
        assert_eq!(release("8.0"), Some([8, 0, 0]));
        assert_eq!(release("x"), None);
        let later = Releases::parse(">= 10.5").unwrap();
        assert!(later.has([10, 11, 0]) && !later.has([10, 4, 30]));
        let between = Releases::parse(">= 5.7 < 8.0").unwrap();
        assert!(between.has([5, 7, 44]) && !between.has([8, 0, 0]) && !between.has([5, 6, 0]));
        assert!(!Releases::parse("none").unwrap().has([9, 7, 0]));
        assert!(Releases::ALL.has([5, 5, 9]));
        for wrong in ["", "8.0", "> 8.0", ">= x", ">= 8 >= 9", ">="] {
            assert_eq!(Releases::parse(wrong), None, "{wrong}");
        }
    }
}
