//! The parsers on this machine's own files.

#![allow(clippy::print_stdout, reason = "tests tell what they skip or measure")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests count as plain code for clippy

use kernel::clock;
use kernel::procfs::meminfo::Amount;
use kernel::procfs::{
    buddyinfo, cgroup, diskstats, maps, meminfo, net, netstat, pressure, stat, task_stat,
    task_status, thp, vmstat,
};
use kernel::read::{self, ReadError};
use kernel::roots::{ProcRoot, SysRoot};
use std::path::Path;
use std::time::{Duration, Instant};

fn proc() -> ProcRoot {
    ProcRoot::default()
}

#[test]
fn stat_and_clock() {
    let stat = stat::read(&proc()).unwrap();
    let total = stat.total.unwrap();
    assert!(!stat.cpus.is_empty());
    assert!(total.idle >= stat.cpus.iter().map(|cpu| cpu.1.idle).min().unwrap());
    assert!(total.user > 0 && total.guest_nice.is_some());
    assert!(stat.context_switches.unwrap() > 0 && stat.forks.unwrap() > 0);
    assert!(stat.procs_running.unwrap() > 0, "this test runs");
    let boot_ms = clock::wall_ms() - i64::try_from(clock::boottime_ms()).unwrap();
    let btime_ms = i64::try_from(stat.boot_time_s.unwrap()).unwrap() * 1000;
    assert!((boot_ms - btime_ms).abs() < 5_000, "{boot_ms} {btime_ms}");
}

#[test]
fn clock_moves_and_constants() {
    let before = clock::boottime_ms();
    std::thread::sleep(Duration::from_millis(20));
    assert!(clock::boottime_ms() >= before + 20);
    assert_eq!(clock::boot_id(&proc()).unwrap().len(), 36);
    assert_eq!(clock::hertz(), 100);
    assert!(clock::page_size_bytes().is_power_of_two());
}

#[test]
fn pressure_of_each_resource() {
    for resource in ["cpu", "memory", "io"] {
        match pressure::read(&proc().file(&format!("pressure/{resource}"))) {
            Ok(pressure) => assert!(pressure.some.is_some(), "{resource}"),
            Err(e) => println!("skipped: {e}"),
        }
    }
}

#[test]
fn memory() {
    let bytes = meminfo::read(&proc()).unwrap();
    let kib = |name| {
        meminfo::pairs(&bytes).find_map(|pair| match pair {
            (found, Amount::Kib(kib)) if found == name => Some(kib),
            _ => None,
        })
    };
    assert!(kib("MemFree").unwrap() <= kib("MemTotal").unwrap());
    let lines = bytes.iter().filter(|&&b| b == b'\n').count();
    assert_eq!(meminfo::pairs(&bytes).count(), lines);

    let bytes = vmstat::read(&proc()).unwrap();
    let lines = bytes.iter().filter(|&&b| b == b'\n').count();
    assert_eq!(vmstat::pairs(&bytes).count(), lines);
    assert!(vmstat::pairs(&bytes).any(|p| p.0 == "pgfault" && p.1 > 0));

    let zones = buddyinfo::read(&proc()).unwrap();
    let free_pages: u64 = zones
        .iter()
        .flat_map(|zone| zone.free_blocks.iter().enumerate())
        .map(|(order, blocks)| blocks << order)
        .sum();
    assert!(free_pages > 0);
}

#[test]
fn disks() {
    let disks = diskstats::read(&proc()).unwrap();
    let sys = SysRoot::default();
    for disk in &disks {
        if disk.name.starts_with("vd") || disk.name.starts_with("sd") {
            let partition = disk.name.ends_with(|c: char| c.is_ascii_digit());
            assert_eq!(diskstats::is_whole_disk(&sys, &disk.name), !partition);
        }
    }
    if disks.is_empty() {
        println!("skipped: no disks here");
    }
}

#[test]
fn network_counters() {
    let bytes = netstat::read(&proc().file("net/netstat")).unwrap();
    assert!(netstat::counters(&bytes).any(|c| (c.0, c.1) == ("TcpExt", "ListenOverflows")));
    let bytes = netstat::read(&proc().file("net/snmp")).unwrap();
    assert!(netstat::counters(&bytes).any(|c| (c.0, c.1) == ("Tcp", "CurrEstab")));
    assert!(
        !netstat::counters(&bytes).any(|c| c.1 == "MaxConn"),
        "negative"
    );
}

