//! Lines into the cells of a terminal.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use crate::ink::{Ink, Line, Palette, ascii, is_printable_ascii};

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
            let room = usize::from(area.right().saturating_sub(x));
            if room == 0 {
                break;
            }
            let style = style(palette, *ink);
            x = match is_printable_ascii(text) {
                true => put(text, (x, y), room, buffer, style),
                false if is_ascii => buffer.set_stringn(x, y, ascii(text), room, style).0,
                false => buffer.set_stringn(x, y, text, room, style).0,
            };
        }
    }
}

/// Puts text of one column a letter; the column behind it.
fn put(text: &str, (x, y): (u16, u16), room: usize, buffer: &mut Buffer, style: Style) -> u16 {
    let mut next = x;
    for letter in text.chars().take(room) {
        if let Some(cell) = buffer.cell_mut((next, y)) {
            cell.set_char(letter).set_style(style);
        }
        next = next.saturating_add(1);
    }
    next
}
