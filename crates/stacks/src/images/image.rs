//! One program or library: its code, unwinding tables and symbols, read when they are first needed.

use super::ImageId;
use super::content::Content;
use super::elf::Elf;
use crate::names::symbols::{Kind, Symbols};
use crate::unwind::cfi::Cfi;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The program's first function begins at the entry address and is short: about 40 bytes in glibc and musl.
const START_BYTES_MAX: u64 = 64;

/// The first functions of threads, whose caller no unwinding rule tells in older C libraries: glibc, musl.
const ROOT_FUNCTIONS: [&str; 7] = [
    "clone3",
    "__clone3",
    "clone",
    "__clone",
    "start_thread",
    "_start",
    "thread_start",
];

/// A program, a library, or the vDSO.
#[derive(Debug)]
pub struct Image {
    id: ImageId,
    path: PathBuf,
    name: String,
    body: Option<Body>,
    cfi: OnceLock<Cfi>,
    functions: Mutex<Option<Arc<Symbols>>>,
    objects: Mutex<Option<Arc<Symbols>>>,
}

/// What is there of a file that could be read.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) elf: Elf,
    pub(crate) content: Content,
    /// Its separate debug file.
    pub(crate) debug: Option<Content>,
}

impl Body {
    /// Instructions at an ELF virtual address.
    pub(crate) fn code(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let segment = self.elf.segments.iter().find(|segment| {
            let end = segment.address.saturating_add(segment.file_size);
            (segment.address..end).contains(&address)
        })?;
        let offset = segment.offset.checked_add(address - segment.address)?;
        let mut code = vec![0; length];
        self.content.read_into(offset, &mut code).ok()?;
        Some(code)
    }
}

impl Image {
    pub(super) fn new(id: ImageId, path: PathBuf, body: Option<Body>) -> Self {
        let name = path
            .file_name()
            .map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy())
            .into_owned();
        Self {
            id,
            path,
            name,
            body,
            cfi: OnceLock::new(),
            functions: Mutex::new(None),
            objects: Mutex::new(None),
        }
    }

    /// Its number.
    pub fn id(&self) -> ImageId {
        self.id
    }

    /// The path under which its process mapped it, without ` (deleted)`; `[vdso]`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The build id in hexadecimal digits, when it has one.
    pub fn build_id(&self) -> Option<String> {
        let bytes = self.body.as_ref()?.elf.build_id.as_ref()?;
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Its file was found and is an ELF file.
    pub fn is_readable(&self) -> bool {
        self.body.is_some()
    }

    /// It has a full symbol table, of its own or in a separate debug file; without one, functions that it does not
    /// export have no names.
    pub fn has_full_symbols(&self) -> bool {
        self.body.as_ref().is_some_and(|body| {
            body.debug.is_some()
                || body.elf.section(".symtab").is_some()
                || body.elf.section(".gnu_debugdata").is_some()
        })
    }

    /// First address of the function around an address, by the unwinding table. Parts that the compiler moved away
    /// (`.cold`) count as functions of their own.
    pub fn function_start(&self, address: u64) -> Option<u64> {
        self.cfi().function_start(address)
    }

    pub(crate) fn body(&self) -> Option<&Body> {
        self.body.as_ref()
    }

    /// The unwinding tables, read at first use.
    pub(crate) fn cfi(&self) -> &Cfi {
        self.cfi
            .get_or_init(|| self.body.as_ref().map(Cfi::read).unwrap_or_default())
    }

    /// Symbols of functions, read at first use.
    pub(crate) fn functions(&self) -> Arc<Symbols> {
        self.table(&self.functions, Kind::Function)
    }

    /// Symbols of variables, read at first use.
    pub(crate) fn objects(&self) -> Arc<Symbols> {
        self.table(&self.objects, Kind::Object)
    }

    fn table(&self, kept: &Mutex<Option<Arc<Symbols>>>, kind: Kind) -> Arc<Symbols> {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let symbols = kept.get_or_insert_with(|| {
            Arc::new(
                self.body
                    .as_ref()
                    .map(|body| Symbols::read(body, kind))
                    .unwrap_or_default(),
            )
        });
        Arc::clone(symbols)
    }

    pub(crate) fn forget_symbols(&self) {
        for kept in [&self.functions, &self.objects] {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Whether the function at an address is the first of a program or thread: nothing called it.
    pub(crate) fn is_root(&self, address: u64) -> bool {
        let Some(body) = &self.body else { return false };
        let entry = body.elf.entry;
        if entry != 0 && (entry..entry.saturating_add(START_BYTES_MAX)).contains(&address) {
            return true;
        }
        self.functions()
            .find(address)
            .is_some_and(|symbol| ROOT_FUNCTIONS.contains(&symbol.name.as_str()))
    }
}
