//! Names for what was seen: its stacks in one book, and the locks that were waited for.

use std::collections::{HashMap, HashSet};

use model::{StackEnd, StackId, StackTable};

use crate::images::Memory;
use crate::locks::{DataSymbol, LockSymbols};
use crate::names::Namer;
use crate::raw_stack_table::{RawStackId, RawStackTable};
use crate::shorten::shorten;
use crate::watch::LockLocation;

/// The numbers that raw stacks have in a named book.
#[derive(Debug)]
pub struct Numbers {
    named: HashMap<RawStackId, StackId>,
    missing: StackId,
}

impl Numbers {
    /// The number of a stack; that of an empty one for a stack that was not kept.
    pub fn get(&self, id: RawStackId) -> StackId {
        self.named.get(&id).copied().unwrap_or(self.missing)
    }
}

/// Stacks copied out of a book that goes on: naming them takes time.
#[derive(Debug)]
pub struct RawStacks {
    book: RawStackTable,
    numbers: HashMap<RawStackId, RawStackId>,
}

impl RawStacks {
    /// Copies these stacks.
    pub fn copy(book: &RawStackTable, ids: &HashSet<RawStackId>) -> Self {
        let (book, numbers) = book.subset(ids);
        Self { book, numbers }
    }

    /// Names them into a book. The first time this reads symbol tables, up to a second.
    pub fn name(&self, namer: &mut Namer, book: &mut StackTable) -> Numbers {
        let (before, copied): (Vec<RawStackId>, Vec<RawStackId>) = self.numbers.iter().unzip();
        let named = self.book.name(&copied, namer, book);
        Numbers {
            named: before.into_iter().zip(named).collect(),
            missing: book.intern([], StackEnd::Overflow),
        }
    }
}

/// What the symbols say of the places of locks. The first time this reads symbol tables.
pub fn lock_symbols<'a>(places: impl IntoIterator<Item = (u64, &'a LockLocation)>) -> LockSymbols {
    let mut symbols = LockSymbols::default();
    for (address, place) in places {
        if let Some(latch) = place.latch {
            symbols.latches.insert(address & !7, latch);
        }
        if let Some((image, offset)) = &place.variable {
            if let Some(symbol) = image.objects().find(*offset) {
                let found = DataSymbol {
                    name: shorten(&symbol.name),
                    offset: offset - symbol.start,
                    size: symbol.size,
                };
                symbols.names.insert(address, found);
            } else {
                let place = (image.name().to_owned(), *offset);
                symbols.in_image.insert(address, place);
            }
        }
        // A C library without its table of variables still tells that the address is its own.
        if let Memory::Image(place) = &place.memory
            && is_libc(&place.file)
        {
            symbols.libc_data.push(address..address + 1);
        }
    }
    symbols
}

/// `libc.so.6`, and `libc-2.31.so` as it was named before glibc 2.34.
fn is_libc(file: &str) -> bool {
    file.starts_with("libc.so") || (file.starts_with("libc-") && file.ends_with(".so"))
}
