//! A batch as bytes: what a spool keeps and a gateway is sent.
//!
//! ```text
//! file     = "FFB1"                                 4 bytes
//!            u32 packed                             bytes of `body`
//!            u32 unpacked                           bytes of `content`
//!            u32 crc                                CRC-32 (IEEE) of the 8 bytes before and of `body`
//!            body                                   `content` by deflate (RFC 1951)
//! content  = varint version                         1
//!            u64 host_id, u64 boot, varint seq      the token
//!            varint tables
//!            table × tables
//! table    = text name
//!            varint columns                         the first so many of the table
//!            varint rows
//!            column × columns                       all values of a column together: like packs well with like
//! column   = value × rows
//! ```
//!
//! Whole numbers are little-endian; a *varint* has seven bits a byte, the lowest first, the highest bit of a byte set
//! when another follows. A *text* is a varint of its bytes, and these.
//!
//! | type | value |
//! |---|---|
//! | `U8` to `U64` | varint |
//! | `Hash` | u64 |
//! | `I8`, `Choice`, `Day` | varint by zigzag: `(value << 1) ^ (value >> 63)` |
//! | `Seconds`, `Millis` | the same, of the difference to the row before; of the first, of itself |
//! | `F32`, `F64` | the 8 bytes of a double |
//! | `Text`, `Word`, `Sha256` | text |
//! | `Id` | 16 bytes |
//! | `List` | varint of the values, and these |
//! | `Map` | varint of the pairs, and key and value of each |
//!
//! A reader takes fewer columns than it knows, since tables only grow at their end: the others have the empty value.
//! More columns, another table or another version are of a newer program, and are refused as that.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::batch::{Batch, Token};
use crate::table::{Repeated, Type};
use crate::tables::{TABLES, table};
use crate::value::Value;

/// What a batch begins with.
pub const MAGIC: [u8; 4] = *b"FFB1";

/// Bytes before the body.
pub const HEAD_BYTES: usize = 16;

/// The version of the content.
const VERSION: u64 = 1;

/// Bytes of a batch's content that are read at the most. An incident of a thousand threads is a few MB.
pub const CONTENT_BYTES_MAX: usize = 64 << 20;

/// Values of one batch. Each takes some 32 bytes of memory and often one byte of the content.
const VALUES_MAX: usize = 8 << 20;

