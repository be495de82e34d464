//! Which images a process has mapped, and what is at an address of it.

use super::content::Content;
use super::elf::Elf;
use super::{Address, CodeAddress, Image, Images};
use crate::names::symbols::Kind;
use crate::unwind::cache::Unwinder;
use kernel::procfs::maps::{self, Mapping};
use kernel::read::ReadError;
use kernel::roots::ProcRoot;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest time from one reading of the maps to the next; doubles each time the next shows nothing new.
const RESCAN_AFTER: Duration = Duration::from_secs(1);
const RESCAN_AFTER_MAX: Duration = Duration::from_secs(64);

/// Why a process could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// Its maps could not be read: it is gone, or it is another user's and CAP_SYS_PTRACE is missing.
    #[error("mappings of process {pid}: {source}")]
    Maps {
        /// The process.
        pid: u32,
        /// What the kernel answered.
        source: ReadError,
    },
    /// It has no mappings: it is a thread of the kernel, or it has just ended.
    #[error("process {pid} has no mappings")]
    Empty {
        /// The process.
        pid: u32,
    },
}

/// An address as a place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File name of the image.
    pub file: String,
    /// ELF virtual address in it; for a mapped file that is no image, or that could not be read, offset in the file.
    pub offset: u64,
}

/// What lies at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Memory {
    /// A program's or library's code or data, its zeroed data included.
    Image(Place),
    /// Another mapped file.
    File(Place),
    /// The heap that grows by brk(2).
    Heap,
    /// The first thread's stack.
    Stack,
    /// Anonymous memory: allocations, threads' stacks, arenas other than the main one.
    Anonymous {
        /// First address of the mapping.
        start: u64,
        /// The address after its last.
        end: u64,
    },
    /// Nothing that was mapped when the maps were read.
    Unknown,
}

/// A process: where its images are, and the state of unwinding its stacks.
///
/// It reads `/proc/PID/maps` when it is opened, and again when [`Process::unwind`] meets an address that lies in no known
/// mapping (a library that was loaded since), at most once a second and rarer when that shows nothing new. Reading the
/// maps waits for the process's `mmap_lock`, so open and unwind on a thread that may wait. A library that was unloaded
/// and another one loaded in its place are not noticed: [`Process::rescan`] does.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    images: Images,
    regions: Vec<Region>,
    loaded: Vec<Loaded>,
    scanned: Instant,
    rescan_after: Duration,
    pub(crate) unwinder: Unwinder,
}

#[derive(Debug)]
struct Region {
    start: u64,
    end: u64,
    executable: bool,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Index in `loaded`.
    Image(usize),
    File {
        name: Arc<str>,
        offset: u64,
    },
    Heap,
    Stack,
    Anonymous,
}

/// An image at its place in the process.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) image: Arc<Image>,
    /// What to subtract from an address of the process, modulo 2^64.
    pub(crate) bias: u64,
    /// Addresses that it takes in the process, zeroed data included.
    extent: (u64, u64),
}

impl Process {
    /// Reads the maps of a process and finds its images in the book, or adds them.
    pub fn open(pid: u32, images: &Images) -> Result<Self, ImagesError> {
        let mut process = Self {
            pid,
            images: images.clone(),
            regions: Vec::new(),
            loaded: Vec::new(),
            scanned: Instant::now(),
            rescan_after: RESCAN_AFTER,
            unwinder: Unwinder::default(),
        };
        process.rescan()?;
        Ok(process)
    }

    /// Its id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The book of its images.
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// The images it has mapped, in the order of addresses.
    pub fn loaded_images(&self) -> impl Iterator<Item = &Arc<Image>> {
        self.loaded.iter().map(|loaded| &loaded.image)
    }

    /// Reads the maps again. Waits for the process's `mmap_lock`.
    pub fn rescan(&mut self) -> Result<(), ImagesError> {
        self.scanned = Instant::now();
        let pid = self.pid;
        let path = ProcRoot::default().of(pid, "maps");
        let bytes = maps::read(&path).map_err(|source| ImagesError::Maps { pid, source })?;
        if bytes.is_empty() {
            return Err(ImagesError::Empty { pid });
        }
        self.place(&bytes);
        self.unwinder.forget();
        Ok(())
    }

