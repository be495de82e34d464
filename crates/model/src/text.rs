//! Heavier records as text, and the type by which nothing that a server wrote is kept as it came.

use serde::{Deserialize, Serialize};

/// What kind of heavier record a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextKind {
    /// A [`crate::ProcessList`] as JSON.
    Processlist,
    /// `SHOW ENGINE INNODB STATUS`, literals removed.
    InnodbStatus,
    /// The [`crate::SemaphoreWait`]s of the server as a JSON array: those of an InnoDB status, or those that
    /// an error log tells of.
    Semaphores,
    /// The threads of the server that used most CPU since the last reading, as JSON.
    Threads,
    /// Lines of the server's error log, as they stand there, literals removed.
    ErrorLog,
    /// Lines of the kernel's log (`dmesg`), as they stand there.
    KernelLog,
}

impl TextKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Processlist,
        Self::InnodbStatus,
        Self::Semaphores,
        Self::Threads,
        Self::ErrorLog,
        Self::KernelLog,
    ];

    /// The name used in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processlist => "processlist",
            Self::InnodbStatus => "innodb-status",
            Self::Semaphores => "semaphores",
            Self::Threads => "threads",
            Self::ErrorLog => "error-log",
            Self::KernelLog => "kernel-log",
        }
    }

    /// The kind with this [`TextKind::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The kinds of text that no server wrote: JSON of our own types, whose statements lost their literals when
/// they were read, and the kernel's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnText {
    /// [`TextKind::Processlist`].
    Processlist,
    /// [`TextKind::Semaphores`].
    Semaphores,
    /// [`TextKind::Threads`].
    Threads,
    /// [`TextKind::KernelLog`].
    KernelLog,
}

impl From<OwnText> for TextKind {
    fn from(own: OwnText) -> Self {
        match own {
            OwnText::Processlist => Self::Processlist,
            OwnText::Semaphores => Self::Semaphores,
            OwnText::Threads => Self::Threads,
            OwnText::KernelLog => Self::KernelLog,
        }
    }
}

/// A heavier record, as text.
///
/// Its fields are private: what a server wrote gets in as [`RedactedText`] only, what we wrote ourselves (our
/// JSON, the kernel's lines) by [`Text::own`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    kind: TextKind,
    body: String,
}

impl Text {
    /// Text that a server wrote. The crate `server_text` is where it is made.
    pub fn server(kind: TextKind, body: RedactedText) -> Self {
        Self { kind, body: body.0 }
    }

    /// Text that no server wrote.
    pub fn own(kind: OwnText, body: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            body: body.into(),
        }
    }

    /// What it is.
    pub fn kind(&self) -> TextKind {
        self.kind
    }

    /// The text, without what users of the server wrote.
    pub fn body(&self) -> &str {
        &self.body
    }
}

/// Text of a server without what its users wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText(String);

impl RedactedText {
    /// What `redactor` leaves of `raw`. Called in the crate `server_text` and nowhere else; a test of that crate
    /// looks through the sources of all.
    pub fn from_redactor(redactor: impl FnOnce(&str) -> String, raw: &str) -> Self {
        Self(redactor(raw))
    }
}
