//! Any bytes, and any log cut anywhere.

use proptest::prelude::*;
use sql::digest::{Digester, Options, Order};
use sql::log::{LogKind, slow_border};

use crate::support::{feed, read_by};

/// Pieces that logs are made of, and some that they are not.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"# Time: 110308 16:07:41\n"[..]),
        Just(&b"# Time: 2026-05-12T03:12:05.120456Z\n"[..]),
        Just(&b"# User@Host: root[root] @ localhost []  Id: 5\n"[..]),
        Just(&b"# User@Host: [x] @ [y\n"[..]),
        Just(
            &b"# Query_time: 0.5  Lock_time: 0 Rows_sent: 3  Rows_examined: 18446744073709551616\n"
                [..]
        ),
        Just(&b"# Thread_id: 3  Schema:  QC_hit: No\n"[..]),
        Just(&b"# explain: 1\tSIMPLE\n"[..]),
        Just(&b"#\n"[..]),
        Just(&b"# administrator command: Ping;\n"[..]),
        Just(&b"use shop;\n"[..]),
        Just(&b"SET timestamp=1370073666;\n"[..]),
        Just(&b"select 'a' from t;\n"[..]),
        Just(&b"select \xff\xfe\n# x\n;\n"[..]),
        Just(
            &b"/usr/sbin/mysqld, Version: 5.0 (x). started with:\nTcp port: 3306  Unix socket: s\n"
                [..]
        ),
        Just(&b"110308 16:07:41\t    5 Connect\troot@localhost on shop\n"[..]),
        Just(&b"\t\t    5 Query\tselect 1\n"[..]),
        Just(&b"\t\t    5 Quit\t\n"[..]),
        Just(&b"2018-07-01T01:02:03.123456Z\t   10 Execute\tselect 2\n"[..]),
        Just(&b"\t\t      5 Query       select 3\n"[..]),
        Just(&b"                    5 Init DB   shop\n"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"# "[..]),
        Just(&b"\n"[..]),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn kinds() -> impl Strategy<Value = LogKind> {
    prop_oneof![Just(LogKind::Slow), Just(LogKind::General)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in kinds(), step in 1..200_usize) {
        read_by(&bytes, kind, step);
    }

    /// It makes no difference in which blocks a log comes.
    #[test]
    fn blocks_make_no_difference(log in pieces(), kind in kinds(), step in 1..300_usize) {
        let whole = read_by(&log, kind, log.len().max(1));
        prop_assert_eq!(read_by(&log, kind, step), whole);
    }

    /// A log that was cut off has the same events up to the last one.
    #[test]
    fn a_cut_costs_the_last_event(log in pieces(), kind in kinds(), share in 0.0..1.0_f64) {
        let cut = (log.len() as f64 * share) as usize;
        let (whole, _) = read_by(&log, kind, log.len().max(1));
        let (less, _) = read_by(&log[..cut], kind, cut.max(1));
        prop_assert!(less.len() <= whole.len() + 1);
        let same = less.len().saturating_sub(2).min(whole.len());
        prop_assert_eq!(&less[..same], &whole[..same]);
    }

    /// Parts that are cut at a border have the events of the whole, and what is digested of them agrees.
    #[test]
    fn borders_part_no_event(log in pieces(), share in 0.0..1.0_f64) {
        let near = (log.len() as f64 * share) as usize;
        let Some(border) = slow_border(&log[near..]) else {
            return Ok(());
        };
        let (first, second) = log.split_at(near + border);
        let count = |part: &[u8]| read_by(part, LogKind::Slow, part.len().max(1)).0.len();
        prop_assert_eq!(count(first) + count(second), count(&log));
    }

    #[test]
    fn digests_count_every_event(log in pieces(), kind in kinds()) {
        let mut digester = Digester::new(Options::default());
        feed(&mut digester, &log, kind);
        let events = read_by(&log, kind, log.len().max(1)).0.len() as u64;
        let found = digester.finish(model::QueryMethod::SlowLog, &Order::Usual, None, false);
        prop_assert_eq!(found.digest.count, events);
        let classes: u64 = found.digest.classes.iter().map(|class| class.count).sum();
        prop_assert_eq!(classes, events);
    }
}
