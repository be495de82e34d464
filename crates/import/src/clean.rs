//! Lines as they were before mails, tickets and log collectors put something around them.

use std::borrow::Cow;

use crate::characters::OpenQuote;
use crate::line::{self, Line, has, has_words};
use crate::memory_budget::MemoryBudget;
use crate::split::split;
use crate::{
    broken_lines, characters, client_lists, decoration, flattened_backtraces, flattened_tables,
    grouped_numbers, json_log, json_rows, json_text, markdown_lists, rds_monitoring, spacing,
    terminal, times, web_page, wrapped_rows,
};

/// Longest line that is looked at, in bytes; what is behind is not read.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Of a text that others wrapped so much is read, bytes: it is there again without its wrapping, and
/// once more as lines.
const UNWRAPPED_BYTES_MAX: usize = 64 << 20;

/// Longest name of a container in front of its line.
const CONTAINER_BYTES_MAX: usize = 80;

/// How much of a text is known.
pub(crate) fn known(text: &str) -> usize {
    let sections = split(&lines(text));
    sections.iter().map(|section| section.known).sum()
}

/// The lines of a text: what a web page shows of it, rows in JSON as rows, and JSON of log collectors, quotation marks of
/// mails, names of containers, HTML entities and carriage returns are taken away.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    lines_within(text).0
}

/// The lines that there is room for, and the number of the last one where there are more.
pub(crate) fn lines_within(text: &str) -> (Vec<Line<'_>>, Option<usize>) {
    let head = text
        .get(..text.floor_char_boundary(UNWRAPPED_BYTES_MAX))
        .unwrap_or(text);
    let unwrapped = web_page::unwrapped(head)
        .or_else(|| rds_monitoring::unwrapped(head))
        .or_else(|| json_log::unwrapped(head))
        .or_else(|| json_rows::unwrapped(head))
        .or_else(|| json_text::unwrapped(head));
    let mut room = MemoryBudget::for_text(text.len());
    let is_unwrapped = unwrapped.is_some();
    let around = match is_unwrapped {
        true => Around::ALL,
        false => Around::of(text),
    };
    let (lines, mut cut) = match unwrapped {
        None => {
            let list = room.list(memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1);
            let numbered = (1..).zip(line::split(text));
            bare(numbered, around, (list, &mut room))
        }
        Some(unwrapped) => of_unwrapped(&unwrapped, &mut room),
    };
    if is_unwrapped && head.len() < text.len() {
        cut = cut.or(lines.last().map(|line| line.number));
    }
    (whole(lines, text, around), cut)
}

/// The lines of a text that may be a part of a web page.
pub(crate) fn lines_of_page(text: &str) -> Vec<Line<'_>> {
    let mut room = MemoryBudget::for_text(text.len());
    let lines = of_unwrapped(&web_page::shown(text), &mut room).0;
    whole(lines, text, Around::ALL)
}

fn of_unwrapped<'a>(
    unwrapped: &[(usize, Cow<'_, str>)],
    room: &mut MemoryBudget,
) -> (Vec<Line<'a>>, Option<usize>) {
    // What stands around a line within a collector's is as much as without.
    let plain = unwrapped
        .iter()
        .map(|(_, line)| characters::plain(line))
        .collect::<Vec<_>>();
    let texts: Vec<&str> = plain.iter().map(AsRef::as_ref).collect();
    let bare_texts = decoration::undone(&texts, known);
    let numbers = unwrapped.iter().map(|(number, _)| *number);
    let texts = match &bare_texts {
        Some(bare) => bare.iter().map(AsRef::as_ref).collect(),
        None => texts,
    };
    let unwrapped = numbers.zip(texts);
    let list = room.list(unwrapped.len());
    let (lines, cut) = bare(unwrapped, Around::ALL, (list, room));
    (lines.into_iter().map(Line::into_owned).collect(), cut)
}

/// Lines that a client, a terminal or a mail broke are one again.
fn whole<'a>(mut lines: Vec<Line<'a>>, text: &str, around: Around) -> Vec<Line<'a>> {
    spacing::close_up(&mut lines);
    if around.borders && flattened_tables::may_be_in(text) {
        flattened_tables::unfold(&mut lines);
    }
    if around.borders && terminal::may_be_in(&lines) {
        terminal::join(&mut lines);
    }
    let has_bars = client_lists::rewrite(&mut lines) || around.bars;
    if has_bars || around.tabs {
        grouped_numbers::join(&mut lines);
    }
    if has_bars {
        wrapped_rows::join(&mut lines);
    }
    if broken_lines::may_be_in(text) {
        broken_lines::join(&mut lines);
    }
    lines
}

