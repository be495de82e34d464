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
use model::{Frame, FrameId, Nameless, Side, StackBook};
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
    frames: Vec<Arc<Frame>>,
    frame_index: HashMap<Arc<Frame>, u32>,
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
    pub fn user(&mut self, address: CodeAddress) -> &Frame {
        self.make_room();
        let index = self.index(Place::User(address));
        self.frame(index)
    }

    /// The frame for an address of the kernel. Reads `/proc/kallsyms` at first use.
    pub fn kernel(&mut self, address: u64) -> &Frame {
        self.make_room();
        let index = self.index(Place::Kernel(address));
        self.frame(index)
    }

    /// The kernel tells its symbols to us.
    pub fn kernel_is_visible(&mut self) -> bool {
        !self.kallsyms().is_hidden()
    }

    /// Names addresses into the frames of one book.
    pub fn into_book<'a>(&'a mut self, book: &'a mut StackBook) -> BookNamer<'a> {
        BookNamer {
            namer: self,
            book,
            ids: Vec::new(),
        }
    }

    fn frame(&self, index: u32) -> &Frame {
        static NONE: Frame = Frame {
            name: String::new(),
            image: String::new(),
            side: Side::User,
            nameless: Some(Nameless::NotMapped),
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

    fn name_user(&mut self, address: CodeAddress) -> Frame {
        match address {
            CodeAddress::In(Address { image, offset }) => match self.image(image) {
                Some(image) => name_in(&image, offset),
                None => nameless(offset, Nameless::NotMapped),
            },
            CodeAddress::Unmapped(address) => nameless(address, Nameless::NotMapped),
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

    fn name_kernel(&mut self, address: u64) -> Frame {
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
                    Nameless::KernelHidden
                } else {
                    Nameless::NoSymbol
                };
                // Hidden means that even the address is not for everybody.
                let name = match why {
                    Nameless::KernelHidden => "[kernel]".to_owned(),
                    _ => format!("[kernel]+{address:#x}"),
                };
                (name, "[kernel]".to_owned(), Some(why))
            }
        };
        Frame {
            name,
            image,
            side: Side::Kernel,
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

/// Names addresses into one [`StackBook`].
#[derive(Debug)]
pub struct BookNamer<'a> {
    namer: &'a mut Namer,
    book: &'a mut StackBook,
    /// Numbers in the book of the namer's frames.
    ids: Vec<Option<FrameId>>,
}

impl BookNamer<'_> {
    /// The book's frame for an address of a process.
    pub fn user(&mut self, address: CodeAddress) -> FrameId {
        self.id(Place::User(address))
    }

    /// The book's frame for an address of the kernel.
    pub fn kernel(&mut self, address: u64) -> FrameId {
        self.id(Place::Kernel(address))
    }

    /// The book.
    pub fn book(&mut self) -> &mut StackBook {
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

fn nameless(address: u64, why: Nameless) -> Frame {
    Frame {
        name: format!("{address:#x}"),
        image: String::new(),
        side: Side::User,
        nameless: Some(why),
    }
}

fn name_in(image: &Image, offset: u64) -> Frame {
    let (name, nameless) = if !image.is_readable() {
        (
            format!("{}+{offset:#x}", image.name()),
            Some(Nameless::ImageUnreadable),
        )
    } else if let Some(symbol) = image.functions().find(offset) {
        (shorten(&symbol.name), None)
    } else if image.cfi().is_signal_return(offset) {
        (SIGNAL_RETURN.to_owned(), None)
    } else {
        let start = image.function_start(offset).unwrap_or(offset);
        (
            format!("{}+{start:#x}", image.name()),
            Some(Nameless::NoSymbol),
        )
    };
    Frame {
        name,
        image: image.name().to_owned(),
        side: Side::User,
        nameless,
    }
}
