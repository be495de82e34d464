//! Processlists of other clients, written again as `mysql` prints them: cells behind commas, with
//! quotation marks around texts, cells behind blanks, as a page leaves them of a table, and rows of
//! phpMyAdmin, whose head is in the language of its user.

use std::borrow::Cow;

use crate::formats::processlist;
use crate::line::{Line, has};
use crate::tables;

/// Words of a head between which only blanks stand: the order of the servers.
const COLUMNS: [&str; 8] = [
    "Id", "User", "Host", "db", "Command", "Time", "State", "Info",
];

/// How mytop's head begins.
const MYTOP: [&str; 6] = ["Id", "User", "Host/IP", "DB", "Time", "Cmd"];

/// Quotation marks around a cell.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// How the rows below a head part their cells.
enum Form {
    /// The names, and the place of the statement.
    Commas(Vec<String>, usize),
    Blanks,
    /// mytop's: the time stands in front of the command.
    Mytop,
}

/// Writes heads and rows of such lists as rows in boxes; all other lines stay, and a head without
/// rows too. Whether any was written.
pub(crate) fn rewrite(lines: &mut [Line<'_>]) -> bool {
    let mut above: Option<(usize, Form)> = None;
    let mut written = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = line.trimmed();
        if let Some(form) = form_of(text) {
            above = Some((index, form));
        } else if let Some((head, form)) = &above
            && let Some(cells) = row(form, text)
        {
            written.push((*head, boxed(form, columns(form))));
            written.push((index, boxed(form, cells)));
        } else if let Some(cells) = of_page(text) {
            written.push((index, format!("| {} |", cells.join(" | "))));
        }
    }
    let any = !written.is_empty();
    for (index, text) in written {
        if let Some(line) = lines.get_mut(index) {
            line.text = Cow::Owned(text);
        }
    }
    any
}

/// A row of phpMyAdmin's page, its cells behind tabs: a button, the eight columns of the servers, and between the last
/// two of them how far a statement is (`0.000`). `---` is nothing. What the server says in them is English.
fn of_page(text: &str) -> Option<[&str; 8]> {
    if !has(text, b'\t') {
        return None;
    }
    let is_number = |cell: &str| cell.parse::<f64>().is_ok();
    let cells: Vec<&str> = text.split('\t').map(str::trim).collect();
    let button = usize::from(!is_number(cells.first()?));
    let (own, behind) = cells.get(button..)?.split_at_checked(7)?;
    let &[id, user, host, db, command, time, state] = own else {
        return None;
    };
    let without_dashes = |cell| if cell == "---" { "" } else { cell };
    let (progress, statement) = match *behind {
        [progress, statement] => (progress, statement),
        [statement] if button == 1 => ("---", statement),
        _ => return None,
    };
    (is_number(id)
        && is_number(time)
        && processlist::is_command(command)
        && (progress == "---" || is_number(progress)))
    .then_some([
        id,
        user,
        host,
        db,
        command,
        time,
        without_dashes(state),
        without_dashes(statement),
    ])
}

/// The form that a head tells.
fn form_of(text: &str) -> Option<Form> {
    const HEAD_BYTES_MAX: usize = 200;
    if !text.starts_with(['i', 'I', '"', '\'', '`']) {
        return None;
    }
    let begin = text.trim_start_matches(QUOTES).get(..2);
    let begins = begin.is_some_and(|begin| begin.eq_ignore_ascii_case("id"));
    if !begins || text.len() > HEAD_BYTES_MAX || text.contains('\t') {
        return None;
    }
    let words = text.split_whitespace();
    if words
        .zip(COLUMNS)
        .filter(|(a, b)| a.eq_ignore_ascii_case(b))
        .count()
        == COLUMNS.len()
    {
        return Some(Form::Blanks);
    }
    if text.split_whitespace().take(MYTOP.len()).eq(MYTOP) {
        return Some(Form::Mytop);
    }
    let cells: Vec<&str> = text.split(',').map(unquoted).collect();
    if !tables::is_processlist_head(&cells) {
        return None;
    }
    let names: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
    let statement = names.iter().position(|name| name == "info")?;
    Some(Form::Commas(names, statement))
}

