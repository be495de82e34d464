//! The statuses of InnoDB in a record, taken apart into sections and lines once: several signs look
//! at each.

use memchr::memmem;
use model::{Incident, Millis, TextKind};

/// Lines of a log that are read, at the most: of a log that is flooded the beginning tells enough.
pub(crate) const LINES_MAX: usize = 50_000;

/// Longest part of a line that is looked at, in bytes.
const LINE_BYTES_MAX: usize = 2_000;

/// What a status ends with.
const END: &str = "END OF INNODB MONITOR OUTPUT";

/// Sections that tell of a moment that may be days ago: they are for those who ask for them.
const PAST: [&str; 2] = ["LATEST DETECTED DEADLOCK", "LATEST FOREIGN KEY ERROR"];

/// One status.
pub(crate) struct Status<'a> {
    /// When it was taken.
    pub(crate) at: Millis,
    /// As it was taken.
    pub(crate) text: &'a str,
    /// What stands before the first heading, and then section by section.
    sections: Vec<Section<'a>>,
    /// It was not cut off.
    is_whole: bool,
}

#[derive(Default)]
struct Section<'a> {
    heading: Option<&'a str>,
    lines: Vec<&'a str>,
}

impl<'a> Status<'a> {
    /// The statuses of an incident, in its order.
    pub(crate) fn all(incident: &'a Incident) -> Vec<Self> {
        let texts = incident.texts.iter();
        texts
            .filter(|timed| timed.text.kind() == TextKind::InnodbStatus)
            .map(|timed| Self::new(timed.at, timed.text.body()))
            .collect()
    }

    fn new(at: Millis, text: &'a str) -> Self {
        let mut sections = Vec::new();
        let mut section = Section::default();
        let mut is_whole = false;
        // Looked for in the text first: in each line it takes longer than all else that is done with it.
        let end = memmem::find(text.as_bytes(), END.as_bytes()).unwrap_or(text.len());
        let mut lines = text.lines().take(LINES_MAX).peekable();
        let mut after_rule = false;
        while let Some(line) = lines.next() {
            let is_line_a_rule = is_rule(line);
            if after_rule
                && !is_line_a_rule
                && lines.peek().is_some_and(|next| is_rule(next))
                && !line.trim().is_empty()
            {
                let next = Section {
                    heading: Some(line.trim()),
                    lines: Vec::new(),
                };
                sections.push(std::mem::replace(&mut section, next));
            } else if offset_behind(line, text) > end && line.contains(END) {
                is_whole = true;
            } else {
                section.lines.push(line);
            }
            after_rule = is_line_a_rule;
        }
        sections.push(section);
        Self {
            at,
            text,
            sections,
            is_whole,
        }
    }

    /// The lines of a section, or all but the headings and what is past; nothing when the text was cut off before the
    /// section could come.
    pub(crate) fn lines(&self, section: Option<&str>) -> Option<impl Iterator<Item = &'a str>> {
        let is_it = move |one: &&Section| match (section, one.heading) {
            (None, Some(heading)) => !PAST.contains(&heading),
            (None, None) => true,
            (Some(wanted), Some(heading)) => wanted.eq_ignore_ascii_case(heading),
            (Some(_), None) => false,
        };
        let mut known = self.sections.iter().filter(is_it).peekable();
        let is_known = self.is_whole || known.peek().is_some();
        is_known.then(|| known.flat_map(|section| section.lines.iter().copied()))
    }
}

/// Where in a text one of its lines ends.
fn offset_behind(line: &str, text: &str) -> usize {
    line.as_bytes().as_ptr_range().end as usize - text.as_ptr() as usize
}

/// The lines of dashes around a heading.
fn is_rule(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("---") && line.trim_end().bytes().all(|byte| byte == b'-')
}

/// The part of a line that is looked at.
pub(crate) fn cut(line: &str) -> &str {
    line.get(..line.floor_char_boundary(LINE_BYTES_MAX))
        .unwrap_or(line)
        .trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
=====================================
2026-01-02 INNODB MONITOR OUTPUT
-----------------
BACKGROUND THREAD
-----------------
srv_master_thread loops: 1
srv_master_thread log flush and writes: 2
----------
SEMAPHORES
----------
OS WAIT ARRAY INFO: reservation count 2
---TRANSACTION 5, not started
----------------------------
END OF INNODB MONITOR OUTPUT
============================
";

    fn lines(text: &str, section: Option<&str>) -> Option<Vec<String>> {
        let status = Status::new(0, text);
        let lines = status.lines(section)?;
        Some(lines.map(str::to_owned).collect())
    }

    #[test]
    fn a_section_has_its_lines() {
        assert_eq!(
            lines(TEXT, Some("semaphores")).unwrap(),
            [
                "----------",
                "OS WAIT ARRAY INFO: reservation count 2",
                "---TRANSACTION 5, not started",
                "----------------------------",
                "============================",
            ]
        );
        let all = lines(TEXT, None).unwrap();
        assert_eq!(all.len(), TEXT.lines().count() - 3);
        assert!(
            !all.iter()
                .any(|line| line == "SEMAPHORES" || line.contains(END))
        );
    }

    #[test]
    fn what_was_cut_off_is_not_known() {
        assert_eq!(lines(TEXT, Some("FILE I/O")), Some(Vec::new()));
        let (cut, _) = TEXT.split_once("END OF").unwrap();
        assert_eq!(lines(cut, Some("FILE I/O")), None);
        assert!(lines(cut, Some("SEMAPHORES")).is_some());
        assert_eq!(lines("", None), Some(Vec::new()));
        assert_eq!(lines("", Some("SEMAPHORES")), None);
    }
}
