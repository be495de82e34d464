//! What is advised is what happens: this program runs itself as nobody with chosen capabilities, looks at a process of
//! another user, and compares. It also does what the cures say.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests tell what they skip or measure"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod copied;
mod processor_victim;

use std::collections::BTreeMap;
use std::process::Command;

use kernel::access::{self, EvidenceAdvice};
use kernel::perf::{Sampler, SamplerOptions, Scope};
use processor_victim::Victim;

/// Set in the program that runs as nobody: the process to look at.
const TARGET: &str = "FREEZEFRAME_TEST_TARGET";
/// Marks a line of its answer.
const MARK: &str = "advice\t";

const FIVE: &str = "bpf,perfmon,sys_ptrace,syslog,dac_read_search";

/// Evidence, and whether it is there, why, and its cure.
type Answer = BTreeMap<String, (bool, String, String)>;

fn get<'a>(answer: &'a Answer, evidence: &str) -> &'a (bool, String, String) {
    answer.get(evidence).unwrap()
}

/// The other side of [`ask`]; does nothing in an ordinary run.
#[test]
fn answer() {
    let Ok(target) = std::env::var(TARGET) else {
        return;
    };
    let pid: u32 = target.parse().unwrap();
    let access = access::access();
    let process = access::process_access(pid).unwrap();
    let advice = access::advise(&access, Some(&process));
    for line in &advice {
        println!(
            "\n{MARK}{}\t{}\t{}\t{}",
            line.evidence,
            line.available,
            line.why,
            line.cure.as_deref().unwrap_or("")
        );
    }
    compare(&advice, pid);
}

/// Does what the advice says is possible or not.
fn compare(advice: &[EvidenceAdvice], pid: u32) {
    let said = |evidence: &str| {
        let line = advice.iter().find(|line| line.evidence == evidence);
        line.unwrap().available
    };
    let open = |scope| {
        Sampler::open(&SamplerOptions {
            scope,
            hz: 99,
            stack_bytes: 16 << 10,
            kernel: true,
            user_stacks: true,
            ring_bytes: 1 << 18,
        })
    };
    let machine = open(Scope::Machine);
    assert_eq!(machine.is_ok(), said("CPU profile"));
    let process = open(Scope::Process(pid));
    assert_eq!(process.is_ok(), said("CPU profile of the server"));
    let kernel_side = [machine, process]
        .iter()
        .any(|sampler| sampler.as_ref().is_ok_and(Sampler::sees_kernel));
    assert_eq!(kernel_side, said("CPU profile, kernel side"));

    let registers = std::fs::read(format!("/proc/{pid}/task/{pid}/syscall")).is_ok();
    // Opening asks for the same permission as process_vm_readv, and besides for that of the file's mode.
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).is_ok();
    assert_eq!(registers && memory, said("thread stacks by /proc"));
    let map = std::fs::read(format!("/proc/{pid}/maps")).is_ok();
    // The map of the machine's own files tells paths that are good for everybody.
    assert_eq!(map, said("function names of the server"));
    let names = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let shown = names
        .lines()
        .any(|line| !line.starts_with("0000000000000000"));
    assert_eq!(shown, said("kernel names"));
}

/// What [`answer`] says as nobody with these capabilities; `None` where this program cannot be run so.
fn ask(capabilities: &str, target: u32) -> Option<Answer> {
    let directory = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).unwrap();
    let program = directory.path().join("access");
    copied::to_run(&std::env::current_exe().unwrap(), &program);

    let set: String = capabilities
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| format!(",+{name}"))
        .collect();
    let set = format!("-all{set}");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args([
            format!("--inh-caps={set}"),
            format!("--ambient-caps={set}"),
            format!("--bounding-set={set}"),
        ])
        .arg(program)
        .args(["--exact", "answer", "--nocapture"])
        .env(TARGET, target.to_string())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: no setpriv");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !text.contains("running 1 test") {
        eprintln!("skipped: {errors}");
        return None;
    }
    assert!(
        output.status.success(),
        "with {capabilities}: {text}{errors}"
    );
    let answer = text
        .lines()
        .filter_map(|line| line.strip_prefix(MARK))
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [evidence, available, why, cure] = fields[..] else {
                panic!("{line}");
            };
            let line = (available == "true", why.to_owned(), cure.to_owned());
            (evidence.to_owned(), line)
        })
        .collect();
    Some(answer)
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root can run a program with chosen capabilities");
    }
    root
}

