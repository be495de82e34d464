//! Names from every place where symbols are kept.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::support::{Named, PAUSE, Running, build, has, parked, run, skipped, stack_of, workshop};
use model::{FrameSide, StackEnd, StackTable, UnnamedReason};
use stacks::images::{Address, CodeAddress, ImageId, Images, Memory, Process};
use stacks::names::Namer;
use stacks::raw_stack_table::{RawStackId, RawStackTable};
use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"
#include <stdio.h>
#include <unistd.h>
#define CALLED __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
static CALLED void hidden(int again) { if (again) pause(); else hidden(1); STAY; }
CALLED void shown(void) { hidden(0); STAY; }
int main(void) { puts("ready"); fflush(stdout); shown(); STAY; return 0; }
"#;

fn waiting(path: &Path) -> (Running, Option<Named>) {
    let mut running = Running::start(&mut Command::new(path));
    running.line();
    let stack = stack_of(running.pid(), running.pid(), PAUSE);
    (running, stack)
}

fn assert_full(stack: &Named) {
    stack.assert_chain(&["hidden", "hidden", "shown", "main"]);
    assert_eq!(stack.end, StackEnd::Complete);
    let shown = stack
        .frames
        .iter()
        .find(|frame| frame.name == "shown")
        .unwrap();
    assert_eq!((shown.side, shown.nameless), (FrameSide::User, None));
}

/// The program's frames have no names, and the two calls of `hidden` are still the same function.
fn assert_nameless(stack: &Named, program: &str) {
    assert_eq!(stack.end, StackEnd::Complete);
    let own: Vec<_> = stack
        .frames
        .iter()
        .filter(|frame| frame.image == program)
        .collect();
    assert!(own.len() >= 4, "{stack:?}");
    for frame in &own {
        assert!(
            frame.name.starts_with(&format!("{program}+0x")),
            "{frame:?}"
        );
        assert_eq!(frame.nameless, Some(UnnamedReason::NoSymbol));
    }
    assert_eq!(own[0], own[1]);
    assert_ne!(own[1], own[2]);
}

#[test]
fn own_symbols_and_none() {
    let Some(shop) = workshop() else { return };
    let path = build(shop.path(), "full", SOURCE, &["-O2"]);
    let (_running, Some(stack)) = waiting(&path) else {
        return;
    };
    assert_full(&stack);

    run("strip", &["-o", "bare", "full"], shop.path());
    let (_running, Some(stack)) = waiting(&shop.path().join("bare")) else {
        return;
    };
    assert_nameless(&stack, "bare");
}

#[test]
fn exported_symbols_only() {
    let Some(shop) = workshop() else { return };
    build(shop.path(), "exports", SOURCE, &["-O2", "-rdynamic"]);
    run("strip", &["exports"], shop.path());
    let (_running, Some(stack)) = waiting(&shop.path().join("exports")) else {
        return;
    };
    stack.assert_chain(&["shown", "main"]);
    let names = stack.names();
    let shown = names.iter().position(|name| *name == "shown").unwrap();
    assert_eq!(
        stack.frames[shown - 1].nameless,
        Some(UnnamedReason::NoSymbol)
    );
    assert_eq!(names[shown - 1], names[shown - 2]);
}

#[test]
fn a_separate_debug_file() {
    let Some(shop) = workshop() else { return };
    if !has("objcopy") {
        skipped("no objcopy");
        return;
    }
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let split = |name: &str, source: &str| {
            build(shop.path(), name, source, &["-O2", "-g", build_id]);
            let debug = format!("{name}.debug");
            run("objcopy", &["--only-keep-debug", name, &debug], shop.path());
            run("strip", &[name], shop.path());
            run(
                "objcopy",
                &[&format!("--add-gnu-debuglink={debug}"), name],
                shop.path(),
            );
        };
        split("parted", SOURCE);
        let (_running, Some(stack)) = waiting(&shop.path().join("parted")) else {
            return;
        };
        assert_full(&stack);

        // One of another build has other addresses.
        split("other", &SOURCE.replace("shown", "other"));
        std::fs::rename(
            shop.path().join("other.debug"),
            shop.path().join("parted.debug"),
        )
        .unwrap();
        let (_running, Some(stack)) = waiting(&shop.path().join("parted")) else {
            return;
        };
        assert_nameless(&stack, "parted");
    }
}

