//! One text, its pieces: a ticket holds a backtrace between sentences, a mail a status behind a
//! processlist.

use crate::clean::Line;
use crate::heads;
use crate::kind::{self, Kind};
use crate::line::{
    brackets, cells_of_head, holds_statement, is_date_time, is_log_opening, is_monitor_detail,
    is_numbers, is_option, is_padded, is_perf_call, is_proc_line, is_rule, is_top_line,
    is_vertical_field, is_wrapped, sets_session,
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
    /// A statement of a session goes on.
    statement: bool,
    /// Brackets that a frame opened and did not close.
    depth: i32,
    /// Lines that belong to it by nothing but their place.
    carried: usize,
    /// Cells of the head of a table with tabs; 0 where it has boxes or a row a paragraph.
    cells: usize,
}

/// The pieces of a text, in its order.
pub(crate) fn split(lines: &[Line<'_>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Option<Open> = None;
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_ref()).collect();
    let heads = heads::of_rows(&texts);
    for (index, text) in texts.iter().enumerate() {
        if pieces.len() >= PIECES_MAX {
            break;
        }
        let trimmed = text.trim();
        if is_fence(trimmed) {
            close(&mut open, &mut pieces);
            continue;
        }
        // Most lines of a large capture are a part of what has begun, whatever else they may be.
        if let Some(piece) = &mut open
            && piece.takes_any(trimmed, text)
        {
            piece.add(index, trimmed);
            continue;
        }
        let next = texts
            .get(index + 1..(index + 1 + AHEAD).min(texts.len()))
            .unwrap_or_default();
        let head = heads.get(index).copied().flatten();
        let is_named = |head: usize| texts.get(head).is_some_and(|head| is_variables(head));
        let own = kind::of_line(text, next)
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
            if own.is_none() && piece.may_go_on(index, trimmed) {
                continue;
            }
            close(&mut open, &mut pieces);
        }
        if let Some(kind) = own {
            // The moment of the first sample stands in front of it.
            let stamped = index
                .checked_sub(1)
                .and_then(|before| texts.get(before))
                .is_some_and(|line| times::ts(line).is_some());
            let mut piece = Open {
                kind,
                from: index - usize::from(stamped),
                to: index,
                monitor: false,
                statement: false,
                depth: 0,
                carried: 0,
                cells: match kind {
                    Kind::Rows | Kind::Replication | Kind::Unread => cells_of_head(trimmed),
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

/// The head is that of the server's variables or status.
fn is_variables(head: &str) -> bool {
    kind::is_name_value_head(head.trim())
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
                if kind::frame_number(text).is_some() {
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
            Kind::Processlist | Kind::Rows | Kind::Replication | Kind::Unread => {
                // A statement of several lines, in the form of `\G`.
                match kind::vertical_name(text) {
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
    fn takes_any(&self, text: &str, line: &str) -> bool {
        match self.kind {
            Kind::Processlist => is_vertical_field(text),
            Kind::Top => is_top_line(text),
            Kind::Vmstat => is_numbers(text),
            Kind::ProcVmstat | Kind::ProcStat | Kind::ProcMeminfo => is_proc_line(text, self.kind),
            Kind::PerfScript => line.starts_with([' ', '\t']) && !text.is_empty(),
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
            }
            Kind::Backtrace => {
                own == Some(Kind::Backtrace)
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
                    || self.statement_goes_on(text, own)
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
                    || kind::is_iostat_row(text)
                    || is_numbers(&text.replace(',', "."))
                    || is_date_time(text)
            }
            Kind::Sysstat => own == Some(Kind::Sysstat) || kind::is_sysstat_row(text),
            Kind::Free => {
                own == Some(Kind::Free)
                    || text.starts_with("Mem:")
                    || text.starts_with("Swap:")
                    || text.starts_with("-/+ buffers/cache")
            }
            Kind::Netstat => {
                own == Some(Kind::Netstat) || (own.is_none() && kind::is_net_line(line, text))
            }
            Kind::Df => own == Some(Kind::Df) || kind::is_df_row(text),
            Kind::Sysctl => own == Some(Kind::Sysctl),
            Kind::Ps => own == Some(Kind::Ps) || kind::is_ps_row(text),
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
            Kind::Unread => {
                own == Some(Kind::Unread)
                    || kind::is_bare_query(text)
                    || self.is_vertical_part(text, own)
                    || (self.cells > 0 && self.is_row(text))
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
            Kind::Top => own == Some(Kind::Top) || is_top_line(text),
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
            Kind::PtPmp | Kind::Folded | Kind::ProcDiskstats => own == Some(self.kind),
        }
    }

    /// It is of rows with the same columns.
    fn is_table(&self) -> bool {
        matches!(
            self.kind,
            Kind::NameValue
                | Kind::Processlist
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
            Kind::Backtrace => gap < 6,
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
mod tests {
    use super::*;
    use crate::clean;

    fn kinds(text: &str) -> Vec<(Kind, usize, usize)> {
        let lines = clean::lines(text);
        split(&lines)
            .iter()
            .map(|piece| (piece.kind, piece.from + 1, piece.to))
            .collect()
    }

    #[test]
    fn a_ticket_is_taken_apart() {
        let text = "Hello,\n\
            since noon the site hangs. The list:\n\
            \n\
            | 7 | app | web1:4711 | shop | Query | 12 | update | UPDATE t SET a = 1 |\n\
            | 8 | app | web1:4712 | shop | Sleep | 90 |  | NULL |\n\
            \n\
            and gdb says\n\
            ```\n\
            Thread 2 (Thread 0x7f00 (LWP 11)):\n\
            #0  0x00007f in pthread_cond_wait () from /lib/libpthread.so.0\n\
            #1  0x00007f in lock_wait (thr=0x1,\n\
            trx=0x2) at lock0wait.cc:3\n\
            ```\n\
            Any idea? #1 priority.\n";
        assert_eq!(
            kinds(text),
            [(Kind::Processlist, 4, 5), (Kind::Backtrace, 9, 12)]
        );
    }

    #[test]
    fn a_value_of_several_lines_does_not_end_a_table() {
        let text = "| Aborted_clients | 0 |\n| Caching_sha2_password_rsa_public_key | -----BEGIN PUBLIC KEY-----\nMIIB\nAQAB\nMIIB\nAQAB\n-----END PUBLIC KEY-----\n |\n| Com_select | 5 |\n";
        assert_eq!(kinds(text), [(Kind::NameValue, 1, 9)]);
    }

    #[test]
    fn names_and_values_of_other_tables_are_no_settings() {
        let rule = "+------+------+";
        for (head, row) in [
            (
                "| PLUGIN_NAME | PLUGIN_STATUS |",
                "| rpl_semi_sync | ACTIVE |",
            ),
            ("| node_id | state |", "| node_one | 5 |"),
            (
                "| variable_name | variable_source |",
                "| sync_binlog | GLOBAL |",
            ),
        ] {
            let text = format!("{rule}\n{head}\n{rule}\n{row}\n{row}\n{rule}\n");
            assert_eq!(kinds(&text), [], "{text}");
        }
        assert_eq!(kinds("PLUGIN_NAME\tSTATUS\na_b\t1\nc_d\t2\ne_f\t3\n"), []);
        // Without a head two cells are enough, more are too many.
        assert_eq!(kinds("| sync_binlog | 1 | x |\n"), []);
        assert_eq!(kinds("| sync_binlog | 1 |\n"), [(Kind::NameValue, 1, 1)]);
        for head in [
            "| Variable_name | Value |",
            "| VARIABLE_NAME | VARIABLE_VALUE |",
        ] {
            let text = format!("{rule}\n{head}\n{rule}\n| sync_binlog | 1 |\n{rule}\n");
            assert_eq!(kinds(&text), [(Kind::NameValue, 2, 5)], "{text}");
        }
    }

    #[test]
    fn the_head_of_another_table_ends_a_table() {
        let text = "+---+---+\n| Variable_name | Value |\n+---+---+\n| Uptime | 9 |\n+---+---+\n\n\
            +---+---+\n| plugin_name | status |\n+---+---+\n| a_b | x |\n+---+---+\n\n\
            +---+---+\n| NAME | COUNT |\n+---+---+\n| purge_invoked | 5 |\n+---+---+\n";
        assert_eq!(kinds(text), [(Kind::NameValue, 2, 7), (Kind::Rows, 14, 17)]);
    }

    #[test]
    fn a_hung_task_has_its_stack() {
        let text = "The guest hung with this:\nINFO: task jbd2/dm-9-8:762 blocked for more than 120 seconds.\n\
            jbd2/dm-9-8   D ffff81043e0a1420     0   762    585\n ffff81041daa7d60 0000000000000046\nCall Trace:\n\
             [<ffffffff8008cf5f>] find_busiest_group+0x20d/0x621\n dump_stack+0x66/0x90\n\nIs it the disk?\n";
        assert_eq!(kinds(text), [(Kind::KernelLog, 2, 7)]);
    }

    #[test]
    fn tables_with_tabs_have_rows_of_their_own_length() {
        let text = "trx_id\ttrx_state\ttrx_started\ttrx_a\ttrx_b\n5\tRUNNING\t2026-01-01 00:00:00\t1\t2\n\
            requesting_trx_id\tblocking_trx_id\n6\t5\n7\t5\n8\t5\n9\t5\n10\t5\n11\t5\n12\t5\n";
        assert_eq!(kinds(text), [(Kind::Rows, 1, 10)]);
    }

    #[test]
    fn prose_is_nothing() {
        assert_eq!(
            kinds("We saw 100.0% system CPU, and Thread pools.\n# 1 Title\n3 apples, pears\n"),
            []
        );
    }

    #[test]
    fn a_statement_belongs_to_its_session() {
        let text = "---TRANSACTION 5, ACTIVE 9 sec\nMySQL thread id 3, OS thread handle 0x7f, query id 9 localhost app update\n\
            UPDATE t\n  SET a = 1\n\nbye\n";
        assert_eq!(kinds(text), [(Kind::ServerText, 1, 4)]);
    }
}