    /// Reads the maps again when that was not done just now. Says whether it was.
    pub(crate) fn rescan_if_due(&mut self) -> bool {
        if self.scanned.elapsed() < self.rescan_after {
            return false;
        }
        let before = self.regions.len();
        let done = self.rescan().is_ok();
        self.rescan_after = if done && self.regions.len() != before {
            RESCAN_AFTER
        } else {
            (self.rescan_after * 2).min(RESCAN_AFTER_MAX)
        };
        done
    }

    fn place(&mut self, bytes: &[u8]) {
        let mappings: Vec<Mapping<'_>> = maps::mappings(bytes).collect();
        let with_code: HashSet<_> = mappings
            .iter()
            .filter(|mapping| mapping.is_executable())
            .map(|mapping| (mapping.device, mapping.inode))
            .collect();
        let mut images = HashMap::new();
        let mut names: HashMap<&[u8], Arc<str>> = HashMap::new();
        self.regions.clear();
        self.loaded.clear();
        for mapping in &mappings {
            let what = if let Some(path) = mapping.file() {
                let key = (mapping.device, mapping.inode);
                let image = with_code
                    .contains(&key)
                    .then(|| {
                        images
                            .entry(key)
                            .or_insert_with(|| {
                                find_image(&self.images, self.pid, &mappings, mapping, path)
                            })
                            .clone()
                    })
                    .flatten();
                match image.and_then(|image| self.loaded_at(image, mapping)) {
                    Some(loaded) => What::Image(loaded),
                    None => What::File {
                        name: Arc::clone(names.entry(mapping.path).or_insert_with(|| {
                            let name = path.file_name().unwrap_or_default();
                            name.to_string_lossy().into()
                        })),
                        offset: mapping.offset,
                    },
                }
            } else {
                match mapping.path {
                    b"[vdso]" => self
                        .images
                        .vdso(self.pid, mapping.start, mapping.end)
                        .and_then(|image| self.loaded_at(image, mapping))
                        .map_or(What::Anonymous, What::Image),
                    b"[heap]" => What::Heap,
                    b"[stack]" => What::Stack,
                    _ => What::Anonymous,
                }
            };
            self.regions.push(Region {
                start: mapping.start,
                end: mapping.end,
                executable: mapping.is_executable(),
                what,
            });
        }
    }

    /// The place of an image by one of its mappings; the same for mappings of the same loading.
    fn loaded_at(&mut self, image: Arc<Image>, mapping: &Mapping<'_>) -> Option<usize> {
        let (address, extent) = match image.body() {
            Some(body) => (
                body.elf
                    .address_of(mapping.offset, mapping.is_executable())?,
                body.elf.extent()?,
            ),
            None => (mapping.offset, (mapping.offset, mapping.offset)),
        };
        let bias = mapping.start.wrapping_sub(address);
        let known = |loaded: &Loaded| loaded.bias == bias && loaded.image.id() == image.id();
        if let Some(index) = self.loaded.iter().rposition(known) {
            return Some(index);
        }
        self.loaded.push(Loaded {
            image,
            bias,
            extent: (extent.0.wrapping_add(bias), extent.1.wrapping_add(bias)),
        });
        Some(self.loaded.len() - 1)
    }

    fn region(&self, address: u64) -> Option<&Region> {
        let index = self.regions.partition_point(|region| region.end <= address);
        self.regions
            .get(index)
            .filter(|region| region.start <= address)
    }

