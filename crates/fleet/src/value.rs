//! Values of cells, as batches carry them and stores answer them.

use crate::table::Type;

/// A value of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing; only in answers, never in a row of a batch.
    Null,
    /// Of `U8` to `U64` and `Hash`.
    Unsigned(u64),
    /// Of `I8`, `Seconds`, `Millis`, `Day`, and of `Choice` the word's number.
    Signed(i64),
    /// Of `F32` and `F64`.
    Float(f64),
    /// Of `Text`, `Word` and `Sha256`.
    Text(String),
    /// Of `Id`.
    Id([u8; 16]),
    /// Of a `List` of `F64`: most of what is sent.
    Floats(Vec<f64>),
    /// Of every other `List`.
    List(Vec<Value>),
    /// Of a `Map`.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The value of a column that a batch was written without.
    pub fn empty(of: Type) -> Self {
        match of {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::Hash => Self::Unsigned(0),
            Type::I8 | Type::Seconds | Type::Millis | Type::Day => Self::Signed(0),
            Type::Choice(words) => {
                Self::Signed(words.first().map_or(0, |(_, code)| (*code).into()))
            }
            Type::F32 | Type::F64 => Self::Float(0.0),
            Type::Text | Type::Word => Self::Text(String::new()),
            Type::Sha256 => Self::Text("0".repeat(64)),
            Type::Id => Self::Id([0; 16]),
            Type::List(Type::F64) => Self::Floats(Vec::new()),
            Type::List(_) => Self::List(Vec::new()),
            Type::Map(..) => Self::Map(Vec::new()),
        }
    }

    /// Whether a column of this type can hold it.
    pub fn fits(&self, of: Type) -> bool {
        match (self, of) {
            (Self::Unsigned(value), Type::U8) => *value <= u8::MAX.into(),
            (Self::Unsigned(value), Type::U16) => *value <= u16::MAX.into(),
            (Self::Unsigned(value), Type::U32) => *value <= u32::MAX.into(),
            (Self::Unsigned(_), Type::U64 | Type::Hash) => true,
            (Self::Signed(value), Type::I8) => i8::try_from(*value).is_ok(),
            // What both engines can hold.
            (Self::Signed(value), Type::Seconds) => u32::try_from(*value).is_ok(),
            (Self::Signed(value), Type::Day) => u16::try_from(*value).is_ok(),
            (Self::Signed(_), Type::Millis) => true,
            (Self::Signed(value), Type::Choice(words)) => {
                words.iter().any(|(_, code)| i64::from(*code) == *value)
            }
            (Self::Float(_), Type::F32 | Type::F64) => true,
            (Self::Text(_), Type::Text | Type::Word) => true,
            (Self::Text(text), Type::Sha256) => {
                text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            }
            (Self::Id(_), Type::Id) => true,
            (Self::Floats(_), Type::List(Type::F64)) => true,
            (Self::List(values), Type::List(of)) => {
                !matches!(of, Type::F64) && values.iter().all(|value| value.fits(*of))
            }
            (Self::Map(pairs), Type::Map(key, value)) => {
                pairs.iter().all(|(k, v)| k.fits(*key) && v.fits(*value))
            }
            _ => false,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// An identity as a UUID is written.
pub fn id_text(id: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in id.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    text
}

/// The identity that a UUID writes.
pub fn id_of_text(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let mut id = [0; 16];
    if digits.len() != 2 * id.len() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8);
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TABLES;

    #[test]
    fn the_empty_value_of_each_type_fits_it() {
        for column in TABLES.into_iter().flat_map(|table| table.columns) {
            assert!(Value::empty(column.of).fits(column.of), "{column:?}");
        }
    }

    #[test]
    fn numbers_that_are_too_large_do_not_fit() {
        assert!(Value::Unsigned(255).fits(Type::U8));
        assert!(!Value::Unsigned(256).fits(Type::U8));
        assert!(!Value::Signed(-1).fits(Type::Seconds));
        assert!(!Value::Signed(9).fits(Type::Choice(&[("a", 1)])));
        assert!(!Value::Null.fits(Type::Text));
    }

    #[test]
    fn an_identity_is_written_as_a_uuid() {
        let id: [u8; 16] = std::array::from_fn(|index| index as u8 * 17);
        let text = "00112233-4455-6677-8899-aabbccddeeff";
        assert_eq!(id_text(&id), text);
        assert_eq!(id_of_text(text), Some(id));
        assert_eq!(id_of_text("00112233"), None);
    }
}
