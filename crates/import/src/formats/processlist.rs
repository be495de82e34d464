//! SHOW PROCESSLIST: in boxes, with tabs, or a row a paragraph (`\G`).

use std::rc::Rc;

use server::Row;

use crate::format::Candidate;
use crate::format::{Format, Gap, Group, Heads, Recogniser, sign};
use crate::format::{Next, Open};
use crate::formats::states;
use crate::line::Line;
use crate::paragraph_row::{ParagraphRow, may_be_open};
use crate::read::{Read, counted};
use crate::session_values::{field_value, known_state, value};
use crate::table_rows::add_row;
use crate::tables::{
    cells, field, is_processlist_head, is_rule, is_session_field, is_vertical_row,
};
use crate::{own_sessions, times};

pub(crate) static FORMAT: Format = Format {
    id: "processlist",
    group: Group::Server,
    name: "processlist",
    printed_by: "`SHOW PROCESSLIST` in boxes, with tabs or `\\G`, of phpMyAdmin, of mytop",
    content: "sessions by state, the longest",
    recognisers: &[Recogniser::new(100, "", sign::TABLE, |at| {
        is_processlist(at)
    })],
    continues,
    absorbs: |_, next| {
        let is_head = || {
            let behind = next.behind.map(Line::trimmed);
            is_vertical_row(next.text) && behind.is_some_and(is_session_id)
        };
        is_vertical_field(next.text) || is_head()
    },
    add: add_row,
    gap: Gap::Lines(3),
    is_table: true,
    heads: Heads::First,
    preference: 2,
    read,
    ..Format::NONE
};

/// Commands of sessions, as the column `Command` has them.
const COMMANDS: [&str; 17] = [
    "Query",
    "Sleep",
    "Connect",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Daemon",
    "Execute",
    "Killed",
    "Prepare",
    "Init DB",
    "Field List",
    "Quit",
    "Statistics",
    "Close stmt",
    "Ping",
    "Slave_IO",
    "Slave_SQL",
];

/// A head of the list, or a row that is one by its words.
fn is_processlist(at: &Candidate<'_>) -> bool {
    if is_vertical_row(at.text) {
        return at.next.iter().take(2).any(|line| {
            line.trim_start().starts_with("Id: ") || line.trim_start().starts_with("ID: ")
        }) && at.next.iter().take(8).any(|line| {
            let line = line.trim_start();
            line.starts_with("Command:") || line.starts_with("COMMAND:")
        });
    }
    is_processlist_head(at.cells()) || is_processlist_row(at.cells())
}

/// What a session does, as the column `Command` has it.
pub(crate) fn is_command(text: &str) -> bool {
    COMMANDS.contains(&text)
}

/// Eight columns in the order of the servers.
pub(crate) fn is_processlist_row(cells: &[&str]) -> bool {
    let number = |index: usize| {
        cells
            .get(index)
            .is_some_and(|cell| cell.parse::<f64>().is_ok())
    };
    cells.len() >= 8
        && number(0)
        && number(5)
        && cells.get(4).is_some_and(|command| is_command(command))
}

fn continues(open: &Open, next: &Next<'_>) -> bool {
    // Rows whose columns have an order of their own.
    let may_be_row = next.own.is_none_or(|own| *own == states::FORMAT);
    is_rule(next.text)
        || is_vertical_field(next.text)
        || (next.text.starts_with('|') && next.own.is_none())
        || (open.cells > 0 && may_be_row && open.is_row(next.text))
        || open.statement_goes_on(next)
}

/// `        State: Waiting for global read lock`. Other names begin something else: `Device:` a table of iostat, `Mem:` a
/// row of free.
fn is_vertical_field(text: &str) -> bool {
    field(text, 20).is_some_and(|(name, _)| is_session_field(name))
}

/// `Id: 12`, the first field of a session in a processlist.
fn is_session_id(text: &str) -> bool {
    text.strip_prefix("Id: ")
        .is_some_and(|id| id.starts_with(|c: char| c.is_ascii_digit()))
}

/// Sessions of one list that are read.
const SESSIONS_MAX: usize = 100_000;

/// Columns in the order of the servers, where a head is missing.
const COLUMNS: [&str; 8] = [
    "id", "user", "host", "db", "command", "time", "state", "info",
];

