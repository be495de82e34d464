//! What one input tells, without the others.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::READ_IN_PART;
use sql::log::LogKind;

use crate::clean;
use crate::format::Format;
use crate::formats::{FORMATS, logs, sentences};
use crate::read::rows::Table;
use crate::read::{Read, counted};
use crate::split::{Section, split};
use crate::vocabulary::Vocabulary;
use crate::{
    INPUT_BYTES_MAX, Input, Part, memory_budget, prose, server_version, shell, times, web_page,
    whole_text,
};

/// So many bytes tell whether an input is text.
const HEAD_BYTES: usize = 8 << 10;

/// What one input told.
#[derive(Default)]
pub(crate) struct OneInput {
    pub(crate) parts: Vec<Part>,
    pub(crate) reads: Vec<(&'static Format, Read)>,
    /// It is a log: it is read when it is known which part of it is of this stall.
    pub(crate) log: Option<LogKind>,
    /// The server's version, where it says it.
    pub(crate) version: Option<String>,
    /// How far the host's clock for people is ahead of UTC, in milliseconds, where it says it.
    pub(crate) ahead_ms: Option<i64>,
    /// Its words that are compared with those of known stalls.
    pub(crate) words: Vocabulary,
}

/// Its first bytes.
pub(crate) fn head<'a>(input: &Input<'a>, bytes_max: usize) -> &'a [u8] {
    input
        .bytes
        .get(..input.bytes.len().min(bytes_max))
        .unwrap_or_default()
}

