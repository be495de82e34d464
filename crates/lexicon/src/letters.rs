//! Letters of all scripts: their small forms, and how much room they take.

/// A text in small letters, of which each stands at the same bytes as before: one whose small form is of another length
/// stays as it is. Most texts have `е` for `ё`, so both are one.
pub(crate) fn small(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(small_letter).collect()
}

fn small_letter(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some('ё'), None) => 'е',
        (Some(one), None) if one.len_utf8() == letter.len_utf8() => one,
        _ => letter,
    }
}

/// Letters of scripts that write blanks between words.
pub(crate) fn is_parted(letter: char) -> bool {
    // From Hiragana and the ideographs on; Hangul has blanks, and particles behind its words.
    letter < '\u{2e80}'
}

/// How much a text says, in letters of a script with blanks: an ideograph is about a word.
pub(crate) fn width(text: &str) -> usize {
    let of = |letter: char| match is_parted(letter) {
        true => 1,
        false => letter.len_utf8(),
    };
    text.chars().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::{small, width};

    #[test]
    fn small_letters_stand_where_the_large_ones_did() {
        for (text, wanted) in [
            ("Disk FULL", "disk full"),
            ("Лимит Соединений", "лимит соединений"),
            ("Отстаёт", "отстает"),
            ("ÜBERLASTET, Índice", "überlastet, índice"),
            ("磁盘IO", "磁盘io"),
            // Their small forms have another length.
            ("İẞ", "İẞ"),
        ] {
            assert_eq!(small(text), wanted);
            assert_eq!(small(text).len(), text.len());
        }
    }

    #[test]
    fn letters_with_accents_take_no_more_room() {
        assert_eq!(width("отстает"), 7);
        assert_eq!(width("磁盘"), 6);
        assert_eq!(width("índice"), 6);
    }
}
