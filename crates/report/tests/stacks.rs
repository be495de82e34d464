//! Profiles, stacks and locks on the page: complete, consistent, harmless, bounded.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::{common, markup, mysqld, sha256};
use model::{
    FrameSide, Incident, Profile, ProfileCount, StackEnd, StackEvidence, StackFrame, StackId,
    StackTable, ThreadRun,
};
use report::{HtmlOptions, html, profile_diff_page, profile_page};
use serde_json::Value;

/// What a page with thousands of stacks may weigh, in bytes.
const PAGE_BYTES_MAX: usize = 2_000_000;

const NASTY: &str = "</script><script>alert(1)</script><!--\"'&\u{1b}[31m\u{9b}\u{7f}\r\n\u{202e}\u{2028}\u{2029}\u{2066}";

fn page(incident: &Incident) -> String {
    html(incident, &common::verdict(), &HtmlOptions::default())
}

/// The data of a page's flame graph.
fn data(page: &str) -> Value {
    let block = page
        .split_once("<script type=\"application/json\">")
        .and_then(|(_, rest)| rest.split_once("</script>"));
    serde_json::from_str(block.expect("a data block").0).expect("JSON")
}

fn numbers(value: &Value) -> Vec<u64> {
    let list = value.as_array().expect("a list");
    list.iter()
        .map(|number| number.as_u64().expect("a number"))
        .collect()
}

/// Checks a graph's data; the number of its nodes.
fn consistent(data: &Value) -> usize {
    let (up, frame) = (numbers(&data["up"]), numbers(&data["frame"]));
    let frames = data["frames"].as_array().expect("frames").len() as u64;
    assert_eq!(up.len(), frame.len());
    assert_eq!(up[0], 0);
    assert!(frame.iter().all(|frame| *frame < frames));
    for (side, values) in data["values"]
        .as_array()
        .expect("values")
        .iter()
        .enumerate()
    {
        let values = numbers(values);
        assert_eq!(Some(values[0]), data["totals"][side].as_u64());
        let mut called = vec![0u64; up.len()];
        for (index, up) in up.iter().enumerate().skip(1) {
            assert!(*up >= 1 && *up <= index as u64);
            called[index - *up as usize] += values[index];
        }
        assert!(
            called
                .iter()
                .zip(&values)
                .all(|(called, value)| called <= value)
        );
    }
    up.len()
}

#[test]
fn the_sections_stand_behind_the_charts_of_the_findings() {
    let page = page(&mysqld::incident());
    assert_eq!(markup::faults(&page), [""; 0]);
    let mut at = 0;
    for part in [
        "id=\"evidence\"",
        "<section id=\"profile\"><details class=\"section\"><summary><h2>CPU profile",
        "<b>Before</b>: <b>",
        " of 32 CPUs busy with the server on average",
        "<b>In the stall</b>: <b>",
        "3 more were lost",
        "<figure class=\"flame\">",
        "Functions of the server whose share changed most",
        "ut_delay",
        "no symbol at this address",
        "<section id=\"stacks\"><details class=\"section\"><summary><h2>What the threads did",
        "<b>60</b> snapshots in the minute before the onset, <b>253</b> in the stall",
        "BPF task iterator, nothing stopped: 5.12 ms each (median), 99.6% of the stacks complete",
        "trx_commit_off_kernel",
        "data-label=\"Threads before\" class=\"number\">0</td>",
        "<b>31</b>",
        "1 min 7 s",
        "uninterruptible",
        "more groups",
        "<section id=\"locks\"><details class=\"section\"><summary><h2>Locks",
        "<div class=\"chain\" aria-hidden=\"true\"><span><span class=\"crowd\"><b>57 threads</b></span></span>",
        "<i>wait for →</i><span class=\"lock\"><b>kernel_mutex</b>",
        "<i>held by →</i><span class=\"holder\"><b>thread 4711</b> <small>mysqld, by its stack</small>",
        "<i>waits for →</i><span class=\"lock\"><b>malloc arena main_arena</b> <small>with 8 others</small>",
        "57 threads wait for kernel_mutex, held by thread 4711 (mysqld, by its stack), which waits for malloc arena \
         main_arena with 8 others, held by thread 4822 (mysqld, by the lock",
        "owner field), which is in mprotect, uninterruptible. <small>in 2 of 3 lock tables",
        "Sampled: 200 snapshots, one every 50.3 ms",
        "<b>57</b>",
        "named by the call path of the waiting threads",
        "known by its stack",
        "the lock&#39;s owner field",
        "306 threads wait for work",
        "COND_thread_cache",
        "mmap_lock",
        "This is the table with most waits; the other 2",
        "id=\"signals\"",
    ] {
        let found = page[at..].find(part);
        assert!(
            found.is_some(),
            "{part} is missing after {}",
            &page[at..][..80]
        );
        at += found.unwrap_or(0);
    }
}

