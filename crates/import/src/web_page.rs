//! Web pages, and results that a client wrote as HTML or XML, as the lines that they show.
//!
//! ```text
//! <pre><span class="line">#0  0x7f in futex_wait () from /lib64/libc.so.6</span><br>…</pre>
//! <TABLE BORDER=1><TR><TH>Id</TH><TH>User</TH>…</TR><TR><TD>5</TD>…
//! <resultset statement="SHOW PROCESSLIST" …><row><field name="Id">5</field>…
//! ```
//!
//! A saved page of a ticket or a blog, `mysql --html`, `mysql --xml` (MySQL manual, "mysql Client
//! Options"). Rows of tables are written with tabs between their cells, as `mysql --batch` does; rows
//! of a result in XML as `\G` does. Pages are damaged as often as captures are: what is open and never
//! closed, or closed and never opened, is taken as it comes.

use std::borrow::Cow;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::line::has_words;
use crate::printed_rows;

/// So many bytes tell whether a text begins as a page.
const HEAD_BYTES: usize = 1 << 10;

/// A longer text is none of a page: a tag may hold millions of attributes, and each takes thirty times its length.
const PAGE_BYTES_MAX: usize = 16 << 20;

/// Ends of tags that a text has which is a part of a page.
const ENDS: [&str; 10] = [
    "</span>", "</td>", "</TD>", "</tr>", "</TR>", "</div>", "</p>", "</pre>", "</code>",
    "</field>",
];

/// So many of them are in a text that may be a part of a page: fewer are in many a ticket.
const ENDS_MIN: usize = 4;

/// Tags that begin and end a line.
const BLOCKS: [&[u8]; 28] = [
    b"address",
    b"article",
    b"blockquote",
    b"body",
    b"center",
    b"dd",
    b"details",
    b"div",
    b"dl",
    b"dt",
    b"figure",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"hr",
    b"li",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"ul",
];

/// A cell of so many lines is a text of its own, as the status of InnoDB is, and no value in a row.
const OWN_LINES_MIN: usize = 3;

/// The lines with their numbers, where the text begins as a page.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<(usize, Cow<'_, str>)>> {
    (text.len() <= PAGE_BYTES_MAX && begins_as_page(text)).then(|| shown(text))
}

fn begins_as_page(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let head = text
        .get(..text.floor_char_boundary(HEAD_BYTES))
        .unwrap_or(text);
    let starts = |what: &str| {
        let start = head.get(..what.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(what))
    };
    starts("<!doctype html")
        || starts("<html")
        || starts("<table")
        || starts("<resultset")
        || (starts("<?xml") && head.contains("<resultset"))
}

/// Whether a text in which nothing was known may be a part of a page.
pub(crate) fn may_be_in(text: &str) -> bool {
    let ends = ENDS.iter().flat_map(|end| text.matches(end));
    text.len() <= PAGE_BYTES_MAX && has_words(text, "</") && ends.take(ENDS_MIN).count() == ENDS_MIN
}

/// What a page shows.
pub(crate) fn shown(text: &str) -> Vec<(usize, Cow<'static, str>)> {
    // The tokenizer makes a line end of each carriage return: lines would be counted that are none.
    let text = text.replace('\r', " ");
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    // Without it what is in a script would be looked at for tags.
    emitter.naively_switch_states(true);
    let mut page = Page::default();
    let (mut number, mut counted) = (1, 0);
    // The reader of a text has no errors: `Infallible`.
    for token in Tokenizer::new_with_emitter(&text, emitter).flatten() {
        let at = match &token {
            Token::StartTag(tag) => tag.span.start,
            Token::EndTag(tag) => tag.span.start,
            Token::String(string) => string.span.start,
            _ => continue,
        };
        let passed = text.as_bytes().get(counted..at).unwrap_or_default();
        number += passed.iter().filter(|byte| **byte == b'\n').count();
        counted = counted.max(at);
        page.number = number;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&tag.name),
            Token::String(string) => page.text(&String::from_utf8_lossy(&string)),
            _ => {}
        }
    }
    page.end_row();
    page.lines.end();
    let lines = page.lines.done.into_iter();
    lines
        .map(|(number, line)| (number, Cow::Owned(line)))
        .collect()
}

/// Lines that are told, the last of which may go on.
#[derive(Default)]
struct Lines {
    done: Vec<(usize, String)>,
    open: Option<(usize, String)>,
}

