//! Stacks of programs whose calls are known.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::support;
use crate::support::{
    FUTEX, PAUSE, POLL, READ, Running, build, parked, skipped, stack_of, threads, unwind, workshop,
};
use kernel::snapshot::Registers;
use model::StackEnd;
use stacks::images::{CodeAddress, Images, Process};
use stacks::names::Namer;
use stacks::unwind::FRAMES_MAX;
use std::process::Command;

/// Keeps a call from becoming a jump, and a function from being inlined.
const HEAD: &str = r#"
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CALLED __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
"#;

fn program(body: &str) -> String {
    format!("{HEAD}{body}")
}

const CHAIN: &str = r#"
CALLED void innermost(int n) { struct pollfd none; poll(&none, 0, -1 - n); STAY; }
CALLED void middle(int n) { innermost(n + 1 - 1); STAY; }
CALLED void outer(int n) { volatile char room[300]; room[n] = 1; middle(n); STAY; }
void *run(void *unused) { outer(0); STAY; return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    puts("ready"); fflush(stdout);
    outer(0);
    STAY;
    return 0;
}
"#;

const BUILDS: [&[&str]; 6] = [
    &["-O0"],
    &["-O2", "-fomit-frame-pointer"],
    &["-O2", "-fno-omit-frame-pointer"],
    &["-O3", "-fno-omit-frame-pointer", "-fno-pic", "-no-pie"],
    &["-O2", "-fomit-frame-pointer", "-Wl,--no-eh-frame-hdr"],
    &[
        "-O2",
        "-fno-omit-frame-pointer",
        "-fcf-protection",
        "-fstack-protector-all",
    ],
];

#[test]
fn a_thread_and_the_program_are_whole() {
    let Some(shop) = workshop() else { return };
    for (index, flags) in BUILDS.iter().enumerate() {
        let path = build(
            shop.path(),
            &format!("chain{index}"),
            &program(CHAIN),
            flags,
        );
        let mut running = Running::start(&mut Command::new(path));
        assert_eq!(running.line(), "ready");
        let tids = threads(running.pid());
        assert_eq!(tids.len(), 2);
        let Some(main) = stack_of(running.pid(), tids[0], POLL) else {
            return;
        };
        main.assert_chain(&["innermost", "middle", "outer", "main"]);
        assert_eq!(main.end, StackEnd::Complete, "{flags:?}: {main:?}");
        assert_eq!(main.frames.last().unwrap().image, format!("chain{index}"));
        let Some(thread) = stack_of(running.pid(), tids[1], POLL) else {
            return;
        };
        thread.assert_chain(&["innermost", "middle", "outer", "run"]);
        assert_eq!(thread.end, StackEnd::Complete, "{flags:?}: {thread:?}");
        assert!(thread.frames.last().unwrap().image.starts_with("libc"));
    }
}

#[test]
fn debug_frame_without_eh_frame() {
    let Some(shop) = workshop() else { return };
    let flags = [
        "-O2",
        "-g",
        "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables",
        "-nostdlib",
        "-static",
    ];
    let source = r#"
#define CALLED __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
CALLED void innermost(void) { long call = 34; __asm__ volatile("syscall" : "+a"(call) :: "rcx", "r11", "memory"); }
CALLED void outer(int n) { volatile char room[200]; room[n] = 1; innermost(); STAY; }
void _start(void) { outer(1); STAY; for (;;) ; }
"#;
    let path = build(shop.path(), "bare", source, &flags);
    let running = Running::start(&mut Command::new(path));
    let Some(stack) = stack_of(running.pid(), running.pid(), PAUSE) else {
        return;
    };
    assert_eq!(stack.names(), ["innermost", "outer", "_start"]);
    assert_eq!(stack.end, StackEnd::Complete);
}

const ALLOCA: &str = r#"
CALLED void innermost(void) { pause(); STAY; }
CALLED void waits(size_t n) {
    char *room = alloca(n); memset(room, 0x5a, n);
    printf("%p\n", __builtin_frame_address(0)); fflush(stdout);
    struct pollfd none; poll(&none, 0, -1); STAY;
    if (room[n / 2] == 1) puts(room);
}
CALLED void with_array(size_t n) { volatile char room[n]; room[n - 1] = 1; waits(n + room[n - 1]); STAY; }
int main(int argc, char **argv) { with_array(100 * argc); STAY; return argv == 0; }
"#;

