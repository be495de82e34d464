//! What of a text is compared: words, names, the parts of names, and two of them side by side.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Shorter words and names tell nothing.
const WORD_CHARS_MIN: usize = 2;

/// Shorter parts of a name tell nothing by themselves.
const PART_CHARS_MIN: usize = 3;

/// Tells each feature of a text, in any order; one that stands there twice is told twice.
///
/// `btr_cur_search_to_nth_level` is one name, and its parts are known in names of other versions: `search`, `nth_level`.
/// Numbers are none: they are another server's.
pub fn features(text: &str, mut tell: impl FnMut(&str)) {
    let text = text.to_lowercase();
    let mut before: Option<&str> = None;
    let mut pair = String::new();
    for word in words(&text).filter(|word| !is_stop_word(word)) {
        tell(word);
        parts(word, &mut pair, &mut tell);
        if let Some(before) = before {
            two(&mut pair, before, ' ', word);
            tell(&pair);
        }
        before = Some(word);
    }
}

/// Words that every text of a language has, of languages with blanks: few texts are in each, so such a word would look
/// as if it told of the one stall that somebody described in that language.
fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| include_str!("stop_words.txt").lines().collect());
    WORDS.contains(word)
}

fn two(pair: &mut String, left: &str, between: char, right: &str) {
    pair.clear();
    pair.push_str(left);
    pair.push(between);
    pair.push_str(right);
}

fn parts(name: &str, pair: &mut String, tell: &mut impl FnMut(&str)) {
    let parts = name.split(['_', ':']);
    let mut parts = parts.filter(|part| part.chars().any(char::is_alphabetic));
    let Some(mut before) = parts.next() else {
        return;
    };
    let is_long = |part: &str| part.chars().count() >= PART_CHARS_MIN;
    let mut is_first = true;
    for part in parts {
        if is_first && is_long(before) {
            tell(before);
        }
        is_first = false;
        if is_long(part) {
            tell(part);
        }
        two(pair, before, '_', part);
        tell(pair);
        before = part;
    }
}

/// Words and names, one behind the other. Scripts that put no blanks between words give each two letters side by side.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let begin = rest.find(|c: char| c.is_alphabetic() || c == '_')?;
            rest = rest.get(begin..)?;
            let first = rest.chars().next()?;
            if has_no_blanks(first) {
                let mut chars = rest.char_indices();
                chars.next();
                let (second_at, second) = chars.next()?;
                let end = second_at + second.len_utf8();
                let found = rest.get(..end)?;
                rest = rest.get(second_at..)?;
                if has_no_blanks(second) {
                    return Some(found);
                }
                continue;
            }
            let end = end_of_name(rest);
            let found = rest.get(..end)?;
            rest = rest.get(end..)?;
            if found.chars().nth(WORD_CHARS_MIN - 1).is_some() {
                return Some(found);
            }
        }
    })
}

/// Where a name ends that a text begins with: `Class::method` is one.
fn end_of_name(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if (c.is_alphanumeric() && !has_no_blanks(c)) || c == '_' {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let after = rest.strip_prefix("::").and_then(|rest| rest.chars().next());
        if after.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '~') {
            // The second colon, and what a destructor begins with.
            chars.next();
            chars.next_if(|(_, next)| *next == '~');
            continue;
        }
        return at;
    }
    text.len()
}

/// Chinese, Japanese and Korean letters (Unicode 15, blocks from Hiragana to Hangul).
fn has_no_blanks(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::features;

    fn all(text: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        features(text, |one| {
            all.insert(one.to_owned());
        });
        all
    }

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_their_parts_and_neighbours() {
        assert_eq!(
            all("Waits 20 s: buf_pool"),
            set(&["waits", "buf_pool", "buf", "pool", "waits buf_pool"])
        );
        assert_eq!(
            all("THD::~THD() MDL_lock::wait"),
            set(&[
                "thd::~thd",
                "thd",
                "~thd",
                "thd_~thd",
                "mdl_lock::wait",
                "mdl",
                "lock",
                "mdl_lock",
                "wait",
                "lock_wait",
                "thd::~thd mdl_lock::wait",
            ])
        );
        assert_eq!(all("_ 1 x 0x7f ::"), set(&["x7f"]));
        assert_eq!(all("ib_0412"), set(&["ib_0412"]));
    }

    #[test]
    fn scripts_without_blanks_and_others() {
        assert_eq!(all("数据库 卡"), set(&["数据", "据库", "数据 据库"]));
        assert_eq!(all("сервер"), set(&["сервер"]));
        assert_eq!(all("锁lock锁"), set(&["lock"]));
    }
}