impl Lines {
    fn push(&mut self, number: usize, text: &str) {
        let (_, open) = self.open.get_or_insert_with(|| (number, String::new()));
        open.push_str(text);
    }

    /// Ends the line, if one is open.
    fn end(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Ends the line, an empty one if none is open.
    fn end_any(&mut self, number: usize) {
        self.push(number, "");
        self.end();
    }
}

/// What was seen of a page.
#[derive(Default)]
struct Page {
    lines: Lines,
    /// The cells of the row that is open.
    row: Vec<Lines>,
    in_cell: bool,
    /// How many `<pre>` are open.
    kept: usize,
    /// A script or a style sheet.
    hidden: bool,
    /// Rows of the result so far, in XML.
    rows: usize,
    /// The line of the page that is looked at.
    number: usize,
}

impl Page {
    fn start(&mut self, tag: &StartTag<usize>) {
        let name: &[u8] = &tag.name;
        match name {
            b"script" | b"style" => self.hidden = true,
            b"br" => {
                let number = self.number;
                self.out().end_any(number);
            }
            b"table" | b"tr" => self.end_row(),
            b"td" | b"th" => {
                self.row.push(Lines::default());
                self.in_cell = true;
            }
            b"resultset" => self.rows = 0,
            b"row" => self.start_record(),
            b"field" => self.start_field(tag),
            _ if BLOCKS.contains(&name) => self.out().end(),
            _ => {}
        }
        self.kept += usize::from(name == b"pre");
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"script" | b"style" => self.hidden = false,
            b"table" | b"tr" => self.end_row(),
            b"td" | b"th" => self.in_cell = false,
            b"field" => self.lines.end(),
            b"pre" => self.kept = self.kept.saturating_sub(1),
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.out().end();
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden {
            return;
        }
        let is_kept = self.kept > 0;
        let mut number = self.number;
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                let out = self.out();
                // Elsewhere the end of a line is a blank, and pages are indented.
                match is_kept {
                    true => out.end_any(number),
                    false => out.end(),
                }
                number += 1;
            }
            let is_begun = self.out().open.is_some();
            if !line.is_empty() && (is_kept || is_begun || !line.trim().is_empty()) {
                self.out().push(number, line);
            }
        }
    }

    /// Where text goes: between the cells of a row there is none but blanks.
    fn out(&mut self) -> &mut Lines {
        match self.row.last_mut() {
            Some(cell) if self.in_cell => cell,
            _ => &mut self.lines,
        }
    }

    /// The cells as a row, and those that are texts of their own behind it.
    fn end_row(&mut self) {
        self.in_cell = false;
        let mut row: Vec<String> = Vec::new();
        let mut own = Vec::new();
        let mut number = None;
        for mut cell in std::mem::take(&mut self.row) {
            cell.end();
            number = number.or(cell.done.first().map(|(number, _)| *number));
            if cell.done.len() >= OWN_LINES_MIN {
                own.append(&mut cell.done);
                continue;
            }
            let lines: Vec<&str> = cell.done.iter().map(|(_, line)| line.trim()).collect();
            let value = lines.join(" ");
            // A box to tick, or a link, in front of what is told.
            if !(value.is_empty() && row.is_empty()) {
                row.push(value.replace('\t', " "));
            }
        }
        if let (Some(number), false) = (number, row.is_empty()) {
            self.lines.end();
            self.lines.push(number, &row.join("\t"));
        }
        self.lines.end();
        self.lines.done.append(&mut own);
    }

    fn start_record(&mut self) {
        self.rows += 1;
        let head = printed_rows::head(self.rows);
        self.lines.end();
        self.lines.push(self.number, &head);
        self.lines.end();
    }

    fn start_field(&mut self, tag: &StartTag<usize>) {
        let attribute = |name: &[u8]| {
            let value = tag.attributes.get(name);
            value.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        let Some(name) = attribute(b"name") else {
            return;
        };
        self.lines.end();
        self.lines.push(self.number, &printed_rows::name(&name));
        if attribute(b"xsi:nil").as_deref() == Some("true") {
            self.lines.push(self.number, "NULL");
        }
        if tag.self_closing {
            self.lines.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &str) -> Vec<(usize, String)> {
        let lines = shown(text).into_iter();
        lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(number, line)| (number, line.into_owned()))
            .collect()
    }

    fn texts(text: &str) -> Vec<String> {
        numbered(text).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn a_page_is_told_by_its_beginning_and_a_part_of_one_by_its_tags() {
        assert!(begins_as_page("\u{feff}\n<!DOCTYPE HTML>\n<html>"));
        assert!(begins_as_page("<TABLE BORDER=1><TR>"));
        assert!(begins_as_page(
            "<?xml version=\"1.0\"?>\n\n<resultset statement=\"x\">"
        ));
        assert!(!begins_as_page("<?xml version=\"1.0\"?>\n<svg>"));
        assert!(!begins_as_page("# Ticket\n<html>"));
        assert!(may_be_in(
            "<span>a</span><span>b</span><span>c</span><br></pre>"
        ));
        assert!(!may_be_in(
            "std::vector<int> <signal handler called> </p></p></p>"
        ));
    }

    #[test]
    fn what_is_kept_as_it_is_has_its_lines_whatever_separates_them() {
        assert_eq!(
            numbered("<p>It\n hangs:</p>\n<pre><code>#0  a &lt;b&gt;\n#1  c</code></pre>end"),
            [
                (1, "It".to_owned()),
                (2, " hangs:".to_owned()),
                (3, "#0  a <b>".to_owned()),
                (4, "#1  c".to_owned()),
                (4, "end".to_owned()),
            ]
        );
        let colored = "<pre><span class=\"line\">| <span class='k'>Id</span> |</span><br><span>| 1 |</span><br></pre>";
        assert_eq!(texts(colored), ["| Id |", "| 1 |"]);
        assert_eq!(texts("a<script>if (1 < 2) { '</b>' }</script>b"), ["ab"]);
    }

    #[test]
    fn carriage_returns_count_no_lines() {
        let numbers = |text: &str| {
            numbered(text)
                .into_iter()
                .map(|(number, _)| number)
                .collect::<Vec<_>>()
        };
        let text = "<!DOCTYPE html>\na\r\n\r\r\nb\n<pre>c\r\nd</pre>";
        assert_eq!(numbers(text), [2, 4, 5, 6]);
        assert_eq!(numbers(&text.replace('\r', "")), [2, 4, 5, 6]);
    }

    #[test]
    fn rows_of_a_table_have_tabs_and_a_long_cell_is_a_text_of_its_own() {
        let table = "<TABLE BORDER=1><TR><TH>Id</TH><TH>Info</TH></TR><TR><TD>5</TD><TD>SELECT 1\nFROM t</TD></TR></TABLE>";
        assert_eq!(texts(table), ["Id\tInfo", "5\tSELECT 1 FROM t"]);
        let status = "<table><tr><td>InnoDB</td><td></td><td>\n=====\nINNODB MONITOR OUTPUT\n=====\n</td></tr></table>";
        assert_eq!(
            texts(status),
            ["InnoDB\t", "=====", "INNODB MONITOR OUTPUT", "====="]
        );
        // Nobody closed anything; the first cell has a box to tick.
        assert_eq!(
            texts("<table><tr><td><input><td>1<td>a<tr><td><td>2<td>b"),
            ["1\ta", "2\tb"]
        );
        // A page that is laid out by a table.
        assert_eq!(
            texts(
                "<table><tr><td><p>a</p><table><tr><td>1</td><td>2</td></tr></table>b</td></tr></table>"
            ),
            ["a", "1\t2", "b"]
        );
    }

    #[test]
    fn a_result_in_xml_is_told_as_by_g() {
        let xml = "<?xml version=\"1.0\"?>\n\n<resultset statement=\"SHOW PROCESSLIST\"\n>\n  <row>\n\t<field name=\"Id\">5</field>\n\t<field name=\"db\" xsi:nil=\"true\" />\n\t<field name=\"Info\">a &lt; b</field>\n  </row>\n</resultset>";
        let lines = numbered(xml);
        assert_eq!(lines[0].0, 5);
        assert!(lines[0].1.starts_with("***") && lines[0].1.contains(" 1. row "));
        assert_eq!(lines[1], (6, "          Id: 5".to_owned()));
        assert_eq!(lines[2].1, "          db: NULL");
        assert_eq!(lines[3], (8, "        Info: a < b".to_owned()));
        assert_eq!(lines.len(), 4);
    }
}
