//! What is known of a format: how its lines are recognised, where a section ends, how it is read.

use std::cell::OnceCell;
use std::fmt;

use crate::line::Line;
use crate::read::Read;
use crate::tables::cells;

/// A format of captures. Each is a `static` in `formats/`, which nothing else has to know.
pub struct Format {
    /// Its name in code, and that of its sample in `tests/samples`.
    pub id: &'static str,
    /// What it is about.
    pub group: Group,
    /// What it is called in an answer (`vmstat output`).
    pub name: &'static str,
    /// Which programs print it, or who writes it.
    pub printed_by: &'static str,
    /// What is read, for people; empty where it is known and not read.
    pub content: &'static str,
    /// How lines are known as its own: by any of these.
    pub(crate) recognisers: &'static [Recogniser],
    /// Whether a line below this head of a table may be of this format.
    pub(crate) allows_head: fn(&str) -> bool,
    /// Whether a line that is not recognised as its own belongs to the section that has begun.
    pub(crate) continues: fn(&Open, &Next<'_>) -> bool,
    /// The same before any recogniser looks at the line, which takes most of the time. It must say no more than
    /// `continues` and the recognisers do.
    pub(crate) absorbs: fn(&Open, &Next<'_>) -> bool,
    /// Keeps in [`Open`] what a line of the section, without the blanks around it, says about the next ones.
    pub(crate) add: fn(&mut Open, &str),
    /// The same for a line in a gap.
    pub(crate) pass: fn(&mut Open, &str),
    /// How many lines of no format may stand between two lines of a section.
    pub(crate) gap: Gap,
    /// Rows with the same columns: the head of another table ends it.
    pub(crate) is_table: bool,
    /// It has the same names whatever happens, as `/proc/vmstat` has: that one stands in it tells nothing.
    pub(crate) is_inventory: bool,
    /// Which of its lines have as many cells as the rows behind them.
    pub(crate) heads: Heads,
    /// The server's version stands in it.
    pub(crate) has_version: bool,
    /// Where several formats have the same signal, equally good, the one with the lowest number is taken.
    pub(crate) preference: u8,
    /// Reads the lines of a section. Never fails: what cannot be read is in [`Read::skipped`].
    pub(crate) read: fn(&[Line<'_>]) -> Read,
    /// Reads a whole file, for a format without lines; absent where the bytes are something else.
    pub(crate) read_bytes: fn(&[u8]) -> Option<Read>,
}

/// What a format is about, for lists of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Where threads are, and where processors spend their time.
    Stacks,
    /// What the server or its clients say of it.
    Server,
    /// What the kernel and tools of the host say.
    Host,
    /// Packets between clients and the server.
    Network,
    /// What somebody wrote.
    People,
}

impl Group {
    /// All, in the order of lists.
    pub const ALL: [Self; 5] = [
        Self::Stacks,
        Self::Server,
        Self::Host,
        Self::Network,
        Self::People,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stacks => "stacks",
            Self::Server => "the server",
            Self::Host => "the host",
            Self::Network => "the network",
            Self::People => "people",
        }
    }
}

/// How a line of a format is known.
#[derive(Clone, Copy)]
pub(crate) struct Recogniser {
    pub(crate) rank: u16,
    pub(crate) first: &'static str,
    pub(crate) signs: u16,
    pub(crate) is: fn(&Candidate<'_>) -> bool,
}

impl Recogniser {
    /// `rank` is the place in the order in which recognisers look at a line; the first that knows it wins, so that what
    /// nobody else prints has a low rank. No two are the same. `first` are bytes of which one begins every such line,
    /// empty where any may; `signs` are those that every such line has. Most lines lack them, and `is` does not look
    /// at them.
    pub(crate) const fn new(
        rank: u16,
        first: &'static str,
        signs: u16,
        is: fn(&Candidate<'_>) -> bool,
    ) -> Self {
        Self {
            rank,
            first,
            signs,
            is,
        }
    }
}

/// How far apart lines of one section may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Gap {
    /// One blank line.
    Blank,
    /// Fewer lines than this.
    Lines(usize),
}

/// Lines that a recogniser knows and that have as many cells as the rows behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heads {
    None,
    /// The first of a section.
    First,
    /// Each: a section holds several tables.
    Each,
}

/// For `first` of a recogniser.
pub(crate) const DIGITS: &str = "0123456789";

impl Format {
    /// Recognises nothing and reads nothing: what a format leaves out of its declaration.
    pub(crate) const NONE: Self = Self {
        id: "",
        group: Group::Host,
        name: "",
        printed_by: "",
        content: "",
        recognisers: &[],
        allows_head: |_| true,
        continues: |_, _| false,
        absorbs: |_, _| false,
        add: |open, _| open.carried = 0,
        pass: |_, _| {},
        gap: Gap::Blank,
        is_table: false,
        is_inventory: false,
        heads: Heads::None,
        has_version: false,
        preference: u8::MAX,
        read: |_| Read::default(),
        read_bytes: |_| None,
    };
}

/// Each format is one static, and its address is its own.
impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Lines behind a line that its recogniser may look at.
pub(crate) const AHEAD: usize = 8;

/// Lines of one statement in an InnoDB status or a wrapped frame, at the most.
pub(crate) const WRAPPED_LINES_MAX: usize = 400;

/// What has begun and not ended.
pub(crate) struct Open {
    pub(crate) format: &'static Format,
    /// Index of its first line.
    pub(crate) from: usize,
    /// Index behind the last line that surely belongs to it.
    pub(crate) to: usize,
    /// Its lines that are not blank, and again those that are known by themselves.
    pub(crate) known: usize,
    /// The InnoDB monitor has begun and not ended.
    pub(crate) monitor: bool,
    /// A statement of a session goes on, or a row of pt-pmp.
    pub(crate) statement: bool,
    /// Brackets that a frame opened and did not close.
    pub(crate) depth: i32,
    /// Lines that belong to it by nothing but their place.
    pub(crate) carried: usize,
    /// The number of the frame on the line before.
    pub(crate) frame: Option<usize>,
    /// Cells of the head of a table with tabs; 0 where it has boxes or a row a paragraph.
    pub(crate) cells: usize,
}

/// The line behind what has begun.
pub(crate) struct Next<'a> {
    pub(crate) line: &'a str,
    /// The line without the blanks around it.
    pub(crate) text: &'a str,
    /// The line behind it.
    pub(crate) behind: Option<&'a Line<'a>>,
    /// What it is by itself; absent also where no recogniser looked at it yet.
    pub(crate) own: Option<&'static Format>,
}

/// Signs of which a line has all that its kind needs. Most lines lack them, and are not looked at.
pub(crate) mod sign {
    /// What parts or begins the rows of tables: a bar, a tab, a star.
    pub const TABLE: u16 = 1;
    pub const COLON: u16 = 1 << 1;
    pub const DOT: u16 = 1 << 2;
    pub const EQUAL: u16 = 1 << 3;
    pub const PERCENT: u16 = 1 << 4;
    pub const SEMICOLON: u16 = 1 << 5;
    pub const SLASH: u16 = 1 << 6;
    pub const DIGIT: u16 = 1 << 7;
    pub const BRACKET: u16 = 1 << 8;
    /// The letter that `OOMKilled` begins with.
    pub const CAPITAL_O: u16 = 1 << 9;
}

/// The sign that each byte is.
const SIGNS: [u16; 256] = {
    let mut signs = [0; 256];
    signs[b'|' as usize] = sign::TABLE;
    signs[b'\t' as usize] = sign::TABLE;
    signs[b'*' as usize] = sign::TABLE;
    signs[b':' as usize] = sign::COLON;
    signs[b'.' as usize] = sign::DOT;
    signs[b'=' as usize] = sign::EQUAL;
    signs[b'%' as usize] = sign::PERCENT;
    signs[b';' as usize] = sign::SEMICOLON;
    signs[b'/' as usize] = sign::SLASH;
    signs[b'[' as usize] = sign::BRACKET;
    signs[b'O' as usize] = sign::CAPITAL_O;
    let mut digit = b'0';
    while digit <= b'9' {
        signs[digit as usize] = sign::DIGIT;
        digit += 1;
    }
    signs
};

/// A line that is not blank, and the lines behind it.
pub(crate) struct Candidate<'a> {
    pub(crate) line: &'a str,
    /// The line without the blanks around it.
    pub(crate) text: &'a str,
    pub(crate) next: &'a [&'a str],
    signs: u16,
    cells: OnceCell<Vec<&'a str>>,
}

impl<'a> Candidate<'a> {
    pub(crate) fn new(line: &'a str, text: &'a str, next: &'a [&'a str]) -> Self {
        let signs = line
            .bytes()
            .fold(0, |signs, byte| signs | SIGNS[usize::from(byte)]);
        Self {
            line,
            text,
            next,
            signs,
            cells: OnceCell::new(),
        }
    }

    /// The line has all of these signs.
    pub(crate) fn has(&self, signs: u16) -> bool {
        self.signs & signs == signs
    }

    /// Its cells, as a row of a table.
    pub(crate) fn cells(&self) -> &[&'a str] {
        self.cells.get_or_init(|| match self.has(sign::TABLE) {
            true => cells(self.text),
            false => Vec::new(),
        })
    }
}
