//! What people write between the lines of a status that they show.
//!
//! A status of a server has nothing else in it. One that somebody pasted into a ticket may have a sentence between two
//! sections, and nothing is left out of what stands outside of statements. InnoDB's own lines there are made of a few
//! hundred words: a line in which another one stands is somebody's.

use super::lines::{Kind, Lines};
use super::redact::unescaped;
use crate::error_log::is_message_word;

/// Words of InnoDB's lines that stand in no message.
const WORDS: [&str; 14] = [
    "activity",
    "allocated",
    "averages",
    "calculated",
    "coalesced",
    "individually",
    "merges",
    "oldest",
    "printing",
    "printout",
    "prints",
    "sleeping",
    "young",
    "youngs",
];

/// Longest number with what stands behind it: hexadecimal digits of a thread.
const NUMBER_BYTES_MAX: usize = 20;

/// Hexadecimal digits that begin with a letter are a thread from here on.
const THREAD_BYTES_MIN: usize = 8;

/// The status without such lines. `is_known` are lines that are InnoDB's whatever words they have.
pub fn without_remarks(text: &str, is_known: impl Fn(&str) -> bool) -> String {
    let text = unescaped(text);
    let mut kept = String::with_capacity(text.len());
    for line in Lines::new(&text) {
        let is_remark = line.kind == Kind::Own
            && !line.has_form
            && !is_known(line.stem.trim_start())
            && !line.stem.split(|c: char| !is_of_word(c)).all(is_own);
        if !is_remark {
            kept.push_str(line.raw);
            if !line.is_last {
                kept.push('\n');
            }
        }
    }
    kept
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A number, or a word that is made of InnoDB's.
fn is_own(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let digits = digits.trim_end_matches(['k', 'm', 's']);
    let is_long = digits.len() >= THREAD_BYTES_MIN;
    let is_number = digits.len() <= NUMBER_BYTES_MAX
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && (is_long || digits.starts_with(|c: char| c.is_ascii_digit()));
    let is_word = |word: &str| {
        word.len() < 2
            || word.bytes().all(|byte| byte.is_ascii_digit())
            || is_message_word(word)
            || WORDS.contains(&word.to_ascii_lowercase().as_str())
    };
    is_number || is_word(word) || word.split('_').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "--------\nFILE I/O\n--------\nI/O thread 0 state: waiting for completed aio requests (insert buffer thread)\n\
        Pending normal aio reads: [0, 0, 0, 0] , aio writes: [0, 0, 0, 0] ,\n ibuf aio reads:, log i/o's:, sync i/o's:\n\
        0.00 reads/s, 0 avg bytes/read, 0.00 writes/s, 0.00 fsyncs/s\n---\nLOG\n---\nLog sequence number 12\nMax checkpoint age    7782360\n\
        ----------------------\nBUFFER POOL AND MEMORY\n----------------------\nTotal large memory allocated 137363456\n\
        Pages made young 0, not young 0\n0.00 youngs/s, 0.00 non-youngs/s\nNo buffer pool page gets since the last printout\n\
        LRU len: 8, unzip_LRU len: 0\nI/O sum[0]:cur[0], unzip sum[0]:cur[0]\n--------------\nROW OPERATIONS\n--------------\n\
        0 queries inside InnoDB, 0 queries in queue\nProcess ID=612, Main thread ID=0x7f1b5c0d6700, state: sleeping\n\
        Number of rows inserted 0, updated 0, deleted 0, read 0\n";

    #[test]
    fn a_status_alone_stays_as_it_is() {
        for status in [STATUS.to_owned(), STATUS.trim_end().to_owned()] {
            assert_eq!(without_remarks(&status, |_| false), status);
        }
    }

    #[test]
    fn sentences_between_its_lines_are_left_out() {
        for remark in [
            "her password is hunter2, and her card 4111 1111 1111 1111",
            "Here Alice asked for the log",
            "das Kennwort lautet geheim",
        ] {
            for place in ["\n---\nLOG", "\nPages made", "\nNumber of rows"] {
                let (head, tail) = STATUS.split_once(place).unwrap();
                let text = format!("{head}\n{remark}{place}{tail}{remark}");
                assert_eq!(without_remarks(&text, |_| false), STATUS, "{remark}");
            }
        }
    }

    #[test]
    fn a_statement_is_no_remark() {
        let text = "---TRANSACTION 5, ACTIVE 3 sec\nMySQL thread id 5, OS thread handle 1, query id 9 localhost root updating\n\
            update acme set quillfeather = 1\nwhere id = 5\n--------\nFILE I/O\n--------\n";
        assert_eq!(without_remarks(text, |_| false), text);
    }
}
