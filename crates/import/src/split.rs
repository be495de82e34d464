//! One text, its pieces: a ticket holds a backtrace between sentences, a mail a status behind a
//! processlist.

use crate::clean::Line;
use crate::heads::Heads;
use crate::kind::{self, Kind};
use crate::line::{
    brackets, cells_of_head, holds_statement, is_date_time, is_log_opening, is_monitor_detail,
    is_numbers, is_of_plan, is_open_table, is_option, is_padded, is_perf_call, is_proc_line,
    is_rule, is_session_id, is_top_line, is_top_summary, is_transaction_field, is_vertical_field,
    is_wrapped, sets_session,
};
use crate::times;

/// Lines behind a line that its recogniser may look at.
const AHEAD: usize = 8;

/// Pieces of a text at the most; what comes later is told as not read.
const PIECES_MAX: usize = 20_000;

/// Lines of one statement in an InnoDB status or a wrapped frame, at the most.
const WRAPPED_LINES_MAX: usize = 400;

/// Lines that are recognised together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    /// Index of the first line.
    pub(crate) from: usize,
    /// Index behind the last line.
    pub(crate) to: usize,
}

/// What has begun and not ended.
struct Open {
    kind: Kind,
    from: usize,
    /// Index behind the last line that surely belongs to it.
    to: usize,
    /// The InnoDB monitor has begun and not ended.
    monitor: bool,
    /// A statement of a session goes on, or a row of pt-pmp.
    statement: bool,
    /// Brackets that a frame opened and did not close.
    depth: i32,
    /// Lines that belong to it by nothing but their place.
    carried: usize,
    /// The number of the frame on the line before.
    frame: Option<usize>,
    /// Cells of the head of a table with tabs; 0 where it has boxes or a row a paragraph.
    cells: usize,
}

