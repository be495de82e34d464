//! Whether lines are sentences: what somebody tells in words has an answer, though no word in it is evidence.

use crate::line::Line;

/// Fewer words, or letters of a script without blanks, are no story.
const WORDS_MIN: usize = 12;

/// Of all words so many are words of a language, in percent: less is a configuration or a listing.
const SHARE_MIN: usize = 60;

/// Words that are looked at, at the most.
const WORDS_MAX: usize = 2_000;

/// What begins and ends lines that are shown as they are (CommonMark, "Fenced code blocks").
const FENCE: &str = "```";

/// What ends a sentence, or opens a list.
const ENDS: [char; 11] = ['.', ':', ';', '!', '?', '…', '。', '：', '；', '！', '？'];

/// What may stand in front of a sentence's first word.
const OPENINGS: &str = "\"'`(“„«";

/// A line of so many characters was broken because it was full.
const FULL_CHARS: usize = 60;

/// Words after which no sentence ends: the next line goes on with it, however short this one is.
const NEVER_LAST: [&str; 28] = [
    "a", "an", "the", "any", "no", "not", "of", "for", "with", "without", "to", "in", "is", "are",
    "was", "were", "and", "or", "nor", "kein", "keine", "keinen", "ohne", "sans", "aucun",
    "ningún", "nenhum", "sem",
];

/// Whether a sentence of one line goes on in the next one: a quotation is open, its last word asks for another one, or
/// the line was full and the next one begins within a sentence.
pub(crate) fn goes_on(before: &str, line: &str) -> bool {
    let (before, line) = (before.trim(), line.trim_start());
    let may_begin = |c: char| c.is_alphabetic() || OPENINGS.contains(c);
    if before.is_empty() || before.ends_with(ENDS) || !line.starts_with(may_begin) {
        return false;
    }
    let is_open = |quote: char| before.matches(quote).count() % 2 == 1;
    let last = before.split_whitespace().next_back().unwrap_or_default();
    let first = line.split_whitespace().next().unwrap_or_default();
    let first = first.trim_matches(|c: char| !c.is_alphanumeric());
    let is_within = || first.starts_with(char::is_lowercase) && is_word(first);
    is_open('"')
        || is_open('`')
        || NEVER_LAST.contains(&last.to_lowercase().as_str())
        || (before.chars().count() >= FULL_CHARS && is_within())
}

/// Whether most of the lines' words are words of a language, but for those that are shown as they are.
pub(crate) fn is_prose<'l>(lines: impl IntoIterator<Item = &'l Line<'l>>) -> bool {
    let (mut words, mut of_language) = (0_usize, 0_usize);
    let mut is_shown = false;
    let kept = lines.into_iter().filter(|line| {
        let is_fence = line.text.trim_start().starts_with(FENCE);
        is_shown ^= is_fence;
        !is_shown && !is_fence
    });
    for word in kept.flat_map(|line| line.text.split_whitespace()) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        // Each letter of a script without blanks counts as a word.
        let letters = word.chars().filter(|c| is_word_by_itself(*c)).count();
        if letters > 0 {
            words += letters;
            of_language += letters;
        } else if !word.is_empty() {
            words += 1;
            of_language += usize::from(is_word(word));
        }
        if words >= WORDS_MAX {
            break;
        }
    }
    of_language >= WORDS_MIN && of_language * 100 >= words * SHARE_MIN
}

/// `doesn't`, `co-worker` and `and/or` are words; a number, a path and a name of a program are none.
fn is_word(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_alphabetic() || "'’-/".contains(c))
        && !word.contains("//")
        && word.chars().skip(1).all(|c| !c.is_uppercase())
}

/// Chinese, Japanese and Korean letters (Unicode 15, blocks from Hiragana to Hangul).
fn is_word_by_itself(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::{goes_on, is_prose};

    #[test]
    fn a_sentence_goes_on_behind_a_hard_break() {
        let full = "Since the upgrade of last week all of it is slow, but we never saw";
        for (before, line) in [
            ("we do not see any", "Waiting for table metadata lock"),
            (
                "we do not see \"Waiting for table",
                "metadata lock\" anywhere",
            ),
            ("there is no", "`Waiting for table flush`"),
            (full, "metadata lock waits"),
            ("in der Liste steht kein", "Waiting for table flush"),
        ] {
            assert!(goes_on(before, line), "{before} / {line}");
        }
        for (before, line) in [
            ("the shop is not responding", "Waiting for table flush"),
            ("the shop is not responding", "metadata lock waits"),
            ("We have no idea. See:", "metadata lock"),
            (full, "Waiting for table flush"),
            (full, "buf_LRU_get_free_block"),
            (full, "| 12 | app | Waiting for table flush |"),
            (full, ""),
            ("", "metadata lock"),
        ] {
            assert!(!goes_on(before, line), "{before} / {line}");
        }
    }

    fn reads_as_prose(text: &str) -> bool {
        let (lines, _) = crate::clean::lines_within(text);
        is_prose(&lines)
    }

    #[test]
    fn a_story_is_told_from_files() {
        assert!(reads_as_prose(
            "Every night around three our shop doesn't answer for a minute, and nobody knows why.\nWe run it on two hosts."
        ));
        assert!(reads_as_prose(
            "数据库每天凌晨三点卡住一分钟，没有人知道原因。"
        ));
        assert!(!reads_as_prose("It hangs."));
        assert!(reads_as_prose(
            "The query below hangs for ever after the upgrade, and nobody knows why:\n```\nid=7 t=0x1f q=0x2e r=1 s=2 u=3 v=4 w=5 x=6 y=7 z=8\n```"
        ));
        assert!(!reads_as_prose(
            "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\nsync:x:4:65534:sync:/bin:/bin/sync"
        ));
        assert!(!reads_as_prose(
            "[mysqld]\nport = 3306\nuser = mysql\nsocket = /run/m.sock\ndatadir = /var/lib/mysql\nmax_connections = 100\nbind-address = 127.0.0.1\nserver_id = 1\nlog_bin = x.1\n"
        ));
        assert!(!reads_as_prose(
            "aGVsbG8gd29ybGQK YWJjZGVmZ2hp amtsbW5vcHFy c3R1dnd4eXo0 MTIzNDU2Nzg5 MGFiY2RlZmdo"
        ));
    }
}
