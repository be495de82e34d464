//! The search for names that redaction left, and what it takes for one name.

use super::super::pseudonyms::Pseudonyms;
use super::super::{NameKind, line, paths};
use super::{blank, shown};

/// Nobody met these as names, and still they are found: where one pass forgets, the search does not.
#[test]
fn the_search_knows_forms_of_names_that_nobody_met() {
    let blank = blank();
    let names = Pseudonyms::new(&blank, b"salt", "").into_names();
    for (given, found) in [
        (
            "n bits 72 index idx_passport of table `a`.`b` trx id 5",
            "idx_passport",
        ),
        (r#"{"x":"index \"idx_passport\" of table"}"#, "idx_passport"),
        (
            "filesystem./srv/acme/mysql.used_share",
            "/srv/acme/mysql.used_share",
        ),
        ("is at '/mnt/finance/x.ibd'.", "/mnt/finance/x.ibd"),
        ("to db-1.acme.example.com:3306", "db-1.acme.example.com"),
        ("ask ops@acme.org now", "ops@acme.org"),
        ("from 10.1.2.3:44", "10.1.2.3"),
        (
            "0f8e4621-d2fa-48fa-97f3-f664df620b51",
            "0f8e4621-d2fa-48fa-97f3-f664df620b51",
        ),
        ("init_connect='hunter two'", "hunter two"),
        (
            "cmd 6D7973716C002D75726F6F74002D7068756E74657232 x",
            "6D7973716C002D75726F6F74002D7068756E74657232",
        ),
    ] {
        let leak = names.find_in_text(given.as_bytes());
        assert_eq!(
            leak.and_then(|leak| given.get(leak.range())),
            Some(found),
            "{given}"
        );
    }
    for given in [
        "n bits 72 index PRIMARY of table `schema_4qp9dj54zb`.`table_4qp9dj54zb` trx id 5",
        "filesystem./var/lib/mysql.used_share",
        "/srv/dir_4zb9djp4zb/mysql-bin.000012: 0.00 reads/s, 5 / 1000",
        "in file /build/mysql-5.7.22/storage/innobase/dict/dict0stats.cc line 5",
        "see https://dev.mysql.com/doc and 127.0.0.1:3306, 255.255.255.0",
        "00000000-0000-0000-0000-000000000000",
        "memcpy@GLIBC_2.14 (libc.so.6)",
        "BuildID[sha1]=d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90 and 0x00007f5c3a1b2c4d",
        "thread_handling = 'one-thread-per-connection'",
    ] {
        assert_eq!(names.find_in_text(given.as_bytes()), None, "{given}");
    }
}

/// Tables are called `target`, `key`, `old` and `log`, and files end in the same words.
#[test]
fn a_table_may_be_called_like_the_end_of_a_file() {
    let blank = blank();
    for end in paths::DATA {
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        pseudonyms.name(NameKind::Table, end);
        let path = format!("/srv/shop/{end}.{end}");
        // Once to meet what is in it, once with all that was met.
        line::value(&mut pseudonyms, &path);
        pseudonyms.learn();
        let renamed = line::value(&mut pseudonyms, &path);
        let leak = pseudonyms.into_names().find_in_text(renamed.as_bytes());
        assert_eq!(leak, None, "{path}: {renamed}");
    }
}

#[test]
fn a_shorter_name_is_found_where_a_longer_one_goes_on() {
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    for name in ["qza", "qza-b"] {
        pseudonyms.name(NameKind::Schema, name);
    }
    pseudonyms.learn();
    assert_eq!(
        shown(&pseudonyms.sweep("x qza-bcd, qza-b, QZA, qzab.")),
        "x <schema>-bcd, <schema>, <schema>, qzab."
    );
    assert_eq!(
        pseudonyms.into_names().find(b"qza-bcd").unwrap().range(),
        0..3
    );
}

#[test]
fn capitals_of_other_alphabets_are_the_same_name() {
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    pseudonyms.name(NameKind::User, "René_жук");
    pseudonyms.learn();
    assert_eq!(
        shown(&pseudonyms.sweep("rené_жук RENÉ_ЖУК")),
        "<user> <user>"
    );
}