/// What may stand around a line of a text: most large captures have none of it, and one look at the
/// whole is much faster than one at each line.
#[derive(Clone, Copy)]
struct Around {
    /// Rows in boxes, names of containers.
    bars: bool,
    /// Cells behind tabs.
    tabs: bool,
    /// The borders of boxes.
    borders: bool,
    tags: bool,
    /// Entities, escaped signs, no-break spaces.
    entities: bool,
    /// Several frames on one line.
    frames: bool,
}

impl Around {
    const ALL: Self = Self {
        bars: true,
        tabs: true,
        borders: true,
        tags: true,
        entities: true,
        frames: true,
    };

    fn of(text: &str) -> Self {
        Self {
            bars: has(text, b'|'),
            tabs: has(text, b'\t'),
            borders: has(text, b'+') && has_words(text, "+-"),
            tags: has(text, b'<'),
            entities: has(text, b'&')
                || has(text, 0xa0)
                || (has(text, b'\\') && has_words(text, "\\|")),
            frames: has(text, b'#') && has_words(text, " #"),
        }
    }
}

/// Lines with their numbers, without what stands around each.
fn bare<'a>(
    numbered: impl Iterator<Item = (usize, &'a str)> + 'a,
    around: Around,
    (mut lines, room): (Vec<Line<'a>>, &mut MemoryBudget),
) -> (Vec<Line<'a>>, Option<usize>) {
    let parts: Box<dyn Iterator<Item = (usize, &'a str)>> = match around.frames {
        true => Box::new(numbered.flat_map(|(number, line)| {
            flattened_backtraces::parts(line).map(move |part| (number, part))
        })),
        false => Box::new(numbered),
    };
    let raw = parts.map(|(number, line)| {
        let line = line
            .get(..line.floor_char_boundary(LINE_BYTES_MAX))
            .unwrap_or(line);
        let mut line = unquoted(line.trim_ascii_end());
        if around.tags {
            line = untagged(line);
        }
        if around.bars {
            line = markdown_lists::unlisted(line);
        }
        line = behind_syslog(behind_runtime(line));
        if around.bars {
            line = unstamped(line);
        }
        (number, line)
    });
    let text = |line: &'a str| match around.entities {
        true => decoded(line),
        false => Cow::Borrowed(line),
    };
    if !around.bars {
        for (number, line) in raw {
            let line = Line {
                number,
                text: text(line),
            };
            if !room.take(&line) {
                return cut(lines);
            }
            lines.push(line);
        }
        return (lines, None);
    }
    let mut raw = raw;
    // A container's name counts where the line before or behind has the same.
    let mut before: Option<&str> = None;
    let mut line = raw.next();
    while let Some((number, this)) = line {
        let next = raw.next();
        let behind = next.map(|(_, line)| line);
        let own = container(this);
        let name = own.map(|(name, _)| name);
        let is_same = |other: Option<&str>| {
            name.is_some() && other.and_then(container).map(|(name, _)| name) == name
        };
        let shown = match own {
            Some((_, rest)) if is_same(before) || is_same(behind) => rest,
            _ => this,
        };
        let shown = Line {
            number,
            text: text(shown),
        };
        if !room.take(&shown) {
            return cut(lines);
        }
        lines.push(shown);
        before = Some(this);
        line = next;
    }
    (lines, None)
}

