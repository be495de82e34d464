//! What a table of the fleet's store is, as plain data: SQLite's and ClickHouse's statements are both made of it.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A whole number of 8 bits.
    U8,
    /// A whole number of 16 bits.
    U16,
    /// A whole number of 32 bits.
    U32,
    /// A whole number of 64 bits.
    U64,
    /// A whole number of 8 bits with a sign.
    I8,
    /// A number of single precision.
    F32,
    /// A number of double precision.
    F64,
    /// 64 bits that stand for a thing, such as a stack: equal or not, never more or less. Shown as 16 hexadecimal digits.
    Hash,
    /// A text.
    Text,
    /// A text with few different values in the whole fleet.
    Word,
    /// The identity of an incident, 128 bits, written as a UUID.
    Id,
    /// A SHA-256 as 64 hexadecimal digits.
    Sha256,
    /// A moment, seconds since 1970 UTC.
    Seconds,
    /// A moment, milliseconds since 1970 UTC.
    Millis,
    /// A day, days since 1970 UTC.
    Day,
    /// One of these words, each with its number.
    Choice(&'static [(&'static str, i8)]),
    /// Any number of these.
    List(&'static Type),
    /// Pairs of these; a key stands once.
    Map(&'static Type, &'static Type),
}

/// How a column store packs a column. SQLite has no use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As the engine does it.
    Default,
    /// A general packer, fast: `ZSTD(1)`.
    General,
    /// A general packer, thorough: `ZSTD(3)`.
    Thorough,
    /// Moments that rise by much the same: `DoubleDelta, ZSTD(1)`.
    Moments,
    /// Whole numbers that are small for their type: `T64, ZSTD(1)`.
    Counts,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in both engines.
    pub name: &'static str,
    /// What it holds.
    pub of: Type,
    /// What it means, with its unit.
    pub what: &'static str,
    /// How a column store packs it.
    pub packing: Packing,
    /// Emptied so many days after the row's moment, while the rest of the row stays.
    pub keep_days: Option<u16>,
}

impl Column {
    /// With another packing.
    pub const fn packed(self, packing: Packing) -> Self {
        Self { packing, ..self }
    }

    /// Emptied after so many days.
    pub const fn for_days(self, days: u16) -> Self {
        Self {
            keep_days: Some(days),
            ..self
        }
    }
}

/// A column that the engine packs as it likes and that stays as long as its row.
pub const fn column(name: &'static str, of: Type, what: &'static str) -> Column {
    Column {
        name,
        of,
        what,
        packing: Packing::Default,
        keep_days: None,
    }
}

/// How a table is cut into pieces that can be dropped at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// Not at all.
    Whole,
    /// By the day of this column.
    Day(&'static str),
    /// By the month of this column.
    Month(&'static str),
}

/// What happens to a row whose sort key is there already. No table holds the same key twice for good, so that what is
/// inserted once more by any way changes nothing: the second line behind the tokens of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// The row with the larger value in this column stays; of equal ones the later.
    Largest(&'static str),
    /// Both say the same: any of them stays.
    Same,
    /// No batch has rows of it: the store makes them of this table.
    MadeOf(&'static str),
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name in both engines.
    pub name: &'static str,
    /// What a row is.
    pub what: &'static str,
    /// The columns. New ones are added behind the last, so that batches of older recorders can still be read.
    pub columns: &'static [Column],
    /// The columns by which rows are sorted and told apart: what whoever asks fixes first, time last.
    pub sort_key: &'static [&'static str],
    /// How it is cut into pieces.
    pub partition: Partition,
    /// Rows go so many days after the moment in this column.
    pub keep: Option<(&'static str, u16)>,
    /// What a row with a known key does.
    pub repeated: Repeated,
}

impl Table {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}
