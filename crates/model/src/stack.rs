//! Stacks and their frames, each kept once and referred to by number.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Number of a stack in its [`StackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StackId(pub u32);

/// Number of a frame in its [`StackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameId(pub u32);

/// Which side of the system call boundary code runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameSide {
    /// The kernel and its modules.
    Kernel,
    /// A program and its libraries.
    User,
}

/// Why a frame has no function's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnnamedReason {
    /// The image has symbols, and none covers this address: it is stripped, and its debug symbols
    /// are not installed.
    NoSymbol,
    /// The image's file could not be read.
    ImageUnreadable,
    /// The address lies in no mapped image.
    NotMapped,
    /// The kernel hides its symbols from us (`kptr_restrict`, CAP_SYSLOG).
    KernelHidden,
}

impl UnnamedReason {
    /// The reason in plain words.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::NoSymbol => "no symbol at this address: debug symbols are not installed",
            Self::ImageUnreadable => "the image's file could not be read",
            Self::NotMapped => "the address lies in no mapped image",
            Self::KernelHidden => "the kernel hides its symbols",
        }
    }
}

/// One function on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackFrame {
    /// The function as people write it, without parameters (`ha_innobase::index_read`). Without a
    /// symbol: image and start of the function or the address in it (`mariadbd+0x7a3f10`), the
    /// same for every address of a function where the unwinding table tells its start.
    pub name: String,
    /// File name of the image the code is from; `[kernel]`, `[vdso]`; empty when unknown.
    pub image: String,
    /// Whether it is code of the kernel or of the process.
    pub side: FrameSide,
    /// Why there is no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nameless: Option<UnnamedReason>,
}

impl StackFrame {
    /// Whether the lexicon knows the function.
    pub fn is_known(&self) -> bool {
        let lexicon = lexicon::Lexicon::get();
        lexicon
            .lookup(lexicon::Kind::Function, &self.name)
            .is_some()
    }
}

/// Why a user stack ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackEnd {
    /// Its last frame is a thread's or the program's first function.
    Complete,
    /// The thread was on a processor: its registers could not be read.
    OnProcessor,
    /// The stack is deeper than the bytes that were copied.
    TooDeep,
    /// The image has no unwinding rule for the code reached.
    NoUnwindRule,
    /// A rule gave an address that is no code: a register it needs is not known, or memory had
    /// changed under the copy.
    Broken,
    /// The stack's memory could not be read.
    Unreadable,
    /// The operating system refused it.
    Refused,
    /// The thread ended during the pass.
    Gone,
    /// More frames than are kept.
    FrameLimit,
    /// Only the kernel's part was asked for, or the thread has no other.
    KernelOnly,
    /// The limit on distinct stacks was reached; its frames were not kept.
    Overflow,
}

impl StackEnd {
    /// Nothing is missing.
    pub fn is_complete(self) -> bool {
        matches!(self, Self::Complete | Self::KernelOnly)
    }

    /// The reason in plain words.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::OnProcessor => "the thread was running: its registers could not be read",
            Self::TooDeep => "deeper than the bytes that were copied",
            Self::NoUnwindRule => "no unwinding rule for the code reached",
            Self::Broken => "the unwinding rule led to no code",
            Self::Unreadable => "the stack's memory could not be read",
            Self::Refused => "not permitted",
            Self::Gone => "the thread ended during the pass",
            Self::FrameLimit => "more frames than are kept",
            Self::KernelOnly => "kernel part only",
            Self::Overflow => "over the limit on distinct stacks",
        }
    }
}

/// A stack: kernel frames first when there are any, innermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stack {
    /// Frames, innermost first.
    pub frames: Vec<FrameId>,
    /// Why the user's part ends where it does.
    pub end: StackEnd,
}

/// Stacks and frames, each once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StackTable {
    frames: Vec<StackFrame>,
    stacks: Vec<Stack>,
    #[serde(skip)]
    frame_ids: HashMap<StackFrame, FrameId>,
    #[serde(skip)]
    stack_ids: HashMap<Stack, StackId>,
}