fn read(lines: &[Line<'_>]) -> Read {
    let mut reader = Reader {
        columns: COLUMNS.map(str::to_owned).into(),
        ..Reader::default()
    };
    for line in lines {
        reader.line(line);
    }
    reader.end_row();
    reader.end_list();
    let mut read = reader.read;
    read.brought = match reader.lists {
        1 => counted(reader.sessions, "session", "sessions"),
        lists => format!("{} sessions in {lists} lists", reader.sessions),
    };
    read
}

#[derive(Default)]
struct Reader<'a> {
    read: Read,
    columns: Rc<[String]>,
    /// The names of the fields of the last row in the form of `\G`: the next one mostly has the same.
    names: Rc<[String]>,
    rows: Vec<Row>,
    at: Option<i64>,
    lists: u64,
    sessions: usize,
    /// The row that is being read, field by field.
    paragraph: ParagraphRow<'a>,
    /// The list has a row a paragraph: it has no rows of another form until a head begins another list.
    is_vertical: bool,
    /// The last row of a box has no end on its line, and its statement may go on below with a table in a literal.
    is_cut_in_literal: bool,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a Line<'_>) {
        let text = line.trimmed();
        if let Some(at) = times::ts(text) {
            self.end_row();
            self.end_list();
            self.at = Some(at);
            return;
        }
        if is_vertical_row(text) {
            self.is_vertical = true;
            self.end_row();
            if text.contains("* 1. row *") {
                self.end_list();
            }
            return;
        }
        let cells = cells(text);
        let name_and_value = self.name_and_value(text);
        // A statement may hold a table, and lines of any other form.
        let may_begin = is_processlist_head(&cells) || name_and_value.is_some();
        if may_begin && self.paragraph.is_in_literal() {
            self.paragraph.goes_on(text);
        } else if is_processlist_head(&cells) {
            self.end_row();
            self.end_list();
            self.is_vertical = false;
            self.is_cut_in_literal = false;
            self.columns = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
        } else if !self.is_vertical && !self.paragraph.is_in_statement() && self.is_row(&cells) {
            self.row(line, &cells);
        } else if let Some((name, value)) = name_and_value {
            self.paragraph.push(name, value.trim());
        } else {
            self.paragraph.goes_on(text);
        }
    }

    /// `State: updating`: a field of a row that is a paragraph.
    fn name_and_value<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let (name, value) = field(text, usize::MAX)?;
        let is_column = || {
            COLUMNS
                .iter()
                .any(|column| name.eq_ignore_ascii_case(column))
        };
        (!self.paragraph.fields().is_empty() || is_column()).then_some((name, value))
    }

    /// Whether cells are a row of the list; its number is one.
    fn is_row(&self, cells: &[&str]) -> bool {
        let cell = |column: &str| {
            let at = self.columns.iter().position(|name| name == column);
            at.and_then(|at| cells.get(at))
        };
        let is_number = || cell("id").is_none_or(|id| id.starts_with(|c: char| c.is_ascii_digit()));
        // Within a literal only what a session does tells that another row begins.
        let is_sure = || cell("command").is_none_or(|command| is_command(command));
        is_processlist_row(cells)
            || (cells.len() >= self.columns.len()
                && cells.len() > 2
                && is_number()
                && (!self.is_cut_in_literal || is_sure()))
    }

    fn row(&mut self, line: &Line<'_>, cells: &[&str]) {
        if self.rows.len() >= SESSIONS_MAX {
            return;
        }
        let rest;
        let mut values: Vec<&str> = cells.iter().map(|cell| value(cell)).collect();
        // The statement may hold the separator.
        let mut more = values.len().saturating_sub(self.columns.len());
        // Behind the last bar stands what somebody noted, or the begin of a statement's rest.
        if more > 0 && line.trimmed().starts_with('|') && !line.trimmed().ends_with('|') {
            values.pop();
            more -= 1;
        }
        if more > 0
            && let Some(info) = self.columns.iter().position(|name| name == "info")
        {
            let behind = values.split_off(info + more + 1);
            rest = values.split_off(info).join("|");
            values.push(value(&rest));
            values.extend(behind);
        }
        if values.len() < self.columns.len() {
            self.read.skipped.push((
                line.number,
                "a row of the processlist has too few columns".into(),
            ));
            values.resize(self.columns.len(), "");
        }
        // Names have no blanks.
        for (column, value) in self.columns.iter().zip(&mut values) {
            let cell = *value;
            if cell.contains(' ') && ["user", "host", "db"].contains(&column.as_str()) {
                *value = field_value(column, cell);
            }
        }
        let text = line.trimmed();
        let info = self.columns.iter().position(|name| name == "info");
        let info = info.and_then(|info| values.get(info));
        self.is_cut_in_literal = text.starts_with('|')
            && !text.ends_with('|')
            && info.is_some_and(|info| may_be_open(info));
        self.rows.push(Row::new(Rc::clone(&self.columns), &values));
    }

    fn end_row(&mut self) {
        self.paragraph.end_value();
        let fields = self.paragraph.fields();
        let is_row = fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("command"));
        if is_row && self.rows.len() < SESSIONS_MAX {
            let has_same = fields.len() == self.names.len()
                && (fields.iter().zip(self.names.iter()))
                    .all(|((name, _), last)| name.eq_ignore_ascii_case(last));
            if !has_same {
                let names = fields.iter().map(|(name, _)| name.to_ascii_lowercase());
                self.names = names.collect();
            }
            let values: Vec<&str> = fields
                .iter()
                .map(|(name, field)| field_value(name, field))
                .collect();
            self.rows.push(Row::new(Rc::clone(&self.names), &values));
        }
        self.paragraph.clear();
    }

    fn end_list(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return;
        }
        self.sessions += rows.len();
        let after = self.lists * 1000;
        self.lists += 1;
        let own = own_sessions::of(&rows);
        for row in &own {
            for text in [row.get("info"), row.get("state")] {
                let words = lexicon::mentions(text);
                self.read
                    .own
                    .extend(words.iter().map(|one| one.entry.pattern));
            }
        }
        let ids: Vec<u64> = own
            .iter()
            .filter_map(|row| row.get("id").parse().ok())
            .collect();
        let taken = server::pasted_processlist_taken(&rows, &ids, known_state);
        self.read.take("processlist", self.at, after, taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn lists(text: &str) -> Vec<model::ProcessList> {
        let read = read(&clean::lines(text));
        read.texts
            .iter()
            .map(|(_, text)| serde_json::from_str(text.body()).unwrap())
            .collect()
    }

    #[test]
    fn what_is_noted_behind_a_name_is_none_of_it() {
        let text = "+----+\n| Id | User | Host | db | Command | Time | State | Info |\n+----+\n\
            | 5 | app <-- Alice, hunter2 | web:1 // hunter2 | shop # hunter2 | Query | 12 | init | select 1 |\n\
            | 6 | system user |  | NULL | Connect | 12 | init |  |\n";
        let told = format!("{:?}", lists(text));
        assert!(
            !told.contains("hunter2") && !told.contains("Alice"),
            "{told}"
        );
        for name in ["\"app\"", "\"web\"", "\"shop\"", "\"system user\""] {
            assert!(told.contains(name), "{name}: {told}");
        }
    }

    #[test]
    fn three_forms_say_the_same() {
        let table = "+----+\n| Id | User | Host | db | Command | Time | State | Info |\n+----+\n\
            | 5 | app | web:1 | shop | Query | 12 | Waiting for table metadata lock | select * from t where a|b = 1 |\n| 6 | app | web:2 | NULL | Sleep | 3 |  | NULL |\n";
        let tabs = "Id\tUser\tHost\tdb\tCommand\tTime\tState\tInfo\n5\tapp\tweb:1\tshop\tQuery\t12\tWaiting for table metadata lock\tselect * from t where a|b = 1\n6\tapp\tweb:2\tNULL\tSleep\t3\t\tNULL\n";
        let rows = "***** 1. row *****\n     Id: 5\n   User: app\n   Host: web:1\n     db: shop\nCommand: Query\n   Time: 12\n  State: Waiting for table metadata lock\n   Info: select * from t\n where a|b = 1\n***** 2. row *****\n     Id: 6\n   User: app\n   Host: web:2\n     db: NULL\nCommand: Sleep\n   Time: 3\n  State: \n   Info: NULL\n";
        for text in [table, tabs, rows] {
            let lists = lists(text);
            assert_eq!(lists.len(), 1, "{text}");
            let list = &lists[0];
            assert_eq!((list.sessions, list.active()), (2, 1), "{text}");
            assert_eq!(
                list.by_state["Waiting for table metadata lock"], 1,
                "{text}"
            );
            assert_eq!(
                list.longest[0].statement, "select * from t where a|b = ?",
                "{text}"
            );
            assert_eq!(list.longest[0].seconds, 12.0);
        }
    }

    #[test]
    fn what_a_statement_holds_is_no_session() {
        let card = "| Alice Miller | 4111 1111 1111 1111 | 12/27 | 123 | Berlin | vip | 030123 | alice@x.com |";
        let id = "| 7 | 4111 1111 1111 1111 | 12/27 | 123 | Query | 5 | 030123 | alice@x.com |";
        let head = "| Id | User | Host | db | Command | Time | State | Info |";
        let fields = "State: 030123\nCommand: Berlin\nUser: Alice";
        for held in [
            card.to_owned(),
            id.to_owned(),
            format!("{head}\n{card}"),
            format!("{head}\n{id}"),
            format!("{fields}\n{id}"),
        ] {
            for (before, after) in [("'", "' WHERE id = 5"), ("/* ", " */ 1")] {
                let text = format!(
                    "***** 1. row *****\n     Id: 5\n   User: app\n   Host: web:1\n     db: shop\nCommand: Query\n   Time: 12\n  State: updating\n   Info: UPDATE pages SET body = {before}\n{held}\n{after}\n***** 2. row *****\n     Id: 6\n   User: app\nCommand: Sleep\n   Time: 3\n  State: \n   Info: NULL\n"
                );
                let lists = lists(&text);
                assert_eq!(lists.len(), 1, "{text}");
                assert_eq!(lists[0].sessions, 2, "{text}");
                let all = serde_json::to_string(&lists[0]).unwrap();
                for word in ["4111", "Berlin", "030123", "Alice", "alice"] {
                    assert!(!all.contains(word), "{word}: {all}");
                }
            }
        }
        // In boxes a row has a number.
        let text = format!(
            "{head}\n| 5 | app | web:1 | shop | Query | 12 | updating | UPDATE pages SET body = '\n{card}\n' WHERE id = 5 |\n"
        );
        let list = &lists(&text)[0];
        assert_eq!(list.sessions, 1);
    }

    #[test]
    fn what_people_write_below_a_statement_is_none_of_it() {
        let row = |id: u8, info: &str| {
            format!(
                "***** {id}. row *****\n     Id: {id}\n   User: app\nCommand: Query\n   Time: 12\n  State: updating\n   Info: {info}\n"
            )
        };
        let remark = "her password is hunter2\nThanks, Alice";
        let first = "update t\nset a = 1\nwhere b = 'x'";
        for info in [first, "select 1", "call p(1)"] {
            let text = row(1, &format!("{info}\n{remark}")) + &row(2, &format!("{info}\n{remark}"));
            let list = &lists(&text)[0];
            assert_eq!(list.sessions, 2, "{text}");
            let plain = &lists(&(row(1, info) + &row(2, info)))[0];
            assert_eq!(list, plain, "{text}");
        }
    }

    /// A statement may begin with a row's number within its literal, and a terminal may have cut a row.
    #[test]
    fn a_literal_in_a_box_may_hold_a_table() {
        let held = "| 4111 | Alice Miller | Berlin | vip | hunter2 | 12 | 030123 | alice@x.com |";
        for (more, column) in [("", ""), (" Progress |", " 0.000 |")] {
            let head = format!("| Id | User | Host | db | Command | Time | State | Info |{more}");
            let next =
                format!("| 6 | app | web:2 | shop | Execute | 3 | init | select 1 |{column}");
            let text = format!(
                "{head}\n| 5 | app | web:1 | shop | Query | 12 | updating | UPDATE pages SET body = '\n{held}\n' WHERE id = 5 |{column}\n{next}\n"
            );
            let list = &lists(&text)[0];
            assert_eq!(list.sessions, 2, "{text}");
            let all = serde_json::to_string(list).unwrap();
            for word in ["4111", "Alice", "Berlin", "hunter2", "030123"] {
                assert!(!all.contains(word), "{word}: {all}");
            }
        }
    }

    #[test]
    fn a_statement_in_the_middle_may_hold_what_parts_cells() {
        let text = "+----+------+-------+------+\n| Id | Info | State | Time |\n+----+------+-------+------+\n\
            | 5 | update t set a='x | Alice | y', b = 1 | updating | 7 |\n\
            | 6 | update t set a=\"x | Alice\" | updating | 6 |\n\
            | 7 | select 1 | | 5 |\n";
        let list = &lists(text)[0];
        assert_eq!((list.sessions, list.by_state["updating"]), (3, 2));
        let statements: Vec<&str> = list
            .longest
            .iter()
            .map(|one| one.statement.as_str())
            .collect();
        assert_eq!(
            statements,
            ["update t set a=?, b = ?", "update t set a=?", "select ?"]
        );
    }

    #[test]
    fn what_people_note_beside_a_session_is_none_of_it() {
        let head = "| Id | User | Host | db | Command | Time | State | Info |";
        let row = "| 5 | app | web:1 | shop | Query | 12 | updating | update t set a = 1 |";
        let progress =
            "| 5 | app | web:1 | shop | Query | 12 | updating | update t set a = 1 | 0.000 |";
        let vertical = "***** 1. row *****\n     Id: 5\n   User: app{}\n   Host: web:1{}\n     db: shop{}\nCommand: Query\n   Time: 12\n  State: updating\n   Info: update t set a = 1\n";
        let plain = format!("{head}\n{row}\n");
        let plain = &lists(&plain)[0];
        for note in [
            " <-- Alice, hunter2",
            " Alice hunter2",
            "  // hunter2",
            " (hunter2)",
            "\nher hunter2 is",
        ] {
            for text in [
                format!("{head}\n{row}{note}\n"),
                format!("{head} Progress |\n{progress}{note}\n"),
                vertical.replace("{}", note),
            ] {
                let list = &lists(&text)[0];
                assert_eq!(list.by_user, plain.by_user, "{text}");
                assert_eq!(list.longest, plain.longest, "{text}");
            }
        }
        let noted = vertical
            .replace("{}", "")
            .replace("updating", "updating  <-- Alice, hunter2");
        assert_eq!(lists(&noted)[0].by_state, plain.by_state);
        // A state that a mail broke is one.
        let text = "***** 1. row *****\n     Id: 5\nCommand: Query\n   Time: 12\n  State: Waiting for table\nmetadata lock\n   Info: select 1\n";
        assert_eq!(
            lists(text)[0].by_state["Waiting for table metadata lock"],
            1
        );
    }

    #[test]
    fn a_statement_that_is_marked_as_code_is_one() {
        let row = "Query | 100 | Waiting for table metadata lock";
        let text = format!(
            "| Id | User | Host | db | Command | Time | State | Info |\n|---|---|---|---|---|---|---|---|\n\
            | 6 | app | web:3 | shop | {row} | `UPDATE orders SET note = 'hunter2'` |\n\
            | 7 | `app` | web:3 | shop | {row} | ``UPDATE `orders` SET note = 'hunter2'`` |\n\
            | 8 | app | web:3 | shop | {row} | `UPDATE orders SET note = 'hunter2 |\n"
        );
        let vertical = "***** 1. row *****\n     Id: 5\n   User: app\nCommand: Query\n   Time: 12\n  State: updating\n   Info: `UPDATE orders SET note = 'hunter2'`\n";
        for text in [text.as_str(), vertical] {
            let list = &lists(text)[0];
            assert_eq!(list.by_user.len(), 1, "{text}");
            for one in &list.longest {
                let statement = one.statement.replace('`', "");
                assert_eq!(statement, "UPDATE orders SET note = ?", "{text}");
            }
        }
    }

    #[test]
    fn a_list_in_boxes_behind_one_in_paragraphs_is_read() {
        let text = "***** 1. row *****\n     Id: 5\n   User: app\nCommand: Query\n   Time: 12\n  State: updating\n   Info: UPDATE t SET a = 'x'\n\
            +----+\n| Id | User | Host | db | Command | Time | State | Info |\n+----+\n| 6 | app | web:2 | NULL | Sleep | 3 |  | NULL |\n";
        assert_eq!(lists(text).iter().map(|list| list.sessions).sum::<u64>(), 2);
    }

    #[test]
    fn a_note_behind_a_number_is_none_of_it() {
        let text = "***** 1. row *****\n     Id: 5\n   User: app\nCommand: Query\n   Time: 1200 -- since the import\n  State: updating\n   Info: delete from t\n";
        assert_eq!(lists(text)[0].longest[0].seconds, 1200.0);
    }

    #[test]
    fn lists_with_chosen_columns() {
        let text = "+----+-------+------+\n| Id | State | Info |\n+----+-------+------+\n\
            | 18 | Waiting for global read lock | flush table with read lock |\n\
            | 6 | executing | select Id,State,Info from information_schema.processlist |\n+----+-------+------+\n";
        let list = &lists(text)[0];
        // The second one asked for the list.
        assert_eq!((list.sessions, list.active()), (1, 1));
        assert_eq!(list.by_state["Waiting for global read lock"], 1);
        assert_eq!(list.by_command.len(), 0);
    }

    #[test]
    fn moments_of_pt_stalk_part_lists() {
        let row =
            "***** 1. row *****\nId: 5\nUser: a\nCommand: Query\nTime: 1\nState: \nInfo: NULL\n";
        let text = format!("TS 1700000000.5 x\n{row}TS 1700000001.5 x\n{row}");
        let read = read(&clean::lines(&text));
        let at: Vec<_> = read.ticks.iter().map(|tick| tick.at).collect();
        assert_eq!(at, [Some(1_700_000_000_500), Some(1_700_000_001_500)]);
    }
}
