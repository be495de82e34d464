//! Arbitrary and damaged bytes: no parser panics, and what is damaged in one line stays in that line.

use kernel::procfs::{
    buddyinfo, cgroup, diskstats, maps, meminfo, net, netstat, pressure, stat, task_stat,
    task_status, thp, vmstat,
};
use kernel::{accept_queue, netlink};
use proptest::collection::vec;
use proptest::prelude::*;

fn every_parser(bytes: &[u8]) {
    stat::parse(bytes);
    pressure::parse(bytes);
    vmstat::pairs(bytes).count();
    meminfo::pairs(bytes).count();
    buddyinfo::parse(bytes);
    diskstats::parse(bytes);
    netstat::counters(bytes).count();
    task_stat::parse(bytes);
    task_stat::parse_schedstat(bytes);
    task_status::parse(bytes);
    maps::mappings(bytes).for_each(|mapping| {
        mapping.file();
    });
    maps::allocators(bytes);
    cgroup::parse(bytes);
    cgroup::parse_cpu_stat(bytes);
    cgroup::parse_memory_events(bytes);
    cgroup::parse_limit(bytes);
    cgroup::v2_mount_point(bytes);
    thp::selected(bytes);
    net::tcp_sockets(bytes).count();
    net::unix_sockets(bytes).count();
    netlink::messages(bytes).count();
    accept_queue::parse_tcp(bytes);
    accept_queue::parse_unix(bytes);
}

const REAL: [&[u8]; 9] = [
    include_bytes!("../fixtures/stat-6.18"),
    include_bytes!("../fixtures/vmstat-6.18"),
    include_bytes!("../fixtures/meminfo-6.18"),
    include_bytes!("../fixtures/diskstats-generations"),
    include_bytes!("../fixtures/netstat-6.18"),
    include_bytes!("../fixtures/status-mariadb-10.11"),
    include_bytes!("../fixtures/net-tcp"),
    include_bytes!("../fixtures/net-unix"),
    b"4457 (a) b) S 1 2 3 0 -1 64 105 1 22 2 33 44 5 6 20 0 37 0 55880 2998272 413 1 2 3 4 5 6 7 8 9 10\n",
];

/// Bytes that the formats give a meaning to, so that random input gets further than the first field.
fn telling_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        Just(b' '),
        Just(b'\n'),
        Just(b':'),
        Just(b'('),
        Just(b')'),
        Just(b'['),
        Just(b']'),
        Just(b'-'),
        Just(b'@'),
        Just(b'\0'),
        b'0'..=b'9',
        b'a'..=b'f',
        any::<u8>(),
    ];
    vec(byte, 0..400)
}

proptest! {
    // Failing cases are printed; nothing is written beside the sources.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..400)) {
        every_parser(&bytes);
    }

    #[test]
    fn arbitrary_text(bytes in telling_bytes()) {
        every_parser(&bytes);
    }

    #[test]
    fn damaged_files(
        n in 0..REAL.len(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        patches in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = REAL[n].to_vec();
        for (at, byte) in patches {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (a, b) = (from.index(bytes.len()), to.index(bytes.len()));
        every_parser(&bytes[a.min(b)..a.max(b)]);
    }

    #[test]
    fn damaged_netlink_answers(
        family in prop_oneof![Just(1_u8), Just(2), Just(10), any::<u8>()],
        mut payload in vec(any::<u8>(), 0..120),
        attribute_bytes in any::<u16>(),
        length in any::<u32>(),
    ) {
        for (at, byte) in [(0, family), (1, 10), (2, 10)] {
            if let Some(found) = payload.get_mut(at) {
                *found = byte;
            }
        }
        if let Some(field) = payload.get_mut(16..18) {
            field.copy_from_slice(&attribute_bytes.to_ne_bytes());
        }
        accept_queue::parse_tcp(&payload);
        accept_queue::parse_unix(&payload);
        let mut datagram = length.to_ne_bytes().to_vec();
        datagram.extend(&payload);
        netlink::messages(&datagram).count();
    }

    #[test]
    fn netlink_error_numbers_are_in_range(
        kind in 2_u16..4,
        error in prop_oneof![-5000..5000_i32, any::<i32>()],
    ) {
        let mut datagram = 20_u32.to_ne_bytes().to_vec();
        datagram.extend(kind.to_ne_bytes());
        datagram.extend([0; 10]);
        datagram.extend(error.to_ne_bytes());
        let first = netlink::messages(&datagram).next();
        match first {
            Some(Ok(netlink::Message::End { errno, .. })) => prop_assert_eq!(errno, -error),
            Some(Err(netlink::NetlinkError::Malformed)) => {
                prop_assert!(!(-4095..=0).contains(&error));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn vmstat_gives_back_what_was_written(pairs in vec(("[a-z_]{1,20}", any::<u64>()), 0..40)) {
        let text: String = pairs.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
        let read: Vec<_> = vmstat::pairs(text.as_bytes()).map(|(n, v)| (n.to_owned(), v)).collect();
        prop_assert_eq!(read, pairs);
    }

    #[test]
    fn comm_may_be_anything(comm in vec(any::<u8>(), 0..16)) {
        let mut bytes = b"4457 (".to_vec();
        bytes.extend(&comm);
        bytes.extend(b") S 1 2 3 0 -1 64 105 1 22 2 33 44 5 6 20 0 37 0 55880 2998272 413\n");
        let stat = task_stat::parse(&bytes).unwrap();
        prop_assert_eq!(stat.comm, String::from_utf8_lossy(&comm));
        prop_assert_eq!((stat.utime_ticks, stat.start_time_ticks), (33, 55880));
    }
}