impl OneInput {
    /// Reads an input of several.
    pub(crate) fn take(&mut self, input: &Input<'_>, inputs: &[Input<'_>]) {
        let others = inputs.iter().map(|other| other.path);
        let bytes = head(input, INPUT_BYTES_MAX);
        if shell::is_twin(
            input.path,
            &String::from_utf8_lossy(head(input, 64)),
            others,
        ) {
            let why = "the same table is there as .tsv";
            self.skip(input, None, "table of MySQL Shell", why.to_owned());
        } else if memory_budget::is_spent() {
            self.skip(input, None, "not read", memory_budget::SPENT.to_owned());
        } else if bytes.is_empty() {
            self.skip(input, None, "nothing", "it is empty".to_owned());
        } else if let Some(kind) = logs::is_whole(bytes) {
            self.log = Some(kind);
        } else if let Some((format, read)) = FORMATS
            .iter()
            .find_map(|format| Some((*format, (format.read_bytes)(bytes)?)))
        {
            self.whole(input, format, read);
        } else if head(input, HEAD_BYTES).contains(&0) {
            self.skip(input, None, "unknown", "not a text".to_owned());
        } else {
            self.text(input, bytes);
        }
    }

    /// Takes in an input that is of one format as a whole.
    pub(crate) fn whole(&mut self, input: &Input<'_>, format: &'static Format, read: Read) {
        let is_empty = read.is_empty();
        let why = left_out(&read);
        self.parts.push(Part {
            path: input.path.to_owned(),
            kind: format.name.to_owned(),
            lines: None,
            brought: match is_empty {
                true => String::new(),
                false => read.brought.clone(),
            },
            skipped: why.or_else(|| is_empty.then(|| "nothing in it could be read".to_owned())),
        });
        if !is_empty {
            self.reads.push((format, read));
        }
    }

    fn skip(&mut self, input: &Input<'_>, lines: Option<(usize, usize)>, kind: &str, why: String) {
        // Pieces of one thing with other lines between are told as one.
        if let Some(last) = self.parts.last_mut()
            && last.kind == kind
            && last.skipped.as_ref() == Some(&why)
            && let (Some((_, end)), Some((_, to))) = (&mut last.lines, lines)
        {
            *end = to.max(*end);
            return;
        }
        self.parts.push(Part {
            path: input.path.to_owned(),
            kind: kind.to_owned(),
            lines,
            brought: String::new(),
            skipped: Some(why),
        });
    }

    /// A story without a word that is evidence: it is read, and the answer is what to capture.
    fn no_evidence(&mut self, input: &Input<'_>, last: usize) {
        self.parts.push(Part {
            path: input.path.to_owned(),
            kind: sentences::FORMAT.name.to_owned(),
            lines: Some((1, last)),
            brought: "none of them is evidence of a stall".to_owned(),
            skipped: None,
        });
        self.reads.push((&sentences::FORMAT, Read::default()));
    }

    /// Reads the sections of a text.
    fn text(&mut self, input: &Input<'_>, bytes: &[u8]) {
        // The check of a whole text is much faster than the search for what to put right.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        // Signs in front of a table of the shell are its own.
        let text = shell::as_printed(match shell::is_table(&text) {
            true => text,
            false => whole_text::as_printed(&text),
        });
        let (mut lines, cut) = clean::lines_within(&text);
        let mut sections = split(&lines);
        if sections.is_empty() && web_page::may_be_in(&text) {
            lines = clean::lines_of_page(&text);
            sections = split(&lines);
        }
        self.ahead_ms = lines.iter().find_map(|line| times::ahead_ms(&line.text));
        let mut covered = 0;
        let first = self.reads.len();
        let mut read_sections: Vec<Section> = Vec::new();
        // Pieces whose names tell nothing, read or not.
        let mut inventories: Vec<Section> = Vec::new();
        let mut lines_by_format: BTreeMap<&str, usize> = BTreeMap::new();
        for one in &sections {
            *lines_by_format.entry(one.format.id).or_default() += one.to - one.from;
        }
        let lines_of = |format: &Format| lines_by_format.get(format.id).copied().unwrap_or(0);
        // How often each table was printed: its prints may be apart.
        let mut printed: BTreeMap<Table, u64> = BTreeMap::new();
        for found in &sections {
            let format = found.format;
            let section = lines.get(found.from..found.to).unwrap_or_default();
            let range = numbers(section);
            covered += section.len();
            // Other lines may part it: what is shown of it is all of it in this input.
            if sentences::is_whole(format, lines_of(format)) {
                inventories.push(*found);
            }
            if format.has_version {
                self.version = self
                    .version
                    .take()
                    .or_else(|| server_version::version(section));
            }
            if memory_budget::is_spent() {
                self.skip(
                    input,
                    Some(range),
                    format.name,
                    memory_budget::SPENT.to_owned(),
                );
                continue;
            }
            let mut read = (format.read)(section);
            for rows in &mut read.rows {
                let before = printed.entry(rows.table).or_default();
                rows.nth = *before;
                *before += 1;
            }
            let what = read.what.clone().unwrap_or_else(|| format.name.to_owned());
            if read.is_empty() {
                let why = read.skipped.first().map_or_else(
                    || "nothing in it could be read".to_owned(),
                    |(_, why)| why.to_string(),
                );
                self.skip(input, Some(range), &what, why);
                continue;
            }
            read_sections.push(*found);
            self.parts.push(Part {
                path: input.path.to_owned(),
                kind: what,
                lines: Some(range),
                brought: read.brought.clone(),
                skipped: left_out(&read),
            });
            self.reads.push((format, read));
        }
        let mut known: Vec<Section> = [&read_sections[..], &inventories].concat();
        known.sort_by_key(|section| section.from);
        if prose::is_prose(outside(&lines, &known)) {
            let reads = self.reads.iter_mut().skip(first).map(|(_, read)| read);
            for (section, read) in read_sections.iter().zip(reads) {
                sentences::mark_chosen(section.to - section.from, read);
            }
        }
        self.words = Vocabulary::from_lines(outside(&lines, &inventories));
        let quoted = sentences::read(input.path, outside(&lines, &known));
        if !quoted.is_empty() {
            let numbers = quoted.mentions.iter().map(|one| one.line);
            let range = numbers.clone().min().zip(numbers.max());
            self.parts.push(Part {
                path: input.path.to_owned(),
                kind: sentences::FORMAT.name.to_owned(),
                lines: range,
                brought: quoted.brought.clone(),
                skipped: None,
            });
            self.reads.push((&sentences::FORMAT, quoted));
        } else if sections.is_empty() {
            let count = lines.iter().filter(|line| !line.is_blank()).count();
            // A page may show nothing.
            let last = lines.last().map_or(1, |line| line.number);
            match prose::is_prose(&lines) || self.words.suggest_a_stall() {
                true => self.no_evidence(input, last),
                false => self.skip(
                    input,
                    Some((1, last)),
                    "unknown",
                    format!(
                        "nothing recognised in {}: no stacks, listings, statuses or log lines",
                        counted(count, "line of text", "lines of text")
                    ),
                ),
            }
        } else {
            let other = lines.len().saturating_sub(covered);
            let blank = lines.iter().filter(|line| line.is_blank()).count();
            if other > blank + 2 {
                self.skip(
                    input,
                    None,
                    "text around it",
                    format!("{} lines have no known format", other.saturating_sub(blank)),
                );
            }
        }
        let listings = read_sections
            .iter()
            .filter(|one| !sentences::is_whole(one.format, lines_of(one.format)));
        let read = listings.filter_map(|one| lines.get(one.from..one.to));
        let reads = self.reads.iter();
        let own: Vec<&str> = reads
            .flat_map(|(_, read)| read.own.iter().copied())
            .collect();
        let within = sentences::within(input.path, read, &own);
        if !within.is_empty() {
            self.reads.push((&sentences::FORMAT, within));
        }
        if let Some(last) = cut {
            let why =
                format!("only the lines up to {last} were read: the rest needs too much memory");
            self.skip(input, None, READ_IN_PART, why);
        }
        if bytes.len() < input.bytes.len() {
            self.skip(
                input,
                None,
                READ_IN_PART,
                format!("bytes over {INPUT_BYTES_MAX} were not read"),
            );
        }
    }
}

/// The lines that are a part of no section.
fn outside<'l>(
    lines: &'l [crate::line::Line<'l>],
    sections: &'l [Section],
) -> impl Iterator<Item = &'l crate::line::Line<'l>> + Clone {
    let mut sections = sections.iter().peekable();
    let numbered = lines.iter().enumerate();
    numbered.filter_map(move |(index, line)| {
        while sections.peek().is_some_and(|section| section.to <= index) {
            sections.next();
        }
        let is_inside = sections.peek().is_some_and(|section| section.from <= index);
        (!is_inside).then_some(line)
    })
}

/// The first and the last number of the lines. A row of a page's table has the number of its first cell, and what
/// stands between its cells comes before it: the lines of a page are not always in the order of their numbers.
fn numbers(lines: &[crate::line::Line<'_>]) -> (usize, usize) {
    let numbers = || lines.iter().map(|line| line.number);
    (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
}

/// What a reader passed over, in one sentence.
fn left_out(read: &Read) -> Option<String> {
    let (line, why) = read.skipped.first()?;
    let more = read.skipped.len().saturating_sub(1);
    let place = if *line > 0 {
        format!("line {line}: ")
    } else {
        String::new()
    };
    let more = if more > 0 {
        format!(" (and {more} more)")
    } else {
        String::new()
    };
    Some(format!("{place}{why}{more}"))
}
