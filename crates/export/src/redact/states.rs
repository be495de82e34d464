//! What sessions do: commands, states and classes of statements are words of the servers. Whoever reads a table wrongly
//! may have put a card's number or a city there, so whatever is no such word becomes another name.

use std::collections::HashSet;
use std::sync::LazyLock;

use model::ProcessList;

use super::keywords::is_keyword;
use super::pseudonyms::{NameKind, Pseudonyms, is_pseudonym};
use super::well_known::Words;
use super::{text, wordwise};

/// `Command` of a session, in lower case.
static COMMANDS: Words = LazyLock::new(|| include_str!("words/commands.txt").lines().collect());

/// Words of states that stand in no message of a server.
static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("words/states.txt")
        .split_ascii_whitespace()
        .collect()
});

/// Servers cut a longer state, and so does the name of its signal: its last word may be a part of one.
const CUT_CHARS: usize = 60;

/// A command that is cut is one as long as this: the server's column has 16 characters.
const COMMAND_CUT_CHARS: usize = 15;

/// The command of a session.
pub(super) fn command(pseudonyms: &mut Pseudonyms<'_>, command: &str) -> String {
    let lower = command.to_ascii_lowercase();
    let is_cut = |known: &&str| lower.len() >= COMMAND_CUT_CHARS && known.starts_with(&lower);
    let mut known = COMMANDS.iter();
    match command.is_empty() || known.any(|known| *known == lower || is_cut(known)) {
        true => command.to_owned(),
        false => pseudonyms.name(NameKind::Name, command),
    }
}

/// The state of a session, word by word.
pub(super) fn state(pseudonyms: &mut Pseudonyms<'_>, state: &str) -> String {
    let renamed = text::rename(pseudonyms, state);
    let renamed = by_words(pseudonyms, &renamed, &is_word);
    pseudonyms.sweep(&renamed).into_owned()
}

/// A class of statements: `show warnings`.
pub(super) fn class(pseudonyms: &mut Pseudonyms<'_>, class: &str) -> String {
    let is_of_class = |pseudonyms: &Pseudonyms<'_>, word: &str| {
        is_keyword(&word.to_ascii_lowercase()) || is_word(pseudonyms, word)
    };
    let renamed = by_words(pseudonyms, class, &is_of_class);
    pseudonyms.sweep(&renamed).into_owned()
}

/// The same in the name of a signal, where every sign that is no letter or digit is a `_`:
/// `processlist.state.Opening_tables`. None for any other signal.
pub(super) fn signal(pseudonyms: &mut Pseudonyms<'_>, name: &str) -> Option<String> {
    let (area, what) = name.strip_prefix("processlist.")?.split_once('.')?;
    let renamed = match area {
        "command" => {
            let is_it = |known: &&&str| ProcessList::signal(area, known).eq_ignore_ascii_case(name);
            match COMMANDS.iter().find(is_it) {
                Some(_) => what.to_owned(),
                None => command(pseudonyms, what),
            }
        }
        "state" => state(pseudonyms, &spaced(what)).replace(' ', "_"),
        "class" => class(pseudonyms, &spaced(what)).replace(' ', "_"),
        _ => return None,
    };
    Some(format!("processlist.{area}.{renamed}"))
}

/// Whether such a signal has words of servers only: nothing else need be looked for in it.
pub(super) fn is_servers(pseudonyms: &Pseudonyms<'_>, name: &str) -> bool {
    let what = name.strip_prefix("processlist.");
    let is_known = |area: &str, word: &str| {
        is_word(pseudonyms, word) || (area == "class" && is_keyword(&word.to_ascii_lowercase()))
    };
    match what.and_then(|rest| rest.split_once('.')) {
        Some((area @ ("state" | "class"), words)) => {
            words.split('_').all(|word| is_known(area, word))
        }
        _ => false,
    }
}

/// With blanks between words; what stands for a name already is one.
fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut before = "";
    for (place, part) in name.split('_').enumerate() {
        let is_one = is_pseudonym(&format!("{before}_{part}"));
        if place > 0 {
            out.push(if is_one { '_' } else { ' ' });
        }
        out.push_str(part);
        before = part;
    }
    out
}

fn by_words(pseudonyms: &mut Pseudonyms<'_>, text: &str, known: wordwise::Known<'_>) -> String {
    let words: Vec<&str> = wordwise::words(text).collect();
    let is_servers = |word: &&str| word.chars().count() > 1 && known(pseudonyms, word);
    // A number is part of a state, and none by itself.
    if !words.is_empty() && !words.iter().any(is_servers) && !is_renamed(&words) {
        return pseudonyms.name(NameKind::Name, text);
    }
    let last = words.last().copied().unwrap_or_default();
    let is_cut = text.chars().count() >= CUT_CHARS
        && text.ends_with(last)
        && words
            .iter()
            .rev()
            .skip(1)
            .all(|word| wordwise::is_known(pseudonyms, word, known));
    wordwise::rename(pseudonyms, text, &|pseudonyms, word| {
        known(pseudonyms, word) || (is_cut && word == last)
    })
}

/// What stands for a name is all there is.
fn is_renamed(words: &[&str]) -> bool {
    words
        .iter()
        .all(|word| super::is_everybodys(&word.to_ascii_lowercase()))
}

fn is_word(pseudonyms: &Pseudonyms<'_>, word: &str) -> bool {
    pseudonyms.is_own(word)
        || server_text::is_message_word(word)
        || WORDS.contains(word.to_ascii_lowercase().as_str())
}
