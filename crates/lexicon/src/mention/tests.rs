use super::*;

fn words(line: &str) -> Vec<&str> {
    mentions(line).into_iter().map(|one| one.text).collect()
}

#[test]
fn the_path_of_a_file_tells_nothing() {
    let words_of = |path: &str| words(path).len();
    assert_eq!(words("we see a slow disk here"), ["slow disk"]);
    assert_eq!(words_of("--dest=/backup/slow-disk/today"), 0);
    assert_eq!(words_of("'~/tickets/slow-disk/1.txt'"), 0);
    assert_eq!(words("a slow-disk/network"), ["slow disk"]);
}

#[test]
fn what_is_as_it_should_be_is_no_sign() {
    assert_eq!(
        words("memory is exhausted and disk i/o is slow"),
        ["out of memory", "slow disk"]
    );
    assert_eq!(words("the disk i/o is fine and so is the rest"), [""; 0]);
    assert_eq!(
        words("it has quiet disks (less than 0.1% CPU IO wait)"),
        [""; 0]
    );
    assert_eq!(words("TasksMax=infinity"), [""; 0]);
    // What is there zero times is not there, and what is off does nothing.
    for line in [
        "deadlocks 0, reads 7",
        "deadlocks: 0",
        "steal 0.0 %",
        "(AHI is off.)",
    ] {
        assert_eq!(words(line), [""; 0], "{line}");
    }
    assert_eq!(words("deadlocks 10 a second"), ["deadlock"]);
    assert_eq!(
        words("when the AHI is off it works"),
        ["adaptive hash index"]
    );
    // Behind a colon stands what is told of the word in front of it.
    assert_eq!(words("slow: the plan starts with b"), [""; 0]);
    assert_eq!(words("Swap:  2048 total, 1900 used"), ["swapping"]);
    assert_eq!(words("TasksMax=512"), ["TasksMax=512"]);
    assert_eq!(words("writeback:0 unstable:0"), [""; 0]);
    assert_eq!(words("服务器发生OOM，进程"), ["out of memory"]);
    assert_eq!(
        words("_reset_isolation_suitable is at 98 %"),
        ["_reset_isolation_suitable"]
    );
    assert_eq!(
        words("skip_name_resolve is off, and reverse DNS is slow"),
        ["name resolution"]
    );
}

#[test]
fn what_a_record_says_is_not_so_is_no_sign() {
    for line in [
        "  \"OOMKilled\": false,",
        "State.OOMKilled=no",
        "{\\\"OOMKilled\\\":false}",
        "deadlock: false",
    ] {
        assert_eq!(words(line), [""; 0], "{line}");
    }
    for line in ["\"OOMKilled\": true,", "OOMKilled: no idea why"] {
        assert!(!words(line).is_empty(), "{line}");
    }
}

#[test]
fn what_stands_behind_a_word_can_deny_it() {
    for (line, denied, term) in [
        ("어제부터 데드락이 납니다", "데드락은 없습니다", "deadlock"),
        (
            "デッドロックが出ています",
            "デッドロックはありません",
            "deadlock",
        ),
        (
            "メタデータロックで止まる",
            "メタデータロックはない",
            "metadata lock",
        ),
    ] {
        assert!(words(line).contains(&term), "{line}");
        assert!(!words(denied).contains(&term), "{denied}");
    }
}

#[test]
fn a_number_is_a_whole_one() {
    let patterns = |line: &str| -> Vec<&'static str> {
        let found = mentions(line).into_iter();
        found.map(|one| one.entry.pattern).collect()
    };
    for (line, other, own) in [
        (
            "it ends with errno: 1134 each time",
            "it ends with errno: 11 each time",
            "errno: 11",
        ),
        (
            "then ERROR 10401 came",
            "then ERROR 1040 came",
            "ERROR 1040",
        ),
    ] {
        assert!(!patterns(line).contains(&own), "{line}");
        assert!(patterns(other).contains(&own), "{other}");
    }
}

#[test]
fn both_words_of_a_term_are_there_in_languages_with_endings() {
    for (line, expected) in [
        ("На новом хостинге медленные диски", "slow disk"),
        ("Ждём блокировки метаданных таблицы", "metadata lock"),
        ("Идёт большая транзакция", "large transaction"),
        ("Строки ждут блокировку строк", "row lock"),
        ("При поиске блокируется вся таблица", "table lock"),
        ("bei der Suche ist die ganze Tabelle gesperrt", "table lock"),
    ] {
        assert!(words(line).contains(&expected), "{line}: {:?}", words(line));
    }
    // One of the two says something else.
    assert!(!words("Это временная мера").contains(&"temporary table"));
    assert!(!words("Ждём блокировки метаданных").contains(&"table lock"));
    assert!(!words("Какая-то блокировка").contains(&"row lock"));
}

