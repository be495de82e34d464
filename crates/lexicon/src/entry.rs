//! Entries as they stand in the files.

/// What parts the fields of a line.
const BETWEEN: &str = " | ";

/// What parts the name of a term from other words for it.
const NAMES: &str = " = ";

/// What parts those from each other.
const OTHER_WORDS: &str = "; ";

/// What kind of thing was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A function on a stack or in a profile, of the server, a library or the kernel.
    Function,
    /// A state of the processlist, or a stage.
    State,
    /// A word of InnoDB's status.
    InnodbWord,
    /// A mutex, a read-write lock or a condition.
    Latch,
    /// A source file, as waits and assertions name it.
    Place,
    /// An instrument of performance_schema.
    Instrument,
    /// A line of the server's error log, or an error of the server.
    Message,
    /// A line of the kernel's log.
    KernelLine,
    /// What a client, a pool or a proxy says.
    ClientError,
    /// A statement that does something to the server, by its first words; and what the time of statements went to.
    Statement,
    /// What people call a thing in their own words, in several languages.
    Term,
    /// A counter or a gauge of the server or the host.
    Status,
    /// A setting of the server or the host.
    Setting,
}

impl Kind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::State => "state of a session",
            Self::InnodbWord => "word of InnoDB's status",
            Self::Latch => "latch or lock",
            Self::Place => "source file",
            Self::Instrument => "performance_schema instrument",
            Self::Message => "message of the server",
            Self::KernelLine => "line of the kernel's log",
            Self::ClientError => "error of a client",
            Self::Statement => "statement",
            Self::Term => "term",
            Self::Status => "status variable or counter",
            Self::Setting => "setting",
        }
    }

    /// A number or a value belongs to its name: the name alone says nothing.
    pub fn is_amount(self) -> bool {
        matches!(self, Self::Status | Self::Setting)
    }

    /// Names of this kind are told apart by capital letters.
    pub(crate) fn is_case_told(self) -> bool {
        matches!(self, Self::Function | Self::Latch | Self::Instrument)
    }

    /// It is found anywhere in a line.
    pub(crate) fn is_within_lines(self) -> bool {
        matches!(
            self,
            Self::Message | Self::KernelLine | Self::ClientError | Self::Statement
        )
    }
}

/// What stands there does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It does something, on a processor or with a device.
    Work,
    /// It waits for somebody or something.
    Waits,
    /// It waits for work, which is normal.
    Idle,
    /// Something was noticed.
    Told,
    /// Something is counted or measured.
    Amount,
    /// Something is set.
    Setting,
}

impl Role {
    /// As it stands in the files and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Waits => "waits",
            Self::Idle => "idle",
            Self::Told => "told",
            Self::Amount => "amount",
            Self::Setting => "setting",
        }
    }

    fn read(word: &str) -> Option<Self> {
        [
            Self::Work,
            Self::Waits,
            Self::Idle,
            Self::Told,
            Self::Amount,
            Self::Setting,
        ]
        .into_iter()
        .find(|role| role.word() == word)
    }
}

/// One thing that can be seen, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name, or a family with `*`.
    pub pattern: &'static str,
    /// The pattern, but for a term: all words for one thing have one name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The name of the layer that it is of, see [`crate::layer`].
    pub layer: &'static str,
    /// What stands there does.
    pub role: Role,
    /// Its letters mean nothing else in any prose.
    pub is_strong: bool,
    /// Where it is found; none is everywhere.
    pub versions: Option<&'static str>,
    /// One sentence.
    pub meaning: &'static str,
    /// Where the fact is from.
    pub source: &'static str,
}

impl Entry {
    /// The part that it is of, whether what stands there works or waits, and what it means.
    pub fn says(&self) -> String {
        let layer = crate::layer(self.layer).map_or("", |layer| layer.words);
        let role = match self.role {
            Role::Work | Role::Waits | Role::Idle => format!(", {}", self.role.word()),
            Role::Told | Role::Amount | Role::Setting => String::new(),
        };
        format!("{layer}{role}: {}", self.meaning)
    }

    /// Reads a line: an entry, or of a term one for each word. A comment or an empty line has none.
    pub(crate) fn read(kind: Kind, line: &'static str) -> impl Iterator<Item = Self> {
        let entry = Self::read_fields(kind, line);
        entry.into_iter().flat_map(move |entry| {
            let (name, others) = match kind {
                Kind::Term => entry
                    .pattern
                    .split_once(NAMES)
                    .unwrap_or((entry.pattern, "")),
                _ => (entry.pattern, ""),
            };
            let others = others.split(OTHER_WORDS).filter(|word| !word.is_empty());
            std::iter::once(name)
                .chain(others)
                .map(move |pattern| Self {
                    pattern,
                    name,
                    ..entry
                })
        })
    }

    fn read_fields(kind: Kind, line: &'static str) -> Option<Self> {
        if line.starts_with("# ") {
            return None;
        }
        let mut fields = line.split(BETWEEN);
        let mut next = || fields.next();
        let pattern = next()?;
        Some(Self {
            pattern,
            name: pattern,
            kind,
            layer: next()?,
            role: Role::read(next()?)?,
            is_strong: next()? == "strong",
            versions: next().map(|versions| (versions != "-").then_some(versions))?,
            meaning: next()?,
            source: next()?,
        })
    }
}

/// A part of the server, of its host or of its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// As entries name it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub words: &'static str,
}

impl Layer {
    pub(crate) fn read(line: &'static str) -> Option<Self> {
        let (name, words) = line.split_once(BETWEEN)?;
        Some(Self { name, words })
    }
}

/// A word of the lexicon that stands in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention<'t> {
    /// What it is.
    pub entry: &'static Entry,
    /// As it stands there: the name of a function, the words of a state or of a line of the kernel, the line of a server or
    /// a client from its words on. What else somebody wrote behind the kernel's words is not of the kernel.
    pub text: &'t str,
}