/// The pieces of a text, in its order.
pub(crate) fn split(lines: &[Line<'_>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Option<Open> = None;
    let mut heads = Heads::default();
    for (index, line) in lines.iter().enumerate() {
        if pieces.len() >= PIECES_MAX {
            break;
        }
        let text = line.text.as_ref();
        let trimmed = line.trimmed();
        let behind = lines.get(index + 1..).unwrap_or_default();
        let head = heads.of_row(index, trimmed, behind);
        if is_fence(trimmed) {
            close(&mut open, &mut pieces);
            continue;
        }
        // Most lines of a large capture are a part of what has begun, whatever else they may be.
        if let Some(piece) = &mut open
            && piece.takes_any(trimmed, text, behind.first())
        {
            piece.add(index, trimmed);
            continue;
        }
        let mut next = [""; AHEAD];
        let mut ahead = 0;
        for (place, line) in next.iter_mut().zip(behind) {
            *place = line.text.as_ref();
            ahead += 1;
        }
        let next = next.get(..ahead).unwrap_or_default();
        let is_named = |head: usize| lines.get(head).is_some_and(is_variables);
        let own = kind::of_line(text, trimmed, next)
            .filter(|own| *own != Kind::NameValue || head.is_none_or(is_named));
        let ends = |piece: &Open| piece.is_table() && own != Some(piece.kind);
        if head == Some(index) && open.as_ref().is_some_and(ends) {
            // The head of another table.
            close(&mut open, &mut pieces);
        }
        if let Some(piece) = &mut open {
            if piece.takes(trimmed, text, own) {
                if matches!(own, Some(Kind::Rows | Kind::Replication | Kind::Unread)) {
                    piece.cells = cells_of_head(trimmed);
                }
                piece.add(index, trimmed);
                continue;
            }
            if piece.statement && piece.is_table() && trimmed.is_empty() && !row_follows(behind) {
                piece.statement = false;
            }
            if own.is_none() && piece.may_go_on(index, trimmed) {
                continue;
            }
            close(&mut open, &mut pieces);
        }
        if let Some(kind) = own {
            // The moment of the first sample stands in front of it.
            let stamped = index
                .checked_sub(1)
                .and_then(|before| lines.get(before))
                .is_some_and(|line| times::ts(&line.text).is_some());
            let mut piece = Open {
                kind,
                from: index - usize::from(stamped),
                to: index,
                monitor: false,
                statement: false,
                depth: 0,
                carried: 0,
                frame: None,
                cells: match kind {
                    Kind::Processlist | Kind::Rows | Kind::Replication | Kind::Unread => {
                        cells_of_head(trimmed)
                    }
                    _ => 0,
                },
            };
            piece.add(index, trimmed);
            open = Some(piece);
        }
    }
    close(&mut open, &mut pieces);
    pieces
}

/// More rows of the same list come: a blank line in front of them is one of a statement.
fn row_follows(lines: &[Line<'_>]) -> bool {
    let mut lines = lines
        .iter()
        .take(WRAPPED_LINES_MAX)
        .map(|line| line.text.trim());
    lines
        .find(|line| kind::is_vertical_row(line))
        .is_some_and(|row| !row.contains("* 1. row *"))
}

/// The head is that of the server's variables or status.
fn is_variables(head: &Line<'_>) -> bool {
    kind::is_name_value_head(head.text.trim())
}

fn close(open: &mut Option<Open>, pieces: &mut Vec<Piece>) {
    if let Some(piece) = open.take() {
        pieces.push(Piece {
            kind: piece.kind,
            from: piece.from,
            to: piece.to,
        });
    }
}

/// Code fences of Markdown and of page generators.
fn is_fence(text: &str) -> bool {
    text.starts_with("```")
        || text.starts_with("~~~")
        || text.starts_with("{% highlight")
        || text.starts_with("{% endhighlight")
}

impl Open {
    /// Adds a line that belongs to it.
    fn add(&mut self, index: usize, text: &str) {
        self.to = index + 1;
        match self.kind {
            Kind::ServerText => {
                if text.ends_with("INNODB MONITOR OUTPUT") {
                    self.monitor = !text.starts_with("END OF");
                }
                if kind::is_server_line(text) {
                    self.carried = 0;
                    self.statement = text.contains(" thread id ")
                        && (text.starts_with("MySQL") || text.starts_with("MariaDB"));
                } else {
                    self.carried += 1;
                }
            }
            Kind::Backtrace => {
                if let Some((number, _)) = kind::frame_number(text) {
                    self.frame = Some(number);
                    self.depth = 0;
                    self.carried = 0;
                } else if kind::is_thread_head(text) {
                    self.depth = 0;
                    self.carried = 0;
                    return;
                } else {
                    self.carried += 1;
                }
                self.depth += brackets(text);
            }
            Kind::SlowLog => {
                let is_head = text.starts_with('#') || sets_session(text);
                self.statement = is_head || !text.ends_with(';');
                self.carried = if is_head { 0 } else { self.carried + 1 };
            }
            Kind::GeneralLog => self.carried += 1,
            Kind::PtPmp => self.statement = text.ends_with(','),
            Kind::Processlist | Kind::Rows | Kind::Replication | Kind::Unread => {
                // A statement of several lines, in the form of `\G`.
                match kind::field(text, 64) {
                    Some((name, _)) if !self.statement || is_padded(text, name) => {
                        self.statement = holds_statement(name);
                        self.carried = 0;
                    }
                    _ if kind::is_vertical_row(text) => {
                        self.statement = false;
                        self.carried = 0;
                    }
                    _ => self.carried += 1,
                }
            }
            _ => self.carried = 0,
        }
    }

    /// The line is a part of what has begun, whatever it is by itself: what [`Self::takes`] says
    /// without looking at that, which takes most of the time.
    fn takes_any(&self, text: &str, line: &str, next: Option<&Line<'_>>) -> bool {
        let is_head_of = |is_field: fn(&str) -> bool| {
            kind::is_vertical_row(text) && next.is_some_and(|next| is_field(next.trimmed()))
        };
        match self.kind {
            Kind::Processlist => is_vertical_field(text) || is_head_of(is_session_id),
            Kind::Rows => {
                self.cells == 0 && (is_transaction_field(text) || is_head_of(is_transaction_field))
            }
            Kind::Top => is_top_line(text),
            Kind::Vmstat => is_numbers(text),
            Kind::ProcVmstat | Kind::ProcStat | Kind::ProcMeminfo => is_proc_line(text, self.kind),
            Kind::PerfScript => line.starts_with([' ', '\t']) && !text.is_empty(),
            Kind::OpenTables => is_open_table(text),
            _ => false,
        }
    }

    /// The line is a part of what has begun.
    fn takes(&self, text: &str, line: &str, own: Option<Kind>) -> bool {
        if text.starts_with("TS ") && text.as_bytes().get(3).is_some_and(u8::is_ascii_digit) {
            return true;
        }
        match self.kind {
            Kind::ServerText => {
                if own == Some(Kind::ServerText) {
                    return true;
                }
                if matches!(own, Some(Kind::Backtrace | Kind::Processlist)) && !self.statement {
                    return false;
                }
                (self.monitor && self.carried < WRAPPED_LINES_MAX)
                    || (self.statement && !text.is_empty() && self.carried < WRAPPED_LINES_MAX)
                    || is_monitor_detail(text)
                    || (own.is_none() && kind::is_crash_detail(text))
            }
            Kind::Backtrace => {
                own == Some(Kind::Backtrace)
                    || self.is_next_frame(text)
                    || (self.carried < WRAPPED_LINES_MAX
                        && !text.is_empty()
                        && own.is_none()
                        && (self.depth > 0 || is_wrapped(line, text)))
            }
            Kind::Processlist => {
                own == Some(Kind::Processlist)
                    || is_rule(text)
                    || is_vertical_field(text)
                    || (text.starts_with('|') && own.is_none())
                    // Rows whose columns have an order of their own.
                    || (self.cells > 0
                        && matches!(own, None | Some(Kind::States))
                        && self.is_row(text))
                    || self.statement_goes_on(text, own)
            }
            Kind::States => {
                own == Some(Kind::States)
                    || is_rule(text)
                    || self.is_row(text)
                    || (own.is_none() && kind::counted_state(text).is_some())
            }
            Kind::Rows => {
                own == Some(Kind::Rows)
                    || is_rule(text)
                    || self.is_row(text)
                    || (self.cells == 0 && own.is_none() && kind::vertical_name(text).is_some())
                    || (self.cells == 0
                        && !matches!(
                            own,
                            Some(Kind::Processlist | Kind::Replication | Kind::Unread)
                        )
                        && kind::is_vertical_row(text))
                    || self.statement_goes_on(text, own)
            }
            Kind::SlowLog => {
                own == Some(Kind::SlowLog)
                    || is_log_opening(text)
                    || (self.statement
                        && self.carried < WRAPPED_LINES_MAX
                        && !matches!(own, Some(Kind::Backtrace | Kind::ServerText)))
            }
            Kind::GeneralLog => {
                own == Some(Kind::GeneralLog)
                    || is_log_opening(text)
                    || (own.is_none() && !text.is_empty() && self.carried < WRAPPED_LINES_MAX)
            }
            Kind::Iostat => {
                own == Some(Kind::Iostat)
                    || kind::iostat_row(text).is_some()
                    || is_numbers(&text.replace(',', "."))
                    || is_date_time(text)
            }
            Kind::Sysstat => own == Some(Kind::Sysstat) || kind::is_sysstat_row(text),
            Kind::Free => {
                own == Some(Kind::Free)
                    || text.starts_with("Mem:")
                    || text.starts_with("Swap:")
                    || text.starts_with("-/+ ")
                    || (own.is_none() && kind::free_row(text).is_some())
            }
            Kind::Netstat => {
                own == Some(Kind::Netstat) || (own.is_none() && kind::is_net_line(line, text))
            }
            Kind::Df => own == Some(Kind::Df) || kind::is_df_row(text),
            Kind::Sysctl => own == Some(Kind::Sysctl),
            Kind::Ps => own == Some(Kind::Ps) || kind::is_ps_row(text),
            Kind::Dstat => own == Some(Kind::Dstat) || kind::is_dstat_row(text),
            Kind::Exporter => own == Some(Kind::Exporter) || kind::is_metrics_line(text),
            Kind::RdsMonitoring => own == Some(Kind::RdsMonitoring),
            Kind::Unit => own == Some(Kind::Unit) || kind::is_unit_line(text),
            Kind::Containers => own == Some(Kind::Containers) || kind::is_containers_row(text),
            Kind::Pcap | Kind::Pprof => false,
            Kind::Slabinfo => own == Some(Kind::Slabinfo) || kind::is_slab_row(text),
            Kind::Interrupts => {
                kind::is_interrupts_head(text) || (own.is_none() && kind::is_interrupts_row(text))
            }
            Kind::Numastat => own == Some(Kind::Numastat) || kind::is_numa_row(text),
            Kind::Pmap => own == Some(Kind::Pmap) || (own.is_none() && kind::is_pmap_row(text)),
            Kind::ProcMaps => {
                own == Some(Kind::ProcMaps) || (own.is_none() && kind::is_maps_part(text))
            }
            Kind::Lsof => own == Some(Kind::Lsof) || (own.is_none() && kind::is_lsof_row(text)),
            Kind::Replication => {
                own == Some(Kind::Replication)
                    || kind::is_bare_query(text)
                    || self.is_vertical_part(text, own)
                    || (self.cells > 0 && self.is_row(text))
                    || (self.cells == 0 && text.starts_with('|') && own.is_none())
                    || is_rule(text)
            }
            Kind::OpenTables => {
                own == Some(Kind::OpenTables)
                    || is_rule(text)
                    || (own.is_none() && kind::cells(text).len() >= 4)
            }
            Kind::Sentences => false,
            Kind::Unread => {
                own == Some(Kind::Unread)
                    || kind::is_bare_query(text)
                    || self.is_vertical_part(text, own)
                    || (self.cells > 0 && self.is_row(text))
                    || (self.cells == 0 && own.is_none() && is_of_plan(text))
            }
            // Lines between are facts that nobody asks for.
            Kind::Facts => own == Some(Kind::Facts) || (own.is_none() && text.contains(" = ")),
            Kind::StalkTrigger => own == Some(Kind::StalkTrigger),
            Kind::NameValue => {
                own == Some(Kind::NameValue)
                    || is_rule(text)
                    || (own.is_none()
                        && (kind::is_variable(text)
                            || kind::name_and_value(text)
                                .is_some_and(|(name, _)| !name.contains(' '))))
            }
            Kind::OptionFile => own == Some(Kind::OptionFile) || is_option(text),
            Kind::Top => {
                own == Some(Kind::Top)
                    || is_top_line(text)
                    || (own.is_none() && is_top_summary(text))
            }
            Kind::Vmstat => own == Some(Kind::Vmstat) || is_numbers(text),
            Kind::ProcVmstat | Kind::ProcStat | Kind::ProcMeminfo => {
                own == Some(self.kind) || is_proc_line(text, self.kind)
            }
            Kind::Limits => own == Some(Kind::Limits) || text.starts_with("Max "),
            Kind::Opreport => {
                !text.is_empty()
                    && (own.is_none() || own == Some(Kind::Opreport) || own == Some(Kind::PtPmp))
            }
            Kind::Plockstat => !text.is_empty() && own.is_none() || own == Some(Kind::Plockstat),
            Kind::PerfScript => {
                own == Some(Kind::PerfScript) || (line.starts_with([' ', '\t']) && !text.is_empty())
            }
            Kind::PerfReport => {
                own == Some(Kind::PerfReport)
                    || text.starts_with('#')
                    || text.starts_with("---")
                    || is_perf_call(line, text)
            }
            Kind::KernelLog => {
                own == Some(Kind::KernelLog) || (own.is_none() && kind::is_kernel_detail(text))
            }
            Kind::PtPmp => {
                own == Some(Kind::PtPmp)
                    || (self.statement && own.is_none() && kind::is_pmp_rest(text))
            }
            Kind::Folded | Kind::ProcDiskstats => own == Some(self.kind),
        }
    }

    /// The frame behind the one on the line before, of which nothing but the name is told.
    fn is_next_frame(&self, text: &str) -> bool {
        kind::frame_number(text).is_some_and(|(number, rest)| {
            self.frame.is_some_and(|frame| frame + 1 == number)
                && !rest.contains(' ')
                && kind::is_function(rest)
        })
    }

    /// It is of rows with the same columns.
    fn is_table(&self) -> bool {
        matches!(
            self.kind,
            Kind::NameValue
                | Kind::Processlist
                | Kind::States
                | Kind::Rows
                | Kind::Replication
                | Kind::OpenTables
                | Kind::Unread
        )
    }

    /// A field of a row in the form of `\G`, or a line of the value of one.
    fn is_vertical_part(&self, text: &str, own: Option<Kind>) -> bool {
        self.cells == 0
            && own.is_none()
            && (kind::is_vertical_row(text)
                || kind::vertical_name(text).is_some()
                || self.statement_goes_on(text, own))
    }

    /// A line of a statement that a field of a row holds.
    fn statement_goes_on(&self, text: &str, own: Option<Kind>) -> bool {
        self.statement && own.is_none() && !text.is_empty() && self.carried < WRAPPED_LINES_MAX
    }

    /// A row of the table whose head was seen, in boxes or with tabs.
    fn is_row(&self, text: &str) -> bool {
        match self.cells {
            0 => {
                let cells = || kind::cells(text);
                text.starts_with('|')
                    && !kind::is_name_value_head(text)
                    && !kind::is_processlist_head(&cells())
            }
            cells => text.contains('\t') && kind::cells(text).len() + 1 >= cells,
        }
    }

    /// The line says nothing by itself: more of the same may come behind it.
    fn may_go_on(&mut self, index: usize, text: &str) -> bool {
        let gap = index.saturating_sub(self.to);
        match self.kind {
            // Blank lines and remarks stand between what the monitor and the log print.
            Kind::ServerText => {
                self.statement &= !text.is_empty();
                gap < 12
            }
            Kind::Backtrace => {
                self.frame = None;
                gap < 6
            }
            Kind::OptionFile => gap < 6,
            Kind::SlowLog
            | Kind::Rows
            | Kind::Iostat
            | Kind::Sysstat
            | Kind::Netstat
            | Kind::Replication
            | Kind::Unread => gap < 6,
            Kind::KernelLog
            | Kind::PerfReport
            | Kind::PerfScript
            | Kind::Opreport
            | Kind::Plockstat => gap < 4,
            // A key of the server among its status has as many lines.
            Kind::NameValue => gap < 20,
            Kind::Top | Kind::Vmstat | Kind::Processlist => gap < 3,
            _ => gap < 2 && text.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests;