/// Why bytes are no batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// It begins otherwise.
    #[error("not a batch of freezeframe: it does not begin with FFB1")]
    NotABatch,
    /// It ends early.
    #[error("the batch is cut off: {there} of {wanted} bytes are there")]
    Cut {
        /// Bytes that are there.
        there: usize,
        /// Bytes that its head tells.
        wanted: usize,
    },
    /// The checksum is another.
    #[error("the batch is damaged: its checksum is not that of its bytes")]
    Checksum,
    /// It says something that cannot be.
    #[error("the batch is damaged: {0}")]
    Damaged(&'static str),
    /// It is larger than what is read.
    #[error("the batch is too large: {0}")]
    TooLarge(&'static str),
    /// A newer program wrote it.
    #[error("a newer freezeframe wrote the batch ({0}): use a newer one here")]
    Newer(String),
    /// A row does not fit its table; only when writing.
    #[error("a row of '{0}' does not fit its table")]
    WrongRow(&'static str),
}

/// The bytes of a batch.
///
/// # Errors
///
/// When a row does not fit its table, or the content is larger than what is read.
pub fn to_bytes(batch: &Batch) -> Result<Vec<u8>, BatchError> {
    let content = content(batch)?;
    if content.len() > CONTENT_BYTES_MAX {
        return Err(BatchError::TooLarge("its content is over 64 MiB"));
    }
    let mut body = DeflateEncoder::new(Vec::new(), Compression::fast());
    let packed = body.write_all(&content).and_then(|()| body.finish());
    // Writing to memory does not fail; the type cannot say so.
    let body = packed.map_err(|_| BatchError::Damaged("it cannot be packed"))?;
    let too_large = |_| BatchError::TooLarge("it is over 4 GiB");
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&u32::try_from(body.len()).map_err(too_large)?.to_le_bytes());
    bytes.extend_from_slice(
        &u32::try_from(content.len())
            .map_err(too_large)?
            .to_le_bytes(),
    );
    let crc = checksum(bytes.get(4..12).unwrap_or_default(), &body);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// The batch that these bytes are, all of them.
///
/// # Errors
///
/// When they are anything else, in part or as a whole.
pub fn from_bytes(bytes: &[u8]) -> Result<Batch, BatchError> {
    let wanted = length(bytes)?;
    if bytes.len() > wanted {
        return Err(BatchError::Damaged("bytes follow its end"));
    }
    let body = bytes.get(HEAD_BYTES..wanted).ok_or(BatchError::Cut {
        there: bytes.len(),
        wanted,
    })?;
    let word = |at| word(bytes, at).ok_or(BatchError::NotABatch);
    if word(12)? != checksum(bytes.get(4..12).unwrap_or_default(), body) {
        return Err(BatchError::Checksum);
    }
    let unpacked = word(8)? as usize;
    if unpacked > CONTENT_BYTES_MAX {
        return Err(BatchError::TooLarge("its content is over 64 MiB"));
    }
    let mut content = Vec::new();
    DeflateDecoder::new(body)
        .take(unpacked as u64 + 1)
        .read_to_end(&mut content)
        .map_err(|_| BatchError::Damaged("its content cannot be unpacked"))?;
    if content.len() != unpacked {
        return Err(BatchError::Damaged("its content has another length"));
    }
    let mut reader = Reader {
        rest: &content,
        values_left: VALUES_MAX,
    };
    let batch = reader.batch()?;
    match reader.rest.is_empty() {
        true => Ok(batch),
        false => Err(BatchError::Damaged("there is data after its content")),
    }
}

/// How many bytes the batch takes that begins here: a file may hold several.
///
/// # Errors
///
/// When none begins here, or its head is cut off.
pub fn length(bytes: &[u8]) -> Result<usize, BatchError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(BatchError::NotABatch);
    }
    let packed = word(bytes, 4).filter(|_| bytes.len() >= HEAD_BYTES);
    let packed = packed.ok_or(BatchError::Cut {
        there: bytes.len(),
        wanted: HEAD_BYTES,
    })?;
    Ok(HEAD_BYTES.saturating_add(packed as usize))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn checksum(lengths: &[u8], body: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(lengths);
    crc.update(body);
    crc.finalize()
}

fn content(batch: &Batch) -> Result<Vec<u8>, BatchError> {
    let mut out = Vec::new();
    put_varint(VERSION, &mut out);
    out.extend_from_slice(&batch.token.host_id.to_le_bytes());
    out.extend_from_slice(&batch.token.boot.to_le_bytes());
    put_varint(batch.token.seq, &mut out);
    put_varint(batch.tables().len() as u64, &mut out);
    for rows in batch.tables() {
        let table = rows.table;
        let fits = |row: &Vec<Value>| {
            let mut pairs = row.iter().zip(table.columns);
            row.len() == table.columns.len() && pairs.all(|(value, column)| value.fits(column.of))
        };
        if matches!(table.repeated, Repeated::MadeOf(_)) || !rows.rows.iter().all(fits) {
            return Err(BatchError::WrongRow(table.name));
        }
        put_text(table.name, &mut out);
        put_varint(table.columns.len() as u64, &mut out);
        put_varint(rows.rows.len() as u64, &mut out);
        for (index, column) in table.columns.iter().enumerate() {
            let mut before = 0;
            for value in rows.rows.iter().filter_map(|row| row.get(index)) {
                put_cell(value, column.of, &mut before, &mut out);
            }
        }
    }
    Ok(out)
}

/// Moments are told as differences in a column; everything else by itself.
fn put_cell(value: &Value, of: Type, before: &mut i64, out: &mut Vec<u8>) {
    match (value, of) {
        (Value::Signed(value), Type::Seconds | Type::Millis) => {
            put_signed(value.wrapping_sub(*before), out);
            *before = *value;
        }
        _ => put_value(value, of, out),
    }
}

fn put_value(value: &Value, of: Type, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Unsigned(value) if of == Type::Hash => out.extend_from_slice(&value.to_le_bytes()),
        Value::Unsigned(value) => put_varint(*value, out),
        Value::Signed(value) => put_signed(*value, out),
        Value::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Text(text) => put_text(text, out),
        Value::Id(id) => out.extend_from_slice(id),
        Value::Floats(values) => {
            put_varint(values.len() as u64, out);
            for value in values {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        Value::List(values) => {
            let of = if let Type::List(of) = of { *of } else { of };
            put_varint(values.len() as u64, out);
            for value in values {
                put_value(value, of, out);
            }
        }
        Value::Map(pairs) => {
            let (key, value_of) = match of {
                Type::Map(key, value) => (*key, *value),
                other => (other, other),
            };
            put_varint(pairs.len() as u64, out);
            for (k, v) in pairs {
                put_value(k, key, out);
                put_value(v, value_of, out);
            }
        }
    }
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_varint(((value << 1) ^ (value >> 63)) as u64, out);
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_varint(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Reads a content from its begin on.
struct Reader<'a> {
    rest: &'a [u8],
    values_left: usize,
}

const CUT: BatchError = BatchError::Damaged("its content ends early");

impl<'a> Reader<'a> {
    fn batch(&mut self) -> Result<Batch, BatchError> {
        let version = self.varint()?;
        if version > VERSION {
            return Err(BatchError::Newer(format!("version {version} of its form")));
        }
        let mut batch = Batch::new(Token {
            host_id: self.hash()?,
            boot: self.hash()?,
            seq: self.varint()?,
        });
        let tables = self.varint()?;
        if tables > TABLES.len() as u64 {
            return Err(BatchError::Damaged("it has more tables than there are"));
        }
        for _ in 0..tables {
            self.table(&mut batch)?;
        }
        Ok(batch)
    }

    fn table(&mut self, batch: &mut Batch) -> Result<(), BatchError> {
        let name = self.text()?;
        let table = table(&name).filter(|table| !matches!(table.repeated, Repeated::MadeOf(_)));
        let Some(table) = table else {
            return Err(BatchError::Newer(format!("table '{name}'")));
        };
        let columns = self.varint()? as usize;
        if columns > table.columns.len() {
            return Err(BatchError::Newer(format!(
                "further columns of table '{name}'"
            )));
        }
        let rows = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        self.take_values(rows.saturating_mul(table.columns.len()))?;
        // A row is a value a column at the least, and each of these a byte.
        if columns == 0 || rows.saturating_mul(columns) > self.rest.len() {
            return Err(CUT);
        }
        let mut values: Vec<Vec<Value>> = Vec::new();
        values.resize_with(rows, || Vec::with_capacity(table.columns.len()));
        for (index, column) in table.columns.iter().enumerate() {
            let mut before = 0;
            for row in &mut values {
                row.push(match index < columns {
                    true => self.cell(column.of, &mut before)?,
                    false => Value::empty(column.of),
                });
            }
        }
        for row in values {
            batch.push_values(table, row);
        }
        Ok(())
    }

    fn cell(&mut self, of: Type, before: &mut i64) -> Result<Value, BatchError> {
        let value = match of {
            Type::Seconds | Type::Millis => {
                *before = before.wrapping_add(self.signed()?);
                Value::Signed(*before)
            }
            _ => self.value(of)?,
        };
        match value.fits(of) {
            true => Ok(value),
            false => Err(BatchError::Damaged("a value does not fit its column")),
        }
    }

    fn value(&mut self, of: Type) -> Result<Value, BatchError> {
        Ok(match of {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::Unsigned(self.varint()?),
            Type::Hash => Value::Unsigned(self.hash()?),
            Type::I8 | Type::Seconds | Type::Millis | Type::Day | Type::Choice(_) => {
                Value::Signed(self.signed()?)
            }
            Type::F32 | Type::F64 => Value::Float(f64::from_le_bytes(self.array()?)),
            Type::Text | Type::Word | Type::Sha256 => Value::Text(self.text()?),
            Type::Id => Value::Id(self.array()?),
            Type::List(Type::F64) => {
                let count = self.count(8)?;
                let mut values = Vec::with_capacity(count);
                for _ in 0..count {
                    values.push(f64::from_le_bytes(self.array()?));
                }
                Value::Floats(values)
            }
            Type::List(of) => {
                let count = self.count(1)?;
                let values = (0..count).map(|_| self.value(*of));
                Value::List(values.collect::<Result<_, _>>()?)
            }
            Type::Map(key, value) => {
                let count = self.count(2)?;
                self.take_values(count)?;
                let pairs = (0..count).map(|_| Ok((self.value(*key)?, self.value(*value)?)));
                Value::Map(pairs.collect::<Result<_, BatchError>>()?)
            }
        })
    }

    /// A number of things of so many bytes each, at the least: all of them must still be there.
    fn count(&mut self, bytes: usize) -> Result<usize, BatchError> {
        let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        self.take_values(count)?;
        match count.saturating_mul(bytes) <= self.rest.len() {
            true => Ok(count),
            false => Err(CUT),
        }
    }

    fn take_values(&mut self, count: usize) -> Result<(), BatchError> {
        let left = self.values_left.checked_sub(count);
        self.values_left = left.ok_or(BatchError::TooLarge("it has over 8 million values"))?;
        Ok(())
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], BatchError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(CUT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BatchError> {
        self.bytes(N)?.try_into().map_err(|_| CUT)
    }

    fn hash(&mut self) -> Result<u64, BatchError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn varint(&mut self) -> Result<u64, BatchError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(BatchError::Damaged("a number has more than 64 bits"))
    }

    fn signed(&mut self) -> Result<i64, BatchError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn text(&mut self) -> Result<String, BatchError> {
        let count = usize::try_from(self.varint()?).map_err(|_| CUT)?;
        let bytes = self.bytes(count)?.to_vec();
        String::from_utf8(bytes).map_err(|_| BatchError::Damaged("a text is no UTF-8"))
    }
}

#[cfg(test)]
mod tests;
