//! Statements of made-up conversations.

use crate::conversation::{
    COLUMN, COMPRESS, Conversation, EOF, OK, QUERY_ATTRIBUTES, SSL, Said, Told, decode, packet,
    segments,
};
use server::wire::{STATEMENT_BYTES_MAX, StatementKind};

fn told(conversation: &Conversation) -> Vec<Told> {
    decode(&segments(&conversation.said, &mut || 1460), true).0
}

fn texts(told: &[Told]) -> Vec<(&str, &str)> {
    told.iter()
        .map(|one| (one.kind.name(), one.text.as_str()))
        .collect()
}

#[test]
fn a_login_and_who_it_is() {
    let mut conversation = Conversation::login(0);
    conversation.select("SELECT c FROM t", 2);
    let told = told(&conversation);
    assert_eq!(
        texts(&told),
        [("Connect", ""), ("Query", "SELECT c FROM t")]
    );
    assert_eq!(told[1].user.as_deref(), Some("shop"));
    assert_eq!(told[1].database.as_deref(), Some("orders"));
    assert_eq!(told[1].program.as_deref(), Some("checkout"));
    assert_eq!((told[1].rows, told[1].error), (Some(2), None));
    assert!(!told[1].guessed && !told[1].compressed && told[0].answered);
}

#[test]
fn prepared_statements_by_their_numbers() {
    let mut conversation = Conversation::login(0);
    let prepared = |id: u8| vec![0, id, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    conversation.ask(
        b"\x16SELECT a FROM t WHERE b = ?",
        &[&prepared(1), COLUMN, EOF, COLUMN, EOF],
    );
    conversation.ask(
        b"\x16DELETE FROM t WHERE b = ?",
        &[&prepared(2), COLUMN, EOF],
    );
    for id in [1, 2, 1] {
        conversation.ask(
            &[0x17, id, 0, 0, 0, 0, 1, 0, 0, 0],
            &[&[0, 3, 0, 2, 0, 0, 0]],
        );
    }
    conversation.ask(&[0x19, 1, 0, 0, 0], &[]);
    conversation.ask(
        &[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0],
        &[b"\xff\xdb\x04#HY000Unknown"],
    );
    let told = told(&conversation);
    let executed: Vec<&Told> = told
        .iter()
        .filter(|one| one.kind == StatementKind::Execute)
        .collect();
    let executed_texts: Vec<&str> = executed.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        executed_texts,
        [
            "SELECT a FROM t WHERE b = ?",
            "DELETE FROM t WHERE b = ?",
            "SELECT a FROM t WHERE b = ?",
            ""
        ]
    );
    assert_eq!(executed[0].affected, Some(3));
    assert_eq!(executed[3].error, Some(1243));
    assert!(executed[3].cut && !executed[0].cut);
}

