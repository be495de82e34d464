//! The answer to a statement: done, an error, or rows as text (MySQL source code documentation, "Text Protocol").

use super::deadline::Deadline;
use super::error::ClientError;
use super::fields::Fields;
use super::limits::{COLUMNS_MAX, KEPT_BYTES_MAX, NAME_BYTES_MAX, ROWS_MAX};
use super::packets::Packets;

/// In the status at the end of an answer: another one follows. Only who calls procedures or sends several statements at
/// once gets that, and we do neither.
const MORE_RESULTS: u16 = 8;

/// An answer. A statement that gives no rows has no columns.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The names of the columns, where rows are kept.
    pub(crate) columns: Vec<String>,
    /// The rows that are kept.
    pub(crate) rows: Rows,
    /// Rows that were read and left out.
    pub(crate) left_out: usize,
}

/// What becomes of the rows of an answer.
pub(crate) enum Keep<'a> {
    /// So many are kept at the most.
    Rows(usize),
    /// The first two values of each are looked at as they come: a status of five hundred variables comes each second from
    /// each server, and nobody wants its rows. NULL is empty.
    Pairs(&'a mut dyn FnMut(&[u8], &[u8])),
}

/// Rows as text in one piece: the sessions come each second from each server, and hundreds of small pieces cost more than
/// reading them. NULL is an empty text.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    text: String,
    /// Where each value ends in the text, one row behind the other.
    ends: Vec<u32>,
    count: usize,
}

impl Rows {
    /// Rows of values that were read elsewhere.
    pub(crate) fn of(values: &[impl AsRef<str>]) -> Self {
        let mut rows = Self::with_room(Size {
            bytes: values.iter().map(|value| value.as_ref().len()).sum(),
            values: values.len(),
        });
        for value in values {
            rows.add(value.as_ref());
        }
        rows.count = 1;
        rows
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Values, of all rows.
    pub(crate) fn values(&self) -> usize {
        self.ends.len()
    }

    /// A value by its place among all.
    pub(crate) fn value(&self, place: usize) -> &str {
        let end = self.ends.get(place).map_or(0, |end| *end as usize);
        let before = place.checked_sub(1).and_then(|place| self.ends.get(place));
        let begin = before.map_or(0, |begin| *begin as usize);
        self.text.get(begin..end).unwrap_or_default()
    }

    fn add(&mut self, value: &str) {
        self.text.push_str(value);
        // What is kept is far below 4 GiB.
        self.ends
            .push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    /// Room for what an answer like this one had last time.
    fn with_room(size: Size) -> Self {
        Self {
            text: String::with_capacity(size.bytes),
            ends: Vec::with_capacity(size.values),
            count: 0,
        }
    }

    fn size(&self) -> Size {
        Size {
            bytes: self.text.len(),
            values: self.ends.len(),
        }
    }

    fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Adds a row from its packet; `None` when it has not so many values, or something behind them.
    fn push(&mut self, packet: &[u8], columns: usize) -> Option<()> {
        let mut fields = Fields(packet);
        for _ in 0..columns {
            let value = fields.value()?.unwrap_or_default();
            match std::str::from_utf8(value) {
                Ok(text) => self.add(text),
                Err(_) => self.add(&String::from_utf8_lossy(value)),
            }
        }
        self.count += 1;
        fields.0.is_empty().then_some(())
    }
}

/// What the rows of an answer take.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    bytes: usize,
    values: usize,
}

/// What the last answers of a connection took, by their columns: the next one like it gets its room at once, and does not
/// grow into it step by step.
#[derive(Debug, Default)]
pub(super) struct Sizes([Size; SIZES_COLUMNS]);

/// Answers of so many columns and more have no size.
const SIZES_COLUMNS: usize = 16;

impl Sizes {
    fn of(&self, columns: usize) -> Size {
        self.0.get(columns).copied().unwrap_or_default()
    }

    fn keep(&mut self, columns: usize, size: Size) {
        if let Some(known) = self.0.get_mut(columns) {
            *known = size;
        }
    }
}

/// Reads the answer to a statement. Also tells whether the connection can be used for
/// another statement: after an error of the server it can, if that came in order.
pub(super) fn read(
    packets: &mut Packets,
    sizes: &mut Sizes,
    keep: Keep<'_>,
    deadline: &Deadline,
) -> (Result<Answer, ClientError>, bool) {
    let mut reading = Reading {
        packets,
        sizes,
        packet: Vec::new(),
        in_order: true,
    };
    let result = reading.answer(keep, deadline);
    let whole = matches!(&result, Ok(_) | Err(ClientError::Server { .. }));
    let usable = whole && reading.in_order && reading.packets.is_drained();
    (result, usable)
}

struct Reading<'a> {
    packets: &'a mut Packets,
    sizes: &'a mut Sizes,
    packet: Vec<u8>,
    in_order: bool,
}

