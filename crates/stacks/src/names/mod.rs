//! Names for addresses.
//!
//! Only names of functions, from symbol tables: no lines, no inlined functions. Reading the debug information of a server
//! (DWARF) for those takes 200 MB where the tables take one, and a report is read by function.

mod kallsyms;
mod mini;
pub(crate) mod symbols;

use crate::images::{Address, CodeAddress, Image, ImageId, Images};
use crate::shorten::shorten;
use kallsyms::Kallsyms;
use model::{FrameId, FrameSide, StackFrame, StackTable, UnnamedReason};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Addresses whose name is kept, about 2 MB with their names. A stall on a busy server shows 5,000.
const NAMES_MAX: usize = 32_768;
/// Modules may be loaded, but not often.
const KALLSYMS_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// What the return trampoline of a signal handler is called in C libraries that export no name for it.
const SIGNAL_RETURN: &str = "__restore_rt";

/// A code address of either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    User(CodeAddress),
    Kernel(u64),
}

/// Names addresses, and remembers the names.
#[derive(Debug)]
pub struct Namer {
    images: Images,
    last_image: Option<Arc<Image>>,
    /// Index in `frames`.
    names: HashMap<Place, u32>,
    frames: Vec<Arc<StackFrame>>,
    frame_index: HashMap<Arc<StackFrame>, u32>,
    kallsyms: Option<(Instant, Kallsyms)>,
}

impl Namer {
    /// Names addresses in the images of a book.
    pub fn new(images: &Images) -> Self {
        Self {
            images: images.clone(),
            last_image: None,
            names: HashMap::new(),
            frames: Vec::new(),
            frame_index: HashMap::new(),
            kallsyms: None,
        }
    }

    /// The frame for an address of a process. Reads symbol tables at first use of an image.
    pub fn user(&mut self, address: CodeAddress) -> &StackFrame {
        self.make_room();
        let index = self.index(Place::User(address));
        self.frame(index)
    }

    /// The frame for an address of the kernel. Reads `/proc/kallsyms` at first use.
    pub fn kernel(&mut self, address: u64) -> &StackFrame {
        self.make_room();
        let index = self.index(Place::Kernel(address));
        self.frame(index)
    }

    /// Names addresses into the frames of one book.
    pub fn into_table<'a>(&'a mut self, book: &'a mut StackTable) -> TableNamer<'a> {
        TableNamer {
            namer: self,
            book,
            ids: Vec::new(),
        }
    }

    fn frame(&self, index: u32) -> &StackFrame {
        static NONE: StackFrame = StackFrame {
            name: String::new(),
            image: String::new(),
            side: FrameSide::User,
            nameless: Some(UnnamedReason::NotMapped),
        };
        self.frames.get(index as usize).map_or(&NONE, Arc::as_ref)
    }

    fn index(&mut self, place: Place) -> u32 {
        if let Some(index) = self.names.get(&place) {
            return *index;
        }
        let frame = match place {
            Place::User(address) => self.name_user(address),
            Place::Kernel(address) => self.name_kernel(address),
        };
        let next = self.frames.len() as u32;
        let index = *self
            .frame_index
            .entry(Arc::new(frame))
            .or_insert_with_key(|frame| {
                self.frames.push(Arc::clone(frame));
                next
            });
        self.names.insert(place, index);
        index
    }