#[test]
fn frames_of_unknown_size() {
    let Some(shop) = workshop() else { return };
    for flags in [
        ["-O2", "-fomit-frame-pointer"],
        ["-O1", "-fno-omit-frame-pointer"],
    ] {
        let path = build(shop.path(), "alloca", &program(ALLOCA), &flags);
        let mut running = Running::start(&mut Command::new(path));
        let pointer = running.number();
        let pid = running.pid();
        let Some((unknown, stack)) = parked(pid, pid, POLL, 32 << 10) else {
            return;
        };
        let images = Images::new();
        let mut process = Process::open(pid, &images).unwrap();
        let mut namer = Namer::new(&images);
        let known = Registers {
            bp: Some(pointer),
            ..unknown
        };
        let whole = unwind(&mut process, &mut namer, &known, &stack, false);
        whole.assert_chain(&["waits", "with_array", "main"]);
        assert_eq!(whole.end, StackEnd::Complete);
        // poll saves no register, and the function's size is not in its code: an end, and no guess.
        let cut = unwind(&mut process, &mut namer, &unknown, &stack, false);
        assert_eq!(cut.end, StackEnd::Broken);
        assert_eq!(cut.names(), whole.names()[..2]);
    }
}

#[test]
fn a_wrong_frame_pointer_makes_no_frames() {
    let Some(shop) = workshop() else { return };
    let path = build(
        shop.path(),
        "alloca",
        &program(ALLOCA),
        &["-O2", "-fomit-frame-pointer"],
    );
    let mut running = Running::start(&mut Command::new(path));
    running.number();
    let pid = running.pid();
    let Some((registers, stack)) = parked(pid, pid, POLL, 32 << 10) else {
        return;
    };
    let images = Images::new();
    let mut process = Process::open(pid, &images).unwrap();
    for wrong in [
        0,
        8,
        0xdead_beef,
        u64::MAX - 7,
        registers.sp,
        registers.sp.wrapping_sub(64),
        1 << 62,
    ] {
        let unwound = process.unwind(
            &Registers {
                bp: Some(wrong),
                ..registers
            },
            &stack,
            false,
        );
        assert_eq!(unwound.end, StackEnd::Broken, "{wrong:#x}");
        assert_eq!(unwound.addresses.len(), 2, "{wrong:#x}");
    }
}

#[test]
fn through_functions_that_save_the_frame_pointer() {
    let Some(shop) = workshop() else { return };
    let source = r#"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
CALLED void waits(size_t n) {
    char *room = alloca(n); memset(room, 1, n);
    pthread_mutex_lock(&mutex); puts("ready"); fflush(stdout);
    pthread_cond_wait(&cond, &mutex); STAY;
    if (room[n / 2] == 7) puts(room);
}
int main(int argc, char **argv) { waits(100 * argc); STAY; return argv == 0; }
"#;
    let path = build(shop.path(), "waits", &program(source), &["-O2"]);
    let mut running = Running::start(&mut Command::new(path));
    running.line();
    let Some(stack) = stack_of(running.pid(), running.pid(), FUTEX) else {
        return;
    };
    stack.assert_chain(&["waits", "main"]);
    assert_eq!(stack.end, StackEnd::Complete);
}

#[test]
fn a_signal_handler_and_what_it_interrupted() {
    let Some(shop) = workshop() else { return };
    let source = r#"
static volatile unsigned long turns;
CALLED void handler(int number) { pause(); turns += number; }
CALLED void spin(void) { for (;;) turns++; }
CALLED void outer(void) { spin(); STAY; }
int main(int argc, char **argv) {
    struct sigaction action = { .sa_handler = handler };
    if (argc > 1) {
        stack_t other = { .ss_sp = malloc(65536), .ss_size = 65536 };
        sigaltstack(&other, 0);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGUSR1, &action, 0);
    printf("%p\n", &turns); fflush(stdout);
    outer(); STAY;
    return argv == 0;
}
"#;
    let path = build(
        shop.path(),
        "signal",
        &program(source),
        &["-O2", "-fomit-frame-pointer"],
    );
    for other_stack in [false, true] {
        let mut command = Command::new(&path);
        if other_stack {
            command.arg("other");
        }
        let mut running = Running::start(&mut command);
        let turns = running.number();
        let pid = running.pid();
        if !support::counts(pid, turns) {
            return;
        }
        support::run("kill", &["-USR1", &pid.to_string()], shop.path());
        let Some(stack) = stack_of(pid, pid, PAUSE) else {
            return;
        };
        stack.assert_chain(&["handler", "__restore_rt", "spin"]);
        if other_stack {
            // The interrupted stack is elsewhere and was not copied.
            assert_eq!(stack.end, StackEnd::TooDeep);
        } else {
            stack.assert_chain(&["spin", "outer", "main"]);
            assert_eq!(stack.end, StackEnd::Complete);
        }
    }
}

