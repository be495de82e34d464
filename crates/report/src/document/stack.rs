//! A stack of a document.

use model::{RunState, StackEnd, StackFrame, StackId, StackTable};

/// A stack, innermost frame first.
#[derive(Debug, Clone)]
pub struct Stack {
    pub(crate) frames: Vec<StackFrame>,
    /// Why it ends.
    pub(crate) end: StackEnd,
    /// What its thread did, where that is known.
    pub(crate) state: Option<RunState>,
    /// Frames that a terminal shows; 0 for all.
    pub(crate) frames_max: usize,
    /// Frames of the kernel among them, the innermost.
    pub(crate) kernel_max: usize,
    /// A terminal shows it.
    pub(crate) on_terminal: bool,
}

impl Stack {
    /// The stack of a book.
    pub(crate) fn from_book(book: &StackTable, id: StackId) -> Self {
        Self {
            frames: book.frames_of(id).cloned().collect(),
            end: book.stack(id).end,
            state: None,
            frames_max: 0,
            kernel_max: usize::MAX,
            on_terminal: true,
        }
    }
}