#[test]
fn days_and_amounts_are_written_in_many_languages() {
    for (line, expected) in [
        ("CPU飙高是从2017年1月1日早上开始的", "leap second"),
        (
            "Seit dem 1. Juli 2012 ist die CPU am Anschlag",
            "leap second",
        ),
        (
            "El proceso borra 12 millones de filas cada noche",
            "rollback",
        ),
        ("wir haben 40 Millionen Zeilen gelöscht", "rollback"),
        ("凌晨删除了三千万行数据", "rollback"),
    ] {
        assert!(words(line).contains(&expected), "{line}: {:?}", words(line));
    }
}

#[test]
fn words_of_a_term_stand_near_each_other_in_any_order() {
    for line in [
        "we DROP a 10 GB table every night",
        "big tables that are dropped freeze it",
        "truncating the largest table of the shop",
    ] {
        assert_eq!(words(line), ["dropping tables"], "{line}");
    }
    for line in [
        "we do not drop tables",
        "The load dropped. Tables are small",
        "they drop whatever stands in that long and winding list of views, and never a table",
        "droplets and tablespoons",
    ] {
        assert_eq!(words(line), [""; 0], "{line}");
    }
    assert_eq!(words("缓冲池设置得太小"), ["buffer pool misses"]);
}

#[test]
fn what_stands_between_the_words_of_a_term_can_deny_it() {
    for line in [
        "the disk is not busy at all",
        "Die Platte ist nicht ausgelastet",
        "диск не загружен",
    ] {
        assert!(!words(line).contains(&"slow disk"), "{line}");
    }
    // A denial that belongs to the word is none of it.
    assert!(words("the index is not used").contains(&"bad plan"));
    assert!(words("our connections are never closed").contains(&"connection limit"));
}

#[test]
fn sentences_of_all_scripts_begin_with_a_large_letter() {
    for (line, expected) in [
        ("Лимит соединений к базе", "connection limit"),
        ("ЗАКОНЧИЛОСЬ МЕСТО НА ДИСКЕ", "disk full"),
        ("Реплика отстаёт на три часа", "replication lag"),
        ("Índice: falta un índice en la tabla", "bad plan"),
        ("ÜBERLASTETE Server, hohe IO-Last", "slow disk"),
    ] {
        assert!(words(line).contains(&expected), "{line}");
    }
    // As many letters may stand between two words as in other scripts.
    let line = "Репликация на втором сервере постоянно отстает";
    assert!(words(line).contains(&"replication lag"));
}

#[test]
fn hours_behind_a_restart_are_those_until_it_comes_back() {
    for line in [
        "After a restart it works for a few hours and then hangs again",
        "Nach einem Neustart läuft alles wieder für ein paar Stunden",
        "重启有效果但是3小时后又再次出现",
        "再起動すると数時間は正常",
    ] {
        assert!(!words(line).contains(&"slow start"), "{line}");
    }
    for line in [
        "a restart takes forty minutes",
        "Der Neustart dauert eine Stunde",
        "重启花了两个小时",
        "再起動に40分かかる",
    ] {
        assert!(words(line).contains(&"slow start"), "{line}");
    }
}

#[test]
fn a_process_is_a_program_where_it_takes_a_processor() {
    let line = "One process sleeps and all other processes wait for its lock";
    assert!(!words(line).contains(&"other programs"));
    let line = "another process keeps all cores busy";
    assert!(words(line).contains(&"other programs"));
}

#[test]
fn names_and_states_are_found_in_prose() {
    assert_eq!(
        words("Most are in `buf_LRU_get_free_block` and 40 say 'Waiting for table flush', why?"),
        ["buf_LRU_get_free_block", "Waiting for table flush"]
    );
    assert_eq!(
        words("MDL_context::acquire_lock <- open_table -- everybody waits"),
        ["MDL_context::acquire_lock", "open_table"]
    );
    // Prose that has the words of a state, and names of users, mean nothing.
    assert!(words("we are waiting for table reservations in the_table of my_shop").is_empty());
    assert!(words("closing tables, he said").len() < 2);
}

#[test]
fn instruments_are_found_by_their_ends_and_names_by_their_humps() {
    let line = "synch/sxlock/innodb/index_tree_rw_lock 44, AnonHugePages: 88 kB";
    assert_eq!(
        words(line),
        [
            "synch/sxlock/innodb/index_tree_rw_lock",
            "AnonHugePages: 88"
        ]
    );
}