#[test]
fn the_graph_has_both_profiles() {
    let incident = mysqld::incident();
    let data = data(&page(&incident));
    assert!(consistent(&data) > 2_000);
    assert_eq!(data["names"], serde_json::json!(["before", "in the stall"]));
    // What ran beside the server has a graph of its own.
    let samples = |profile: &Profile| {
        let server = profile.counts.iter().filter(|row| row.server);
        server.map(|row| row.count).sum::<u64>()
    };
    let taken: Vec<u64> = incident.stacks.profiles.iter().map(samples).collect();
    assert_eq!(numbers(&data["totals"]), taken);
    let names: Vec<&str> = data["frames"]
        .as_array()
        .expect("frames")
        .iter()
        .filter_map(|frame| frame[0].as_str())
        .collect();
    assert!(!names.contains(&"kswapd0"));
    for name in [
        "mysqld",
        "trx_commit_for_mysql",
        "do_futex",
        "(callers unknown)",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn a_profile_across_the_onset_belongs_to_where_most_of_it_lies() {
    let mut incident = mysqld::incident();
    let onset = incident.stall.onset;
    for profile in &mut incident.stacks.profiles {
        (profile.from, profile.to) = (onset - 4_000, onset + 5_000);
    }
    let late = page(&incident);
    assert_eq!(data(&late)["names"], serde_json::json!(["in the stall"]));
    assert!(late.contains("There is no profile before the onset to compare with."));
    for profile in &mut incident.stacks.profiles {
        profile.from -= 4_000;
    }
    assert!(page(&incident).contains("There is no profile in the stall to compare with."));
    let after = incident.window.to;
    for profile in &mut incident.stacks.profiles {
        (profile.from, profile.to) = (after, after + 1);
    }
    assert!(!page(&incident).contains("id=\"profile\""));
}

#[test]
fn without_evidence_there_is_no_section() {
    let page = page(&common::incident());
    for id in ["profile", "stacks", "locks"] {
        assert!(!page.contains(&format!("id=\"{id}\"")) && !page.contains(&format!("#{id}\"")));
    }
    assert!(!page.contains("flame-view\""));
}

#[test]
fn the_policy_names_every_script() {
    let incident = mysqld::incident();
    let (before, stall) = (&incident.stacks.profiles[0], &incident.stacks.profiles[1]);
    let book = &incident.stacks.table;
    for (page, scripts) in [
        (page(&incident), 2),
        (profile_page("x", stall, book), 1),
        (profile_diff_page("x", (before, book), (stall, book)), 1),
    ] {
        let hashes: Vec<String> = page
            .split("<script>")
            .skip(1)
            .filter_map(|rest| rest.split("</script>").next())
            .map(|script| sha256::base64(&sha256::sha256(script.as_bytes())))
            .map(|hash| format!("'sha256-{hash}'"))
            .collect();
        assert_eq!(hashes.len(), scripts);
        let sources = format!("script-src {};", hashes.join(" "));
        assert!(page.contains(&sources), "{sources}");
    }
}

#[test]
fn without_scripts_the_tables_have_the_numbers() {
    let options = HtmlOptions { script: false };
    let page = html(&mysqld::incident(), &common::verdict(), &options);
    assert!(!page.contains("<script") && page.contains("script-src 'none'"));
    assert!(page.contains("so it has no flame graph") && page.contains("ut_delay"));
    assert_eq!(markup::faults(&page), [""; 0]);
}

#[test]
fn a_profile_has_a_page_of_its_own() {
    let (mut first, mut second) = (StackTable::default(), StackTable::default());
    let before = mysqld::profile(&mut first, 0);
    let stall = mysqld::profile(&mut second, 1);
    let one = profile_page("Profile <b> of mysqld", &stall, &second);
    assert_eq!(markup::faults(&one), [""; 0]);
    assert!(one.contains("<h1>Profile &lt;b&gt; of mysqld</h1>"));
    assert!(consistent(&data(&one)) > 2_000);
    assert_eq!(data(&one)["values"].as_array().map(Vec::len), Some(1));
    let two = profile_diff_page("A against B", (&before, &first), (&stall, &second));
    assert_eq!(markup::faults(&two), [""; 0]);
    consistent(&data(&two));
    assert!(two.contains("Itself, in A") && two.contains("Change, points"));
    let empty = Profile {
        counts: Vec::new(),
        from: 0,
        to: 0,
        ..stall.clone()
    };
    for page in [
        profile_page("", &empty, &second),
        profile_diff_page("", (&empty, &first), (&stall, &second)),
    ] {
        assert_eq!(markup::faults(&page), [""; 0]);
        consistent(&data(&page));
    }
}

/// Every text of the evidence, replaced.
fn hostile() -> Incident {
    let mut incident = mysqld::incident();
    let nasty = || NASTY.to_owned();
    let evidence = &mut incident.stacks;
    let mut book = StackTable::default();
    let side = |index: usize| {
        if index.is_multiple_of(2) {
            FrameSide::Kernel
        } else {
            FrameSide::User
        }
    };
    let frames = (0..3).map(|index| StackFrame {
        name: format!("{NASTY}{index}"),
        image: nasty(),
        side: side(index),
        nameless: None,
    });
    let stack = book.intern(frames, StackEnd::TooDeep);
    evidence.table = book;
    for profile in &mut evidence.profiles {
        for row in &mut profile.counts {
            row.stack = stack;
            row.thread = nasty();
        }
        profile.counts[0].stack = StackId(u32::MAX);
        profile.counts[0].count = u64::MAX;
        profile.counts[1].count = u64::MAX;
        profile.hz = u32::MAX;
    }
    for run in &mut evidence.runs {
        run.stack = stack;
        run.name = nasty();
        if let Some(call) = &mut run.syscall {
            call.name = nasty();
        }
    }
    for table in &mut evidence.locks {
        for row in table.locks.iter_mut().chain(&mut table.conditions) {
            row.name = nasty();
            (row.total_us, row.max_us, row.share) = (f64::NAN, f64::INFINITY, f64::MIN);
            row.waits = u64::MAX;
            for caller in &mut row.callers {
                caller.path = vec![nasty(); 30];
                caller.stack = stack;
            }
            for holder in &mut row.holders {
                (holder.name, holder.doing, holder.stack) = (nasty(), nasty(), stack);
            }
        }
        for row in &mut table.kernel_locks {
            (row.name, row.path) = (nasty(), vec![nasty(); 9]);
        }
        for link in table.chains.iter_mut().flat_map(|chain| &mut chain.links) {
            link.lock = nasty();
            if let Some(holder) = &mut link.holder {
                (holder.name, holder.doing, holder.stack) = (nasty(), nasty(), stack);
            }
        }
        for absent in &mut table.absent {
            (absent.what, absent.detail) = (nasty(), nasty());
        }
    }
    incident
}

#[test]
fn outside_text_is_text() {
    let incident = hostile();
    let book = &incident.stacks.table;
    let stall = &incident.stacks.profiles[1];
    // The server has a graph, what ran beside it another one, and who waited the third.
    for (page, scripts, graphs) in [
        (page(&incident), 2, 3),
        (profile_page(NASTY, stall, book), 1, 1),
        (profile_diff_page(NASTY, (stall, book), (stall, book)), 1, 1),
    ] {
        assert_eq!(markup::faults(&page), [""; 0]);
        assert_eq!(page.matches("<script>").count(), scripts);
        assert_eq!(page.matches("</script>").count(), scripts + graphs);
        let harmful = |c: char| {
            (c.is_control() && c != '\n')
                || ('\u{2028}'..='\u{202e}').contains(&c)
                || c == '\u{2066}'
        };
        assert!(!page.contains(harmful));
        let data = data(&page);
        let name = data["frames"]
            .as_array()
            .expect("frames")
            .iter()
            .filter_map(|frame| frame[0].as_str())
            .find(|name| name.starts_with("</script><script>alert(1)"));
        let name = name.expect("the name is there, as data");
        assert!(
            name.contains("\\x1b[31m\\x9b\\x7f\\r\\n\\u{202e}\\u{2028}"),
            "{name}"
        );
    }
}

#[test]
fn a_thousand_stacks_fit_on_a_page_that_says_so() {
    let mut incident = mysqld::incident();
    let mut book = StackTable::default();
    let (mut counts, mut runs) = (Vec::new(), Vec::new());
    let template = incident.stacks.runs[0].clone();
    for number in 0..1_000usize {
        let frame = |depth: usize| StackFrame {
            name: format!(
                "std::map<{}, {}>::function_{}",
                number % (depth + 1),
                "<'key'>".repeat(40),
                depth * 7 % 90 + number % (30 * depth + 1)
            ),
            image: "mysqld".to_owned(),
            side: FrameSide::User,
            nameless: None,
        };
        let stack = book.intern((0..40).rev().map(frame), StackEnd::Complete);
        counts.push(ProfileCount {
            stack,
            thread: format!("thread {}", number % 50),
            server: true,
            count: 1 + number as u64 % 13,
        });
        runs.push(ThreadRun {
            stack,
            tid: number as u32,
            ..template.clone()
        });
    }
    for profile in &mut incident.stacks.profiles {
        profile.counts = counts.clone();
    }
    let template = incident.stacks.locks[0].clone();
    incident.stacks = StackEvidence {
        table: book,
        runs,
        locks: (0..30)
            .map(|_| {
                let mut table = template.clone();
                table.locks = vec![table.locks[0].clone(); 60];
                for row in &mut table.locks {
                    row.callers = vec![row.callers[0].clone(); 30];
                    row.callers
                        .iter_mut()
                        .for_each(|caller| caller.stack = StackId(7));
                    row.holders = vec![row.holders[0].clone(); 30];
                    row.holders
                        .iter_mut()
                        .for_each(|holder| holder.stack = StackId(9));
                }
                table
            })
            .collect(),
        ..incident.stacks
    };
    let page = page(&incident);
    assert!(page.len() < PAGE_BYTES_MAX, "{}", page.len());
    assert_eq!(markup::faults(&page), [""; 0]);
    consistent(&data(&page));
    for said in [
        "rare frames are put together as",
        "not shown)</summary>",
        "more not shown.",
        "more holders not shown",
        "40 more rows not shown",
    ] {
        assert!(page.contains(said), "{said}");
    }
}