/// A process of an ordinary user, which is not nobody.
fn of_other_user() -> Victim {
    let user = [
        "setpriv",
        "--reuid=65533",
        "--regid=65533",
        "--clear-groups",
    ];
    Victim::start_by(&user, "spin", 1)
}

#[test]
fn advice_and_reality_agree_with_any_capabilities() {
    if !is_root() {
        return;
    }
    let victim = of_other_user();
    for capabilities in [
        "",
        "perfmon",
        "sys_ptrace",
        "bpf",
        "bpf,perfmon",
        "sys_ptrace,dac_read_search",
        "syslog",
        "sys_admin",
        FIVE,
    ] {
        let Some(answer) = ask(capabilities, victim.pid()) else {
            return;
        };
        let have: Vec<&str> = answer
            .iter()
            .filter(|(_, (available, _, _))| *available)
            .map(|(evidence, _)| evidence.as_str())
            .collect();
        eprintln!("{capabilities}: {}", have.join(", "));
        for (evidence, (available, why, cure)) in &answer {
            assert!(!why.is_empty(), "{evidence}");
            assert!(!available || cure.is_empty(), "{evidence}: {cure}");
        }
    }
}

#[test]
fn the_cure_cures() {
    if !is_root() {
        return;
    }
    let victim = of_other_user();
    for capabilities in ["", "perfmon", "sys_ptrace,syslog"] {
        let Some(before) = ask(capabilities, victim.pid()) else {
            return;
        };
        let Some(set) = get(&before, "thread stacks by /proc")
            .2
            .strip_prefix("setcap ")
        else {
            eprintln!(
                "skipped: in a container or unit, whose capabilities cannot be changed from inside"
            );
            return;
        };
        let (set, _) = set.split_once("=ep ").unwrap();
        let after = ask(&set.replace("cap_", ""), victim.pid()).unwrap();
        // A setting that the cure names besides is not changed here, and what is refused in spite of the capabilities
        // (by the kernel of a distribution, a filter) could not be known before.
        let cured = before.iter().filter(|(_, (available, _, cure))| {
            !available && cure.starts_with("setcap ") && !cure.contains(" && ")
        });
        for (evidence, _) in cured {
            let (available, why, cure) = get(&after, evidence);
            assert!(
                *available || why.contains("despite"),
                "{evidence}: {why} {cure}"
            );
        }
    }
}

#[test]
fn a_process_of_our_own_and_one_that_closed_itself() {
    if !is_root() {
        return;
    }
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let open = Victim::start_by(&nobody, "spin", 1);
    let closed = Victim::start_by(&nobody, "closed", 1);
    let Some(of_open) = ask("", open.pid()) else {
        return;
    };
    let of_closed = ask("", closed.pid()).unwrap();
    for evidence in [
        "thread stacks by /proc",
        "CPU profile of the server",
        "function names of the server",
    ] {
        assert!(get(&of_open, evidence).0, "{:?}", get(&of_open, evidence));
        let (available, why, _) = get(&of_closed, evidence);
        assert!(!available);
        assert!(why.contains("started by another"), "{why}");
    }
}

#[test]
fn a_process_that_is_gone() {
    let mut ended = Command::new("true").spawn().unwrap();
    let pid = ended.id();
    ended.wait().unwrap();
    assert!(access::process_access(pid).unwrap_err().is_gone());
}

#[test]
fn our_own_process() {
    let own = access::process_access(std::process::id()).unwrap();
    assert!(own.same_uid && own.dumpable && !own.other_pid_namespace);
    assert_eq!((own.maps_readable, own.memory_readable), (Ok(()), Ok(())));
}