const DEEP: &str = r#"
CALLED long deep(long n) { volatile char room[100]; room[n % 100] = 1; if (n == 0) { puts("ready"); fflush(stdout); pause(); } else deep(n - 1); STAY; return room[n % 100]; }
int main(int argc, char **argv) { deep(atol(argv[1])); STAY; return argc; }
"#;

#[test]
fn deeper_than_the_copy() {
    let Some(shop) = workshop() else { return };
    let path = build(
        shop.path(),
        "deep",
        &program(DEEP),
        &["-O2", "-fno-optimize-sibling-calls"],
    );
    let mut running = Running::start(Command::new(path).arg("100"));
    running.line();
    let pid = running.pid();
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 64 << 10) else {
        return;
    };
    let images = Images::new();
    let mut process = Process::open(pid, &images).unwrap();
    let mut namer = Namer::new(&images);
    let whole = unwind(&mut process, &mut namer, &registers, &stack, false);
    assert_eq!(whole.end, StackEnd::Complete);
    assert_eq!(
        whole.names().iter().filter(|name| **name == "deep").count(),
        101
    );
    for length in [0, 7, 8, 100, 4000, 4096] {
        let cut = unwind(
            &mut process,
            &mut namer,
            &registers,
            &stack[..length],
            false,
        );
        assert_eq!(cut.end, StackEnd::TooDeep, "{length}");
        assert_eq!(cut.names(), whole.names()[..cut.frames.len()], "{length}");
        let end = unwind(&mut process, &mut namer, &registers, &stack[..length], true);
        assert_eq!(end.end, StackEnd::Broken, "{length}");
    }
}

#[test]
fn more_frames_than_are_kept() {
    let Some(shop) = workshop() else { return };
    let path = build(
        shop.path(),
        "deep",
        &program(DEEP),
        &["-O2", "-fno-optimize-sibling-calls"],
    );
    let mut running = Running::start(Command::new(path).arg("400"));
    running.line();
    let pid = running.pid();
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 256 << 10) else {
        return;
    };
    let mut process = Process::open(pid, &Images::new()).unwrap();
    let unwound = process.unwind(&registers, &stack, true);
    assert_eq!(
        (unwound.end, unwound.addresses.len()),
        (StackEnd::FrameLimit, FRAMES_MAX)
    );
}

#[test]
fn a_damaged_stack_never_panics_or_ends_well() {
    let Some(shop) = workshop() else { return };
    let path = build(
        shop.path(),
        "deep",
        &program(DEEP),
        &["-O2", "-fno-omit-frame-pointer"],
    );
    let mut running = Running::start(Command::new(path).arg("5"));
    running.line();
    let pid = running.pid();
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 4 << 10) else {
        return;
    };
    let mut process = Process::open(pid, &Images::new()).unwrap();
    let whole = process.unwind(&registers, &stack, false);
    assert_eq!(whole.end, StackEnd::Complete);
    for fill in [0x00, 0xff, 0x5a] {
        let unwound = process.unwind(&registers, &vec![fill; stack.len()], false);
        assert_eq!(unwound.end, StackEnd::Broken, "{fill:#x}");
        assert_eq!(unwound.addresses.len(), 1, "{fill:#x}");
    }
    // One return address after the other replaced by an address that is no code.
    for at in (0..512).step_by(8) {
        let mut damaged = stack.clone();
        damaged[at..at + 8].copy_from_slice(&registers.sp.to_le_bytes());
        let unwound = process.unwind(&registers, &damaged, false);
        assert!(
            unwound.addresses == whole.addresses[..unwound.addresses.len()],
            "a frame that is not there, damaged at {at}"
        );
    }
}

