//! Causes as text.

use std::collections::BTreeSet;

use cli::output::{plain, wrapped};
use diagnosis::{CatalogueError, Cause, Description, SignDescription};

/// Width of a line where the terminal's is not known.
const WIDTH: usize = 100;

/// Narrowest and widest lines: text wider than that is hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=120;

/// One line a cause; in a terminal that is too narrow for it the title below the id.
pub(super) fn list(causes: &[Cause], own: &BTreeSet<String>, width: usize) -> String {
    let table = table(causes, own);
    let widest = table.lines().map(|line| line.chars().count()).max();
    match width > 0 && widest > Some(width) {
        true => below_each_other(causes, own, width),
        false => table,
    }
}

fn of_user(cause: &Cause, own: &BTreeSet<String>) -> &'static str {
    match own.contains(&cause.id) {
        true => "  (your own)",
        false => "",
    }
}

fn below_each_other(causes: &[Cause], own: &BTreeSet<String>, width: usize) -> String {
    let mut text = String::new();
    for cause in causes {
        text += &format!("{}{}\n", cause.id, of_user(cause, own));
        text += &wrapped("    ", &cause.title, width);
        text += &wrapped("    by  ", &cause.kinds().join(", "), width);
    }
    text += &format!("{} causes\n", causes.len());
    text
}

fn table(causes: &[Cause], own: &BTreeSet<String>) -> String {
    let widest = |of: fn(&Cause) -> &str| {
        let lengths = causes.iter().map(|cause| of(cause).chars().count());
        lengths.max().unwrap_or(0).min(60)
    };
    let id = widest(|cause| &cause.id);
    let title = widest(|cause| &cause.title);
    let mut text = format!("{:<id$}  {:<title$}  WITNESSES\n", "CAUSE", "TITLE");
    for cause in causes {
        text += &format!(
            "{:<id$}  {:<title$}  {}{}\n",
            cause.id,
            plain(&cause.title),
            cause.kinds().join(", "),
            of_user(cause, own)
        );
    }
    text += &format!("{} causes\n", causes.len());
    text
}

/// What is known of one.
pub(super) fn cause(cause: &Description, width: usize) -> String {
    let width = match width {
        0 => WIDTH,
        width => width.clamp(*WIDTHS.start(), *WIDTHS.end()),
    };
    let mut page = Page {
        text: String::new(),
        width,
    };
    page.wrapped(0, "", &format!("{} ({})", cause.title, cause.id));
    page.blank();
    page.wrapped(0, "", &cause.what);
    page.signs("Signs for it", &cause.witnesses, true);
    page.signs("Signs against it", &cause.against, false);
    page.items("Disproved if", &cause.refuted_by);
    let alikes: Vec<String> = cause
        .look_alikes
        .iter()
        .map(|alike| format!("{}: {}", alike.cause, alike.difference))
        .collect();
    page.items("Similar causes, and how they differ", &alikes);
    if !cause.aggravates.is_empty() {
        page.items("Makes these worse", &cause.aggravates);
    }
    let roots: Vec<String> = cause
        .effect_of
        .iter()
        .map(|id| match id.as_str() {
            "*" => "any other cause that is found".to_owned(),
            id => id.to_owned(),
        })
        .collect();
    page.items("Usually a consequence of", &roots);
    page.items("Do now", &cause.remedy.now);
    page.items("Permanent fix", &cause.remedy.durable);
    page.items("Undo", &cause.remedy.undo);
    page.items("Risk", std::slice::from_ref(&cause.remedy.risk));
    page.items("Verify", &cause.remedy.verify);
    page.items("References", &cause.sources);
    page.text
}

/// A mistake with its place: what editors jump to.
pub(super) fn problem(problem: &CatalogueError) -> String {
    let key = problem
        .key
        .as_ref()
        .map_or_else(String::new, |key| format!("{key}: "));
    format!(
        "{}:{}:{}: {key}{}",
        problem.file, problem.line, problem.column, problem.problem
    )
}

struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn signs(&mut self, heading: &str, signs: &[SignDescription], is_for: bool) {
        let items: Vec<String> = signs.iter().map(|one| sign(one, is_for)).collect();
        self.items(heading, &items);
    }

    fn items(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.blank();
        self.text.push_str(heading);
        self.blank();
        for item in items {
            self.wrapped(2, "- ", item);
        }
    }

    /// Text in lines that fit; what follows the first line stands under its text.
    fn wrapped(&mut self, indent: usize, mark: &str, text: &str) {
        let begin = indent + mark.len();
        let mut line = format!("{}{mark}", " ".repeat(indent));
        let mut length = begin;
        for word in plain(text).split_whitespace() {
            let more = word.chars().count();
            if length > begin && length + 1 + more > self.width {
                self.text.push_str(line.trim_end());
                self.blank();
                line = " ".repeat(begin);
                length = begin;
            }
            if length > begin {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += more;
        }
        self.text.push_str(line.trim_end());
        self.blank();
    }
}

/// `rate, by status, necessary: rate(…) is at least 500/s`
fn sign(sign: &SignDescription, is_for: bool) -> String {
    let mut head = vec![format!("by {}", sign.source)];
    if !sign.need.is_empty() {
        head.push(sign.need.clone());
    }
    if sign.conclusive {
        head.push("conclusive".to_owned());
    }
    if is_for && !sign.counts {
        head.push("a circumstance".to_owned());
    }
    if !is_for {
        let what = if sign.refutes { "refutes" } else { "weakens" };
        head.push(what.to_owned());
    }
    format!("{} ({}): {}", sign.id, head.join(", "), sign.looks_for)
}
