//! Texts and the sections that they are split into.

use super::*;
use crate::clean;

fn formats(text: &str) -> Vec<(&'static str, usize, usize)> {
    let lines = clean::lines(text);
    split(&lines)
        .iter()
        .map(|section| (section.format.id, section.from + 1, section.to))
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
    assert_eq!(formats(text), [("processlist", 4, 5), ("backtrace", 9, 12)]);
}

#[test]
fn a_value_of_several_lines_does_not_end_a_table() {
    let text = "| Aborted_clients | 0 |\n| Caching_sha2_password_rsa_public_key | -----BEGIN PUBLIC KEY-----\nMIIB\nAQAB\nMIIB\nAQAB\n-----END PUBLIC KEY-----\n |\n| Com_select | 5 |\n";
    assert_eq!(formats(text), [("name_value", 1, 9)]);
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
        assert_eq!(formats(&text), [], "{text}");
    }
    assert_eq!(formats("PLUGIN_NAME\tSTATUS\na_b\t1\nc_d\t2\ne_f\t3\n"), []);
    // Without a head two cells are enough, more are too many.
    assert_eq!(formats("| sync_binlog | 1 | x |\n"), []);
    assert_eq!(formats("| sync_binlog | 1 |\n"), [("name_value", 1, 1)]);
    for head in [
        "| Variable_name | Value |",
        "| VARIABLE_NAME | VARIABLE_VALUE |",
    ] {
        let text = format!("{rule}\n{head}\n{rule}\n| sync_binlog | 1 |\n{rule}\n");
        assert_eq!(formats(&text), [("name_value", 2, 5)], "{text}");
    }
}

#[test]
fn the_head_of_another_table_ends_a_table() {
    let text = "+---+---+\n| Variable_name | Value |\n+---+---+\n| Uptime | 9 |\n+---+---+\n\n\
        +---+---+\n| plugin_name | status |\n+---+---+\n| a_b | x |\n+---+---+\n\n\
        +---+---+\n| NAME | COUNT |\n+---+---+\n| purge_invoked | 5 |\n+---+---+\n";
    assert_eq!(formats(text), [("name_value", 2, 7), ("rows", 14, 17)]);
}

#[test]
fn frames_without_addresses_belong_to_their_stack() {
    let text = "#3  mutex_spin_wait (mutex=0x2a,\n        file_name=0x8b \"trx0trx.c\", line=220) at sync0sync.c:565\n\
        #4  trx_allocate_for_mysql\n#5  openfrm\n\n#1 innodb_io_capacity\n#2 max_connections\n";
    assert_eq!(formats(text), [("backtrace", 1, 4)]);
    let text = "#0  buf_flush_list\n#1  srv_master_thread\n#2  clone\n";
    assert_eq!(formats(text), [("backtrace", 1, 3)]);
}

#[test]
fn rows_of_pt_pmp_go_on_behind_a_comma() {
    let text = "83 pthread_cond_wait,os_event_wait_low,mutex_spin_wait,\nmutex_enter_func\nio_thread\n\
        10 a_b, c_d(a.cc:3), e_f,g\n3 apples, pears, nuts, plums\n5 cats,\n";
    assert_eq!(formats(text), [("pt_pmp", 1, 2), ("pt_pmp", 4, 4)]);
}

#[test]
fn a_hung_task_has_its_stack() {
    let text = "The guest hung with this:\nINFO: task jbd2/dm-9-8:762 blocked for more than 120 seconds.\n\
        jbd2/dm-9-8   D ffff81043e0a1420     0   762    585\n ffff81041daa7d60 0000000000000046\nCall Trace:\n\
         [<ffffffff8008cf5f>] find_busiest_group+0x20d/0x621\n dump_stack+0x66/0x90\n\nIs it the disk?\n";
    assert_eq!(formats(text), [("kernel_log", 2, 7)]);
}

#[test]
fn tables_with_tabs_have_rows_of_their_own_length() {
    let text = "trx_id\ttrx_state\ttrx_started\ttrx_a\ttrx_b\n5\tRUNNING\t2026-01-01 00:00:00\t1\t2\n\
        requesting_trx_id\tblocking_trx_id\n6\t5\n7\t5\n8\t5\n9\t5\n10\t5\n11\t5\n12\t5\n";
    assert_eq!(formats(text), [("rows", 1, 10)]);
}