    /// Whether an address was code when the maps were read.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.region(address).is_some_and(|region| region.executable)
    }

    /// The image at an address and the address in it.
    pub(crate) fn locate(&self, address: u64) -> Option<(&Loaded, Address)> {
        let region = self.region(address)?;
        let loaded = match region.what {
            What::Image(index) => self.loaded.get(index)?,
            // Zeroed data behind an image, and code that was moved to huge pages, have no file.
            What::Anonymous | What::Heap => self
                .loaded
                .iter()
                .find(|loaded| (loaded.extent.0..loaded.extent.1).contains(&address))?,
            What::File { .. } | What::Stack => return None,
        };
        let offset = address.wrapping_sub(loaded.bias);
        let image = loaded.image.id();
        Some((loaded, Address { image, offset }))
    }

    /// A code address of the process as it is kept.
    pub fn code_address(&self, address: u64) -> CodeAddress {
        self.locate(address)
            .map_or(CodeAddress::Unmapped(address), |(_, address)| {
                CodeAddress::In(address)
            })
    }

    /// The image at an address, its zeroed data included.
    pub fn image_of(&self, address: u64) -> Option<Place> {
        self.locate(address).map(|(loaded, address)| Place {
            file: loaded.image.name().to_owned(),
            offset: address.offset,
        })
    }

    /// What lies at an address.
    pub fn memory_at(&self, address: u64) -> Memory {
        if let Some(place) = self.image_of(address) {
            return Memory::Image(place);
        }
        let Some(region) = self.region(address) else {
            return Memory::Unknown;
        };
        match &region.what {
            What::File { name, offset } => Memory::File(Place {
                file: name.to_string(),
                offset: offset.saturating_add(address - region.start),
            }),
            What::Heap => Memory::Heap,
            What::Stack => Memory::Stack,
            What::Image(_) | What::Anonymous => Memory::Anonymous {
                start: region.start,
                end: region.end,
            },
        }
    }

    /// Address of a function or variable by the name in its symbol table (C++ names mangled), in the first image that
    /// defines it. Reads the strings of the symbol tables: for a few names, once.
    pub fn symbol_address(&self, name: &str) -> Option<u64> {
        self.loaded.iter().find_map(|loaded| {
            let body = loaded.image.body()?;
            let address =
                crate::names::symbols::address_of(body, name, &[Kind::Object, Kind::Function])?;
            Some(address.wrapping_add(loaded.bias))
        })
    }
}

/// Opens a mapped file in the ways that work: the kernel's link to the very file (needs CAP_CHECKPOINT_RESTORE or
/// CAP_SYS_ADMIN), its path below the process's root, the link to the executable.
fn find_image(
    images: &Images,
    pid: u32,
    mappings: &[Mapping<'_>],
    mapping: &Mapping<'_>,
    path: &Path,
) -> Option<Arc<Image>> {
    let proc = ProcRoot::default();
    let link = proc.of(
        pid,
        &format!("map_files/{:x}-{:x}", mapping.start, mapping.end),
    );
    if let Ok((file, key)) = Content::open(&link) {
        return images.file(file, key, &link, path, pid);
    }
    let below_root = || {
        let relative = path.strip_prefix("/").ok()?;
        (!mapping.is_deleted()).then(|| proc.of(pid, "root").join(relative))
    };
    let candidates: [Option<PathBuf>; 2] = [below_root(), Some(proc.of(pid, "exe"))];
    for candidate in candidates.into_iter().flatten() {
        let Ok((file, key)) = Content::open(&candidate) else {
            continue;
        };
        let same_file = key.inode == mapping.inode && device_numbers(key.device) == mapping.device;
        if same_file || has_build_id_of_memory(&file, pid, mappings, mapping) {
            return images.file(file, key, &candidate, path, pid);
        }
    }
    images.unreadable(mapping.device, mapping.inode, path)
}

/// Device numbers of stat(2) as `/proc/PID/maps` prints them (makedev(3)).
fn device_numbers(device: u64) -> (u32, u32) {
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & 0xffff_f000);
    let minor = (device & 0xff) | ((device >> 12) & 0xffff_ff00);
    (major as u32, minor as u32)
}

/// Whether a file has the build id that the process has in memory: the same file under another device number.
fn has_build_id_of_memory(
    file: &std::fs::File,
    pid: u32,
    mappings: &[Mapping<'_>],
    mapping: &Mapping<'_>,
) -> bool {
    let Some(first) = mappings.iter().find(|other| {
        (other.device, other.inode, other.offset) == (mapping.device, mapping.inode, 0)
            && other.path == mapping.path
    }) else {
        return false;
    };
    let memory = Content::Memory {
        pid,
        base: first.start,
        length: first.end - first.start,
    };
    let build_id = |content| Elf::parse(content).ok().and_then(|elf| elf.build_id);
    let Ok(file) = file.try_clone() else {
        return false;
    };
    let in_memory = build_id(&memory);
    in_memory.is_some() && in_memory == build_id(&Content::Open(file))
}
