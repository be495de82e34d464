//! Keys as they are pressed, apart from what they do.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key as it is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// A letter, a digit, a sign.
    Char(char),
    /// Enter.
    Enter,
    /// Backspace.
    Backspace,
    /// Escape.
    Esc,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow with Shift.
    ShiftLeft,
    /// An arrow with Shift.
    ShiftRight,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the begin.
    Home,
    /// To the end.
    End,
    /// Ctrl-C: ends the view, as it ends other programs.
    Interrupt,
    /// Ctrl-L: draws everything again.
    Redraw,
}

impl Press {
    /// From what the terminal sent; nothing for what has no meaning here.
    pub fn from_event(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let shift = event.modifiers.contains(KeyModifiers::SHIFT);
        if event.modifiers.contains(KeyModifiers::CONTROL) {
            return match event.code {
                KeyCode::Char('c') => Some(Self::Interrupt),
                KeyCode::Char('l') => Some(Self::Redraw),
                KeyCode::Char('h') => Some(Self::Backspace),
                _ => None,
            };
        }
        Some(match event.code {
            KeyCode::Char(letter) => Self::Char(letter),
            KeyCode::Enter => Self::Enter,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Esc => Self::Esc,
            KeyCode::Left if shift => Self::ShiftLeft,
            KeyCode::Right if shift => Self::ShiftRight,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_send() {
        let key = |code, modifiers| Press::from_event(KeyEvent::new(code, modifiers));
        for (code, modifiers, press) in [
            (KeyCode::Left, KeyModifiers::SHIFT, Some(Press::ShiftLeft)),
            (
                KeyCode::Char('S'),
                KeyModifiers::SHIFT,
                Some(Press::Char('S')),
            ),
            (
                KeyCode::Char('c'),
                KeyModifiers::CONTROL,
                Some(Press::Interrupt),
            ),
            (KeyCode::Char('x'), KeyModifiers::CONTROL, None),
            (KeyCode::F(1), KeyModifiers::NONE, None),
        ] {
            assert_eq!(key(code, modifiers), press);
        }
    }
}
