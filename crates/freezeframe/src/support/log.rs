//! The recorder's journal, without what other programs and addresses brought into it.

use diagnosis::Level;

use super::met;
use super::scrub::Scrub;
use crate::causes;

/// What stands behind these in a line was printed by a hook's program: earlier recorders logged it.
const PRINTED: [&str; 2] = ["exit status ", "exit status: "];

/// Behind these in a line stands the title of a cause, and then its level in parentheses.
const BEFORE_TITLES: [&str; 2] = ["CAUSE  ", "so far: "];

/// What stands for a title that none of the program's causes has.
const ANOTHER: &str = "(a cause of its owner's)";

/// What stands for it.
const LEFT_OUT: &str = ": (what it printed is left out)";

/// The lines as they may be shown, but for the names that are known. The addresses and paths in them are to be
/// taken out.
pub(super) fn shown(log: &str, scrub: &mut Scrub) -> String {
    met::learn(log, scrub);
    let lines = log
        .lines()
        .map(without_titles)
        .map(|line| without_quotes(&without_paths(&without_output(&line))) + "\n");
    lines.collect()
}

/// Without what stands in quotes: in our own words that is somebody's, such as a value that a mistake is told with. An
/// apostrophe within a word is none, and a quote that never ends has all of the rest.
fn without_quotes(line: &str) -> String {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut shown = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['\'', '"', '`']) {
        let (head, behind) = rest.split_at(at);
        let quote = behind.chars().next().unwrap_or('\'');
        let inner = behind.get(1..).unwrap_or_default();
        shown += head;
        shown.push(quote);
        rest = inner;
        if is_letter(shown.chars().rev().nth(1)) {
            continue;
        }
        let ends = inner.match_indices(quote).map(|(at, _)| at);
        let mut ends =
            ends.filter(|at| !is_letter(inner.get(at + 1..).and_then(|rest| rest.chars().next())));
        shown.push('…');
        rest = ends
            .next()
            .and_then(|at| inner.get(at..))
            .unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(quote) {
            shown.push(quote);
            rest = behind;
        }
    }
    shown + rest
}

/// A line without the title of an owner's cause, whose file may be gone by now.
fn without_titles(line: &str) -> String {
    let behind = |mark: &&str| Some(line.find(*mark)? + mark.len());
    let Some(from) = BEFORE_TITLES.iter().filter_map(behind).min() else {
        return line.to_owned();
    };
    let (head, rest) = line.split_at(from);
    let levels = [
        Level::Suspicion,
        Level::Possible,
        Level::Likely,
        Level::Certain,
    ];
    let ends = levels.map(|level| rest.find(&format!(" ({})", level.word())));
    let Some((title, behind)) = ends.into_iter().flatten().min().map(|at| rest.split_at(at)) else {
        return line.to_owned();
    };
    match causes::is_built_in_title(title) {
        true => line.to_owned(),
        false => format!("{head}{ANOTHER}{behind}"),
    }
}

/// A line without the output of a hook's program.
fn without_output(line: &str) -> String {
    if !line.contains("hook ") {
        return line.to_owned();
    }
    let behind = |head: &&str| Some(line.find(*head)? + head.len());
    let Some(from) = PRINTED.iter().filter_map(behind).max() else {
        return line.to_owned();
    };
    match line.get(from..).and_then(|rest| rest.split_once(": ")) {
        Some((status, _)) => {
            let head = line.get(..from).unwrap_or_default();
            format!("{head}{status}{LEFT_OUT}")
        }
        None => line.to_owned(),
    }
}

/// Of an address what stands behind its scheme may be a token.
fn without_paths(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((head, behind)) = rest.split_once("://") {
        let end = behind.find(|c: char| c.is_whitespace() || "'\"),;".contains(c));
        shown += head;
        shown += "://…";
        rest = end.and_then(|end| behind.get(end..)).unwrap_or_default();
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_quotes_is_left_out() {
        let log = "f.toml:2: ssl_mode: 's3cret' is none of A\n\
                   the server's log: \"s3cret\" isn't `s3cret`, nor 's3c'ret', on db1\n\
                   it's 'never ended by s3cret\n";
        let text = shown(log, &mut Scrub::new(b"0123456789abcdef"));
        assert_eq!(
            text,
            "f.toml:2: ssl_mode: '…' is none of A\n\
             the server's log: \"…\" isn't `…`, nor '…', on db1\n\
             it's '…\n"
        );
    }

    #[test]
    fn titles_of_an_owners_causes_are_left_out() {
        let mut known = diagnosis::Catalogue::builtin().causes().iter();
        let known = known.find(|cause| !cause.title.contains(['\'', '"', '`']));
        let known = &known.unwrap().title;
        let log = format!(
            "10:00:01 CAUSE  quillfeather's queue is full (likely). 40 sessions waited\n\
             10:00:02 so far: quillfeather (possible)\n\
             10:00:03 OVER   ended at 10:00:01, after 24 s; cause so far: quillfeather (certain)\n\
             10:00:04 CAUSE  {known} (likely). 40 sessions waited\n\
             10:00:05 CAUSE  no known cause fits what was recorded. 40 sessions waited\n"
        );
        assert_eq!(
            shown(&log, &mut Scrub::new(b"0123456789abcdef")),
            format!(
                "10:00:01 CAUSE  (a cause of its owner's) (likely). 40 sessions waited\n\
                 10:00:02 so far: (a cause of its owner's) (possible)\n\
                 10:00:03 OVER   ended at 10:00:01, after 24 s; cause so far: (a cause of its owner's) (certain)\n\
                 10:00:04 CAUSE  {known} (likely). 40 sessions waited\n\
                 10:00:05 CAUSE  no known cause fits what was recorded. 40 sessions waited\n"
            )
        );
    }

    #[test]
    fn what_programs_printed_and_what_addresses_hold_is_left_out() {
        let log = "db1 freezeframe[7]: hook page: gave up: exit status: 1: 401 for token=A1B2C3: no\n\
                   db1 freezeframe[7]: hook page: exit status 75: A1B2C3; trying again\n\
                   db1 freezeframe[7]: hook page: gave up: exit status: 1; it printed 7 bytes, see /x/y.output\n\
                   fleet: https://u:A1B2C3@h/x?A1B2C3: no answer, 'http://a/A1B2C3', later\n\
                   recording 10.1.2.3:3306, from 10.1.2.4: fine\n";
        let mut scrub = Scrub::new(b"0123456789abcdef");
        let text = shown(log, &mut scrub);
        let text = scrub.clean(&text);
        assert!(
            !text.contains("A1B2C3") && !text.contains("10.1.2."),
            "{text}"
        );
        for kept in [
            "exit status: 1: (what it printed is left out)\n",
            "exit status 75: (what it printed is left out)\n",
            "it printed 7 bytes, see dir_",
            "fleet: https://… no answer, '…', later\n",
            ":3306, from addr_",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }
}
