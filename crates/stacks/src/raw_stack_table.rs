//! Stacks before they have names: each once, as addresses. A recorder keeps thousands of them for hours and names the few
//! that an incident is about.

use crate::images::{Address, CodeAddress, ImageId};
use crate::names::Namer;
use model::{Stack, StackEnd, StackId, StackTable};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Number of a stack in its [`RawStackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RawStackId(pub u32);

impl RawStackId {
    /// Stands for every stack that came when the book was full.
    pub const OVERFLOW: Self = Self(u32::MAX);
}

/// Set in the word of an address that is in no image. Addresses of processes end below 2^57 (five-level paging).
const UNMAPPED: u64 = 1 << 63;
/// Bits of a word for the place in an image: a terabyte. The 23 above are the image's number.
const OFFSET_BITS: u32 = 40;

/// Distinct stacks, numbered. A stack takes 8 bytes a frame and about 90 beside.
#[derive(Debug)]
pub struct RawStackTable {
    limit: usize,
    ids: HashMap<Arc<[u64]>, RawStackId>,
    /// By number; free places are listed in `free`.
    stacks: Vec<Option<Arc<[u64]>>>,
    free: Vec<u32>,
    overflowed: u64,
}

/// The memory of a [`RawStackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStackTableSize {
    /// Stacks.
    pub stacks: usize,
    /// Their frames.
    pub frames: usize,
    /// Bytes, the allocator's own not counted.
    pub bytes: usize,
}

impl RawStackTable {
    /// A book for at most `limit` distinct stacks at once.
    pub fn new(limit: usize) -> Self {
        Self {
            // The highest number is that of the overflow.
            limit: limit.min(u32::MAX as usize - 1),
            ids: HashMap::new(),
            stacks: Vec::new(),
            free: Vec::new(),
            overflowed: 0,
        }
    }

    /// The number of a stack: kernel addresses, addresses of the process, both innermost first, and why it ends. With a
    /// full book [`RawStackId::OVERFLOW`] for a stack that is not in it.
    pub fn intern(&mut self, kernel: &[u64], user: &[CodeAddress], end: StackEnd) -> RawStackId {
        let words = pack(kernel, user, end);
        if let Some(id) = self.ids.get(words.as_slice()) {
            return *id;
        }
        if self.ids.len() >= self.limit {
            self.overflowed += 1;
            return RawStackId::OVERFLOW;
        }
        let words: Arc<[u64]> = words.into();
        let place = self.free.pop().unwrap_or(self.stacks.len() as u32);
        match self.stacks.get_mut(place as usize) {
            Some(slot) => *slot = Some(Arc::clone(&words)),
            None => self.stacks.push(Some(Arc::clone(&words))),
        }
        self.ids.insert(words, RawStackId(place));
        RawStackId(place)
    }

    /// Number of distinct stacks.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// How often a stack did not fit.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Why a stack ends; [`StackEnd::Overflow`] for a number that is not of this book.
    pub fn end(&self, id: RawStackId) -> StackEnd {
        self.words(id)
            .map_or(StackEnd::Overflow, |words| unpack(words).2)
    }

    /// The addresses of a stack, as they were given to [`RawStackTable::intern`].
    pub fn addresses(&self, id: RawStackId) -> Option<(Vec<u64>, Vec<CodeAddress>)> {
        let (kernel, user, _) = unpack(self.words(id)?);
        Some((kernel.to_vec(), user.collect()))
    }

    /// Drops every stack that is not in use. Numbers in `used` stay what they are; the others may come back for other
    /// stacks.
    pub fn retain(&mut self, used: &HashSet<RawStackId>) {
        self.ids.retain(|_, id| used.contains(id));
        for (place, slot) in self.stacks.iter_mut().enumerate() {
            let place = place as u32;
            if slot.is_some() && !used.contains(&RawStackId(place)) {
                *slot = None;
                self.free.push(place);
            }
        }
        let last = self
            .stacks
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        self.stacks.truncate(last);
        self.free.retain(|place| (*place as usize) < last);
        self.ids.shrink_to_fit();
        self.stacks.shrink_to_fit();
        self.free.shrink_to_fit();
    }

    /// What the book takes.
    pub fn size(&self) -> RawStackTableSize {
        let words: usize = self.stacks.iter().flatten().map(|words| words.len()).sum();
        let stacks = self.len();
        let word = size_of::<u64>();
        // A stack: its words, two counts of the reference, the entries of both tables (hash tables are half full).
        let entry = 2 * word + size_of::<Option<Arc<[u64]>>>();
        let table = self.ids.capacity() * (size_of::<(Arc<[u64]>, RawStackId)>() + 1) * 8 / 7;
        RawStackTableSize {
            stacks,
            frames: words - stacks,
            bytes: words * word + stacks * entry + table,
        }
    }

    /// Names stacks into a book of named ones; their numbers there, in the order of `ids`.
    pub fn name(
        &self,
        ids: &[RawStackId],
        namer: &mut Namer,
        book: &mut StackTable,
    ) -> Vec<StackId> {
        let mut namer = namer.into_table(book);
        ids.iter()
            .map(|id| {
                let Some(words) = self.words(*id) else {
                    return namer.table().stack_id(Stack {
                        frames: Vec::new(),
                        end: StackEnd::Overflow,
                    });
                };
                let (kernel, user, end) = unpack(words);
                let mut frames = Vec::with_capacity(words.len());
                frames.extend(kernel.iter().map(|address| namer.kernel(*address)));
                frames.extend(user.map(|address| namer.user(address)));
                namer.table().stack_id(Stack { frames, end })
            })
            .collect()
    }

    /// A book of these stacks alone, to be named while this one goes on: the new number of each.
    pub fn subset(&self, ids: &HashSet<RawStackId>) -> (Self, HashMap<RawStackId, RawStackId>) {
        let mut subset = Self::new(ids.len());
        let numbers = ids
            .iter()
            .filter_map(|id| {
                let (kernel, user) = self.addresses(*id)?;
                Some((*id, subset.intern(&kernel, &user, self.end(*id))))
            })
            .collect();
        (subset, numbers)
    }

    /// Every number in use.
    pub fn ids(&self) -> impl Iterator<Item = RawStackId> {
        let used = self
            .stacks
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.is_some());
        used.map(|(place, _)| RawStackId(place as u32))
    }

    fn words(&self, id: RawStackId) -> Option<&[u64]> {
        self.stacks.get(id.0 as usize)?.as_deref()
    }
}

