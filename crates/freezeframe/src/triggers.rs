//! Triggers of users, read with what this program knows of names: one that can never fire is refused, with its place.

use detect::{TriggerError, UserTrigger};
use lexicon::{Kind, Lexicon};

/// Changes of a letter by which a name may differ from the one that was meant.
const NEAR: usize = 2;

/// Shorter words of a trigger are units and what is done with a signal.
const WORD_BYTES_MIN: usize = 4;

/// Names of an area that are told at the most.
const TOLD_MAX: usize = 8;

/// Reads a trigger; a signal that no source brings is a mistake in it.
///
/// # Errors
/// What is wrong, with its column.
pub(crate) fn parse(text: &str) -> Result<UserTrigger, TriggerError> {
    let trigger = UserTrigger::parse(text)?;
    for signal in trigger.signals() {
        let Some(problem) = unknown(&signal, text) else {
            continue;
        };
        return Err(TriggerError {
            column: column(text, &signal),
            text: text.to_owned(),
            problem,
        });
    }
    Ok(trigger)
}

/// Words of triggers that are nobody's: what is done with a signal, and areas of them.
const WORDS: [&str; 7] = [
    "delta", "fact", "largest", "mean", "rate", "share", "status",
];

/// The words of a trigger that this program does not know: of one that is wrong they may be anything.
pub(crate) fn unknown_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| {
        word.len() >= WORD_BYTES_MIN
            && !WORDS.contains(word)
            && Lexicon::get().lookup(Kind::Status, word).is_none()
            && recorder::names_of_area(word).is_empty()
    })
}

/// Why nothing will ever bring this signal.
fn unknown(signal: &str, text: &str) -> Option<String> {
    if let Some(name) = signal.strip_prefix("status.") {
        // A plugin's variable is known to its server only: whoever writes the area means it.
        let is_meant = text.contains(signal);
        let known = Lexicon::get().lookup(Kind::Status, name);
        if is_meant || known.is_some() {
            return None;
        }
        let near = near(name);
        return Some(match near {
            Some(near) => format!("no server has a status variable '{name}': did you mean {near}?"),
            None => format!(
                "no known server has a status variable '{name}'; if it belongs to a plugin, write status.{name}"
            ),
        });
    }
    if recorder::can_bring(signal) {
        return None;
    }
    let (area, name) = signal.split_once('.').unwrap_or((signal, ""));
    let names = recorder::names_of_area(area);
    if names.is_empty() {
        return Some(format!(
            "no signal '{signal}': there is no area '{area}' (freezeframe sources)"
        ));
    }
    let close = names.iter().min_by_key(|known| distance(known, name));
    let told: Vec<&str> = match close.filter(|known| distance(known, name) <= NEAR) {
        Some(close) => vec![*close],
        None => names.iter().copied().take(TOLD_MAX).collect(),
    };
    let more = if told.len() < names.len() && told.len() > 1 {
        " …"
    } else {
        ""
    };
    Some(format!(
        "no signal '{signal}'; {area} has {}{more}",
        told.join(", ")
    ))
}

/// The status variable that differs least, and little.
fn near(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let entries = Lexicon::get().entries();
    entries
        .filter(|entry| entry.kind == Kind::Status && !entry.pattern.contains('*'))
        .map(|entry| {
            (
                distance(&entry.pattern.to_lowercase(), &name),
                entry.pattern,
            )
        })
        // Of a short word most others of its length differ by as little.
        .filter(|(distance, _)| *distance <= NEAR.min(name.chars().count() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, pattern)| pattern)
}

/// Letters to change, add or leave out to make one of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, a) in from.chars().enumerate() {
        let mut next = vec![index + 1];
        for (j, b) in to.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let change = get(&row, j) + usize::from(a != *b);
            let least = change.min(get(&row, j + 1) + 1).min(get(&next, j) + 1);
            next.push(least);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// Where a signal is named, in characters from 1.
fn column(text: &str, signal: &str) -> usize {
    let bare = signal.strip_prefix("status.").unwrap_or(signal);
    let at = text.find(signal).or_else(|| text.find(bare));
    let before = at.and_then(|at| text.get(..at));
    before.map_or(0, |before| before.chars().count()) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_signals_are_told_from_those_that_are() {
        let text = "rate(vmstat.quillfeather) > 5 for 3s and Threads_running > hunter2";
        let unknown: Vec<&str> = unknown_words(text).collect();
        assert_eq!(unknown, ["quillfeather", "hunter2"]);
    }

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn names_that_nothing_brings_are_refused_with_their_place() {
        let told = refused("Threads_running > 200 and");
        assert!(told.contains("column"), "{told}");
        let told = refused("Thread_running > 200");
        assert!(
            told.contains("column 1: no server has a status variable 'Thread_running': did you mean Threads_running?"),
            "{told}"
        );
        let told = refused("Questions > rate(vmstat.nr_free_pages)");
        assert!(
            told.contains(
                "column 18: no signal 'vmstat.nr_free_pages'; vmstat has compact_*, thp_*"
            ),
            "{told}"
        );
        let told = refused("foo.bar > 3");
        assert!(
            told.contains("column 1: no signal 'foo.bar': there is no area 'foo'"),
            "{told}"
        );
        let told = refused("innodb.history_list_lenght > 3");
        assert!(told.contains("innodb has history_list_length;"), "{told}");
        assert!(refused("My_counter > 3").contains("write status.My_counter"));
        let told = refused("foo > 3");
        assert!(!told.contains("did you mean"), "{told}");
    }

    #[test]
    fn names_that_may_come_are_taken() {
        for good in [
            "Threads_running > 200 for 3s",
            "threads_RUNNING > 3",
            "rate(vmstat.compact_stall) > 50",
            "status.My_counter > 3",
            "'processlist.state.Waiting for table flush' > 3 for 2s",
            "rate(Com_rollback) > 0.2 * rate(Com_commit) for 5s",
            "meminfo.MemAvailable < 2e9 for 10s",
            "replica.seconds_behind > 30",
            "wsrep_flow_control_paused > 0.1",
            "cpu.count > 0 for 12s",
        ] {
            assert!(parse(good).is_ok(), "{good}: {}", refused(good));
        }
    }

    #[test]
    fn distances() {
        assert_eq!(distance("length", "lenght"), 2);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("", "abc"), 3);
    }
}
