//! Frames as lines of a terminal.

use model::{FrameSide, StackFrame, UnnamedReason};

use crate::document::Stack;
use crate::escape;
use crate::text::page::{Page, Style};
use crate::text::wrap;

/// Marks a kernel frame.
const KERNEL_MARK: &str = "[k] ";
/// Image of the kernel itself, which the mark tells already.
const KERNEL_IMAGE: &str = "[kernel]";
/// Columns that are left to a function's name beside a long image's.
const NAME_MIN: usize = 24;

/// The stack at an indent: a line for each frame, innermost first, and why it ends when it is
/// not complete. The page remembers which had no name and why.
pub(crate) fn write_stack(page: &mut Page, indent: usize, stack: &Stack) {
    let shown = match stack.frames_max {
        0 => usize::MAX,
        most => most,
    };
    let frames: Vec<&StackFrame> = stack
        .frames
        .iter()
        .enumerate()
        .filter(|(at, frame)| {
            frame.side == FrameSide::User || *at < stack.kernel_max && !enters_kernel(&frame.name)
        })
        .map(|(_, frame)| frame)
        .collect();
    let mut image = "";
    for frame in frames.iter().take(shown) {
        write_frame(page, indent, frame, frame.image != image);
        image = &frame.image;
    }
    let hidden = frames.len().saturating_sub(shown);
    if hidden > 0 {
        let frames = if hidden == 1 { "frame" } else { "frames" };
        let text = format!("{hidden} more {frames}");
        page.item(indent, "    … ", &text, Style::Dim);
    }
    if !stack.end.is_complete() {
        let what = match stack.frames.is_empty() {
            true => "no frames",
            false => "cut here",
        };
        let text = format!("{what}: {}", stack.end.to_text());
        page.item(indent, "    ", &text, Style::Dim);
    }
}

fn write_frame(page: &mut Page, indent: usize, frame: &StackFrame, new_image: bool) {
    let mark = match frame.side {
        FrameSide::Kernel => KERNEL_MARK,
        FrameSide::User => "    ",
    };
    let aside = match frame.nameless {
        Some(reason) => {
            page.nameless
                .entry((reason, frame.image.clone()))
                .or_default()
                .insert(frame.name.clone());
            format!("({})", short(reason))
        }
        None if new_image && frame.image != KERNEL_IMAGE => escape::terminal(&frame.image),
        None => String::new(),
    };
    let room = page.width().saturating_sub(indent + mark.len());
    let aside = wrap::cut(&aside, room.saturating_sub(NAME_MIN));
    let gap = if aside.is_empty() { "" } else { "  " };
    let name = match frame.name.is_empty() {
        true => "(empty name)".to_owned(),
        false => escape::terminal(&frame.name),
    };
    let taken = wrap::columns(&aside) + gap.len();
    let name = wrap::cut_middle(&name, room.saturating_sub(taken));
    let lead = " ".repeat(indent);
    page.raw(&[
        (&lead, Style::Plain),
        (mark, Style::Mark),
        (&name, Style::Plain),
        (gap, Style::Plain),
        (&aside, Style::Dim),
    ]);
}

/// The reasons of all frames written so far that have no name.
pub(crate) fn write_nameless(page: &mut Page) {
    let nameless = std::mem::take(&mut page.nameless);
    if nameless.is_empty() {
        return;
    }
    page.heading("WITHOUT A NAME");
    for ((reason, image), names) in nameless {
        let functions = match names.len() {
            1 => "1 function".to_owned(),
            count => format!("{count} functions"),
        };
        let image = match image.as_str() {
            "" => "",
            image => &format!(" in {image}"),
        };
        let line = format!(
            "{functions}{image} ({}): {}",
            short(reason),
            reason.to_text()
        );
        page.item(2, "- ", &line, Style::Plain);
    }
}

/// Functions between the system call and the one that does it, the same in every stack: the call is
/// told beside the stack.
fn enters_kernel(name: &str) -> bool {
    const FUNCTIONS: &str = "do_syscall_64|entry_SYSCALL_64_after_hwframe|entry_SYSCALL_64|__x64_sys_*|x64_sys_call|\
        __arm64_sys_*|invoke_syscall*|el0_svc*|el0t_64_sync*|do_el0_svc*";
    FUNCTIONS
        .split('|')
        .any(|pattern| model::matches_pattern(pattern, name))
}

/// The reason beside a frame; [`UnnamedReason::to_text`] follow at the end of the page.
fn short(reason: UnnamedReason) -> &'static str {
    match reason {
        UnnamedReason::NoSymbol => "no symbol",
        UnnamedReason::ImageUnreadable => "image unreadable",
        UnnamedReason::NotMapped => "not mapped",
        UnnamedReason::KernelHidden => "hidden",
    }
}