fn cut(lines: Vec<Line<'_>>) -> (Vec<Line<'_>>, Option<usize>) {
    let last = lines.last().map_or(0, |line| line.number);
    (lines, Some(last))
}

/// Without `> ` and `>> ` in front, and without the sign of a change in front of a row.
fn unquoted(line: &str) -> &str {
    if line.starts_with("+|") || line.starts_with("-|") {
        return line.get(1..).unwrap_or(line);
    }
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner;
    }
    if rest.len() == line.len() {
        return line;
    }
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// A row of a table without the moment that a script wrote in front of it:
/// `[2022-05-12 22:45:46]| 12 | app |` → `| 12 | app |`.
fn unstamped(line: &str) -> &str {
    let behind = || {
        let (stamp, rest) = line.strip_prefix('[')?.split_once(']')?;
        let rest = rest.trim_start();
        (stamp.len() <= 40 && times::starts_with_date(stamp) && rest.starts_with('|'))
            .then_some(rest)
    };
    behind().unwrap_or(line)
}

/// Tags that stand around text which is kept as it is.
const TAGS: [&str; 2] = ["pre", "code"];

/// The end of a line in a page.
const BREAKS: [&str; 3] = ["<br>", "<br/>", "<br />"];

/// Without the tags of a web page around its text: the first and the last line of it stand on one
/// line with them (`<pre class="log">text`).
fn untagged(line: &str) -> &str {
    if !line.ends_with('>') && !line.trim_start().starts_with('<') {
        return line;
    }
    let mut rest = line;
    while let Some(inner) = TAGS.iter().find_map(|tag| after_tag(rest, tag)) {
        rest = inner;
    }
    // The end of a line, where the line has its own.
    if let Some(inner) = BREAKS.iter().find_map(|tag| rest.strip_suffix(tag)) {
        rest = inner;
    }
    while let Some(inner) = TAGS.iter().find_map(|tag| {
        rest.strip_suffix('>')?
            .strip_suffix(tag)?
            .strip_suffix("</")
    }) {
        rest = inner;
    }
    rest
}

/// What is behind `<tag …>`, blanks in front of it or not.
fn after_tag<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix('<')?.strip_prefix(tag)?;
    let (attributes, behind) = rest.split_once('>')?;
    (attributes.is_empty() || attributes.starts_with(' ')).then_some(behind)
}

/// Programs whose lines in syslog and the journal are the server's error log.
const SERVERS: [&str; 6] = [
    "mysqld",
    "mariadbd",
    "mysqld_safe",
    "mariadbd-safe",
    "mysql",
    "mariadb",
];

/// What a line of the error log begins with, behind its date.
const LEVELS: [&str; 6] = [
    "[Note] ",
    "[Warning] ",
    "[ERROR] ",
    "[Error] ",
    "[System] ",
    "InnoDB: ",
];

/// A line without what a keeper of containers writes in front of each:
/// `2026-11-25T09:46:15.123456789Z stderr F text` (Kubernetes, "Logging Architecture"; the form is that of the
/// container runtime interface). A line of one that was too long goes on in the next, after a `P`.
fn behind_runtime(line: &str) -> &str {
    if line.as_bytes().get(10) != Some(&b'T') {
        return line;
    }
    let behind = || {
        let (time, rest) = line.split_once(' ')?;
        let is_time = time.len() >= "2026-11-25T09:46:15Z".len() && times::starts_with_date(time);
        let rest = rest
            .strip_prefix("stderr ")
            .or_else(|| rest.strip_prefix("stdout "))?;
        let rest = rest.strip_prefix('F').or_else(|| rest.strip_prefix('P'))?;
        let text = match rest.strip_prefix(' ') {
            Some(text) => text,
            // An empty line, whose blank was trimmed.
            None => rest.is_empty().then_some("")?,
        };
        is_time.then_some(text)
    };
    behind().unwrap_or(line)
}

/// Longest that syslog and journald put in front of a line.
const SYSLOG_BYTES_MAX: usize = 128;

