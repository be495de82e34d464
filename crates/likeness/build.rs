//! Packs `data/words.txt`, column by column.

#[path = "src/columns.rs"]
mod columns;

use std::io::{Error, ErrorKind};

fn main() -> std::io::Result<()> {
    embed::packed_as("data/words.txt", "words.packed", |text| {
        columns::columns(text).map_err(|line| Error::new(ErrorKind::InvalidData, line))
    })
}
