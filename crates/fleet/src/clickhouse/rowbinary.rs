//! Rows as RowBinary: the values of a row one behind the other, without names and lengths.
//!
//! <https://clickhouse.com/docs/interfaces/formats/RowBinary>

use crate::table::{Table, Type};
use crate::value::Value;

/// The rows of a table. The same rows are the same bytes, always. None when a row does not fit its table.
pub fn encode(table: &Table, rows: &[Vec<Value>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for row in rows {
        if row.len() != table.columns.len() {
            return None;
        }
        for (value, column) in row.iter().zip(table.columns) {
            if !value.fits(column.of) {
                return None;
            }
            put(value, column.of, &mut out);
        }
    }
    Some(out)
}

/// The value fits the type: each number is within what its bytes can hold.
fn put(value: &Value, of: Type, out: &mut Vec<u8>) {
    match (value, of) {
        (Value::Unsigned(value), Type::U8) => out.push(*value as u8),
        (Value::Unsigned(value), Type::U16) => out.extend((*value as u16).to_le_bytes()),
        (Value::Unsigned(value), Type::U32) => out.extend((*value as u32).to_le_bytes()),
        (Value::Unsigned(value), _) => out.extend(value.to_le_bytes()),
        (Value::Signed(value), Type::Seconds) => out.extend((*value as u32).to_le_bytes()),
        (Value::Signed(value), Type::Day) => out.extend((*value as u16).to_le_bytes()),
        (Value::Signed(value), Type::Millis) => out.extend(value.to_le_bytes()),
        (Value::Signed(value), _) => out.extend((*value as i8).to_le_bytes()),
        (Value::Float(value), Type::F32) => out.extend((*value as f32).to_le_bytes()),
        (Value::Float(value), _) => out.extend(value.to_le_bytes()),
        // Its length is in the type.
        (Value::Text(text), Type::Sha256) => out.extend(text.as_bytes()),
        (Value::Text(text), _) => {
            put_varint(text.len(), out);
            out.extend(text.as_bytes());
        }
        // Two numbers of 64 bits, the first half first, each little-endian.
        (Value::Id(id), _) => {
            for half in id.chunks(8) {
                out.extend(half.iter().rev());
            }
        }
        (Value::Floats(values), _) => {
            put_varint(values.len(), out);
            for value in values {
                out.extend(value.to_le_bytes());
            }
        }
        (Value::List(values), Type::List(of)) => {
            put_varint(values.len(), out);
            for value in values {
                put(value, *of, out);
            }
        }
        (Value::Map(pairs), Type::Map(key_of, value_of)) => {
            put_varint(pairs.len(), out);
            for (key, value) in pairs {
                put(key, *key_of, out);
                put(value, *value_of, out);
            }
        }
        (Value::Null | Value::List(_) | Value::Map(_), _) => {}
    }
}

fn put_varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    #[test]
    fn values_are_written_as_the_format_has_them() {
        let bytes = |value: Value, of: Type| {
            let mut out = Vec::new();
            put(&value, of, &mut out);
            out
        };
        let id: [u8; 16] = std::array::from_fn(|index| index as u8);
        assert_eq!(
            bytes(Value::Id(id), Type::Id),
            [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]
        );
        assert_eq!(bytes(Value::from("ab"), Type::Word), [2, b'a', b'b']);
        assert_eq!(bytes(Value::Signed(-1), Type::I8), [255]);
        assert_eq!(bytes(Value::Float(1.0), Type::F32), [0, 0, 128, 63]);
        assert_eq!(
            bytes(Value::Text("x".repeat(200)), Type::Text)[..2],
            [200, 1]
        );
        let map = Value::Map(vec![(Value::Unsigned(3), Value::Unsigned(258))]);
        assert_eq!(
            bytes(map, Type::Map(&Type::U8, &Type::U32)),
            [1, 3, 2, 1, 0, 0]
        );
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let row = |seen| vec![Value::Unsigned(1), Value::List(Vec::new()), seen];
        let encoded = |row| encode(&tables::STACK_FRAMES, &[row]);
        assert_eq!(encoded(row(Value::Signed(2))).unwrap().len(), 8 + 1 + 2);
        assert_eq!(encoded(row(Value::Signed(-2))), None);
        assert_eq!(encoded(vec![Value::Unsigned(1)]), None);
    }
}
