//! Host tools print in the language of whoever ran them: other words, decimal commas, the same columns.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use import::{Imported, Input, import};

/// German, of procps 4, coreutils and sysstat, one after the other in a ticket.
const GERMAN: &str = "\
top - 10:15:01 up 12 days,  3:04,  2 Benutzer,  Durchschnittslast: 9,10, 4,20, 2,10
Aufgaben: 213 gesamt,   4 laufend, 209 schlafend,   0 gestoppt,   0 Zombie
%CPU(s): 12,5 be, 71,0 sy,  0,0 ni, 10,5 un,  4,0 wa,  0,0 hi,  2,0 si,  0,0 st
MiB Spch :  15900,2 gesamt,    312,4 frei,  12000,1 belegt,   3587,7 Puff/Cache
MiB Swap:   2048,0 gesamt,   2048,0 frei,      0,0 belegt.   3300,1 verfü Spch

    PID BENUTZER  PR  NI    VIRT    RES    SHR S  %CPU  %MEM    ZEIT+ BEFEHL
   1234 mysql     20   0 9000000 800000  20000 S 151,3  40,0 100:00.00 mysqld

               gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar
Speicher:    16281804     9123456      812345       12345     6345999     6789012
Swap:         2097148           0     2097148

Dateisystem    1K-Blöcke  Benutzt Verfügbar Verw% Eingehängt auf
/dev/sda1       51474912 51474912         0  100% /var/lib/mysql

procs -----------Speicher---------- ---Swap-- -----E/A---- -System-- ------CPU-----
 r  b   swpd   frei   Puff  Cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 812345   1000 634599    0    0     5     9  100  200  3  2 95  0  0
 9  2      0 812345   1000 634599    0    0     5     9  100  900 10 80  5  5  0

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1,00    0,00    2,00    3,00    0,00   94,00

Gerät             r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
vda              1,00     10,00     0,00   0,00    0,50    10,00   20,00    100,00     0,00   0,00   45,00     5,00    2,50  50,00
";

fn imported(text: &str) -> Imported {
    import(&[Input {
        path: "ticket",
        bytes: text.as_bytes(),
    }])
}

/// The last value of a signal.
fn last(imported: &Imported, name: &str) -> f64 {
    let timeline = &imported.incident.as_ref().unwrap().timeline;
    let series = timeline
        .get(name)
        .unwrap_or_else(|| panic!("no {name}: {:#?}", imported.parts));
    timeline.points(series).last().unwrap().1
}

#[test]
fn german() {
    let read = imported(GERMAN);
    let kinds: Vec<&str> = read.parts.iter().map(|part| part.kind.as_str()).collect();
    assert!(!kinds.contains(&"text around it"), "{kinds:?}");
    for (name, expected) in [
        ("top.mysqld.cpus", 1.513),
        ("meminfo.MemTotal", 16_281_804.0 * 1024.0),
        ("meminfo.MemAvailable", 6_789_012.0 * 1024.0),
        ("meminfo.SwapFree", 2_097_148.0 * 1024.0),
        ("filesystem./var/lib/mysql.used_share", 1.0),
        ("disk.vda.in_flight", 2.5),
    ] {
        let value = last(&read, name);
        assert!((value - expected).abs() < 1e-6, "{name}: {value}");
    }
}

#[test]
fn shares_of_the_processors_are_known_by_their_place() {
    let (top, _) = GERMAN.split_once("\n\n").unwrap();
    let read = imported(top);
    for (name, expected) in [
        ("cpu.user_share", 0.125),
        ("cpu.system_share", 0.71),
        ("cpu.iowait_share", 0.04),
    ] {
        assert_eq!(last(&read, name), expected, "{name}");
    }
    // Those of an old top stand without blanks.
    let old = "top - 10:00:00 up 1 day,  1 user,  load average: 0.10, 0.20, 0.30\nCpu(s):  0.5%us,100.0%sy,  0.0%ni\n";
    assert_eq!(last(&imported(old), "cpu.system_share"), 1.0);
}

#[test]
fn a_list_of_ps_is_no_top() {
    let list =
        "  PID  PPID CMD                 %MEM %CPU\n 1234     1 /usr/sbin/mysqld     40.0 151.3\n";
    let read = imported(list);
    assert!(
        read.parts.iter().all(|part| part.kind != "top output"),
        "{:?}",
        read.parts
    );
}

#[test]
fn free_of_other_languages() {
    for text in [
        "              total       usado       livre    compart.  buff/cache  disponível\n\
         Mem.:      16281804     9123456      812345       12345     6345999     6789012\n\
         Swap:       2097148           0     2097148\n",
        "               total     utilisé       libre    partagé   tamp/cache disponible\n\
         Mem:           15Gi       8,7Gi       793Mi        12Mi       6,1Gi     6,5Gi\n\
         Partition d'échange:  2,0Gi  0B  2,0Gi\n",
    ] {
        let read = imported(text);
        let total = last(&read, "meminfo.MemTotal") / 1_073_741_824.0;
        assert!((14.9..15.6).contains(&total), "{total}: {text}");
        assert!(last(&read, "meminfo.MemAvailable") > 6e9, "{text}");
        assert!(last(&read, "meminfo.SwapTotal") > 2e9, "{text}");
    }
    // Words above numbers are no such table without its second row.
    let other = "eins zwei drei vier\nName: 1 2 3 4\n";
    assert!(
        imported(other)
            .incident
            .is_none_or(|it| it.timeline.get("meminfo.MemTotal").is_none())
    );
}
