//! A status of InnoDB as it stands, by its sections and lines. What its numbers and transactions are is for
//! [`crate::innodb`].

use std::iter;
use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

/// What a status ends with.
const END: &str = "END OF INNODB MONITOR OUTPUT";

/// Sections that tell of a moment that may be days ago: they are for those who ask for them.
const PAST: [&str; 2] = ["LATEST DETECTED DEADLOCK", "LATEST FOREIGN KEY ERROR"];

/// One status. It is taken apart once, and asked many times.
pub struct StatusSections<'a> {
    text: &'a str,
    /// What stands before the first heading, and then section by section.
    sections: Vec<Section<'a>>,
    /// Where its last line stands; nothing when that was cut off.
    end: Option<usize>,
}

struct Section<'a> {
    heading: Option<&'a str>,
    text: &'a str,
}

impl<'a> StatusSections<'a> {
    /// A heading stands alone between two rules, which are of the sections before and behind it.
    pub fn new(text: &'a str) -> Self {
        let mut sections = Vec::new();
        let (mut heading, mut begin) = (None, 0);
        let mut behind = None;
        for rule in rules(text) {
            let between = behind.map(|behind| (behind, &text[behind..rule.start]));
            behind = Some(rule.end);
            if let Some((behind, line)) = between
                && !line.trim().is_empty()
                && line.lines().count() == 1
            {
                let text = &text[begin..behind];
                sections.push(Section { heading, text });
                (heading, begin) = (Some(line.trim()), rule.start);
            }
        }
        let rest = &text[begin..];
        sections.push(Section {
            heading,
            text: rest,
        });
        Self {
            text,
            sections,
            end: memmem::rfind(text.as_bytes(), END.as_bytes()),
        }
    }

    /// All of it.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The lines of a section, or all but the headings and what is past; nothing when the text was cut off before the
    /// section could come.
    pub fn lines(&self, section: Option<&str>) -> Option<impl Iterator<Item = &'a str>> {
        let is_it = move |one: &&Section| match (section, one.heading) {
            (None, Some(heading)) => !PAST.contains(&heading),
            (None, None) => true,
            (Some(wanted), Some(heading)) => wanted.eq_ignore_ascii_case(heading),
            (Some(_), None) => false,
        };
        let mut known = self.sections.iter().filter(is_it).peekable();
        let is_known = self.end.is_some() || known.peek().is_some();
        let (text, end) = (self.text, self.end.unwrap_or(self.text.len()));
        let is_end = move |line: &str| offset_behind(line, text) > end && line.contains(END);
        let lines = known.flat_map(|section| section.text.lines());
        is_known.then(|| lines.filter(move |line| !is_end(line)))
    }
}

/// Where in a text one of its lines ends.
fn offset_behind(line: &str, text: &str) -> usize {
    line.as_bytes().as_ptr_range().end as usize - text.as_ptr() as usize
}

/// Where the rules of a text stand, each with the end of its line. They are looked for as dashes: most lines have none.
fn rules(text: &str) -> impl Iterator<Item = Range<usize>> {
    let (bytes, finder) = (text.as_bytes(), memmem::Finder::new("---"));
    let mut behind = 0;
    let lines = iter::from_fn(move || {
        let dashes = behind + finder.find(bytes.get(behind..)?)?;
        let start = memrchr(b'\n', bytes.get(..dashes)?).map_or(0, |before| before + 1);
        let length = memchr(b'\n', bytes.get(dashes..)?);
        behind = length.map_or(text.len(), |length| dashes + length + 1);
        Some(start..behind)
    });
    lines.filter(|line| is_rule(&text[line.clone()]))
}

/// The lines of dashes around a heading.
fn is_rule(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("---") && line.trim_end().bytes().all(|byte| byte == b'-')
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
        let status = StatusSections::new(text);
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