/// Books are equal when they hold the same stacks under the same numbers.
impl PartialEq for StackTable {
    fn eq(&self, other: &Self) -> bool {
        self.frames == other.frames && self.stacks == other.stacks
    }
}

impl StackTable {
    /// A book of these frames and stacks, numbered from 0 as they stand.
    pub fn from_parts(frames: Vec<StackFrame>, stacks: Vec<Stack>) -> Self {
        let frame_ids = frames.iter().cloned().zip((0..).map(FrameId)).collect();
        let stack_ids = stacks.iter().cloned().zip((0..).map(StackId)).collect();
        Self {
            frames,
            stacks,
            frame_ids,
            stack_ids,
        }
    }

    /// The number of a frame; a new one when it is not there yet.
    pub fn frame_id(&mut self, frame: StackFrame) -> FrameId {
        if let Some(id) = self.frame_ids.get(&frame) {
            return *id;
        }
        let id = FrameId(self.frames.len() as u32);
        self.frames.push(frame.clone());
        self.frame_ids.insert(frame, id);
        id
    }

    /// The number of a stack; a new one when it is not there yet.
    pub fn stack_id(&mut self, stack: Stack) -> StackId {
        if let Some(id) = self.stack_ids.get(&stack) {
            return *id;
        }
        let id = StackId(self.stacks.len() as u32);
        self.stacks.push(stack.clone());
        self.stack_ids.insert(stack, id);
        id
    }

    /// The number of a stack of whole frames, innermost first.
    pub fn intern(
        &mut self,
        frames: impl IntoIterator<Item = StackFrame>,
        end: StackEnd,
    ) -> StackId {
        let frames = frames
            .into_iter()
            .map(|frame| self.frame_id(frame))
            .collect();
        self.stack_id(Stack { frames, end })
    }

    /// The stack with a number of this book; an empty one for a number that is not of this book.
    pub fn stack(&self, id: StackId) -> &Stack {
        const NONE: &Stack = &Stack {
            frames: Vec::new(),
            end: StackEnd::Overflow,
        };
        self.stacks.get(id.0 as usize).unwrap_or(NONE)
    }

    /// The frame with a number, when it is of this book.
    pub fn frame(&self, id: FrameId) -> Option<&StackFrame> {
        self.frames.get(id.0 as usize)
    }

    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, id: StackId) -> impl DoubleEndedIterator<Item = &StackFrame> + Clone {
        self.stack(id)
            .frames
            .iter()
            .filter_map(|frame| self.frame(*frame))
    }

    /// All frames, by number.
    pub fn frames(&self) -> &[StackFrame] {
        &self.frames
    }

    /// All stacks, by number.
    pub fn stacks(&self) -> &[Stack] {
        &self.stacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str) -> StackFrame {
        StackFrame {
            name: name.to_owned(),
            image: "mysqld".to_owned(),
            side: FrameSide::User,
            nameless: None,
        }
    }

    #[test]
    fn the_same_stack_has_one_number() {
        let mut book = StackTable::default();
        let first = book.intern([frame("a"), frame("b")], StackEnd::Complete);
        let second = book.intern([frame("b"), frame("a")], StackEnd::Complete);
        let cut = book.intern([frame("a"), frame("b")], StackEnd::TooDeep);
        assert_eq!(
            book.intern([frame("a"), frame("b")], StackEnd::Complete),
            first
        );
        assert_ne!(first, second);
        assert_ne!(first, cut);
        assert_eq!(book.frames().len(), 2);
        let names: Vec<&str> = book
            .frames_of(second)
            .map(|frame| frame.name.as_str())
            .collect();
        assert_eq!(names, ["b", "a"]);
    }

    #[test]
    fn a_foreign_number_is_an_empty_stack() {
        let book = StackTable::default();
        assert_eq!(book.frames_of(StackId(7)).count(), 0);
        assert_eq!(book.stack(StackId(7)).end, StackEnd::Overflow);
    }
}