/// One word for the end and the number of kernel frames, then the addresses.
fn pack(kernel: &[u64], user: &[CodeAddress], end: StackEnd) -> Vec<u64> {
    let mut words = Vec::with_capacity(1 + kernel.len() + user.len());
    let end = ENDS.iter().position(|known| *known == end).unwrap_or(0) as u64;
    words.push((kernel.len() as u64) << 8 | end);
    words.extend_from_slice(kernel);
    words.extend(user.iter().map(|address| match *address {
        CodeAddress::In(Address { image, offset })
            if offset >> OFFSET_BITS == 0 && image.0 >> 23 == 0 =>
        {
            u64::from(image.0) << OFFSET_BITS | offset
        }
        // No image is that large; an address in one that says so is damaged.
        CodeAddress::In(Address { offset, .. }) => UNMAPPED | offset,
        CodeAddress::Unmapped(address) => UNMAPPED | address,
    }));
    words
}

fn unpack(
    words: &[u64],
) -> (
    &[u64],
    impl Iterator<Item = CodeAddress> + use<'_>,
    StackEnd,
) {
    let (head, rest) = words.split_first().unwrap_or((&0, &[]));
    let end = ENDS
        .get((head & 0xff) as usize)
        .copied()
        .unwrap_or(StackEnd::Broken);
    let (kernel, user) = rest.split_at((head >> 8).min(rest.len() as u64) as usize);
    let user = user.iter().map(|word| {
        if word & UNMAPPED != 0 {
            CodeAddress::Unmapped(word & !UNMAPPED)
        } else {
            CodeAddress::In(Address {
                image: ImageId((word >> OFFSET_BITS) as u32),
                offset: word & ((1 << OFFSET_BITS) - 1),
            })
        }
    });
    (kernel, user, end)
}

