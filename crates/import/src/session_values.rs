//! What cells and fields of a processlist tell, without what people wrote beside them.

use std::borrow::Cow;

use lexicon::{Kind, Lexicon};

use crate::tables::{null, without_code_marks};

/// What a cell tells.
pub(crate) fn value(cell: &str) -> &str {
    null(without_code_marks(cell))
}

/// What a field of a row tells: names have no blanks, and behind one stands what somebody noted.
pub(crate) fn field_value<'a>(name: &str, text: &'a str) -> &'a str {
    let text = value(text);
    let is_name = ["user", "host", "db"]
        .iter()
        .any(|one| name.eq_ignore_ascii_case(one));
    if !is_name || SERVERS_OWN.contains(&text) {
        return text;
    }
    text.split_whitespace().next().unwrap_or_default()
}

/// What the server itself writes as user or host.
const SERVERS_OWN: [&str; 3] = ["system user", "unauthenticated user", "connecting host"];

/// Whether words may be the rest of a state that a mail or a terminal broke.
pub(crate) fn is_of_server(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.all(|word| word.is_empty() || server_text::is_message_word(word))
}

/// The state in front of what somebody wrote behind it: of one that neither is known nor made of a server's words the
/// longest begin that is a known one. States that go on in many ways are known by their family: where words stand in one that
/// are no server's, the family's name stands for it, as `wsrep: *`. Of any other, a plugin's or a younger server's, the words
/// stay that servers have.
pub(crate) fn known_state(text: &str) -> Cow<'_, str> {
    if is_of_server(text) || is_cut_state(text) {
        return Cow::Borrowed(text);
    }
    let begins = text.rmatch_indices(' ').filter_map(|(at, _)| {
        let begin = text.get(..at)?;
        Some(begin.trim_end_matches([' ', ',', ';', ':', '.', '(']))
    });
    let mut texts = std::iter::once(text).chain(begins);
    let known = texts.find(|text| {
        let pattern = pattern_of(text);
        pattern.is_some_and(|pattern| !pattern.contains('*') || is_of_family(text, pattern))
    });
    match known.or_else(|| pattern_of(text)) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(own_words(text)),
    }
}

/// Stands for a state that no server has: a list whose columns were read wrongly has anything in its place.
const OTHER: &str = "(other)";

/// Stands for words that are no server's, and for numbers between such.
const GONE: &str = "?";

/// The words that servers have, with one mark for those between; letters alone are none.
fn own_words(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let word = if is_of_server(word) { word } else { GONE };
        if word != GONE || words.last() != Some(&GONE) {
            words.push(word);
        }
    }
    let has_word = |word: &&str| word.chars().filter(|c| c.is_alphanumeric()).count() > 1;
    match words.iter().any(has_word) {
        true => words.join(" "),
        false => OTHER.to_owned(),
    }
}

/// Whether it is the begin of a state whose end a list cut off.
fn is_cut_state(text: &str) -> bool {
    let mut states = Lexicon::get().entries();
    states.any(|entry| entry.kind == Kind::State && entry.pattern.starts_with(text))
}

fn pattern_of(state: &str) -> Option<&'static str> {
    let entry = Lexicon::get().lookup(Kind::State, state)?;
    Some(entry.pattern)
}

/// Whether a state of a family has nothing but numbers and words of servers where the family's name is open.
fn is_of_family(state: &str, pattern: &str) -> bool {
    let is_sign = |c: char| !c.is_alphanumeric() && c != '_';
    // Longer ones are those of cards and accounts.
    const DIGITS_MAX: usize = 12;
    let is_number =
        |word: &str| word.len() <= DIGITS_MAX && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_in_name = |word: &str| pattern.split(is_sign).any(|own| own == word);
    let mut words = state.split(is_sign);
    words.all(|word| is_number(word) || is_in_name(word) || server_text::is_message_word(word))
}

#[cfg(test)]
mod tests {
    use super::{field_value, known_state};

    #[test]
    fn what_the_server_writes_as_a_name_stays() {
        assert_eq!(field_value("host", "connecting host"), "connecting host");
        assert_eq!(field_value("Host", "web1 <-- Alice"), "web1");
        assert_eq!(field_value("user", "system user"), "system user");
    }

    #[test]
    fn a_state_ends_where_somebody_wrote_behind_it() {
        for (text, state) in [
            ("updating hunter2", "updating"),
            ("updating, says Alice", "updating"),
            ("updating main table  (quillfeather)", "updating main table"),
            (
                "Waiting for table metadata lock of quillfeather",
                "Waiting for table metadata lock",
            ),
            ("updating", "updating"),
            (
                "Waiting for table metadata lock",
                "Waiting for table metadata lock",
            ),
            ("committing 4711", "committing 4711"),
            ("committing hunter2, says Alice", "committing"),
            ("wsrep: hunter2 of Alice", "wsrep: *"),
            ("Repair with 4 threads", "Repair with 4 threads"),
            (
                "wsrep: applying write-set (12) hunter2",
                "wsrep: applying write-set (12)",
            ),
            (
                "wsrep: replicating and certifying writ",
                "wsrep: replicating and certifying writ",
            ),
            ("quillfeather at work", "? at work"),
            ("Waiting for Quillfeather, her card 4111", "Waiting for ?"),
            (
                "Alice says that hunter2 is the password",
                "? says that ? is the password",
            ),
            ("query-4711 of (hunter2)", "? of ?"),
            ("committing 4111111111111111", "committing"),
            ("hunter2", "(other)"),
            ("Quillfeather, Hunterova", "(other)"),
            ("4111111111111111", "(other)"),
            ("", ""),
        ] {
            assert_eq!(known_state(text), state);
        }
    }
}
