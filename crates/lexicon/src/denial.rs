//! Words around a word: what a sentence denies, only supposes or finds in order is no sign.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// How far in front of a word its denial is looked for, in bytes.
const DENIAL_BYTES: usize = 40;

/// What makes of a word one that was not seen, only might have been, or was somebody's first guess, in front of it in the
/// same sentence.
const DENIALS: [&str; 42] = [
    "less than ",
    "hardly ",
    "barely ",
    "quiet ",
    "unlikely ",
    "ruled out ",
    "rule out ",
    "no ",
    "not ",
    "n't ",
    "never ",
    "without ",
    "nor ",
    "instead of ",
    "if ",
    "would ",
    "might ",
    "kein ",
    "keine ",
    "nicht ",
    "ohne ",
    "wenn ",
    "sans ",
    "pas de ",
    "aucun ",
    "sin ",
    "ningún ",
    "nenhum ",
    "sem ",
    "нет ",
    "не ",
    "没有",
    "なし",
    "first suspected ",
    "initially suspected ",
    "first thought ",
    "initially thought ",
    "d'abord pensé ",
    "al principio pens",
    "сначала думал",
    "zuerst dachte",
    "以为",
];

/// All of them in one pass; nothing where that cannot be made. A denial that is a word begins one.
static ANY_DENIAL: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let texts = DENIALS.iter().map(|denial| {
        let is_word = denial.is_ascii() && !denial.starts_with("n't");
        format!("{}{denial}", if is_word { " " } else { "" })
    });
    AhoCorasick::new(texts).ok()
});

/// How far behind a term it is looked for that there is no trouble with it, in bytes.
const FINE_BYTES: usize = 30;

/// What says of a thing in front of it that it is as it should be. "Low" does not: a hit rate or a limit may be too low.
const FINE: [&str; 15] = [
    " is fine",
    " are fine",
    " was fine",
    " looks fine",
    " look fine",
    " is ok",
    " are ok",
    " looks ok",
    " is normal",
    " are normal",
    " was normal",
    " looks normal",
    " is not the ",
    " was not the ",
    " is idle",
];

/// What says of a thing in front of it, at the end of a sentence, that it does not work at all.
const OFF: [&str; 6] = [
    " is off",
    " are off",
    " was off",
    " is disabled",
    " are disabled",
    " was disabled",
];

/// What says it right behind a word, in languages that put it there: that it is not there, that it is as it should be. "There
/// is no index" is trouble and has another particle.
const BEHIND: [&str; 14] = [
    "는 없",
    "은 없",
    "도 없",
    "는 정상",
    "은 정상",
    "はない",
    "はなく",
    "はなし",
    "はありませ",
    "もない",
    "もありませ",
    "は正常",
    "は問題な",
    "正常",
];

/// A thing that is there zero times: `deadlocks 0`, `steal: 0.0`.
fn is_zero(behind: &str) -> bool {
    let number = behind.trim_start_matches([' ', ':', '=']);
    let is_parted = number.len() < behind.len();
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, rest) = number.split_at(end.unwrap_or(number.len()));
    let is_only_zeros = digits.starts_with('0') && !digits.contains(|c| matches!(c, '1'..='9'));
    is_parted
        && is_only_zeros
        && !rest.starts_with(|c: char| c.is_alphanumeric() || "-/_x".contains(c))
}

/// A thing of which a record says that it is not so: `"OOMKilled": false`, `Paused=no`.
pub(crate) fn is_false(behind: &str) -> bool {
    let name_ends = behind.trim_start_matches(['\\', '"', '\'']).trim_start();
    let Some(value) = name_ends.strip_prefix([':', '=']) else {
        return false;
    };
    let value = value.trim_start_matches([' ', '\\', '"', '\'']);
    let end = value.find(|c: char| !c.is_alphanumeric());
    let (word, rest) = value.split_at(end.unwrap_or(value.len()));
    let is_no = ["false", "no"]
        .iter()
        .any(|no| word.eq_ignore_ascii_case(no));
    // "no idea why" says nothing of it.
    is_no && (rest.trim_start().is_empty() || rest.starts_with([',', ';', '}', '\\', '"', '\'']))
}

/// Whether the words behind this place, in the same sentence, say that there is no trouble with it.
pub(crate) fn is_fine(line: &str, to: usize) -> bool {
    let end = line.floor_char_boundary(to.saturating_add(FINE_BYTES));
    let behind = line.get(to..end).unwrap_or_default();
    if BEHIND.iter().any(|fine| behind.starts_with(fine)) {
        return true;
    }
    // The ending of the word.
    let behind = behind.trim_start_matches(char::is_alphabetic);
    if is_zero(behind) || is_false(behind) || is_off(line, to, behind) {
        return true;
    }
    if !may_be_fine(behind) {
        return false;
    }
    let sentence = behind.split(['.', ';', ',', '!', '?', '(']).next();
    let behind = format!("{} ", sentence.unwrap_or_default().to_lowercase());
    FINE.iter().any(|fine| behind.contains(fine))
}

/// Whether it has the first letters of any of [`FINE`], in either case: behind most words it has none.
fn may_be_fine(behind: &str) -> bool {
    behind.as_bytes().windows(3).any(|letters| {
        let [b' ', first, second] = letters else {
            return false;
        };
        let letters = [first.to_ascii_lowercase(), second.to_ascii_lowercase()];
        matches!(&letters, b"is" | b"ar" | b"wa" | b"lo")
    })
}

/// Whether a thing is told to be off. "When it is off all is well" tells of trouble with it.
fn is_off(line: &str, to: usize, behind: &str) -> bool {
    let mut words = OFF.iter().filter_map(|off| behind.strip_prefix(off));
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', ';', ')', '!']);
    let is_case = || {
        let begin = line.get(..to).unwrap_or_default();
        let sentence = begin.rsplit(['.', ';', '(', '!', '?']).next();
        let sentence = format!(" {}", sentence.unwrap_or_default().to_lowercase());
        [" when ", " while ", " as long as ", " once ", " if "]
            .iter()
            .any(|word| sentence.contains(word))
    };
    // All that stands before is read for few words only: a long line has thousands of them.
    words.any(ends) && !is_case()
}

/// Whether the words in front of this place, in the same sentence, deny or only suppose what comes.
pub(crate) fn is_denied(line: &str, at: usize) -> bool {
    let from = line.floor_char_boundary(at.saturating_sub(DENIAL_BYTES));
    let before = line.get(from..at).unwrap_or_default();
    let digit_behind = |at: usize| {
        before
            .as_bytes()
            .get(at + 1)
            .is_some_and(u8::is_ascii_digit)
    };
    // The point of a number ends no sentence.
    let ends = |(at, c): &(usize, char)| match c {
        '.' | ',' => !digit_behind(*at),
        _ => ";:!?".contains(*c),
    };
    let begin = before
        .char_indices()
        .rfind(ends)
        .map_or(0, |(at, _)| at + 1);
    let sentence = before.get(begin..).unwrap_or_default();
    let before = format!(" {}", sentence.to_lowercase());
    let any = ANY_DENIAL.as_ref();
    any.is_some_and(|any| any.is_match(&before))
}