#[test]
fn a_statement_that_is_executed_before_it_is_known_to_be_prepared() {
    let mut conversation = Conversation::login(0);
    conversation.client(
        &[
            packet(0, b"\x16SELECT ?"),
            packet(0, &[0x17, 0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0, 0]),
        ]
        .concat(),
    );
    let prepared = [0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    conversation.server(&[
        &packet(1, &prepared),
        &packet(2, COLUMN),
        &packet(3, EOF),
        &packet(4, COLUMN),
        &packet(5, EOF),
        &packet(1, &[1]),
        &packet(2, COLUMN),
        &packet(3, EOF),
        &packet(4, b"\0\0a"),
        &packet(5, EOF),
    ]);
    let told = told(&conversation);
    assert_eq!(
        texts(&told)[1..],
        [("Prepare", "SELECT ?"), ("Execute", "SELECT ?")]
    );
    assert_eq!(told[2].rows, Some(1));
}

#[test]
fn attributes_databases_users_and_the_end() {
    let mut conversation = Conversation::login(QUERY_ATTRIBUTES);
    conversation.ask(b"\x03\0\x01SELECT 1", &[OK]);
    conversation.ask(b"\x02other", &[OK]);
    conversation.ask(b"\x03\0\x01USE `third`", &[OK]);
    conversation.ask(b"\x03\0\x01SELECT 2", &[OK]);
    conversation.ask(b"\x02nowhere", &[b"\xff\x19\x04#42000Unknown database"]);
    conversation.ask(b"\x11bob\0\0fourth\0\x21\0", &[OK]);
    conversation.ask(b"\x03\0\x01SELECT 3", &[OK]);
    conversation.ask(b"\x0e", &[OK]);
    conversation.ask(b"\x01", &[]);
    let told = told(&conversation);
    assert_eq!(
        texts(&told)[1..],
        [
            ("Query", "SELECT 1"),
            ("Init DB", "other"),
            ("Query", "USE `third`"),
            ("Query", "SELECT 2"),
            ("Init DB", "nowhere"),
            ("Change user", ""),
            ("Query", "SELECT 3"),
            ("Ping", ""),
            ("Quit", ""),
        ]
    );
    let databases: Vec<&str> = told
        .iter()
        .filter_map(|one| one.database.as_deref())
        .collect();
    assert_eq!(
        databases,
        [
            "orders", "orders", "orders", "other", "third", "third", "third", "fourth", "fourth",
            "fourth"
        ]
    );
    assert_eq!(told[5].error, Some(1049));
    assert_eq!(told[7].user.as_deref(), Some("bob"));
}

#[test]
fn the_compressed_protocol() {
    let mut conversation = Conversation::login(COMPRESS);
    let long = format!("SELECT '{}'", "x".repeat(5000));
    conversation.select("SELECT 1", 1);
    conversation.select(&long, 500);
    conversation.select(
        "SELECT c FROM a_table_whose_name_is_long_enough_to_be_compressed",
        0,
    );
    let sent = segments(&conversation.said, &mut || 1460);
    let (told, connections) = decode(&sent, true);
    assert_eq!(
        texts(&told)[1..3],
        [("Query", "SELECT 1"), ("Query", long.as_str())]
    );
    let rows: Vec<Option<u64>> = told.iter().map(|one| one.rows).collect();
    assert_eq!(rows[1..], [Some(1), Some(500), Some(0)]);
    assert!(told[1..].iter().all(|one| one.compressed));
    assert_eq!(connections.compressed, 1);
    assert!(
        connections.bytes_compressed > 1000 && connections.bytes > connections.bytes_compressed
    );
}

#[test]
fn tls_and_replicas_are_passed_over() {
    let mut conversation = Conversation::default();
    let greeting = Conversation::login(0).said[0].clone();
    conversation.said.push(greeting);
    let mut request = (SSL | 1 << 9).to_le_bytes().to_vec();
    request.extend([0; 28]);
    conversation.client(&packet(1, &request));
    conversation.client(b"\x16\x03\x01\0\x05hello");
    conversation.server(&[b"\x16\x03\x03\0\x05hello"]);
    let (told, connections) = decode(&segments(&conversation.said, &mut || 1460), true);
    assert!(told.is_empty());
    assert_eq!((connections.tls, connections.seen), (1, 1));
    // From the middle, too.
    let (told, connections) = decode(&segments(&conversation.said[2..], &mut || 1460), false);
    assert!(told.is_empty());
    assert_eq!((connections.tls, connections.guessed), (1, 0));

    let mut conversation = Conversation::login(0);
    conversation.ask(b"\x15\x01\0\0\0", &[OK]);
    conversation.ask(
        b"\x12\x04\0\0\0\0\0\x01\0\0\0bin.000001",
        &[b"\0event", b"\0event"],
    );
    conversation.client(&packet(0, b"\x03not a statement"));
    let (told, connections) = decode(&segments(&conversation.said, &mut || 1460), true);
    assert_eq!(
        texts(&told)[1..],
        [("Register Slave", ""), ("Binlog Dump", "")]
    );
    assert_eq!(connections.replication, 1);
}

#[test]
fn refused_connections() {
    let mut conversation = Conversation::default();
    conversation.server(&[&packet(0, b"\xff\x10\x04Too many connections")]);
    let all = told(&conversation);
    assert_eq!(all[0].kind, StatementKind::Connect);
    assert_eq!(all[0].error, Some(1040));
    let mut conversation = Conversation::login(0);
    conversation.said.pop();
    conversation.server(&[&packet(2, b"\xff\x15\x04#28000Access denied")]);
    let all = told(&conversation);
    assert_eq!((all.len(), all[0].error), (1, Some(1045)));
    assert_eq!(all[0].user.as_deref(), Some("shop"));
}

#[test]
fn a_file_from_the_client_and_several_results() {
    let mut conversation = Conversation::login(0);
    conversation.client(&packet(0, b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE t"));
    conversation.server(&[&packet(1, b"\xfba")]);
    conversation.client(&[packet(2, b"1\n\x03SELECT 2\n"), packet(3, b"")].concat());
    conversation.server(&[&packet(4, &[0, 2, 0, 2, 0, 0, 0])]);
    let more = &[0xfe, 0, 0, 0x0a, 0];
    conversation.ask(
        b"\x03CALL p()",
        &[
            &[1],
            COLUMN,
            EOF,
            b"\x01a",
            more,
            &[1],
            COLUMN,
            EOF,
            b"\x01b",
            more,
            OK,
        ],
    );
    conversation.select("SELECT 3", 1);
    let told = told(&conversation);
    assert_eq!(
        texts(&told)[2..],
        [("Query", "CALL p()"), ("Query", "SELECT 3")]
    );
    assert_eq!(told[1].affected, Some(2));
    assert_eq!((told[2].rows, told[3].rows), (Some(2), Some(1)));
}

#[test]
fn what_is_too_long_is_cut_and_marked() {
    let mut conversation = Conversation::login(0);
    let long = format!("INSERT INTO t VALUES {}", "(1),".repeat(100_000));
    conversation.ask(&[b"\x03", long.as_bytes()].concat(), &[OK]);
    conversation.select("SELECT 1", 1);
    let told = told(&conversation);
    assert!(told[1].cut && long.starts_with(&told[1].text));
    assert!(told[1].text.len() >= STATEMENT_BYTES_MAX - 1);
    assert_eq!(told[2].text, "SELECT 1");
    // More than a packet holds: 16 MiB and some.
    let mut conversation = Conversation::login(0);
    let long = vec![b'x'; (1 << 24) + 5];
    let payload = [b"\x03SELECT '", &long[..], b"'"].concat();
    let (first, second) = payload.split_at(0xff_ffff);
    conversation.client(&[packet(0, first), packet(1, second)].concat());
    conversation.server(&[&packet(2, OK)]);
    conversation.select("SELECT 1", 1);
    let sent = segments(&conversation.said, &mut || 60_000);
    let told = decode(&sent, true).0;
    assert_eq!(told.len(), 3);
    assert!(told[1].cut && told[1].answered && told[1].text.starts_with("SELECT 'xx"));
}

#[test]
fn answers_of_which_only_the_beginnings_were_copied() {
    let mut conversation = Conversation::login(0);
    conversation.select("SELECT 1", 1000);
    conversation.ask(b"\x03SELEC", &[b"\xff\x28\x04#42000You have an error"]);
    conversation.select("SELECT 2", 1);
    let mut sent = segments(&conversation.said, &mut || 8000);
    for one in &mut sent {
        if !one.to_server && one.bytes.len() > 600 {
            one.cut = one.bytes.len() - 600;
            one.bytes.truncate(600);
        }
    }
    let told = decode(&sent, true).0;
    assert_eq!(told.len(), 4);
    // Not known, and not wrong.
    assert_eq!(
        (told[1].rows, told[1].error, told[1].answered),
        (None, None, true)
    );
    assert_eq!(told[2].error, Some(1064));
    assert_eq!(told[3].rows, Some(1));
}

/// The requests of a conversation from the middle.
fn later(conversation: &Conversation) -> &[Said] {
    &conversation.said[3..]
}

#[test]
fn connections_that_were_open_before() {
    for capabilities in [0, COMPRESS] {
        let mut conversation = Conversation::login(capabilities);
        for round in 0..10 {
            conversation.select(&format!("SELECT {round}"), 3);
            conversation.select(
                &format!("SELECT {round} FROM a_table_with_a_long_long_long_name"),
                30,
            );
        }
        let (told, connections) = decode(&segments(later(&conversation), &mut || 1460), false);
        assert_eq!(told.len(), 20);
        assert_eq!(connections.guessed, 1);
        assert_eq!(connections.compressed, u64::from(capabilities == COMPRESS));
        assert!(
            told.iter()
                .all(|one| one.guessed && one.user.is_none() && one.answered)
        );
        assert_eq!((told[0].rows, told[19].rows), (Some(3), Some(30)));
        // In the middle of an answer.
        let (told, _) = decode(&segments(&later(&conversation)[1..], &mut || 1460), false);
        assert_eq!(told.len(), 19);
    }
}

#[test]
fn an_answer_that_was_lost_with_an_earlier_request_is_not_taken_from_a_later_one() {
    let mut conversation = Conversation::login(0);
    for number in 0..5 {
        conversation.ask(
            format!("\x03SELECT {number}").as_bytes(),
            &[if number == 1 {
                b"\xff\x28\x04#42000No"
            } else {
                OK
            }],
        );
    }
    let mut sent = segments(&conversation.said, &mut || 1460);
    // The first request and its answer, and the answer of the second: the second waits for the first, and is taken for
    // lost with it only after its own answer was.
    sent.drain(3..5);
    sent.remove(4);
    let told = decode(&sent, true).0;
    let answered: Vec<(&str, bool)> = told[1..]
        .iter()
        .map(|one| (one.text.as_str(), one.answered))
        .collect();
    assert_eq!(
        answered,
        [
            ("SELECT 1", false),
            ("SELECT 2", true),
            ("SELECT 3", true),
            ("SELECT 4", true)
        ]
    );
}