#[test]
fn packed_symbols() {
    let Some(shop) = workshop() else { return };
    if !has("objcopy") || !has("xz") {
        skipped("no objcopy or no xz");
        return;
    }
    build(shop.path(), "mini", SOURCE, &["-O2"]);
    run(
        "objcopy",
        &["--only-keep-debug", "mini", "symbols"],
        shop.path(),
    );
    run("xz", &["symbols"], shop.path());
    run("strip", &["mini"], shop.path());
    run(
        "objcopy",
        &["--add-section", ".gnu_debugdata=symbols.xz", "mini"],
        shop.path(),
    );
    let (_running, Some(stack)) = waiting(&shop.path().join("mini")) else {
        return;
    };
    assert_full(&stack);
}

#[test]
fn a_program_that_was_replaced_and_then_ended() {
    let Some(shop) = workshop() else { return };
    let path = build(shop.path(), "server", SOURCE, &["-O2"]);
    let mut running = Running::start(&mut Command::new(&path));
    running.line();
    std::fs::remove_file(&path).unwrap();
    build(
        shop.path(),
        "server",
        &SOURCE.replace("hidden", "newer"),
        &["-O2"],
    );

    let pid = running.pid();
    let images = Images::new();
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 32 << 10) else {
        return;
    };
    let mut process = Process::open(pid, &images).unwrap();
    let unwound = process.unwind(&registers, &stack, false);
    assert_eq!(unwound.end, StackEnd::Complete);
    running.end();
    drop(process);
    let mut namer = Namer::new(&images);
    let frames = unwound
        .addresses
        .iter()
        .map(|address| namer.user(*address).clone())
        .collect();
    let named = Named {
        frames,
        end: unwound.end,
    };
    assert_full(&named);
    assert!(named.frames.iter().any(|frame| frame.image == "server"));
}

#[test]
fn images_are_shared() {
    let Some(shop) = workshop() else { return };
    let path = build(shop.path(), "twice", SOURCE, &["-O2"]);
    let images = Images::new();
    let open = |images: &Images| {
        let mut running = Running::start(&mut Command::new(&path));
        running.line();
        let process = Process::open(running.pid(), images).unwrap();
        let ids: Vec<ImageId> = process.loaded_images().map(|image| image.id()).collect();
        (running, ids)
    };
    let (_first, one) = open(&images);
    let known = images.len();
    let (_second, mut two) = open(&images);
    let mut one = one;
    one.sort_unstable();
    two.sort_unstable();
    assert_eq!((one, known), (two, images.len()));
    let own = (0..known as u32)
        .filter_map(|id| images.get(ImageId(id)))
        .find(|image| image.name() == "twice");
    let own = own.unwrap();
    assert!(own.is_readable() && own.has_full_symbols());
    assert_eq!(own.path(), path.canonicalize().unwrap());
}

#[test]
fn the_vdso_has_names() {
    let Some(shop) = workshop() else { return };
    let path = build(shop.path(), "vdso", SOURCE, &["-O2"]);
    let mut running = Running::start(&mut Command::new(&path));
    running.line();
    let images = Images::new();
    let process = Process::open(running.pid(), &images).unwrap();
    let Some(address) = process.symbol_address("__vdso_clock_gettime") else {
        skipped("no vDSO, or its memory may not be read");
        return;
    };
    let frame = Namer::new(&images)
        .user(process.code_address(address + 1))
        .clone();
    assert_eq!(
        (frame.name.as_str(), frame.image.as_str()),
        ("clock_gettime", "[vdso]")
    );
    let CodeAddress::In(Address { image, offset }) = process.code_address(address) else {
        panic!()
    };
    assert_eq!(
        images.get(image).unwrap().function_start(offset + 1),
        Some(offset)
    );
}