    /// Forgets the names when there are too many. Not while numbers of frames are in use.
    fn make_room(&mut self) {
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
            self.frames.clear();
            self.frame_index.clear();
        }
    }

    fn name_user(&mut self, address: CodeAddress) -> StackFrame {
        match address {
            CodeAddress::In(Address { image, offset }) => match self.image(image) {
                Some(image) => name_in(&image, offset),
                None => nameless(offset, UnnamedReason::NotMapped),
            },
            CodeAddress::Unmapped(address) => nameless(address, UnnamedReason::NotMapped),
        }
    }

    fn image(&mut self, id: ImageId) -> Option<Arc<Image>> {
        if self
            .last_image
            .as_ref()
            .is_none_or(|image| image.id() != id)
        {
            self.last_image = self.images.get(id);
        }
        self.last_image.clone()
    }

    fn name_kernel(&mut self, address: u64) -> StackFrame {
        let stale = self
            .kallsyms
            .as_ref()
            .is_some_and(|(read, _)| read.elapsed() >= KALLSYMS_AGAIN_AFTER);
        if stale && !self.kallsyms().is_hidden() && self.kallsyms().find(address).is_none() {
            self.kallsyms = None;
        }
        let kallsyms = self.kallsyms();
        let (name, image, nameless) = match kallsyms.find(address) {
            Some((name, module)) => (shorten(name), module.unwrap_or("[kernel]").to_owned(), None),
            None => {
                let why = if kallsyms.is_hidden() {
                    UnnamedReason::KernelHidden
                } else {
                    UnnamedReason::NoSymbol
                };
                // Hidden means that even the address is not for everybody.
                let name = match why {
                    UnnamedReason::KernelHidden => "[kernel]".to_owned(),
                    _ => format!("[kernel]+{address:#x}"),
                };
                (name, "[kernel]".to_owned(), Some(why))
            }
        };
        StackFrame {
            name,
            image,
            side: FrameSide::Kernel,
            nameless,
        }
    }

    fn kallsyms(&mut self) -> &Kallsyms {
        &self
            .kallsyms
            .get_or_insert_with(|| (Instant::now(), Kallsyms::read()))
            .1
    }
}

/// Names addresses into one [`StackTable`].
#[derive(Debug)]
pub struct TableNamer<'a> {
    namer: &'a mut Namer,
    book: &'a mut StackTable,
    /// Numbers in the book of the namer's frames.
    ids: Vec<Option<FrameId>>,
}

impl TableNamer<'_> {
    /// The book's frame for an address of a process.
    pub fn user(&mut self, address: CodeAddress) -> FrameId {
        self.id(Place::User(address))
    }

    /// The book's frame for an address of the kernel.
    pub fn kernel(&mut self, address: u64) -> FrameId {
        self.id(Place::Kernel(address))
    }

    /// The book.
    pub fn table(&mut self) -> &mut StackTable {
        self.book
    }

    fn id(&mut self, place: Place) -> FrameId {
        if self.namer.names.len() >= NAMES_MAX {
            self.ids.clear();
            self.namer.make_room();
        }
        let index = self.namer.index(place) as usize;
        if let Some(Some(id)) = self.ids.get(index) {
            return *id;
        }
        let id = self.book.frame_id(self.namer.frame(index as u32).clone());
        if self.ids.len() <= index {
            self.ids.resize(index + 1, None);
        }
        if let Some(slot) = self.ids.get_mut(index) {
            *slot = Some(id);
        }
        id
    }
}

fn nameless(address: u64, why: UnnamedReason) -> StackFrame {
    StackFrame {
        name: format!("{address:#x}"),
        image: String::new(),
        side: FrameSide::User,
        nameless: Some(why),
    }
}

fn name_in(image: &Image, offset: u64) -> StackFrame {
    let (name, nameless) = if !image.is_readable() {
        (
            format!("{}+{offset:#x}", image.name()),
            Some(UnnamedReason::ImageUnreadable),
        )
    } else if let Some(symbol) = image.functions().find(offset) {
        (shorten(&symbol.name), None)
    } else if image.cfi().is_signal_return(offset) {
        (SIGNAL_RETURN.to_owned(), None)
    } else {
        let start = image.function_start(offset).unwrap_or(offset);
        (
            format!("{}+{start:#x}", image.name()),
            Some(UnnamedReason::NoSymbol),
        )
    };
    StackFrame {
        name,
        image: image.name().to_owned(),
        side: FrameSide::User,
        nameless,
    }
}