#[test]
fn a_library_loaded_after_open() {
    let Some(shop) = workshop() else { return };
    let library = r#"
#include <unistd.h>
__attribute__((noinline)) void in_library(void (*back)(void)) { back(); __asm__ volatile("" ::: "memory"); }
"#;
    build(
        shop.path(),
        "late.so",
        library,
        &["-shared", "-fPIC", "-O2"],
    );
    let source = r#"
CALLED void back(void) { pause(); STAY; }
int main(int argc, char **argv) {
    char line[10];
    puts("ready"); fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    void *library = dlopen(argv[1], RTLD_NOW);
    void (*call)(void (*)(void)) = dlsym(library, "in_library");
    puts("loaded"); fflush(stdout);
    call(back); STAY;
    return argc;
}
"#;
    let path = build(shop.path(), "loads", &program(source), &["-O2"]);
    let mut running = Running::start(Command::new(path).arg(shop.path().join("late.so")));
    running.line();
    let pid = running.pid();
    let images = Images::new();
    let mut process = Process::open(pid, &images).unwrap();
    let mut namer = Namer::new(&images);
    running.say("go");
    assert_eq!(running.line(), "loaded");
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 32 << 10) else {
        return;
    };
    let since = std::time::Instant::now();
    loop {
        let named = unwind(&mut process, &mut namer, &registers, &stack, false);
        if named.end == StackEnd::Complete {
            named.assert_chain(&["back", "in_library", "main"]);
            break;
        }
        // The maps are read again at most once a second.
        assert_eq!(named.names().last(), Some(&"back"));
        assert!(
            since.elapsed().as_secs() < 20,
            "the library was not found: {named:?}"
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn code_without_a_table_ends_the_stack() {
    let Some(shop) = workshop() else { return };
    let source = r#"
#include <sys/mman.h>
int main(int argc, char **argv) {
    /* push %rax; mov $34,%eax; syscall; pop %rax; ret: pause(2) in code that was made at run time */
    static const unsigned char code[] = { 0x50, 0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0x58, 0xc3 };
    void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, code, sizeof code);
    puts("ready"); fflush(stdout);
    ((void (*)(void)) made)(); STAY;
    return argv == 0 && argc;
}
"#;
    let path = build(shop.path(), "made", &program(source), &["-O2"]);
    let mut running = Running::start(&mut Command::new(path));
    running.line();
    let pid = running.pid();
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 32 << 10) else {
        return;
    };
    let mut process = Process::open(pid, &Images::new()).unwrap();
    let unwound = process.unwind(&registers, &stack, false);
    assert_eq!(unwound.end, StackEnd::NoUnwindRule);
    assert_eq!(unwound.addresses, [CodeAddress::Unmapped(registers.ip)]);
}

#[test]
fn started_through_the_loader() {
    let Some(shop) = workshop() else { return };
    let loader = "/lib64/ld-linux-x86-64.so.2";
    if !std::path::Path::new(loader).exists() {
        skipped("no glibc loader");
        return;
    }
    let path = build(shop.path(), "chain", &program(CHAIN), &["-O2"]);
    let mut running = Running::start(Command::new(loader).arg(path));
    running.line();
    let pid = running.pid();
    for tid in threads(pid) {
        let Some(stack) = stack_of(pid, tid, POLL) else {
            return;
        };
        stack.assert_chain(&["innermost", "middle", "outer"]);
        assert_eq!(stack.end, StackEnd::Complete);
    }
}

#[test]
fn arguments_on_the_stack_and_calls_that_became_jumps() {
    let Some(shop) = workshop() else { return };
    // As InnoDB waits for its locks: the seventh argument of syscall(2) is pushed.
    let source = r#"
#include <sys/syscall.h>
static int word;
CALLED int waits(int *at, int times) {
    int result = 0;
    for (int n = 0; n <= times; n++) result += syscall(SYS_futex, at, 128, 0, 0, 0, 0);
    return result;
}
CALLED int once(int *at, int times) { int result = syscall(SYS_futex, at, 128, times - times, 0, 0); STAY; return result; }
CALLED int jumps(int *at, int times) { return waits(at, times * 2); }
CALLED int calls(int (*through)(int *, int)) { int result = through(&word, 1); STAY; return result; }
CALLED int directly(int times) { int result = jumps(&word, times); STAY; return result; }
int main(int argc, char **argv) {
    puts("ready"); fflush(stdout);
    int result = argc > 1 ? calls(once) : directly(argc); STAY;
    return argv == 0 && result;
}
"#;
    let path = build(
        shop.path(),
        "jumps",
        &program(source),
        &["-O2", "-fno-omit-frame-pointer"],
    );
    for (argument, chain) in [
        (None, ["waits", "directly"]),
        (Some("through"), ["once", "calls"]),
    ] {
        let mut running = Running::start(Command::new(&path).args(argument));
        running.line();
        let Some(stack) = stack_of(running.pid(), running.pid(), FUTEX) else {
            return;
        };
        stack.assert_chain(&["syscall", chain[0], chain[1], "main"]);
        assert_eq!(stack.end, StackEnd::Complete);
    }
}

#[test]
fn reading_from_a_pipe() {
    let Some(shop) = workshop() else { return };
    let source = r#"
CALLED int reads(void) { char byte; puts("ready"); fflush(stdout); int got = read(0, &byte, 1); STAY; return got; }
int main(void) { return reads() + 1; }
"#;
    let path = build(
        shop.path(),
        "reads",
        &program(source),
        &["-O2", "-fno-omit-frame-pointer"],
    );
    let mut running = Running::start(&mut Command::new(path));
    running.line();
    let Some(stack) = stack_of(running.pid(), running.pid(), READ) else {
        return;
    };
    stack.assert_chain(&["reads", "main"]);
    assert_eq!(stack.end, StackEnd::Complete);
}