fn columns(form: &Form) -> Vec<String> {
    match form {
        Form::Commas(names, _) => names.clone(),
        Form::Blanks | Form::Mytop => COLUMNS.map(str::to_owned).into(),
    }
}

/// The cells of a row; `None` where the line is none.
fn row(form: &Form, text: &str) -> Option<Vec<String>> {
    if !text
        .trim_start_matches(QUOTES)
        .starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    match form {
        Form::Commas(names, statement) => behind_commas(names, *statement, text),
        Form::Blanks => behind_blanks(text),
        Form::Mytop => of_mytop(text),
    }
}

/// `177, 'app', 'web:1', 'shop', 'Query', 12, 'update', 'select 'a', b', 0.000`: quotation marks
/// within a statement are often not doubled, so it reaches as far as it can.
fn behind_commas(names: &[String], statement: usize, text: &str) -> Option<Vec<String>> {
    let mut cells = Vec::with_capacity(names.len());
    let mut rest = text;
    for _ in 0..statement {
        let (cell, behind) = first_cell(rest)?;
        cells.push(cell.to_owned());
        rest = behind;
    }
    let is_number = |name: &str| {
        let place = names.iter().position(|column| column == name);
        place
            .and_then(|place| cells.get(place))
            .is_none_or(|cell| cell.parse::<f64>().is_ok())
    };
    if !is_number("id") || !is_number("time") {
        return None;
    }
    let behind = names.len() - statement - 1;
    let mut last: Vec<&str> = rest.rsplitn(behind + 1, ',').collect();
    last.reverse();
    // The statement goes on below: what stands behind it is not on this line.
    let is_whole = last.len() == behind + 1
        && (last.iter().skip(1)).all(|cell| unquoted(cell).parse::<f64>().is_ok());
    if is_whole {
        cells.extend(last.into_iter().map(value));
    } else {
        cells.push(value(rest));
    }
    cells.resize(names.len(), String::new());
    Some(cells)
}

/// What a cell holds. Where each quotation mark in it is doubled, as all writers of such files have it (RFC 4180), there
/// is one: `"a = ""x"""` is `a = "x"`.
fn value(cell: &str) -> String {
    let bare = unquoted(cell);
    let Some(quote) = cell
        .trim()
        .chars()
        .next()
        .filter(|c| ['"', '\''].contains(c))
    else {
        return bare.to_owned();
    };
    // The last one may be of a value that goes on below.
    let cut = cell.trim().get(1..).unwrap_or_default();
    let doubled = [bare, cut]
        .into_iter()
        .find(|cell| runs(cell, quote).all(|length| length.is_multiple_of(2)));
    match doubled {
        Some(cell) => cell.replace(
            [quote, quote].iter().collect::<String>().as_str(),
            &quote.to_string(),
        ),
        None => bare.to_owned(),
    }
}

/// How many quotation marks stand side by side, each time.
fn runs(text: &str, quote: char) -> impl Iterator<Item = usize> {
    text.split(move |c: char| c != quote)
        .map(str::len)
        .filter(|length| *length > 0)
}

/// The cell in front of the first comma, and what is behind it.
fn first_cell(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| QUOTES.contains(c));
    let Some(quote) = quote else {
        let (cell, rest) = text.split_once(',')?;
        return Some((cell.trim(), rest));
    };
    let inner = text.get(1..)?;
    let end = inner.match_indices(quote).map(|(at, _)| at).find(|at| {
        inner
            .get(at + 1..)
            .is_some_and(|rest| rest.trim_start().starts_with(','))
    })?;
    let rest = inner.get(end + 1..)?.trim_start().strip_prefix(',')?;
    Some((inner.get(..end)?, rest))
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    QUOTES
        .iter()
        .find_map(|quote| {
            cell.strip_prefix(*quote)
                .map(|cell| cell.strip_suffix(*quote).unwrap_or(cell))
        })
        .unwrap_or(cell)
}