#[test]
fn variables() {
    let Some(shop) = workshop() else { return };
    let source = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int LOCK_open[10];
static int table[4] = { 1, 2, 3, 4 };
int main(void) {
    int *heap = malloc(100);
    printf("%p\n%p\n%p\n%p\n", (void *) LOCK_open, (void *) table, (void *) heap, (void *) &heap); fflush(stdout);
    pause();
    return table[LOCK_open[0]] + *heap;
}
"#;
    for flags in [["-O0", "-pie"], ["-O0", "-no-pie"]] {
        let path = build(shop.path(), "data", source, &flags);
        let mut running = Running::start(&mut Command::new(path));
        let (lock, table, heap, local) = (
            running.number(),
            running.number(),
            running.number(),
            running.number(),
        );
        let process = Process::open(running.pid(), &Images::new()).unwrap();
        assert_eq!(process.symbol_address("LOCK_open"), Some(lock));
        assert_eq!(process.symbol_address("table"), Some(table));
        assert_eq!(process.symbol_address("LOCK_ope"), None);
        assert_eq!(process.image_of(lock).unwrap().file, "data");
        assert!(matches!(process.memory_at(table), Memory::Image(_)));
        assert_eq!(process.memory_at(heap), Memory::Heap);
        assert_eq!(process.memory_at(local), Memory::Stack);
        assert_eq!(process.memory_at(8), Memory::Unknown);
    }
}

#[test]
fn kernel_functions() {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let line = text
        .lines()
        .find(|line| line.ends_with(" do_sys_poll") || line.ends_with(" schedule"));
    let mut namer = Namer::new(&Images::new());
    let Some((address, name)) = line.and_then(|line| {
        let address = u64::from_str_radix(line.split(' ').next()?, 16).ok()?;
        Some((address, line.rsplit(' ').next()?))
    }) else {
        skipped("no /proc/kallsyms");
        return;
    };
    if address == 0 {
        let frame = namer.kernel(0xffff_ffff_8100_0000);
        assert_eq!(
            (frame.side, frame.nameless),
            (FrameSide::Kernel, Some(UnnamedReason::KernelHidden))
        );
        skipped("the kernel hides its addresses");
        return;
    }
    let frame = namer.kernel(address + 4);
    assert_eq!(
        (frame.name.as_str(), frame.image.as_str()),
        (name, "[kernel]")
    );
    assert_eq!((frame.side, frame.nameless), (FrameSide::Kernel, None));
    assert_eq!(namer.kernel(0x1000).nameless, Some(UnnamedReason::NoSymbol));
}

#[test]
fn a_raw_stack_gets_its_names_later() {
    let Some(shop) = workshop() else { return };
    let path = build(shop.path(), "later", SOURCE, &["-O2"]);
    let mut running = Running::start(&mut Command::new(path));
    running.line();
    let pid = running.pid();
    let images = Images::new();
    let Some((registers, stack)) = parked(pid, pid, PAUSE, 32 << 10) else {
        return;
    };
    let mut process = Process::open(pid, &images).unwrap();
    let unwound = process.unwind(&registers, &stack, false);
    let mut raw = RawStackTable::new(100);
    let id = raw.intern(&[0xffff_ffff_8100_0000], &unwound.addresses, unwound.end);
    let mut namer = Namer::new(&images);
    let mut book = StackTable::default();
    let named = raw.name(&[id, RawStackId::OVERFLOW, id], &mut namer, &mut book);
    assert_eq!(named[0], named[2]);
    assert_eq!(book.stack(named[1]).end, StackEnd::Overflow);
    let frames: Vec<_> = book.frames_of(named[0]).cloned().collect();
    assert_eq!(frames[0].side, FrameSide::Kernel);
    let user = Named {
        frames: frames[1..].to_vec(),
        end: book.stack(named[0]).end,
    };
    assert_full(&user);
    // Another book has its own numbers.
    let mut other = StackTable::default();
    other.intern([frames[1].clone()], StackEnd::Broken);
    let again = raw.name(&[id], &mut namer, &mut other);
    assert_eq!(
        other.frames_of(again[0]).cloned().collect::<Vec<_>>(),
        frames
    );
}