/// `Aug 25 10:07:45 db1 mariadbd[659]: text` → `text`: with a date of the server's own, or where that of syslog is none
/// that an error log has. `Aug  3 08:32:23 [Note] InnoDB: text` has neither host nor program.
fn behind_syslog(line: &str) -> &str {
    if !times::starts_with_syslog_date(line) {
        return line;
    }
    if let Some(text) = times::behind_syslog_date(line)
        && LEVELS.iter().any(|level| text.starts_with(level))
    {
        return text;
    }
    let Some((head, text)) = line.split_once(": ") else {
        return line;
    };
    let by_server = head.rsplit(' ').next().is_some_and(|word| {
        let program = word.split_once('[').map_or(word, |(program, _)| program);
        SERVERS.contains(&program)
    });
    let is_ours = by_server
        && head.len() <= SYSLOG_BYTES_MAX
        && (times::starts_with_date(text)
            || !times::starts_with_date(head)
            // The date in front is the only one of a message; what a message of several lines goes on with has none.
            // The server's own lines have its name too, but no process id behind it.
            || (head.ends_with(']') && !LEVELS.iter().any(|level| text.starts_with(level))));
    if is_ours { text } else { line }
}

/// `db_1   | text` → `db_1`, `text`. Behind an indent, as Markdown has of what is kept as it is, a
/// number alone is none: tables of other servers have no bar in front of their first cell.
fn container(line: &str) -> Option<(&str, &str)> {
    let bar = memchr::memchr(b'|', line.as_bytes()).filter(|bar| *bar > 0)?;
    let (name, rest) = (line.get(..bar)?, line.get(bar + 1..)?);
    let is_indented = name.starts_with([' ', '\t']);
    let name = name.trim();
    let is_name = !name.is_empty()
        && name.len() <= CONTAINER_BYTES_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && (!is_indented || name.starts_with(|c: char| c.is_ascii_alphabetic()));
    is_name.then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// HTML entities, escaped signs of Markdown and no-break spaces as the characters that they stand for.
fn decoded(line: &str) -> Cow<'_, str> {
    const ENTITIES: [(&str, &str); 12] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#039;", "'"),
        ("&#x27;", "'"),
        ("&apos;", "'"),
        ("&#34;", "\""),
        ("&#x22;", "\""),
        ("&nbsp;", " "),
        ("\u{a0}", " "),
        // Last: what it leaves behind is no entity.
        ("&amp;", "&"),
    ];
    // Markdown's own sign, as converters of web pages escape it.
    let is_row = line.starts_with("\\|");
    if !has(line, b'&') && !has(line, 0xa0) && !is_row {
        return Cow::Borrowed(line);
    }
    let mut line = match is_row {
        true => Cow::Owned(line.replace("\\|", "|").replace("\\_", "_")),
        false => Cow::Borrowed(line),
    };
    for (entity, sign) in ENTITIES {
        if line.contains(entity) {
            line = Cow::Owned(match sign {
                "\"" | "'" => with_marks(&line, entity, sign),
                _ => line.replace(entity, sign),
            });
        }
    }
    line
}

