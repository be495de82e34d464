//! Saved web pages, and text that was copied out of one: the same is found as in what they show.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use import::{Input, Part, import};
use model::Incident;

fn read(text: &str) -> (Vec<Part>, Option<Incident>) {
    let imported = import(&[Input {
        path: "x",
        bytes: text.as_bytes(),
    }]);
    (imported.parts, imported.incident)
}

/// What was recognised, where, and what it brought.
type Told = (String, Option<(usize, usize)>, String);

fn told(text: &str) -> Vec<Told> {
    let parts = read(text).0.into_iter();
    parts
        .filter(|part| part.skipped.is_none())
        .map(|part| (part.kind, part.lines, part.brought))
        .collect()
}

fn waiting(text: &str) -> Option<f64> {
    let incident = read(text).1?;
    let series = incident
        .timeline
        .matching("processlist.state.Waiting_for_table_metadata_lock")
        .next()?;
    series.values.iter().copied().rfind(|value| !value.is_nan())
}

/// A list of sessions, in the client's box.
const LIST: &str = "\
+----+------+-----------+------+---------+------+---------------------------------+----------------------------+\n\
| Id | User | Host      | db   | Command | Time | State                           | Info                       |\n\
+----+------+-----------+------+---------+------+---------------------------------+----------------------------+\n\
|  8 | app  | web1:3000 | shop | Sleep   |  300 |                                 | NULL                       |\n\
|  9 | app  | web1:3001 | shop | Query   |   60 | Waiting for table metadata lock | ALTER TABLE t ADD b INT    |\n\
| 10 | app  | web1:3002 | shop | Query   |   50 | Waiting for table metadata lock | SELECT a FROM t WHERE a<2  |\n\
| 11 | app  | web1:3003 | shop | Query   |   40 | Waiting for table metadata lock | SELECT a FROM t WHERE a<3  |\n\
+----+------+-----------+------+---------+------+---------------------------------+----------------------------+\n";

const STACK: &str = "\
Thread 2 (Thread 0x7f10 (LWP 42)):\n\
#0  0x00007f01 in __lll_lock_wait () from /lib64/libpthread.so.0\n\
#1  0x00007f02 in std::vector<int>::push_back (this=0x1, x=<optimized out>) at v.h:3\n\
#2  0x00007f03 in do_command (thd=0x2) at sql_parse.cc:900\n";

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

#[test]
fn a_saved_page_is_read_as_what_it_shows() {
    let page = format!(
        "<!DOCTYPE html>\n<html><head><title>All hangs</title><script>var a = '<table>| Id |';</script></head>\n\
         <body><div class=\"post\"><p>Since noon all <b>hangs</b>:</p>\n<pre class=\"listing\"><code>{}</code></pre>\n\
         <p>and</p><pre>{}</pre></div></body></html>\n",
        escaped(LIST),
        escaped(STACK)
    );
    assert_eq!(waiting(&page), Some(3.0));
    let list = (
        "processlist".to_owned(),
        Some((5, 11)),
        "4 sessions".to_owned(),
    );
    let stack = (
        "backtraces of threads".to_owned(),
        Some((13, 16)),
        "1 thread".to_owned(),
    );
    assert_eq!(told(&page), [list, stack]);
    assert_eq!(read(&page).1.unwrap().stacks, read(STACK).1.unwrap().stacks);
}

#[test]
fn a_part_of_a_page_in_colours_is_read_where_nothing_else_is() {
    let line = |line: &str| {
        format!(
            "<span class=\"line\"><span class=\"t\">{}</span></span><br>",
            escaped(line)
        )
    };
    let part: String = LIST.lines().map(line).collect();
    let part = format!(
        "# Locks\n\n<figure><table><tr><td class=\"code\"><pre>{part}</pre></td></tr></table></figure>\n"
    );
    assert_eq!(waiting(&part), Some(3.0));
}