impl Reading<'_> {
    fn next(&mut self, deadline: &Deadline) -> Result<(), ClientError> {
        self.in_order &= self.packets.receive(&mut self.packet, deadline)?;
        match self.packet.first() {
            Some(0xff) => Err(ClientError::from_error_packet(&self.packet)),
            Some(_) if self.in_order => Ok(()),
            Some(_) => Err(ClientError::garbled("packets are out of order")),
            None => Err(ClientError::garbled("an empty packet")),
        }
    }

    fn answer(&mut self, keep: Keep<'_>, deadline: &Deadline) -> Result<Answer, ClientError> {
        self.next(deadline)?;
        match self.packet.first() {
            Some(0x00) => {
                ended(&self.packet, true)?;
                return Ok(Answer::default());
            }
            Some(0xfb) => {
                return Err(ClientError::garbled(
                    "it asks for a file of this host, and gets none",
                ));
            }
            _ => {}
        }
        let mut fields = Fields(&self.packet);
        let count = match fields.length() {
            Some(count @ 1..=COLUMNS_MAX) if fields.0.is_empty() => count,
            Some(count) if fields.0.is_empty() => {
                return Err(ClientError::TooMuch(format!("{count} columns").into()));
            }
            _ => return Err(ClientError::garbled("it is no answer to a statement")),
        };
        let is_kept = matches!(keep, Keep::Rows(1..));
        let mut answer = Answer::default();
        for _ in 0..count {
            self.next(deadline)?;
            let name = name(&self.packet)
                .ok_or_else(|| ClientError::garbled("a column is not described"))?;
            if name.len() > NAME_BYTES_MAX {
                return Err(ClientError::TooMuch("the name of a column".into()));
            }
            if is_kept {
                let name = String::from_utf8_lossy(name).into_owned();
                answer.columns.push(name);
            }
        }
        self.next(deadline)?;
        if !is_end(&self.packet) {
            return Err(ClientError::garbled("its columns have no end"));
        }
        let columns = count as usize;
        if is_kept {
            answer.rows = Rows::with_room(self.sizes.of(columns));
        }
        self.rows(&mut answer, columns, keep, deadline)?;
        if is_kept {
            self.sizes.keep(columns, answer.rows.size());
        }
        Ok(answer)
    }

    fn rows(
        &mut self,
        answer: &mut Answer,
        columns: usize,
        mut keep: Keep<'_>,
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        let misfit = || ClientError::garbled("a row does not fit its columns");
        let mut count = 0;
        loop {
            let packet = match self.packets.at_hand() {
                Some(packet) => packet,
                None => {
                    self.next(deadline)?;
                    &self.packet
                }
            };
            if packet.first() == Some(&0xff) {
                return Err(ClientError::from_error_packet(packet));
            }
            if is_end(packet) {
                return ended(packet, false);
            }
            if count >= ROWS_MAX {
                return Err(ClientError::TooMuch(
                    format!("more than {ROWS_MAX} rows").into(),
                ));
            }
            count += 1;
            match &mut keep {
                Keep::Pairs(look) => {
                    let (name, value) = pair(packet, columns).ok_or_else(misfit)?;
                    look(name, value);
                }
                Keep::Rows(rows_max) if answer.rows.len() >= *rows_max => answer.left_out += 1,
                Keep::Rows(_) => {
                    answer.rows.push(packet, columns).ok_or_else(misfit)?;
                    if answer.rows.bytes() > KEPT_BYTES_MAX {
                        let text = format!("rows of more than {} MiB", KEPT_BYTES_MAX >> 20);
                        return Err(ClientError::TooMuch(text.into()));
                    }
                }
            }
        }
    }
}

/// The first two values of a row; `None` when it has not so many values as columns, or something behind them.
fn pair(packet: &[u8], columns: usize) -> Option<(&[u8], &[u8])> {
    let mut fields = Fields(packet);
    let [mut first, mut second] = [&b""[..]; 2];
    for column in 0..columns {
        let value = fields.value()?.unwrap_or_default();
        match column {
            0 => first = value,
            1 => second = value,
            _ => {}
        }
    }
    fields.0.is_empty().then_some((first, second))
}

/// The end of columns or rows. A row that begins with the same byte has a value of 16 MiB behind it.
fn is_end(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() < 9
}

/// The end of an answer, which must be the last. `is_done`: by the packet that says so, else by that which ends rows.
fn ended(packet: &[u8], is_done: bool) -> Result<(), ClientError> {
    let mut fields = Fields(packet.get(1..).unwrap_or_default());
    let status = if is_done {
        // Rows that were changed, and the last number that was given out.
        fields.length().and_then(|_| fields.length())
    } else {
        fields.u16().map(u64::from)
    }
    .and_then(|_| fields.u16());
    match status {
        Some(status) if status & MORE_RESULTS == 0 => Ok(()),
        Some(_) => Err(ClientError::garbled("more answers than questions")),
        None => Err(ClientError::garbled("its end is not whole")),
    }
}

/// The name in the description of a column: behind catalog, schema, table and the table's own name.
fn name(packet: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields(packet);
    for _ in 0..4 {
        fields.string()?;
    }
    fields.string()
}
