//! The programs and libraries whose code stands on stacks.
//!
//! An [`Image`] is one file (or the vDSO), shared by all processes that map it, numbered, and readable after the last
//! of them is gone. A [`Process`] says which addresses belong to which image.
//!
//! Nothing of a file is mapped into this program. Sections are read into memory: a library that is truncated under a
//! mapping would end us with SIGBUS, and catching that takes `unsafe`.

mod content;
#[cfg(test)]
mod damaged;
mod debug_file;
mod elf;
mod image;
mod process;

use content::Content;
use elf::Elf;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

pub(crate) use image::Body as ImageBody;
pub use image::Image;
pub use process::{ImagesError, Memory, Place, Process};

pub(crate) use content::{Content as Bytes, FileKey};
pub(crate) use elf::{Elf as Headers, Section};

/// Images known at once. A host of hundreds of processes has about a thousand.
pub const IMAGES_MAX: usize = 4096;
/// Files kept open; a process may open 1,024 by default (`ulimit -n`). Further images are opened for each read, and lose
/// their names when their file is replaced.
const FILES_OPEN_MAX: usize = 384;
/// The vDSO has two pages on x86-64.
const VDSO_BYTES_MAX: u64 = 64 << 10;

/// Number of an [`Image`] in its [`Images`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageId(pub u32);

/// A place in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The image.
    pub image: ImageId,
    /// ELF virtual address. For a file that could not be read: offset in the file.
    pub offset: u64,
}

/// A code address on a stack. For a caller it lies in its call instruction, one byte before the return address, so
/// that it names the function that called, also where the call is the function's last instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeAddress {
    /// In an image.
    In(Address),
    /// In no image: code made at run time, or a pointer that leads astray.
    Unmapped(u64),
}

/// Every image that a process was seen with. Clones share the same book.
#[derive(Debug, Clone, Default)]
pub struct Images(Arc<RwLock<Book>>);

#[derive(Debug, Default)]
struct Book {
    images: Vec<Arc<Image>>,
    by_key: HashMap<Key, ImageId>,
    open_files: usize,
    refused: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    File(FileKey),
    Vdso(Arc<[u8]>),
    Unreadable {
        device: (u32, u32),
        inode: u64,
        path: Vec<u8>,
    },
}

impl Images {
    /// An empty book.
    pub fn new() -> Self {
        Self::default()
    }

    /// The image with a number of this book.
    pub fn get(&self, id: ImageId) -> Option<Arc<Image>> {
        let book = self.0.read().unwrap_or_else(PoisonError::into_inner);
        book.images.get(id.0 as usize).cloned()
    }

    /// Build ids by file name, hexadecimal; of images with the same name the last one's.
    pub fn build_ids(&self) -> HashMap<String, String> {
        let book = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let named = book
            .images
            .iter()
            .filter_map(|image| Some((image.name().to_owned(), image.build_id()?)));
        named.collect()
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        let book = self.0.read().unwrap_or_else(PoisonError::into_inner);
        book.images.len()
    }

    /// Whether no process was opened yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Images that were not taken because of [`IMAGES_MAX`].
    pub fn refused(&self) -> u64 {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .refused
    }

    /// Drops all symbol tables; the next name reads its table again.
    pub fn forget_symbols(&self) {
        let book = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for image in &book.images {
            image.forget_symbols();
        }
    }

    fn known(&self, key: &Key) -> Option<Arc<Image>> {
        let book = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let id = book.by_key.get(key)?;
        book.images.get(id.0 as usize).cloned()
    }

    fn add(&self, key: Key, make: impl FnOnce(ImageId) -> Image) -> Option<Arc<Image>> {
        let mut book = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = book.by_key.get(&key) {
            return book.images.get(id.0 as usize).cloned();
        }
        if book.images.len() >= IMAGES_MAX {
            book.refused += 1;
            return None;
        }
        let id = ImageId(u32::try_from(book.images.len()).ok()?);
        let image = Arc::new(make(id));
        book.images.push(Arc::clone(&image));
        book.by_key.insert(key, id);
        Some(image)
    }

    /// An open file as content, or its path when enough files are open.
    fn keep(&self, file: File, key: FileKey, opened_as: &Path, path: &Path) -> Content {
        let mut book = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if book.open_files < FILES_OPEN_MAX {
            book.open_files += 1;
            return Content::Open(file);
        }
        // The plain path outlives the process, where it leads to the same file.
        let plain =
            std::fs::metadata(path).is_ok_and(|metadata| FileKey::from_metadata(&metadata) == key);
        Content::Path(if plain { path } else { opened_as }.to_owned(), key)
    }

    /// The image of a file that is open.
    fn file(
        &self,
        file: File,
        key: FileKey,
        opened_as: &Path,
        path: &Path,
        pid: u32,
    ) -> Option<Arc<Image>> {
        let book_key = Key::File(key);
        if let Some(known) = self.known(&book_key) {
            return Some(known);
        }
        let content = self.keep(file, key, opened_as, path);
        let body = Elf::parse(&content).ok().map(|elf| {
            let debug = debug_file::find(&elf, &content, path, pid)
                .map(|(file, key, found)| self.keep(file, key, &found, &found));
            image::Body {
                elf,
                content,
                debug,
            }
        });
        self.add(book_key, |id| Image::new(id, path.to_owned(), body))
    }

    /// The image of a file that cannot be read.
    fn unreadable(&self, device: (u32, u32), inode: u64, path: &Path) -> Option<Arc<Image>> {
        let key = Key::Unreadable {
            device,
            inode,
            path: path.as_os_str().as_encoded_bytes().to_vec(),
        };
        self.known(&key)
            .or_else(|| self.add(key, |id| Image::new(id, path.to_owned(), None)))
    }

    /// The vDSO, an ELF file that is in memory only.
    fn vdso(&self, pid: u32, start: u64, end: u64) -> Option<Arc<Image>> {
        let length = end.checked_sub(start)?;
        let memory = Content::Memory {
            pid,
            base: start,
            length,
        };
        let bytes: Arc<[u8]> = memory.read(0, length, VDSO_BYTES_MAX).ok()?.into();
        let key = Key::Vdso(Arc::clone(&bytes));
        if let Some(known) = self.known(&key) {
            return Some(known);
        }
        let content = Content::Bytes(bytes);
        let body = Elf::parse(&content).ok().map(|elf| image::Body {
            elf,
            content,
            debug: None,
        });
        self.add(key, |id| Image::new(id, "[vdso]".into(), body))
    }
}
