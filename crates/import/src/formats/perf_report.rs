//! `perf report --stdio` and `perf top`.

use crate::format::{Format, Gap, Group, Recogniser};
use crate::format::{Next, Open};
use crate::read::listing;
use crate::stack_lines::is_symbol;

pub(crate) static FORMAT: Format = Format {
    id: "perf_report",
    group: Group::Stacks,
    name: "perf report",
    printed_by: "`perf report` and `perf top` as text (also `-g`)",
    content: "samples by function, whole stacks where there are some",
    recognisers: &[Recogniser::new(60, "#PSCO+-|0123456789", 0, |at| {
        is_perf_report(at.text)
    })],
    continues,
    gap: Gap::Lines(4),
    read: listing::perf,
    ..Format::NONE
};

/// A head of perf, or a row.
fn is_perf_report(text: &str) -> bool {
    let heads = [
        "# Samples:",
        "# Event count (approx",
        "# Overhead",
        "# Children",
        "PerfTop:",
        "# To display the perf.data",
        "# Total Lost Samples",
    ];
    heads.iter().any(|head| text.starts_with(head))
        || (text.starts_with("Samples: ") && text.contains(" of event"))
        || (text.starts_with("Children ") && text.contains("Self"))
        || (text.starts_with("Overhead ") && text.contains("Symbol"))
        || is_perf_row(text)
}

/// `+ 93.10%  0.32%  mysqld  libc.so  [.] f`, `38.12%  [kernel]  [k] f`, `5.41%  f`.
fn is_perf_row(text: &str) -> bool {
    let text = text
        .strip_prefix(['+', '-', '|'])
        .map_or(text, str::trim_start);
    let Some((share, rest)) = text.split_once('%') else {
        return false;
    };
    let is_share = share.contains('.')
        && share.len() <= 7
        && share
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_share || !rest.starts_with([' ', '\t']) {
        return false;
    }
    let rest = rest.trim();
    if ["[k] ", "[.] ", "[u] ", "[H] ", "[g] "]
        .iter()
        .any(|mark| rest.contains(mark))
    {
        return true;
    }
    // Without marks: a function's name and perhaps a remark in parentheses.
    let name = rest.split("  ").next().unwrap_or(rest).trim();
    let name = name.split(" (").next().unwrap_or(name);
    is_symbol(name) && name.contains('_') && !name.contains(' ')
}

fn continues(_: &Open, next: &Next<'_>) -> bool {
    next.text.starts_with('#') || next.text.starts_with("---") || is_perf_call(next.line, next.text)
}

/// A line of a call graph below a row of `perf report -g`.
fn is_perf_call(line: &str, text: &str) -> bool {
    text.starts_with('|')
        || text.starts_with("--")
        || (line.starts_with("        ") && !text.is_empty())
        // `-g folded`.
        || (line.starts_with(|c: char| c.is_ascii_digit())
            && line.contains('%')
            && line.contains(';'))
}
