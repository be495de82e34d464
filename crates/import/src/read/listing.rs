//! Shares of samples by function: perf report, perf top, opreport.
//!
//! Such a listing has no stacks, unless `perf report` printed trees below its rows (`call_graph`).
//! A function's own share becomes that many samples of a stack of one
//! frame. What a function had with its callees (`Children`) is known without their names, and two such
//! functions may include each other: they are told beside the samples and never added up.

use std::collections::HashMap;

use model::{FrameSide, OrderBy, StackFrame};

use super::call_graph::{self, Tree};
use super::{Listing, NOT_LISTED, Read, Row, frame};
use crate::line::Line;

/// Samples that a listing of shares is written out as.
const SAMPLES: f64 = 10_000.0;

/// Rows of one listing that are kept.
const ROWS_MAX: usize = 5_000;

/// Functions known by their callees that are kept.
const CALLERS_MAX: usize = 200;

/// A row as read.
struct Share {
    /// Of all samples, with callees; 0 to 1.
    children: f64,
    own: f64,
    command: Option<String>,
    image: String,
    frame: StackFrame,
    /// The function as it is printed.
    symbol: String,
    /// What is printed below it.
    tree: Tree,
}

/// `perf report --stdio`, `perf top`, and lists of shares that people copy from them.
pub(crate) fn perf(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut shares: Vec<Share> = Vec::new();
    let mut head = Head::default();
    let mut rows = 0_usize;
    for line in lines {
        let text = line.trimmed();
        if head.line(text) {
            // A second listing, of another event or moment.
            if text.contains("of event") || text.starts_with("PerfTop:") {
                push(&mut read, &mut shares, &head);
            }
            continue;
        }
        let is_below = call_graph::is_folded(&line.text);
        let Some(share) = perf_row(text, &head).filter(|_| !is_below) else {
            if let Some(share) = shares.last_mut() {
                share.tree.line(&line.text, share.children);
            }
            continue;
        };
        rows += 1;
        if shares.len() < ROWS_MAX {
            shares.push(share);
        }
    }
    push(&mut read, &mut shares, &head);
    read.what = head.is_top.then(|| "perf top".to_owned());
    let stacks = read.listings.iter().flat_map(|listing| &listing.rows);
    let stacks = stacks.filter(|row| row.frames.len() > 2).count();
    read.brought = match stacks {
        0 => format!("{rows} functions"),
        stacks => format!("{rows} functions, {stacks} stacks"),
    };
    if rows > ROWS_MAX {
        read.skipped.push((
            0,
            format!("{} functions over {ROWS_MAX}", rows - ROWS_MAX).into(),
        ));
    }
    read
}

#[derive(Default)]
struct Head {
    is_top: bool,
    /// The column in front of the symbol is the command's, where there is but one.
    has_command: bool,
    samples: Option<f64>,
}

impl Head {
    /// Whether the line is a head.
    fn line(&mut self, text: &str) -> bool {
        let bare = text.trim_start_matches('#').trim();
        if bare.starts_with("Children") || bare.starts_with("Overhead") {
            self.has_command = bare.contains("Command");
            return true;
        }
        if text.starts_with("PerfTop:") {
            self.is_top = true;
            return true;
        }
        if let Some(rest) = bare.strip_prefix("Samples:") {
            self.samples = samples(rest.trim());
            return true;
        }
        text.starts_with('#')
    }
}

/// `4K of event …`, `123456 of event …`.
fn samples(text: &str) -> Option<f64> {
    let word = text.split_whitespace().next()?;
    let (digits, factor) = match word.strip_suffix('K') {
        Some(digits) => (digits, 1e3),
        None => (
            word.strip_suffix('M').unwrap_or(word),
            if word.ends_with('M') { 1e6 } else { 1.0 },
        ),
    };
    let number: f64 = digits.parse().ok()?;
    (number > 0.0).then_some(number * factor)
}

