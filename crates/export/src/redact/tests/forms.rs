//! Each form is made in two ways, and in a text of ASCII alone both find the same: whatever is redacted with the smaller
//! ones is redacted no less.

use proptest::prelude::*;

use super::super::forms::both::with_large_forms;
use super::super::leak::Leak;
use super::super::{innodb, line};
use super::*;

/// One text at least for each form, and for each part of the one of lines.
const TEXTS: &[&str] = &[
    "`shop`.`orders`, \"shop\".\"orders\", `orders`, \"orders\", 'orders', N'carol'",
    "https://carol:pw@db-7.acme.corp:8443/backup?x=1 see https://dev.mysql.com/doc/",
    "0f8ea1b2-17c3-11ee-9b52-0242ac110002 deadbeefdeadbeef00 00:1a:2b:3c:4d:5e fe80::1ff:fe23:4567:890a",
    "carol@acme.corp C:\\Users\\carol\\my.ini /srv/acme/data/shop.ibd ../carol/x ~/carol shop/orders reads/s",
    "db-7.acme.corp 10.0.0.7 8.0.36-acme 10.11.19-MariaDB-0+deb12u1 mysql.user libc.so.6",
    "comm acme_batch, task=acme_batch process 12 (acme_batch) wJ4lrXUtnF9MI7mDeNGbPxRfiC2zE",
    "Nov 21 00:01:02 db-7 kernel: out of memory",
    "2026-11-21T00:01:02+01:00 db-7 mysqld[12]: ready",
    "Mutex at 0x7f5c 'acme', on RW-latch at 0x7f5c 'acme'",
    "index mail_idx of table `shop`.`t` in index carol_idx Index mail_idx is corrupt",
    "lock_index: carol_idx INDEX: name mail_idx, constraint carol_fk FOREIGN partition p2019 of table",
    "corruption of index carol_idx in table shop Member 0.1 (db-7) left",
    "  1: 0f8ea1b2-17c3-11ee-9b52-0242ac110002, db-7",
    "password is generated for root@localhost: k4Zb9Tq71m2 audit: proctitle=6D7973716C cmd=ABCDEF01",
    "user=carol report_host=db-7 cluster-name=acme --login-path=shop ACME_TOKEN=abcdef exe=acme",
    "mysqldump --x -pk4zb9t -u carol -h db-7",
    "Cookie: carol=1; x-api-key: 'k4zb9tq7' \"password\":\"k4zb9t\" Authorization: Bearer k4zb9tq71m2w",
    "Query: select mail from users where name = 'carol' statement was: 'delete from shop'",
    "insert into orders values (1, 'carol')",
    "report_host = db-7 # carol's",
    "--loose-wsrep_node_name= 'acme 1'",
    "MySQL thread id 5, OS thread handle 0x7f, query id 9 web1 10.0.0.5 shop updating",
    "RECORD LOCKS space id 1 index mail_idx of table \"shop/orders\" Table name acme/x",
    "x = 'carol miller', card '4111 1111 1111 1111' build-id: d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90",
    "d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90 RBX: 6b6b6b6b6b6b6b6b",
    "ibdata1:12M;acme2:10M:autoextend",
    "gcomm://db-7,db-8?gmcast.segment=1&acme",
    "",
];

/// What comes of a text wherever it may stand in a history, what was met in it, and what would be found in it.
fn made(text: &str) -> (Vec<String>, usize, Option<Leak>) {
    let blank = blank();
    let mut of = Pseudonyms::new(&blank, b"salt", "");
    let mut made = Vec::new();
    for _ in 0..2 {
        for fact in [
            "variables.report_host",
            "variables.innodb_data_file_path",
            "variables.init_connect",
            "variables.wsrep_provider_options",
            "sysctl.kernel.core_pattern",
            "server.version",
            "server.unix_sockets",
            "host.kernel",
        ] {
            made.push(values::rename(&mut of, fact, text));
        }
        for (area, end) in [
            ("top", "cpu_ms"),
            ("disk", "busy_ms"),
            ("filesystem", "used"),
        ] {
            made.push(series::rename(&mut of, &format!("{area}.{text}.{end}")));
        }
        made.push(super::text::rename(&mut of, text));
        made.push(innodb::rename(&mut of, text));
        of.learn();
    }
    let (met, names) = (of.len(), of.into_names());
    (made, met, names.find_in_text(text.as_bytes()))
}

#[test]
fn each_form_finds_the_same_in_both_ways() {
    for text in TEXTS {
        assert!(text.is_ascii());
        assert_eq!(made(text), with_large_forms(|| made(text)), "{text}");
    }
}

#[test]
fn names_with_other_letters_are_found_as_ever() {
    for text in [
        "index Zähler_idx of table",
        "user=Jürgen report_host=дб-7",
        "`каталог`.`заказы` ärger@größe.de",
    ] {
        let line = line::value(&mut Pseudonyms::new(&blank(), b"salt", ""), text);
        for name in [
            "Zähler",
            "Jürgen",
            "дб",
            "каталог",
            "заказы",
            "ärger",
            "größe",
        ] {
            assert!(!line.contains(name), "{name} in {line}");
        }
    }
}

/// What forms look for, to be put together in any order.
const PIECES: &[&str] = &[
    "`",
    "'",
    "\"",
    ".",
    "/",
    "//",
    "@",
    ":",
    "::",
    "-",
    "--",
    "_",
    " ",
    "=",
    " = ",
    "(",
    ")",
    ",",
    ";",
    "\\",
    "?",
    "%",
    "\n",
    "\t",
    "\u{b}",
    "\u{1c}",
    "\0",
    "acme",
    "carol",
    "SHOP",
    "k4zb9Tq71m2Wv8",
    "ffff",
    "0123456789abcdef",
    "12",
    "10.0.0.7",
    "8.0.36",
    "index",
    "INDEX: name ",
    " of table",
    "table ",
    "password",
    "api-key",
    "bearer ",
    "user",
    "host",
    "query",
    "statement was: ",
    "select a from ",
    "insert into ",
    "values (",
    "mysql ",
    " -p",
    " -u",
    "comm ",
    "task=",
    "process 7 (",
    "Nov 21 00:01:02 ",
    " kernel: ",
    "build-id: ",
    "0x7f5c",
    "Mutex at ",
    "query id 9 ",
    "https",
    "s",
    "K",
];

/// Texts of ASCII: put together of pieces, or of any characters.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..16);
    let bytes = prop::collection::vec(0_u8..128, 0..48);
    prop_oneof![
        4 => pieces.prop_map(|pieces| pieces.concat()),
        1 => bytes.prop_map(|bytes| bytes.into_iter().map(char::from).collect::<String>()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2))]

    #[test]
    fn any_text_of_ascii_is_redacted_the_same_in_both_ways(text in text()) {
        prop_assert_eq!(made(&text), with_large_forms(|| made(&text)));
    }
}