#[test]
fn states_in_quotes_need_no_case_and_terms_are_of_many_languages() {
    for (line, expected) in [
        (
            "all are in \"Copying to tmp table\". It seems",
            vec!["Copying to tmp table"],
        ),
        (
            "后来的全部是 “waiting for table flush”。",
            vec!["waiting for table flush"],
        ),
        (
            "others say waiting for table flush, too",
            vec!["waiting for table flush"],
        ),
        (
            "we are copying to tmp table nothing",
            vec!["temporary table"],
        ),
        ("Linux swaps out more and more", vec!["swapping"]),
        ("then I swap the two tables by RENAME", vec![]),
        (
            "PHP has no sockets, all in TIME_WAIT",
            vec!["connection tracking"],
        ),
        ("it happened after the leap seconds", vec!["leap second"]),
        (
            "闰秒之后 mysqld 占满 CPU，怀疑元数据锁",
            vec!["leap second", "metadata lock"],
        ),
        ("Nach der Schaltsekunde", vec!["leap second"]),
        ("возникает взаимоблокировка", vec!["deadlock"]),
        (
            "THP is on, thpx is a word, so is numax",
            vec!["transparent huge pages"],
        ),
        ("no swapping at all", vec![]),
    ] {
        assert_eq!(words(line), expected, "{line}");
    }
}

#[test]
fn amounts_are_names_with_values_and_nothing_is_no_amount() {
    let line = "then Innodb_log_waits: 4711, `max_connections` is 500 and time_zone = SYSTEM";
    assert_eq!(
        words(line),
        [
            "Innodb_log_waits: 4711",
            "max_connections` is 500",
            "time_zone = SYSTEM"
        ]
    );
    assert_eq!(words("Innodb_log_waits = 0, general_log = OFF"), [""; 0]);
    // What else stands behind a name is its user's.
    assert_eq!(
        words("max_connections = geheim4711, tmpdir = /geheim"),
        [""; 0]
    );
    // Of a counter people say that it rises.
    assert_eq!(
        words("Innodb_log_waits climbs all the time"),
        ["Innodb_log_waits"]
    );
}

#[test]
fn families_of_states_and_statements_are_found_without_what_is_anybodys() {
    assert_eq!(
        words("14 app wsrep: initiating replication for write set (geheim4711) 88 s"),
        ["wsrep: initiating replication for write set (*)"]
    );
    assert_eq!(
        words("then I typed show binlog events in 'geheim.000812' limit 5"),
        ["SHOW BINLOG EVENTS"]
    );
    assert_eq!(
        words("SET GLOBAL innodb_buffer_pool_size=geheim"),
        ["SET GLOBAL innodb_buffer_pool_size"]
    );
}

#[test]
fn messages_are_found_from_their_words_on() {
    let line = "> 2026-03-01 then it said InnoDB: page_cleaner: 1000ms intended loop took 8123ms.";
    let found = mentions(line);
    assert!(
        found
            .iter()
            .any(|one| one.entry.kind == Kind::Message
                && one.text.contains("intended loop took 8123ms")),
        "{found:?}"
    );
}

#[test]
fn what_is_denied_or_supposed_is_left_out() {
    for line in [
        "we do not see Waiting for table flush anywhere",
        "there is no buf_LRU_get_free_block in it",
        "if it were Waiting for table flush we would know",
        "kein Waiting for table flush",
        // Who tells of a first guess tells of another reason behind it.
        "At first we all thought of nothing, I first suspected Waiting for table flush",
        "一开始以为是 Waiting for table flush",
    ] {
        assert!(words(line).is_empty(), "{line}");
    }
    assert_eq!(
        words("it is not the disk, Waiting for table flush is what they say"),
        ["Waiting for table flush"]
    );
}

#[test]
fn a_sentence_may_begin_in_the_line_before() {
    let words = |before: &str, line: &'static str| -> Vec<&'static str> {
        let found = mentions_after(before, line).into_iter();
        found.map(|one| one.text).collect()
    };
    let state = "Waiting for table flush";
    assert_eq!(words("we do not see any", state), [""; 0]);
    assert_eq!(words("most of them are in", state), [state]);
    assert_eq!(words("it is not the disk, they say", state), [state]);
    assert_eq!(words("", state), [state]);
}

#[test]
fn no_text_breaks_it() {
    for line in [
        "",
        " ",
        "é_é_é_é::",
        "没有_a_b::c Waiting for table flush",
        "::::////____....,",
    ] {
        mentions(line);
    }
}

#[test]
fn the_begin_of_a_message_is_no_message() {
    let messages = || {
        let entries = Lexicon::get().entries();
        entries.filter(|entry| entry.kind == Kind::Message && entry.is_strong)
    };
    for entry in messages().filter(|entry| entry.pattern.is_ascii()) {
        let longest = entry
            .pattern
            .split('*')
            .max_by_key(|part| part.len())
            .unwrap();
        let Some(begin) = longest.get(..longest.len() - 1) else {
            continue;
        };
        let found = mentions(begin);
        let is_it = |one: &Mention| std::ptr::eq(one.entry, entry);
        assert!(!found.iter().any(is_it), "{begin}");
    }
    assert!(messages().count() > 1_000);
}