/// `8487410 app web:1 shop Query 7 query end INSERT INTO t`: the command with the number behind it
/// tells where the cells in front of it end, and the first word of a statement where the state does.
fn behind_blanks(text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.first()?.parse::<u64>().ok()?;
    let (at, length) = (2..=5).find_map(|at| {
        let length = [1, 2, 3].into_iter().find(|length| {
            let command = words.get(at..at + length).map(|words| words.join(" "));
            command.is_some_and(|command| processlist::is_command(&command))
                && words
                    .get(at + length)
                    .is_some_and(|time| time.parse::<i64>().is_ok())
        })?;
        Some((at, length))
    })?;
    let [user, host, db] = match words.get(1..at)? {
        ["system", "user", db] => ["system user", "", db],
        ["system", "user"] => ["system user", "", ""],
        [user, host, db] => [*user, *host, *db],
        [user, host] => [*user, *host, ""],
        _ => return None,
    };
    let command = words.get(at..at + length)?.join(" ");
    let (state, statement) = state_and_statement(words.get(at + length + 1..)?);
    let cells = [
        words.first()?,
        user,
        host,
        db,
        &command,
        words.get(at + length)?,
        &state,
        &statement,
    ];
    Some(cells.map(str::to_owned).into())
}

/// `1011291 app 10.0.0.11 shop 341 Query UPDATE t SET a = 1`: no database, no host may be there, the time with the
/// command behind it always is.
fn of_mytop(text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.first()?.parse::<u64>().ok()?;
    let is_number = |place: usize| {
        let word = words.get(place)?;
        word.parse::<f64>().ok()
    };
    let (time, command) = (2..=4).find_map(|time| {
        is_number(time)?;
        // Newer ones have a share between both.
        let behind = time + 1 + usize::from(is_number(time + 1).is_some());
        processlist::is_command(words.get(behind)?).then_some((time, behind))
    })?;
    let [user, host, db] = match words.get(1..time)? {
        [user] => [*user, "", ""],
        [user, host] => [*user, *host, ""],
        [user, host, db] => [*user, *host, *db],
        _ => return None,
    };
    let (state, statement) = state_and_statement(words.get(command + 1..)?);
    let cells = [
        words.first()?,
        user,
        host,
        db,
        words.get(command)?,
        words.get(time)?,
        &state,
        &statement,
    ];
    Some(cells.map(str::to_owned).into())
}

/// States that have a word in them with which statements begin.
const STATES: [&str; 6] = [
    "Waiting for table flush",
    "Waiting for commit lock",
    "Waiting for prior transaction to commit",
    "Waiting for handler commit",
    "waiting for handler commit",
    "waiting for handler update",
];

/// Words with which statements begin.
const VERBS: [&str; 34] = [
    "select",
    "insert",
    "update",
    "delete",
    "replace",
    "alter",
    "create",
    "drop",
    "truncate",
    "commit",
    "rollback",
    "begin",
    "call",
    "load",
    "flush",
    "optimize",
    "analyze",
    "repair",
    "show",
    "set",
    "with",
    "explain",
    "xa",
    "kill",
    "grant",
    "revoke",
    "rename",
    "savepoint",
    "signal",
    "resignal",
    "install",
    "uninstall",
    "deallocate",
    "unlock",
];

fn state_and_statement(words: &[&str]) -> (String, String) {
    let begins = |word: &&str| {
        let bare = word.trim_start_matches('(');
        word.starts_with("/*")
            || *word == "NULL"
            || VERBS.iter().any(|verb| bare.eq_ignore_ascii_case(verb))
    };
    let state = |state: &&&str| words.join(" ").starts_with(**state);
    let known = STATES
        .iter()
        .find(state)
        .map_or(0, |state| state.split(' ').count());
    // `update` is a state as well: then the statement is behind it.
    let is_state = words.first() == Some(&"update") && words.get(1).is_some_and(begins);
    let from = known.max(usize::from(is_state));
    let behind = words.iter().skip(from).position(begins);
    let end = behind.map_or(words.len(), |at| at + from);
    let join = |words: Option<&[&str]>| words.map_or_else(String::new, |words| words.join(" "));
    (join(words.get(..end)), join(words.get(end..)))
}