#[test]
fn prose_is_nothing() {
    assert_eq!(
        formats("We saw 100.0% system CPU, and Thread pools.\n# 1 Title\n3 apples, pears\n"),
        []
    );
}

#[test]
fn a_statement_belongs_to_its_session() {
    let text = "---TRANSACTION 5, ACTIVE 9 sec\nMySQL thread id 3, OS thread handle 0x7f, query id 9 localhost app update\n\
        UPDATE t\n  SET a = 1\n\nbye\n";
    assert_eq!(formats(text), [("server_text", 1, 4)]);
}

#[test]
fn prose_behind_a_list_is_none_of_it() {
    let text = "*************************** 1. row ***************************\n     Id: 2352\n   User: app\nCommand: Query\n\
           Time: 2573\n  State: checking permissions\n   Info: DROP TABLE t\n\n\
        I wondered about that.\nThen I looked at the status.\n\n--------------\nROW OPERATIONS\n--------------\n\
        0 queries inside InnoDB, 0 queries in queue\nMain thread process no. 6117, id 47, state: doing insert buffer merge\n\
        Number of rows inserted 1, updated 2, deleted 3, read 4\n\nAny idea?\n";
    assert_eq!(
        formats(text),
        [("processlist", 1, 7), ("server_text", 12, 17)]
    );
}

#[test]
fn what_begins_with_a_word_and_a_colon_is_none_of_a_list() {
    let list = "| Id | User | Host | db | Command | Time | State | Info |\n\
        | 7 | app | web1:4711 | shop | Query | 12 | Commit | COMMIT |\n";
    let iostat = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util\n\
        sda               0.00     3.00    0.20   31.40     3.20   388.00    24.76     8.90  281.63  31.60  99.84\n";
    for blank in ["", "\n"] {
        let found = formats(&format!("{list}{blank}{iostat}"));
        let ids: Vec<&str> = found.iter().map(|(id, ..)| *id).collect();
        assert_eq!(ids, ["processlist", "iostat"], "{found:?}");
    }
    // A row a paragraph, with columns of one server alone.
    let row = "*************************** 1. row ***************************\n\
        Id: 7\n   User: app\n   Host: web1\n     db: shop\nCommand: Query\n   Time: 12\n  State: Commit\n   Info: COMMIT\n\
        Rows_sent: 0\nRows_examined: 0\n";
    let found = formats(&format!("{row}\n{iostat}"));
    assert_eq!(
        found,
        [("processlist", 1, 11), ("iostat", 13, 14)],
        "{found:?}"
    );
}

#[test]
fn a_kernel_log_behind_options_is_none_of_them() {
    let text = "[mysqld]\nmax_connections = 151\n\n\
        [812331.550012] INFO: task mysqld:1812 blocked for more than 120 seconds.\n\
        [812331.550020]       Not tainted 5.4.0-91-generic\n";
    assert_eq!(formats(text), [("option_file", 1, 2), ("kernel_log", 4, 5)]);
}

#[test]
fn a_statement_with_a_blank_line_does_not_end_its_list() {
    let row = |n: u32, info: &str| {
        format!("***** {n}. row *****\nId: {n}\nCommand: Query\nState: x\nInfo: {info}\n")
    };
    let text = [
        row(1, "select 1\n\nfrom t\nwhere a\n\n\nand b"),
        row(2, "NULL"),
    ]
    .concat();
    assert_eq!(formats(&text), [("processlist", 1, 16)]);
}

#[test]
fn sections_of_the_monitor_begin_a_status() {
    let text = "see below\n1 pending log flushes, 0 pending chkp writes\n415 log i/o's done, 0.00 log i/o's/second\n\
        ----------------------\nBUFFER POOL AND MEMORY\n----------------------\nPages made young 0, not young 0\n";
    assert_eq!(formats(text), [("server_text", 2, 7)]);
    let text = "--Thread 140 has waited at row0purge.cc line 880 for\n";
    assert_eq!(formats(text), [("server_text", 1, 1)]);
    assert_eq!(formats("LOG\n---\nnothing\n"), []);
}

#[test]
fn processes_are_known_by_the_columns_asked_for() {
    let text = "  PID    VSZ COMMAND\n    1  23712 init\n16680 136345132 mysqld\n5 6 7\nbye\n";
    assert_eq!(formats(text), [("ps", 1, 3)]);
}