#[test]
fn own_sockets() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let local = listener.local_addr().unwrap();
    let is_ours = |s: &net::TcpSocket| s.local == local && s.state == net::TCP_LISTEN;
    // The last step of the handshake may come after connect(2) has returned.
    let deadline = Instant::now() + Duration::from_secs(10);
    let bytes = loop {
        let bytes = read::whole(&proc().file("net/tcp"), 64 << 20).unwrap();
        let waits = net::tcp_sockets(&bytes).any(|s| is_ours(&s) && s.rx_queue == 1);
        if waits || Instant::now() > deadline {
            break bytes;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let socket = net::tcp_sockets(&bytes).find(is_ours).unwrap();
    assert_eq!(socket.rx_queue, 1, "one connection waits");
    assert_eq!(socket.inode, rustix::fs::fstat(&listener).unwrap().st_ino);
    let states: Vec<_> = net::tcp_sockets(&bytes).map(|s| s.state).collect();
    let listening = states.iter().filter(|&&s| s == net::TCP_LISTEN).count();
    assert!(
        states[..listening].iter().all(|&s| s == net::TCP_LISTEN),
        "listening ones first"
    );

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("with space.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let bytes = read::whole(&proc().file("net/unix"), 64 << 20).unwrap();
    let socket = net::unix_sockets(&bytes)
        .find(|s| s.name == net::UnixName::Path(&path))
        .unwrap();
    assert!(socket.listening);
    assert_eq!(socket.inode, rustix::fs::fstat(&listener).unwrap().st_ino);
}

#[test]
fn own_process() {
    let pid = std::process::id();
    let bytes = read::head(&proc().of(pid, "stat"), 4096).unwrap();
    let stat = task_stat::parse(&bytes).unwrap();
    assert_eq!((stat.id, stat.flags & task_stat::PF_KTHREAD), (pid, 0));
    assert_eq!(stat.parent, std::os::unix::process::parent_id());
    assert!(stat.blkio_delay_ticks.is_some() && stat.minflt > 0);

    let status = task_status::read(&proc().of(pid, "status")).unwrap();
    assert_eq!(status.uid, Some(rustix::process::getuid().as_raw()));
    assert!(status.vm_rss_kib.unwrap() > 0 && status.threads.unwrap() > 0);
    assert!(status.voluntary_switches.is_some() && status.involuntary_switches.is_some());
}

#[test]
fn own_maps() {
    let bytes = maps::read(&proc().of(std::process::id(), "maps")).unwrap();
    let lines = bytes.iter().filter(|&&b| b == b'\n').count();
    assert_eq!(maps::mappings(&bytes).count(), lines);
    let exe = std::env::current_exe().unwrap();
    let here = own_maps as fn() as usize as u64;
    let code = maps::mappings(&bytes)
        .find(|m| (m.start..m.end).contains(&here))
        .unwrap();
    assert!(code.is_executable());
    assert_eq!(code.file(), Some(exe.as_path()));

    let allocators = maps::allocators(&bytes);
    assert_eq!(allocators.len(), 1);
    assert_eq!(allocators[0].allocator, maps::Allocator::LibcOrLinkedIn);
}

#[test]
fn own_cgroup() {
    let cgroups = cgroup::read(&proc().of(std::process::id(), "cgroup")).unwrap();
    let mount = cgroup::v2_mount_point(&std::fs::read("/proc/self/mountinfo").unwrap());
    let (Some(cgroup), Some(mount)) = (cgroups.v2, mount) else {
        println!("skipped: no cgroup v2 here");
        return;
    };
    let Some(directory) = cgroup::directory(&mount, &cgroup) else {
        println!("skipped: the cgroup is outside this mount");
        return;
    };
    let stat = cgroup::parse_cpu_stat(&cgroup::read_file(&directory, "cpu.stat").unwrap());
    assert!(stat.usage_us.unwrap() >= stat.system_us.unwrap());
}

#[test]
fn huge_page_settings() {
    let settings = thp::read(&SysRoot::default());
    match settings.enabled.as_deref() {
        Some(word) => assert!(
            ["always", "madvise", "never"].contains(&word),
            "{settings:?}"
        ),
        None => println!("skipped: {:?}", settings.absent),
    }
}

#[test]
fn half_a_file_is_an_error() {
    let error = read::whole(&proc().file("meminfo"), 100).unwrap_err();
    assert!(matches!(
        error,
        ReadError::TooLong {
            limit_bytes: 100,
            ..
        }
    ));
    assert_eq!(read::head(&proc().file("meminfo"), 100).unwrap().len(), 100);
    let error = read::whole(Path::new("/proc/no such file"), 100).unwrap_err();
    assert!(error.is_gone());
    assert!(error.to_string().contains("no such file"));
}
