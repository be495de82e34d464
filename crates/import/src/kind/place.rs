//! A line in its place, with what is known of it before any recogniser looks.

use std::cell::OnceCell;

use super::cells;

/// Signs of which a line has all that its kind needs. Most lines lack them, and are not looked at.
pub(super) mod sign {
    /// What parts or begins the rows of tables: a bar, a tab, a star.
    pub const TABLE: u16 = 1;
    pub const COLON: u16 = 1 << 1;
    pub const DOT: u16 = 1 << 2;
    pub const EQUAL: u16 = 1 << 3;
    pub const PERCENT: u16 = 1 << 4;
    pub const SEMICOLON: u16 = 1 << 5;
    pub const SLASH: u16 = 1 << 6;
    pub const DIGIT: u16 = 1 << 7;
    pub const BRACKET: u16 = 1 << 8;
    /// The letter that `OOMKilled` begins with.
    pub const CAPITAL_O: u16 = 1 << 9;
}

/// The sign that each byte is.
const SIGNS: [u16; 256] = {
    let mut signs = [0; 256];
    signs[b'|' as usize] = sign::TABLE;
    signs[b'\t' as usize] = sign::TABLE;
    signs[b'*' as usize] = sign::TABLE;
    signs[b':' as usize] = sign::COLON;
    signs[b'.' as usize] = sign::DOT;
    signs[b'=' as usize] = sign::EQUAL;
    signs[b'%' as usize] = sign::PERCENT;
    signs[b';' as usize] = sign::SEMICOLON;
    signs[b'/' as usize] = sign::SLASH;
    signs[b'[' as usize] = sign::BRACKET;
    signs[b'O' as usize] = sign::CAPITAL_O;
    let mut digit = b'0';
    while digit <= b'9' {
        signs[digit as usize] = sign::DIGIT;
        digit += 1;
    }
    signs
};

/// A line that is not blank, and the lines behind it.
pub(super) struct Place<'a> {
    pub(super) line: &'a str,
    /// The line without the blanks around it.
    pub(super) text: &'a str,
    pub(super) next: &'a [&'a str],
    signs: u16,
    cells: OnceCell<Vec<&'a str>>,
}

impl<'a> Place<'a> {
    pub(super) fn new(line: &'a str, text: &'a str, next: &'a [&'a str]) -> Self {
        let signs = line
            .bytes()
            .fold(0, |signs, byte| signs | SIGNS[usize::from(byte)]);
        Self {
            line,
            text,
            next,
            signs,
            cells: OnceCell::new(),
        }
    }

    /// The line has all of these signs.
    pub(super) fn has(&self, signs: u16) -> bool {
        self.signs & signs == signs
    }

    /// Its cells, as a row of a table.
    pub(super) fn cells(&self) -> &[&'a str] {
        self.cells.get_or_init(|| match self.has(sign::TABLE) {
            true => cells(self.text),
            false => Vec::new(),
        })
    }
}