fn perf_row(text: &str, head: &Head) -> Option<Share> {
    let text = text
        .strip_prefix(['+', '-', '|'])
        .map_or(text, str::trim_start);
    let (first, rest) = percent(text)?;
    let (children, own, rest) = match percent(rest) {
        Some((own, rest)) => (first, own, rest),
        None => (first, first, rest),
    };
    let marks = [
        ("[k] ", FrameSide::Kernel),
        ("[.] ", FrameSide::User),
        ("[u] ", FrameSide::User),
        ("[H] ", FrameSide::Kernel),
        ("[g] ", FrameSide::Kernel),
    ];
    let marked = marks
        .into_iter()
        .filter_map(|(mark, side)| Some((rest.find(mark)?, mark, side)))
        .min_by_key(|(at, _, _)| *at);
    let (before, symbol, side) = match marked {
        Some((at, mark, side)) => {
            let (before, symbol) = rest.split_at(at);
            (before, symbol.strip_prefix(mark).unwrap_or(symbol), side)
        }
        None => ("", rest, FrameSide::Kernel),
    };
    let fields: Vec<&str> = before
        .split("  ")
        .map(str::trim)
        .filter(|field| !field.is_empty())
        .collect();
    let fields: Vec<&str> = match fields.as_slice() {
        // Columns that tabs or mails squeezed together.
        [one] if one.contains(' ') && !one.starts_with('[') => one.split_whitespace().collect(),
        _ => fields,
    };
    let (command, image) = match fields.as_slice() {
        [] => (None, ""),
        [one] if head.has_command && !looks_like_image(one) => (Some((*one).to_owned()), ""),
        [one] => (None, *one),
        [command, .., image] => (Some((*command).to_owned()), *image),
    };
    // A remark of the author in parentheses, and the rest of wide rows, are no part of the name.
    let symbol = symbol.split("  ").next().unwrap_or(symbol);
    let symbol = symbol.split(" (").next().unwrap_or(symbol).trim();
    (!symbol.is_empty()).then(|| Share {
        children: children.max(own),
        own,
        command,
        image: image.to_owned(),
        frame: frame(
            symbol,
            if side == FrameSide::Kernel {
                "[kernel]"
            } else {
                image
            },
            side,
        ),
        symbol: symbol.to_owned(),
        tree: Tree::default(),
    })
}

fn looks_like_image(field: &str) -> bool {
    field.starts_with('[') || field.contains(".so") || field.contains("vmlinux")
}

/// `12.34%` in front, as a share.
fn percent(text: &str) -> Option<(f64, &str)> {
    let (number, rest) = text.trim_start().split_once('%')?;
    let share: f64 = number.parse().ok()?;
    (0.0..=100.0)
        .contains(&share)
        .then_some((share / 100.0, rest.trim_start()))
}