/// A line with a plain quotation mark for each entity, but where it is part of a value: applications keep texts as pages
/// have them, and `'Alice&#39;s card'` is one string.
fn with_marks(line: &str, entity: &str, mark: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut open = OpenQuote::default();
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(entity) {
            out.push_str(if open.is(mark) { entity } else { mark });
            rest = behind;
            continue;
        }
        open.pass(char);
        out.push(char);
        rest = rest.get(char.len_utf8()..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lines(text)
            .iter()
            .map(|line| line.text.to_string())
            .collect()
    }

    #[test]
    fn what_others_put_around_lines_is_gone() {
        assert_eq!(texts("a\r\nb  \r\n"), ["a", "b", ""]);
        assert_eq!(texts("> > x"), ["> x"]);
        assert_eq!(
            texts("<pre class=\"a\"><code>  x &gt; y\nz</code></pre>\n<p>a</p>\n<prefix> b"),
            ["  x > y", "z", "<p>a</p>", "<prefix> b"]
        );
        assert_eq!(
            texts("\\| a\\_b \\| 1 \\|\n a \\| b"),
            ["| a_b | 1 |", " a \\| b"]
        );
        assert_eq!(
            texts("[2022-05-12 22:45:46]| 1 | a |\n[2022-05-12 22:45:46] x"),
            ["| 1 | a |", "[2022-05-12 22:45:46] x"]
        );
        assert_eq!(texts(">> x\n>  y"), ["x", " y"]);
        assert_eq!(texts("+| a | 1 |\n++---+"), ["| a | 1 |", "++---+"]);
        assert_eq!(texts("f&lt;T&gt; &amp;lt; \u{a0}x"), ["f<T> &lt;  x"]);
        assert_eq!(texts("a = &#39;x&#39;, &quot;y&quot;"), ["a = 'x', \"y\""]);
        for mark in ["&#039;", "&#x27;", "&apos;"] {
            assert_eq!(texts(&format!("a = {mark}x{mark}")), ["a = 'x'"]);
        }
        for value in [
            "a = 'Alice&#39;s card', 5",
            "a = \"say &quot;x&quot; &#34;y&#34;\", 5",
        ] {
            assert_eq!(texts(value), [value]);
        }
        assert_eq!(texts("db_1  | one\ndb_1  | two"), ["one", "two"]);
        let journal = "2026-11-25T09:46:15+0000 db7 mariadbd[4242]:  0: len 4; hex 61626364; asc abcd;;\n2026-11-25T09:46:15+0000 db7 mysqld[4242]: [Note] x";
        assert_eq!(
            texts(journal),
            [
                " 0: len 4; hex 61626364; asc abcd;;",
                "2026-11-25T09:46:15+0000 db7 mysqld[4242]: [Note] x"
            ]
        );
        let runtime = "2026-11-25T09:46:15.123456789Z stderr F a\n2026-11-25T09:46:15Z stdout P  b\n2026-11-25T09:46:15Z stderr F\n2026-11-25T09:46:15Z stderr Found c";
        assert_eq!(
            texts(runtime),
            ["a", " b", "", "2026-11-25T09:46:15Z stderr Found c"]
        );
        assert_eq!(texts("a | 1\nb | 2"), ["a | 1", "b | 2"]);
        assert_eq!(
            texts("    db_1  | one\n\tdb_1  |   two\n    db_1  |"),
            ["one", "  two", ""]
        );
        assert_eq!(texts("  5 | 1\n  5 | 2"), ["  5 | 1", "  5 | 2"]);
        assert_eq!(
            texts(
                "Aug  5 10:07:45 db1 mariadbd[659]: 2025-08-25 10:07:45 9 [Note] x\nAug 25 10:07:45 db1 mysqld: [Note] y"
            ),
            ["2025-08-25 10:07:45 9 [Note] x", "[Note] y"]
        );
        assert_eq!(
            texts("Aug  3 08:32:23 [Note] InnoDB: x\nAug 13 08:32:23 mysqld[5]: InnoDB: y"),
            ["[Note] InnoDB: x", "InnoDB: y"]
        );
        let kept = [
            "ready",
            "Aug 25 10:07:45 db1 sshd[6]: 2025-08-25",
            "Aug 25 10:07:45 kernel: [  123.456789] text",
            "Aug 25 10:07 [Note] x",
            "mysqld: ready",
        ];
        assert_eq!(texts(&kept.join("\n")), kept);
        assert_eq!(texts("| a | 1 |\n| b | 2 |"), ["| a | 1 |", "| b | 2 |"]);
    }

    #[test]
    fn frames_in_one_line_have_its_number() {
        let lines = lines("x\n#0 0x1 in a () #1 0x2 in b () #2 0x3 in c ()\ny");
        let numbers: Vec<usize> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 2, 2, 2, 3]);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let long = "ä".repeat(LINE_BYTES_MAX);
        assert!(texts(&long)[0].len() <= LINE_BYTES_MAX);
    }
}