#[test]
fn a_table_of_a_page_is_a_list() {
    let rows = LIST.lines().filter(|line| line.starts_with('|'));
    let rows: String = rows
        .map(|line| {
            let cells = line.trim_matches('|').split('|');
            let cells: String = cells
                .map(|cell| format!("<td>{}</td>", escaped(cell.trim())))
                .collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    assert_eq!(waiting(&format!("<table>\n{rows}</table>")), Some(3.0));
    // As the client writes it, behind the command that somebody typed.
    let rows = rows.replace("td>", "TD>").replace("tr>", "TR>");
    let pasted = format!("$ mysql -H -e 'SHOW PROCESSLIST'\n<TABLE BORDER=1>{rows}</TABLE>");
    assert_eq!(waiting(&pasted), Some(3.0));
}

#[test]
fn a_list_whose_line_ends_were_lost_is_read() {
    let line = LIST.replace('\n', " ");
    assert_eq!(
        waiting(&format!(
            "mysql> show full processlist; {line}4 rows in set"
        )),
        Some(3.0)
    );
    // Only the first lines are one.
    let some = LIST.replacen("|\n+", "| +", 1).replacen("+\n|", "+ |", 2);
    assert_eq!(
        waiting(&format!("mysql> show processlist; {some}")),
        Some(3.0)
    );
}

#[test]
fn frames_without_addresses_and_arguments_are_a_stack() {
    let text = "It stood there:\n#0 in nanosleep from /lib64/libpthread.so.0\n#1 in srv_conc_enter_innodb\n\
        #2 in ha_innobase::index_read\n#3 in handler::ha_index_first\n#4 in mysql_execute_command\n";
    let stack = (
        "backtraces of threads".to_owned(),
        Some((2, 6)),
        "1 thread".to_owned(),
    );
    assert_eq!(told(text), [stack]);
    let incident = read(text).1.unwrap();
    let frames = incident.stacks.table.frames().iter();
    let names: Vec<&str> = frames.map(|frame| frame.name.as_str()).collect();
    assert!(names.contains(&"srv_conc_enter_innodb"), "{names:?}");
    assert!(names.contains(&"nanosleep"), "{names:?}");
}

#[test]
fn the_list_of_a_debugger_has_a_frame_of_each_thread() {
    let text = "(gdb) info threads\n  Id   Target Id         Frame \n\
        \x20 20   Thread 0x7f5300540700 (LWP 13913) \"mysqld\" 0x00007f52 in __lll_lock_wait () from /lib64/libpthread.so.0\n\
        \x20 19   Thread 0x7f5300540600 (LWP 13912) 0x00007f52 in __lll_lock_wait () from /lib64/libpthread.so.0\n\
        * 1    LWP 13900 \"mysqld\" poll () at poll.c:29\n";
    let list = (
        "backtraces of threads".to_owned(),
        Some((3, 5)),
        "3 threads".to_owned(),
    );
    assert_eq!(told(text), [list]);
    let incident = read(text).1.unwrap();
    let runs = &incident.stacks.runs;
    let mut tids: Vec<u32> = runs.iter().map(|run| run.tid).collect();
    tids.sort_unstable();
    assert_eq!(tids, [13900, 13912, 13913]);
}

#[test]
fn rows_in_json_are_a_list() {
    let wait = "Waiting for table metadata lock";
    let row = |id: u32| {
        format!(
            "{{\"Id\":{id},\"User\":\"app\",\"Host\":\"web1:1\",\"db\":\"shop\",\"Command\":\"Query\",\"Time\":50,\"State\":\"{wait}\",\"Info\":\"ALTER TABLE t\\nADD b INT\"}}"
        )
    };
    assert_eq!(waiting(&format!("[{},{}]", row(5), row(6))), Some(2.0));
    assert_eq!(
        waiting(&format!(
            "SQL > show processlist;\n{}\n{}\n",
            row(5),
            row(6)
        )),
        Some(2.0)
    );
}

#[test]
fn columns_may_have_any_order() {
    let text = "time\tstate\tinfo\tid\n60\tWaiting for table metadata lock\tALTER TABLE t\t9\n\
        50\tWaiting for table metadata lock\tSELECT 1\t10\n";
    assert_eq!(waiting(text), Some(2.0));
}