const ENDS: [StackEnd; 11] = [
    StackEnd::Complete,
    StackEnd::OnProcessor,
    StackEnd::TooDeep,
    StackEnd::NoUnwindRule,
    StackEnd::Broken,
    StackEnd::Unreadable,
    StackEnd::Refused,
    StackEnd::Gone,
    StackEnd::FrameLimit,
    StackEnd::KernelOnly,
    StackEnd::Overflow,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn user(offset: u64) -> CodeAddress {
        CodeAddress::In(Address {
            image: ImageId(3),
            offset,
        })
    }

    #[test]
    fn each_once_and_only_so_many() {
        let mut book = RawStackTable::new(2);
        let first = book.intern(&[7], &[user(1), user(2)], StackEnd::Complete);
        assert_eq!(
            book.intern(&[7], &[user(1), user(2)], StackEnd::Complete),
            first
        );
        let cut = book.intern(&[7], &[user(1), user(2)], StackEnd::TooDeep);
        assert_ne!(first, cut);
        assert_eq!(
            book.intern(&[], &[user(1)], StackEnd::Complete),
            RawStackId::OVERFLOW
        );
        assert_eq!((book.len(), book.overflowed()), (2, 1));
        assert_eq!(book.end(cut), StackEnd::TooDeep);
        assert_eq!(book.end(RawStackId::OVERFLOW), StackEnd::Overflow);
    }

    #[test]
    fn a_kernel_address_is_not_a_users() {
        let mut book = RawStackTable::new(10);
        let kernel = book.intern(&[5], &[], StackEnd::Complete);
        let user = book.intern(
            &[],
            &[CodeAddress::In(Address {
                image: ImageId(0),
                offset: 5,
            })],
            StackEnd::Complete,
        );
        assert_ne!(kernel, user);
    }

    #[test]
    fn kept_stacks_keep_their_numbers() {
        let mut book = RawStackTable::new(3);
        let ids: Vec<_> = (0..3)
            .map(|n| book.intern(&[], &[user(n)], StackEnd::Complete))
            .collect();
        book.retain(&HashSet::from([ids[1]]));
        assert_eq!(book.len(), 1);
        assert_eq!(book.addresses(ids[1]).unwrap().1, [user(1)]);
        assert_eq!(book.addresses(ids[2]), None);
        assert_eq!(book.intern(&[], &[user(1)], StackEnd::Complete), ids[1]);
        let others: HashSet<_> = (10..12)
            .map(|n| book.intern(&[], &[user(n)], StackEnd::Complete))
            .collect();
        assert!(!others.contains(&ids[1]) && !others.contains(&RawStackId::OVERFLOW));
        assert_eq!((others.len(), book.len()), (2, 3));
        assert_eq!(book.addresses(ids[1]).unwrap().1, [user(1)]);
    }

    fn any_end() -> impl Strategy<Value = StackEnd> {
        (0..ENDS.len()).prop_map(|index| ENDS[index])
    }

    fn any_address() -> impl Strategy<Value = CodeAddress> {
        prop_oneof![
            (0_u32..1 << 23, 0_u64..1 << OFFSET_BITS).prop_map(|(image, offset)| CodeAddress::In(
                Address {
                    image: ImageId(image),
                    offset
                }
            )),
            (0_u64..1 << 57).prop_map(CodeAddress::Unmapped),
        ]
    }

    proptest! {
        #[test]
        fn gives_back_what_it_took(
            kernel in proptest::collection::vec(any::<u64>(), 0..5),
            user in proptest::collection::vec(any_address(), 0..5),
            end in any_end(),
        ) {
            let mut book = RawStackTable::new(1);
            let id = book.intern(&kernel, &user, end);
            prop_assert_eq!(book.end(id), end);
            prop_assert_eq!(book.addresses(id), Some((kernel, user)));
        }
    }
}
