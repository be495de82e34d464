//! What somebody wrote behind one of InnoDB's lines, in the same line.

use super::exact::is_exact;
use super::forms::{is_of_latch, is_of_path, is_source_file};
use super::own_words::{GONE, THREAD_BYTES_MIN, is_of_word, is_own, is_source};

/// What stands in front of a name.
const NAMED_BEHIND: [&str; 5] = ["table ", "index ", "Partition ", "Subpartition ", "`."];

/// Shorter words name nobody: `IX`.
const LETTERS_MIN: usize = 3;

/// A word with so many slashes is a path: `read/write` is none.
const PATH_SLASHES_MIN: usize = 2;

/// Longest name of a latch or a file, in bytes.
const NAME_BYTES_MAX: usize = 300;

/// A line without what is not InnoDB's: behind the longest begin that is of one of its forms stands a note.
pub(super) fn own_part(line: &str) -> String {
    let form = form_end(line);
    let (own, note) = line.split_at_checked(form).unwrap_or(("", line));
    format!("{own}{}", own_words(note, form > 0))
}

/// Whether a line begins with all of one of InnoDB's.
pub(super) fn has_form(line: &str) -> bool {
    form_end(line) > 0
}

/// Where the longest begin of a line ends that is one of InnoDB's lines as a whole.
fn form_end(line: &str) -> usize {
    let ends = line.rmatch_indices(char::is_whitespace);
    let begins = ends.filter_map(|(at, _)| line.get(..at));
    let mut begins = begins.map(|begin| begin.trim_end_matches([' ', ',', ';', '.']));
    begins.find(|begin| is_exact(begin)).map_or(0, str::len)
}

/// A text without words that are not InnoDB's, and without numbers behind such a word; in a note every number is somebody's.
/// Names stay where names stand: of tables in backquotes, of files and latches.
pub(super) fn own_words(text: &str, is_note: bool) -> String {
    let mut is_doubtful = is_note;
    let is_kept = |piece: &str| {
        piece.chars().count() < LETTERS_MIN
            || is_own(piece)
            || is_transaction(piece)
            || is_address(piece)
            || is_source(piece)
    };
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let name = named(rest).filter(|_| NAMED_BEHIND.iter().any(|word| shown.ends_with(word)));
        let name = name.or_else(|| name_of_source(&shown, rest));
        // Of a path or an address with a part that is not InnoDB's nothing is kept: what is left would be a path still.
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        let is_path = name.is_none()
            && (shown.is_empty() || shown.ends_with(char::is_whitespace))
            && word.matches('/').count() >= PATH_SLASHES_MIN;
        if is_path && !word.split(|c| !is_of_word(c)).all(is_kept) {
            shown.push_str(GONE);
            is_doubtful = true;
            rest = rest.get(word.len()..).unwrap_or_default();
            continue;
        }
        let end = match (name, is_of_word(first)) {
            (Some(name), _) => name,
            (None, true) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            (None, false) => first.len_utf8(),
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        let is_number = piece.bytes().any(|byte| byte.is_ascii_digit());
        let is_piece = is_kept(piece) && !(is_number && is_doubtful);
        let is_shown = name.is_some() || !is_of_word(first) || is_piece;
        is_doubtful |= !is_shown;
        shown.push_str(if is_shown { piece } else { GONE });
    }
    shown
}

/// Bytes of the name in backquotes that a text begins with.
fn named(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('`')?;
    let end = inner.find('`')?;
    let name = inner.get(..end)?;
    (!name.contains(char::is_whitespace)).then_some(end + 2)
}

/// Bytes of the name of a latch or of a file of the sources that a text begins with: `'&block->lock'`, `Mutex DICT_SYS`,
/// `created in file /src/buf/buf0buf.cc line 5`, where `before` is what stands in front.
fn name_of_source(before: &str, text: &str) -> Option<usize> {
    let length = |is_it: fn(char) -> bool, behind: &str| {
        let end = text.find(|c| !is_it(c))?;
        let is_name = (1..=NAME_BYTES_MAX).contains(&end) && text.get(end..)?.starts_with(behind);
        is_name.then_some(end)
    };
    if before.ends_with("'&") {
        length(is_of_latch, "'")
    } else if before.ends_with("Mutex ") {
        length(|c| c.is_ascii_uppercase() || c == '_', " created ")
    } else if before.ends_with(" in file ") || before.ends_with("created file ") {
        length(is_of_path, " line ").filter(|end| text.get(..*end).is_some_and(is_source_file))
    } else {
        None
    }
}

/// The number of a transaction as MySQL 5.5 prints it: `21FC3E`, `CECA`.
fn is_transaction(word: &str) -> bool {
    word.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
}

/// Hexadecimal digits, which need not have one of ten among them: `lock_word: ffffffffffffffff`.
fn is_address(word: &str) -> bool {
    let prefixed = word.strip_prefix("0x");
    let digits = prefixed.unwrap_or(word);
    let is_long = prefixed.is_some() || digits.len() >= THREAD_BYTES_MIN;
    is_long && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_note_are_none_of_the_line() {
        for (noted, own) in [
            (
                "2 lock struct(s), heap size 1136, 1 row lock(s), her pin is 4711",
                "2 lock struct(s), heap size 1136, 1 row lock(s), ? ? is ?",
            ),
            (
                "TABLE LOCK table `a`.`b` trx id 5 lock mode IX 4111-1111",
                "TABLE LOCK table `a`.`b` trx id 5 lock mode IX ?-?",
            ),
            (
                "---TRANSACTION 5, ACTIVE 3 sec starting index read 4711",
                "---TRANSACTION 5, ACTIVE 3 sec starting index read ?",
            ),
            (
                "MySQL thread id 5, OS thread handle 1, query id 9 web 10.0.0.5 shop updating 4711",
                "MySQL thread id 5, OS thread handle 1, query id 9 web 10.0.0.5 shop updating ?",
            ),
            // No form of it is known as a whole.
            (
                "History list length 5, the pin is 4711",
                "History list length 5, the ? is ?",
            ),
        ] {
            assert_eq!(own_part(noted), own);
        }
    }

    /// A server's own words on where to report a bug.
    #[test]
    fn a_path_is_left_out_as_a_whole() {
        let report = |at: &str| format!("To report this bug, see {at} about how to report");
        for path in [
            "https://db.example/quillfeather/bugs",
            "/srv/quillfeather/read.me",
        ] {
            assert_eq!(own_words(&report(path), false), report("?"));
        }
        let plain = "read/write of page";
        assert_eq!(own_words(plain, false), plain);
    }
}