/// Ends a listing.
fn push(read: &mut Read, shares: &mut Vec<Share>, head: &Head) {
    let mut shares = std::mem::take(shares);
    if shares.is_empty() {
        return;
    }
    let total = head
        .samples
        .map_or(SAMPLES, |samples| samples.clamp(1.0, SAMPLES));
    // Without a column of commands the listing is the server's when its program is in it.
    let has_commands = shares.iter().any(|share| share.command.is_some());
    let servers_program = shares.iter().any(|share| is_server(&share.image));
    let is_servers = |share: &Share| match &share.command {
        Some(command) => is_server(command) || is_server(&share.image),
        None => !has_commands && servers_program,
    };
    let all_servers = shares.iter().all(is_servers);
    let trees: Vec<Tree> = shares
        .iter_mut()
        .map(|share| std::mem::take(&mut share.tree))
        .collect();
    let known: HashMap<&str, &StackFrame> = shares
        .iter()
        .map(|share| (share.symbol.as_str(), &share.frame))
        .collect();
    let mut rows: Vec<Row> = Vec::new();
    for (share, tree) in shares.iter().zip(trees) {
        let paths = tree.paths(share.children);
        let paths = call_graph::stacks(&share.symbol, paths, share.own, share.children);
        let mut left = (share.own * total).round() as u64;
        let mut row = |frames: Vec<StackFrame>, count: u64| {
            if count > 0 {
                rows.push(Row {
                    frames,
                    thread: share.command.clone().unwrap_or_default(),
                    server: is_servers(share),
                    count,
                });
            }
        };
        for path in paths {
            let count = ((path.share * total).round() as u64).min(left);
            left -= count;
            row(frames_of(&path.names, &share.frame, &known), count);
        }
        row(vec![share.frame.clone()], left);
    }
    let own: f64 = shares.iter().map(|share| share.own).sum();
    let rest = (1.0 - own).max(0.0);
    let not_listed = (rest * total).round() as u64;
    if not_listed > 0 {
        rows.push(Row {
            frames: vec![StackFrame {
                name: NOT_LISTED.to_owned(),
                image: String::new(),
                side: FrameSide::User,
                nameless: None,
            }],
            thread: String::new(),
            server: all_servers,
            count: not_listed,
        });
    }
    let own_of_server = shares.iter().filter(|share| is_servers(share));
    let own_of_server: f64 = own_of_server.map(|share| share.own).sum();
    // Samples that are not listed may all be the server's where it shares the listing with others.
    let sure = match all_servers {
        true => 1.0,
        false => own_of_server / (own_of_server + rest).max(f64::MIN_POSITIVE),
    };
    read.listings.push(Listing {
        rows,
        callers: callers(&shares, sure * total, is_servers),
        seconds: None,
    });
}

/// Functions that had more samples with what they called than alone, largest first.
fn callers(shares: &[Share], total: f64, is_servers: impl Fn(&Share) -> bool) -> Vec<Row> {
    let callers = shares.iter().filter(|share| share.children > share.own);
    let mut callers: Vec<Row> = callers
        .map(|share| Row {
            frames: vec![share.frame.clone()],
            thread: share.command.clone().unwrap_or_default(),
            server: is_servers(share),
            count: (share.children * total).floor() as u64,
        })
        .filter(|row| row.count > 0)
        .collect();
    callers.order_by_key(|row| std::cmp::Reverse(row.count));
    callers.truncate(CALLERS_MAX);
    callers
}

/// Functions by which threads enter the kernel: whoever called them is the program.
const KERNEL_ENTRIES: [&str; 8] = [
    "entry_SYSCALL_64",
    "entry_INT80",
    "asm_",
    "system_call",
    "syscall_",
    "sysret",
    "page_fault",
    "ret_from_",
];

/// Frames of a stack that is known by names, innermost first: its first function is the listing's
/// row, others have the image that their own rows have.
fn frames_of(
    names: &[String],
    first: &StackFrame,
    known: &HashMap<&str, &StackFrame>,
) -> Vec<StackFrame> {
    let mut side = first.side;
    let mut frames = vec![first.clone()];
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            frames.push(match known.get(name.as_str()) {
                Some(known) => (*known).clone(),
                None => frame(
                    name,
                    if side == FrameSide::Kernel {
                        "[kernel]"
                    } else {
                        ""
                    },
                    side,
                ),
            });
        }
        // Behind the kernel's door all is the program's.
        let is_door = KERNEL_ENTRIES.iter().any(|door| name.starts_with(door));
        side = match frames.last().map(|frame| frame.side) {
            Some(FrameSide::Kernel) if !is_door => FrameSide::Kernel,
            _ => FrameSide::User,
        };
    }
    frames
}

/// A program or a thread of the server, by its name.
pub(crate) fn is_server(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("mysqld")
        || name.starts_with("mariadbd")
        || name.starts_with("connection")
        || name.starts_with("ib_")
}

