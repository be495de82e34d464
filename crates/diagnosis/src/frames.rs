//! The frames of a record against patterns: each name is tested once against each pattern, and each
//! stack with what came out.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use model::{FrameId, FrameSide, StackId, StackTable};

use crate::grouped::Grouped;
use crate::names::{NamePattern, Names};

/// Which frames of a book a pattern matches.
struct Matching {
    /// By number of the frame; empty where none does.
    frames: Vec<bool>,
    /// The stacks in which one of them stands, each once. Most patterns of a catalogue match nothing
    /// in a record, and the others little: no other stack need be looked at.
    stacks: Vec<StackId>,
}

impl Matching {
    fn get(&self, frame: usize) -> bool {
        self.frames.get(frame).copied().unwrap_or(false)
    }
}

/// The frames of a record.
pub(crate) struct Frames<'a> {
    book: &'a StackTable,
    names: OnceCell<Names<'a>>,
    /// By number of the frame the stacks in which it stands, in order.
    standing: OnceCell<Grouped<u32>>,
    tested: RefCell<HashMap<String, Rc<Matching>>>,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(book: &'a StackTable) -> Self {
        Self {
            book,
            names: OnceCell::new(),
            standing: OnceCell::new(),
            tested: RefCell::default(),
        }
    }

    /// For each frame of the book whether its name matches.
    fn matching(&self, pattern: &NamePattern) -> Rc<Matching> {
        let mut tested = self.tested.borrow_mut();
        if let Some(done) = tested.get(pattern.text()) {
            return Rc::clone(done);
        }
        let names = self.names.get_or_init(|| {
            let frames = self.book.frames().iter();
            Names::new(frames.map(|frame| frame.name.as_str()))
        });
        let frames = pattern.matches(names);
        let standing = self.standing.get_or_init(|| standing(self.book));
        let matching = (0..).zip(&frames).filter(|(_, matches)| **matches);
        let stands = matching.map(|(frame, _)| standing.of(frame));
        let stacks = once_each(&stands.collect::<Vec<_>>(), self.book.stacks().len());
        let done = Rc::new(Matching { frames, stacks });
        tested.insert(pattern.text().to_owned(), Rc::clone(&done));
        done
    }

    /// The stacks in which a function with one of these names stands; again for each of its frames there.
    pub(crate) fn having(&self, names: &[&str]) -> impl Iterator<Item = StackId> {
        let standing = self.standing.get_or_init(|| standing(self.book));
        let frames = (0..).zip(self.book.frames());
        let frames = frames.filter(|(_, frame)| names.contains(&frame.name.as_str()));
        let stacks = frames.flat_map(|(number, _)| standing.of(number));
        stacks.map(|stack| StackId(*stack))
    }

    /// Stacks that go through frames that match these patterns, innermost first, with any frames
    /// between them; `direct` with none: each calls the one before.
    pub(crate) fn path(&self, patterns: &[NamePattern], direct: bool) -> Path<'a> {
        Path {
            book: self.book,
            steps: patterns
                .iter()
                .map(|pattern| self.matching(pattern))
                .collect(),
            direct,
        }
    }

    /// For each stack of the book its innermost frame that matches `pattern` on one side of the system call
    /// boundary and has a caller that matches `under`. With `only_self` it must be the stack's innermost.
    pub(crate) fn innermost(
        &self,
        pattern: &NamePattern,
        under: Option<&NamePattern>,
        side: Option<FrameSide>,
        only_self: bool,
    ) -> BTreeMap<StackId, FrameId> {
        let functions = self.matching(pattern);
        let callers = under.map(|under| self.matching(under));
        let is_called = |outer: &[FrameId]| {
            let mut outer = outer.iter();
            (callers.as_ref())
                .is_none_or(|callers| outer.any(|caller| callers.get(caller.0 as usize)))
        };
        let frame_in = |stack: StackId| {
            let mut frames = self.book.stack(stack).frames.as_slice();
            while let [id, outer @ ..] = frames {
                let matches = functions.get(id.0 as usize);
                let matching = matches.then(|| self.book.frame(*id)).flatten();
                let matching = matching
                    .filter(|frame| side.is_none_or(|side| frame.side == side) && is_called(outer));
                if matching.is_some() || only_self {
                    return matching.map(|_| *id);
                }
                frames = outer;
            }
            None
        };
        let stacks = functions.stacks.iter();
        let innermost = stacks.filter_map(|stack| Some((*stack, frame_in(*stack)?)));
        innermost.collect()
    }
}

/// The stacks of several frames, each once and in order. Few are sorted; of many it is marked which of the book they are.
fn once_each(of_frames: &[&[u32]], of_book: usize) -> Vec<StackId> {
    let all = || of_frames.iter().copied().flatten().copied();
    if all().count() < of_book / 16 {
        let mut stacks: Vec<StackId> = all().map(StackId).collect();
        stacks.sort_unstable();
        stacks.dedup();
        return stacks;
    }
    let mut is_there = vec![false; if of_frames.is_empty() { 0 } else { of_book }];
    all().for_each(|stack| is_there[stack as usize] = true);
    let stacks = (0..).zip(is_there).filter(|(_, is)| *is);
    stacks.map(|(stack, _)| StackId(stack)).collect()
}

/// For each frame of a book the stacks in which it stands, in order; twice where it calls itself.
fn standing(book: &StackTable) -> Grouped<u32> {
    let stacks = (0..).zip(book.stacks());
    let frames = stacks.flat_map(|(id, stack)| stack.frames.iter().map(move |frame| (frame, id)));
    Grouped::new(
        book.frames().len(),
        frames.map(|(frame, id)| (frame.0 as usize, id)),
    )
}

/// See [`Frames::path`].
pub(crate) struct Path<'a> {
    book: &'a StackTable,
    steps: Vec<Rc<Matching>>,
    direct: bool,
}

impl Path<'_> {
    /// The stacks of the book that go there, each once; nothing where any stack does, for want of a
    /// pattern.
    pub(crate) fn stacks(&self) -> Option<impl Iterator<Item = StackId>> {
        let steps = self.steps.iter();
        let rarest = steps.min_by_key(|matching| matching.stacks.len())?;
        let rarest = rarest.stacks.iter().copied();
        Some(rarest.filter(|stack| self.is_of(*stack)))
    }

    /// Whether this stack goes there.
    pub(crate) fn is_of(&self, stack: StackId) -> bool {
        let frames = &self.book.stack(stack).frames;
        if self.direct {
            return frames.windows(self.steps.len().max(1)).any(|frames| {
                let mut pairs = frames.iter().zip(&self.steps);
                pairs.all(|(frame, matching)| matching.get(frame.0 as usize))
            });
        }
        let mut frames = frames.iter();
        self.steps
            .iter()
            .all(|matching| frames.any(|frame| matching.get(frame.0 as usize)))
    }
}
