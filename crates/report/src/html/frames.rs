//! One stack, as a line and as a list.

use crate::document::Stack;
use crate::markup::{Markup, Show, markup};
use model::{FrameSide, RunState, StackFrame};

/// Functions in the line that stands for a stack.
const LINE_FRAMES_MAX: usize = 6;
/// Frames listed of one stack.
const LIST_FRAMES_MAX: usize = 80;
/// Bytes of a function's name in a list, about.
const NAME_BYTES_MAX: usize = 300;

/// The innermost functions in one line, as markup. Of a thread that sleeps the kernel's are left
/// out where it has others: what it waits in is said beside it.
fn line(stack: &Stack) -> Markup {
    let user = |frame: &&StackFrame| frame.side == FrameSide::User;
    let skips = matches!(stack.state, None | Some(RunState::Sleeping))
        && stack.frames.iter().any(|frame| user(&frame));
    let frames: Vec<&StackFrame> = stack
        .frames
        .iter()
        .filter(|frame| !skips || user(frame))
        .collect();
    let shown: Vec<&str> = frames
        .iter()
        .take(LINE_FRAMES_MAX)
        .map(|frame| frame.name.as_str())
        .collect();
    match shown.is_empty() {
        true => markup!("(no frames: {})", stack.end.to_text()),
        false => {
            let more = if frames.len() > shown.len() {
                " ← …"
            } else {
                ""
            };
            markup!("{}{}", shown.join(" ← ").cell(), more)
        }
    }
}

/// All frames, innermost first, as a list. An image is named where it begins.
pub(super) fn list(stack: &Stack) -> Markup {
    let mut items = Markup::new();
    let mut image = "";
    let mut left_out = 0;
    for (index, frame) in stack.frames.iter().enumerate() {
        if index >= LIST_FRAMES_MAX {
            left_out += 1;
            continue;
        }
        let class = Markup::literal(match frame.side {
            FrameSide::Kernel => " class=\"kernel\"",
            FrameSide::User => "",
        });
        let from = match frame.image == image {
            true => Markup::new(),
            false => markup!(" <small>{}</small>", frame.image.cell()),
        };
        image = &frame.image;
        items += markup!(
            "<li{class}>{}{from}</li>",
            Markup::cut(&frame.name, NAME_BYTES_MAX),
            ..class,
            ..from
        );
    }
    if left_out > 0 {
        items += markup!(
            "<li class=\"end\">{left_out} more frames not shown</li>",
            ..left_out
        );
    }
    let end = stack.end;
    if !end.is_complete() {
        items += markup!("<li class=\"end\">ends here: {}</li>", end.to_text());
    }
    markup!("<ol class=\"frames\">{items}</ol>", ..items)
}

/// The line, which unfolds to the list.
pub(super) fn folded(stack: &Stack) -> Markup {
    unfolds(line(stack), stack)
}

/// A summary, which unfolds to the frames.
pub(crate) fn unfolds(summary: Markup, stack: &Stack) -> Markup {
    markup!(
        "<details class=\"stacked\"><summary>{}</summary>{}</details>",
        summary,
        list(stack)
    )
}