/// `| a | b |`, the statement last: it may hold what parts cells.
fn boxed(form: &Form, mut cells: Vec<String>) -> String {
    if let Form::Commas(_, statement) = form
        && *statement < cells.len()
    {
        let statement = cells.remove(*statement);
        cells.push(statement);
    }
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use crate::clean;

    fn rewritten(text: &str) -> Vec<String> {
        let lines = clean::lines(text);
        lines.iter().map(|line| line.text.to_string()).collect()
    }

    #[test]
    fn cells_behind_commas() {
        let text = "Id, User, Host, db, Command, Time, State, Info, Progress\n\
            177, 'app', 'web:62932', 'shop', 'Query', 23994, 'Waiting for table metadata lock', 'SELECT a FROM b WHERE c='d|e' AND f='g'', 0.000\n\
            175, 'app', 'web:50058', NULL, 'Query', 28227, 'Repair by sorting', 'CREATE TABLE `t` (\n  `Id` bigint(20),\n";
        assert_eq!(
            rewritten(text)[..3],
            [
                "| id | user | host | db | command | time | state | progress | info |",
                "| 177 | app | web:62932 | shop | Query | 23994 | Waiting for table metadata lock | 0.000 | SELECT a FROM b WHERE c='d|e' AND f='g' |",
                "| 175 | app | web:50058 | NULL | Query | 28227 | Repair by sorting |  | CREATE TABLE `t` ( |",
            ]
        );
        assert_eq!(
            rewritten("\"Id\",\"State\",\"Info\"\n\"5\",\"init\",\"select 1\"\n"),
            ["| id | state | info |", "| 5 | init | select 1 |", ""]
        );
    }

    #[test]
    fn a_doubled_mark_is_one() {
        let head = "\"Id\",\"State\",\"Info\"";
        let row = |line: &str| rewritten(&format!("{head}\n{line}\n"))[1].clone();
        for (line, statement) in [
            (
                r#""5","init","update t set a = ""x"", b = 'y'""#,
                r#"update t set a = "x", b = 'y'"#,
            ),
            (r#"5,init,"select a = ""x""""#, r#"select a = "x""#),
            (
                r#"5,init,"insert into t values (""{""""a"""": 1}"")""#,
                r#"insert into t values ("{""a"": 1}")"#,
            ),
            ("'5','init','select a = ''x'''", "select a = 'x'"),
            // Of a statement that goes on below.
            (
                r#"5,init,"update t set a = ""x"", b = """#,
                r#"update t set a = "x", b = ""#,
            ),
            // Not doubled.
            (r#"5,init,"select "a", "b"""#, r#"select "a", "b""#),
            ("5,init,select \"a\"", "select \"a\""),
        ] {
            assert_eq!(row(line), format!("| 5 | init | {statement} |"), "{line}");
        }
    }

    #[test]
    fn cells_behind_blanks() {
        let row = |line: &str| {
            let lines = rewritten(&format!("Id User Host db Command Time State Info\n{line}"));
            lines[1].clone()
        };
        for (line, cells) in [
            (
                "8 app web:1 shop Query 1807 query end INSERT INTO t SELECT 1",
                "| 8 | app | web:1 | shop | Query | 1807 | query end | INSERT INTO t SELECT 1 |",
            ),
            (
                "9 app web:1 shop Query 7 starting commit",
                "| 9 | app | web:1 | shop | Query | 7 | starting | commit |",
            ),
            (
                "9 app web:1 shop Query 7 update insert into t",
                "| 9 | app | web:1 | shop | Query | 7 | update | insert into t |",
            ),
            (
                "9 app web:1 NULL Query 7 Waiting for table flush select 1",
                "| 9 | app | web:1 | NULL | Query | 7 | Waiting for table flush | select 1 |",
            ),
            (
                "9 root web:1 NULL Query 7 init GRANT ALL ON a TO b IDENTIFIED BY 'x'",
                "| 9 | root | web:1 | NULL | Query | 7 | init | GRANT ALL ON a TO b IDENTIFIED BY 'x' |",
            ),
            (
                "9 app web:1 shop Query 7 executing (SELECT 1) UNION (SELECT 2)",
                "| 9 | app | web:1 | shop | Query | 7 | executing | (SELECT 1) UNION (SELECT 2) |",
            ),
            (
                "1 system user NULL Binlog Dump 7 Waiting NULL",
                "| 1 | system user |  | NULL | Binlog Dump | 7 | Waiting | NULL |",
            ),
        ] {
            assert_eq!(row(line), cells);
        }
        for line in [
            "8 apples and pears",
            "8 app web:1 shop Query soon",
            "id BIGINT DEFAULT 0,",
        ] {
            assert_eq!(row(line), line);
        }
    }

    #[test]
    fn rows_of_mytop() {
        let head = "      Id      User         Host/IP         DB      Time    Cmd Query or State";
        let row = |line: &str| rewritten(&format!("{head}\n{line}"))[1].clone();
        for (line, cells) in [
            (
                "1011291 app 10.0.0.11 shop 341 Query UPDATE t SET n = 1",
                "| 1011291 | app | 10.0.0.11 | shop | Query | 341 |  | UPDATE t SET n = 1 |",
            ),
            (
                "1011292 app 10.0.0.12 341 Query Waiting for table metadata lock",
                "| 1011292 | app | 10.0.0.12 |  | Query | 341 | Waiting for table metadata lock |  |",
            ),
            (
                "5 app 10.0.0.12 shop 3 0.0 Query Sending data SELECT 1",
                "| 5 | app | 10.0.0.12 | shop | Query | 3 | Sending data | SELECT 1 |",
            ),
        ] {
            assert_eq!(row(line), cells);
        }
        for line in [
            "      --      ----         -------         --      ----    --- ----------",
            "5 apples",
        ] {
            assert_eq!(row(line), line);
        }
    }

    #[test]
    fn rows_of_a_page() {
        let head =
            "\tID\tBenutzer\tHost\tDatenbank\tBefehl\tZeit\tStatus\tFortschritt\tSQL-Abfrage";
        let row = |line: &str| rewritten(&format!("{head}\n{line}"))[1].clone();
        assert_eq!(
            row(
                "Abbrechen\t1234\tapp\tweb:1\tshop\tQuery\t45\tWaiting for table metadata lock\t0.000\tSELECT 1"
            ),
            "| 1234 | app | web:1 | shop | Query | 45 | Waiting for table metadata lock | SELECT 1 |"
        );
        assert_eq!(
            row("1237\tapp\tweb:1\tshop\tSleep\t500\t---\t0.000\t---"),
            "| 1237 | app | web:1 | shop | Sleep | 500 |  |  |"
        );
        for line in ["1\tapp\tweb:1\tshop\tQuery\t5\tinit\tselect 1", "a\tb\tc"] {
            assert_eq!(row(line), line);
        }
    }

    #[test]
    fn a_head_without_rows_stays() {
        assert_eq!(
            rewritten("id, state, info\nare columns"),
            ["id, state, info", "are columns"]
        );
    }

    /// Whatever a statement begins with.
    #[test]
    fn no_literal_of_a_list_behind_blanks_becomes_a_state() {
        let text = "Id User Host db Command Time State Info\n\
            8 app web:1 shop Query 7 init CHANGE MASTER TO MASTER_PASSWORD='hunter2'\n\
            9 app web:1 shop Query 7 PREPARE s FROM 'select \"hunter2\"'\n\
            10 app web:1 shop Query 7 executing\n";
        let bytes = text.as_bytes();
        let incident = crate::import(&[crate::Input { path: "x", bytes }])
            .incident
            .unwrap();
        let told = format!("{incident:?}");
        assert!(!told.contains("hunter2"), "{told}");
        assert!(told.contains("processlist.state.executing"), "{told}");
    }
}