/// oprofile's report of symbols.
pub(crate) fn opreport(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut columns: Option<Vec<&str>> = None;
    let mut listing = Listing::default();
    for line in lines {
        let text = line.trimmed();
        if text.starts_with("samples") && text.contains('%') {
            columns = Some(fields(text));
            continue;
        }
        let Some(columns) = &columns else {
            continue;
        };
        match oprofile_row(text, columns) {
            Some(row) if listing.rows.len() < ROWS_MAX => listing.rows.push(row),
            Some(_) => {}
            None if text.is_empty() || text.starts_with('-') => {}
            None => read.skipped.push((
                line.number,
                "a row of opreport that could not be read".into(),
            )),
        }
    }
    read.brought = format!("{} functions", listing.rows.len());
    if !listing.rows.is_empty() {
        read.listings.push(listing);
    }
    read
}

/// The columns of a head: parted by two blanks or more.
fn fields(text: &str) -> Vec<&str> {
    text.split("  ")
        .map(str::trim)
        .filter(|field| !field.is_empty())
        .collect()
}

fn oprofile_row(text: &str, columns: &[&str]) -> Option<Row> {
    let mut words = text.split_whitespace();
    let count: u64 = words.next()?.parse().ok()?;
    let _share: f64 = words.next()?.trim_end_matches('%').parse().ok()?;
    let has = |name: &str| {
        columns
            .iter()
            .any(|column| column.starts_with(name) || column.contains(name))
    };
    let mut rest: Vec<&str> = words.collect();
    if has("linenr info") && !rest.is_empty() {
        rest.remove(0);
    }
    let (image, rest) = if has("image name") && rest.len() > 1 {
        rest.split_first()
            .map(|(image, rest)| (*image, rest.to_vec()))?
    } else {
        ("", rest)
    };
    let (image, symbol) = if has("app name") && rest.len() > 1 {
        let (app, symbol) = rest.split_first()?;
        (
            if image.is_empty() { *app } else { image },
            symbol.join(" "),
        )
    } else {
        (image, rest.join(" "))
    };
    let is_kernel = image.contains("vmlinux")
        || image.contains("no-vmlinux")
        || image.ends_with(".ko")
        || image == "[kernel]";
    let side = if is_kernel {
        FrameSide::Kernel
    } else {
        FrameSide::User
    };
    Some(Row {
        frames: vec![frame(
            if symbol == "(no symbols)" {
                ""
            } else {
                &symbol
            },
            if is_kernel { "[kernel]" } else { image },
            side,
        )],
        thread: String::new(),
        server: is_server(image) || text.contains("mysqld"),
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn own(listing: &Listing, name: &str) -> u64 {
        listing
            .rows
            .iter()
            .filter(|row| row.frames[0].name == name)
            .map(|row| row.count)
            .sum()
    }

    fn anywhere(listing: &Listing, name: &str) -> u64 {
        let has = |row: &&Row| row.frames.iter().any(|frame| frame.name == name);
        listing.rows.iter().filter(has).map(|row| row.count).sum()
    }

    #[test]
    fn own_shares_are_samples_and_callers_stand_beside_them() {
        let read = perf(&clean::lines(
            "# Samples: 4K of event 'cycles'\n# Children  Self  Command  Shared Object  Symbol\n\
            +   90.00%     0.00%  mysqld   libpthread.so   [.] start_thread\n\
            +   40.00%    30.00%  mysqld   mysqld          [.] row_purge_step\n\
                20.00%    20.00%  mysqld   [kernel.kallsyms]  [k] schedule\n",
        ));
        let listing = &read.listings[0];
        let total: u64 = listing.rows.iter().map(|row| row.count).sum();
        assert_eq!(total, 4000);
        assert_eq!(anywhere(listing, "row_purge_step"), 1200);
        assert_eq!(anywhere(listing, "start_thread"), 0);
        assert_eq!(own(listing, NOT_LISTED), 2000);
        let callers: Vec<(&str, u64)> = listing
            .callers
            .iter()
            .map(|row| (row.frames[0].name.as_str(), row.count))
            .collect();
        assert_eq!(callers, [("start_thread", 3600), ("row_purge_step", 1600)]);
        let mut rows = listing.rows.iter().chain(&listing.callers);
        assert!(rows.all(|row| row.server));
    }

    #[test]
    fn of_a_listing_with_others_the_servers_callers_have_what_is_sure() {
        let read = perf(&clean::lines(
            "# Samples: 1K of event 'cycles'\n# Children  Self  Command  Shared Object  Symbol\n\
                40.00%     0.00%  mysqld   mysqld          [.] row_purge_step\n\
                10.00%    10.00%  mysqld   mysqld          [.] ut_delay\n\
                60.00%    60.00%  backup   libz.so         [.] deflate\n",
        ));
        let listing = &read.listings[0];
        // 30 % have no function: if all were the server's, 40 % of 40 % were below it.
        assert_eq!(own(listing, NOT_LISTED), 300);
        assert_eq!(listing.callers[0].count, 100);
    }

    #[test]
    fn trees_below_rows_are_stacks() {
        let read = perf(&clean::lines(
            "# Samples: 1K of event 'cycles'\n# Overhead  Command  Shared Object  Symbol\n\
                60.00%  mysqld   [kernel.kallsyms]  [k] compaction_alloc\n            |\n            ---compaction_alloc\n               migrate_pages\n               asm_exc_page_fault\n               |          \n               |--40.00%--my_malloc\n               |          start_thread\n               |          \n                --20.00%--memcpy\n                          start_thread\n\n\
                30.00%  mysqld   mysqld             [.] row_search_mvcc\n            |\n            ---row_search_mvcc\n               start_thread\n\n",
        ));
        let listing = &read.listings[0];
        assert_eq!(anywhere(listing, "start_thread"), 900);
        assert_eq!(anywhere(listing, "my_malloc"), 400);
        assert_eq!(own(listing, "compaction_alloc"), 600);
        assert_eq!(own(listing, NOT_LISTED), 100);
        let stack = listing
            .rows
            .iter()
            .find(|row| row.frames.len() == 5)
            .unwrap();
        let sides: Vec<FrameSide> = stack.frames.iter().map(|frame| frame.side).collect();
        let (kernel, user) = (FrameSide::Kernel, FrameSide::User);
        assert_eq!(sides, [kernel, kernel, kernel, user, user]);
        assert_eq!(read.brought, "2 functions, 2 stacks");
    }

    #[test]
    fn a_listing_of_the_machine_is_not_the_servers() {
        let read = perf(&clean::lines(
            "   PerfTop: 2904 irqs/sec\n 38.12%  [kernel]  [k] compaction_alloc\n 7.41%  [kernel]  [k] nmi\n",
        ));
        assert_eq!(own(&read.listings[0], "compaction_alloc"), 3812);
        assert!(read.listings[0].rows.iter().all(|row| !row.server));
        let read = perf(&clean::lines(
            "5.41%  native_queued_spin_lock_slowpath   (a remark)\n",
        ));
        assert_eq!(
            own(&read.listings[0], "native_queued_spin_lock_slowpath"),
            541
        );
    }

    #[test]
    fn opreport_in_two_forms() {
        let text = "samples  %        image name               app name                 symbol name\n\
            1000     50.0000  mysqld                   mysqld                   Query_cache::insert_into_free_memory_sorted_list(Query_cache_block*, Query_cache_block**)\n\
            500      25.0     vmlinux                  vmlinux                  compaction_alloc\n";
        let read_ = opreport(&clean::lines(text));
        assert_eq!(
            own(
                &read_.listings[0],
                "Query_cache::insert_into_free_memory_sorted_list"
            ),
            1000
        );
        assert_eq!(read_.listings[0].rows[1].frames[0].side, FrameSide::Kernel);
        let read_ = opreport(&clean::lines(
            "samples  %        symbol name\n10 5.0 compact_zone\n",
        ));
        assert_eq!(own(&read_.listings[0], "compact_zone"), 10);
    }
}
