//! Words with a meaning in text that is no listing: people quote a state, a function, a line of a log in a sentence.
//!
//! A word is less than a measurement, and is kept as one: see [`model::Mention`]. A message of the server or the kernel is
//! a line of its log wherever it stands.

use lexicon::Kind;
use model::{Fact, Mention, OwnText, Text, TextKind, TimedFact, TimedText};

use crate::clean::Line;
use crate::moments::Moment;
use crate::read::{Read, counted};

/// Bytes that are looked through of one input: sentences are short.
const BYTES_MAX: usize = 4 << 20;

/// Words that are kept of one input, each once.
const WORDS_MAX: usize = 200;

/// Words that are told by name.
const NAMED_MAX: usize = 3;

/// The fact that lines of a log were quoted, not taken: what is not among them may have been there.
const QUOTED: &str = "quoted";

/// Looks through lines that are a part of nothing known.
pub(crate) fn read<'l>(path: &str, lines: impl Iterator<Item = &'l Line<'l>>) -> Read {
    let mut read = Read::default();
    let (mut error_log, mut kernel_log) = (String::new(), String::new());
    let mut bytes = 0_usize;
    for line in lines {
        bytes += line.text.len();
        if bytes > BYTES_MAX || read.mentions.len() >= WORDS_MAX {
            break;
        }
        for found in lexicon::mentions(&line.text) {
            let word = match found.entry.kind {
                Kind::Message | Kind::KernelLine | Kind::ClientError => found.entry.pattern,
                _ => found.text,
            };
            let is_known = |one: &Mention| one.kind == found.entry.kind && one.word == word;
            if read.mentions.iter().any(is_known) {
                continue;
            }
            match found.entry.kind {
                Kind::Message => push(&mut error_log, found.text),
                Kind::KernelLine => push(&mut kernel_log, found.text),
                _ => {}
            }
            read.mentions.push(Mention {
                kind: found.entry.kind,
                word: word.to_owned(),
                path: path.to_owned(),
                line: line.number,
            });
        }
    }
    for (log, text) in [
        (
            "error_log",
            (!error_log.is_empty()).then(|| server_text::error_log(&error_log)),
        ),
        (
            "kernel_log",
            (!kernel_log.is_empty()).then(|| Text::own(OwnText::KernelLog, kernel_log)),
        ),
    ] {
        if let Some(text) = text {
            read.texts.push((Moment::default(), text));
            read.facts.push(Fact::new(format!("capture.{log}"), QUOTED));
        }
    }
    read.brought = brought(&read.mentions);
    read
}

/// Lines that are quoted beside the log itself: it is known what was in it.
pub(crate) fn without_quoted(texts: &[TimedText], facts: &mut Vec<TimedFact>) {
    for (log, kind) in [
        ("error_log", TextKind::ErrorLog),
        ("kernel_log", TextKind::KernelLog),
    ] {
        if texts
            .iter()
            .filter(|timed| timed.text.kind() == kind)
            .count()
            > 1
        {
            let name = format!("capture.{log}");
            facts.retain(|timed| timed.fact.name != name);
        }
    }
}

fn push(log: &mut String, line: &str) {
    let line = line.trim_end_matches(['`', '"', '\'', '*', ' ']);
    log.push_str(line);
    log.push('\n');
}

fn brought(mentions: &[Mention]) -> String {
    let names: Vec<&str> = mentions
        .iter()
        .take(NAMED_MAX)
        .map(|one| one.word.as_str())
        .collect();
    let more = match mentions.len() > NAMED_MAX {
        true => ", ...",
        false => "",
    };
    let count = counted(mentions.len(), "word", "words");
    format!("{count} with a meaning: {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::{Input, import};

    #[test]
    fn nothing_else_that_a_sentence_says_is_kept() {
        let text = "It said blocked for more than 120 seconds, and the password is geheim4711 for `geheimtab`.\n\
            And Got error 28 from storage engine for geheim4712 of geheimuser@geheimhost: write to geheim@example.net.\n\
            Nearly all say Waiting for table flush, table geheimtab, and stand in buf_LRU_get_free_block(geheim4713).\n";
        let bytes = text.as_bytes();
        let imported = import(&[Input { path: "x", bytes }]);
        let incident = imported.incident.unwrap();
        let words: Vec<&str> = incident
            .mentions
            .iter()
            .map(|one| one.word.as_str())
            .collect();
        assert!(words.contains(&"Waiting for table flush"), "{words:?}");
        assert!(words.contains(&"buf_LRU_get_free_block"), "{words:?}");
        assert!(incident.texts.len() == 2, "{:?}", incident.texts);
        let kept = format!("{incident:?} {:?}", imported.parts);
        assert!(!kept.contains("geheim"), "{kept}");
    }
}
