//! Lines into the cells of a terminal.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use crate::ink::{Ink, Line, Palette, ascii};

/// How an ink looks in cells.
fn style(palette: Palette, ink: Ink) -> Style {
    let look = palette.style(ink);
    let mut style = Style::new();
    if let Some(colour) = look.colour {
        style = style.fg(Color::Indexed(colour));
    }
    for (is_set, modifier) in [
        (look.bold, Modifier::BOLD),
        (look.faint, Modifier::DIM),
        (look.reversed, Modifier::REVERSED),
    ] {
        if is_set {
            style = style.add_modifier(modifier);
        }
    }
    style
}

/// Puts a page into a buffer; what is beyond its borders is cut.
pub fn draw(page: &[Line], area: Rect, buffer: &mut Buffer, palette: Palette, is_ascii: bool) {
    for (line, y) in page.iter().zip(area.top()..area.bottom()) {
        let mut x = area.left();
        for (ink, text) in line.spans() {
            let text = match is_ascii {
                true => ascii(text),
                false => text.clone(),
            };
            let room = usize::from(area.right().saturating_sub(x));
            if room == 0 {
                break;
            }
            (x, _) = buffer.set_stringn(x, y, text, room, style(palette, *ink));
        }
    }
}
