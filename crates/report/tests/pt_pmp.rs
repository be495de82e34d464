//! `--pt-pmp` beside the real pt-pmp, fed with what gdb prints for the same stacks.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    collections::HashSet,
    fmt::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use model::{
    FrameSide, RunState, SnapshotMethod, SnapshotThread, StackEnd, StackFrame, StackTable,
    ThreadSnapshot, UnnamedReason,
};
use report::evidence::{groups::group_snapshots, pt_pmp::pt_pmp};

/// A user frame: its name, its image as the file is called, and what gdb prints behind " in ".
struct Shown {
    frame: StackFrame,
    gdb: String,
}

/// A function of the program itself.
fn own(name: &str, arguments: &str) -> Shown {
    Shown {
        frame: frame(name, "mariadbd", None),
        gdb: format!("{name}{arguments}"),
    }
}

/// A function of a library.
fn lib(name: &str, arguments: &str, file: &str, soname: &str) -> Shown {
    Shown {
        frame: frame(name, file, None),
        gdb: format!("{name}{arguments} from /lib/x86_64-linux-gnu/{soname}"),
    }
}

fn unnamed(image: &str, from: &str) -> Shown {
    Shown {
        frame: frame(
            &format!("{image}+0x7a3f10"),
            image,
            Some(UnnamedReason::NoSymbol),
        ),
        gdb: format!("?? (){from}"),
    }
}

fn frame(name: &str, image: &str, nameless: Option<UnnamedReason>) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side: FrameSide::User,
        nameless,
    }
}

/// A function of a library whose debug information is installed.
fn lined(name: &str) -> Shown {
    Shown {
        frame: frame(name, "libm.so.6", None),
        gdb: format!("{name} (x=<optimized out>) at ./math/w_exp.c:57"),
    }
}

fn with_lines() -> HashSet<String> {
    [String::from("libm.so.6")].into()
}

fn libc(name: &str) -> Shown {
    lib(name, " ()", "libc.so.6", "libc.so.6")
}

/// Stacks innermost first, with how many threads have each.
fn stacks() -> Vec<(usize, Vec<Shown>)> {
    let idle = || {
        vec![
            libc("__futex_abstimed_wait_common"),
            libc("pthread_cond_wait@@GLIBC_2.3.2"),
            own("inline_mysql_cond_wait", " ()"),
            own("cache_thread", "(THD*) ()"),
            own("handle_one_connection", "(void*) ()"),
            own("pfs_spawn_thread", "(void*) ()"),
            unnamed("libc.so.6", " from /lib/x86_64-linux-gnu/libc.so.6"),
            libc("clone3"),
        ]
    };
    vec![
        (31, idle()),
        (1, Vec::new()),
        (
            7,
            vec![
                libc("malloc"),
                lib(
                    "operator new",
                    "(unsigned long) ()",
                    "libstdc++.so.6.0.30",
                    "libstdc++.so.6",
                ),
                own(
                    "std::vector<unsigned char, ut_allocator<unsigned char> >::reserve",
                    "(unsigned long) ()",
                ),
                own("Foo<int>", "(THD*, char const*) ()"),
                own("(anonymous namespace)::helper", "(int) ()"),
                own(
                    "ha_innobase::index_read",
                    "(unsigned char*, ha_rkey_function) ()",
                ),
                lib("SSL_read", " ()", "libssl.so.1.1", "libssl.so.1.1"),
                lib("io_submit", " ()", "libaio.so.1.0.2", "libaio.so.1"),
                lib("plugin_call", " ()", "ha_rocksdb.so", "ha_rocksdb.so"),
                unnamed("mariadbd", ""),
                own("main", " ()"),
            ],
        ),
        (
            7,
            vec![
                own(
                    "std::map<int, std::vector<int> >::operator[]",
                    "(int const&) ()",
                ),
                own("Item::operator()", "(int) ()"),
                own("Item::operator<", "(Item const&) ()"),
                own(
                    "std::operator<< <std::char_traits<char> >",
                    "(std::ostream&) ()",
                ),
                own("Item::const_item", " ()"),
                own("void_function", " ()"),
                lined("__ieee754_exp"),
                own("my_constant", " ()"),
                libc("poll"),
                own("my_constant", " ()"),
                own(
                    "std::_Function_handler<void (int), f(int)::{lambda(int)#1}>::_M_invoke",
                    "(std::_Any_data const&) ()",
                ),
                own("main", " ()"),
            ],
        ),
        (
            2,
            vec![own("a,b;c", " ()"), own("<script>alert(1)</script>", " ()")],
        ),
        (2, vec![own("\\x1b[2J name with blanks", " ()")]),
        (12_345, vec![libc("ppoll"), own(&"x".repeat(3000), " ()")]),
    ]
}

/// The stacks as one snapshot, and as gdb's `thread apply all bt`.
fn both() -> (ThreadSnapshot, StackTable, String) {
    let mut book = StackTable::default();
    let mut snapshot = ThreadSnapshot {
        at: 0,
        method: SnapshotMethod::Bpf,
        wall_us: 1,
        stopped_us: 0,
        threads: Vec::new(),
        left_out: 0,
    };
    let mut text = String::from("[New LWP 4243]\n[Thread debugging using libthread_db enabled]\n");
    for (count, frames) in stacks() {
        let kernel = StackFrame {
            side: FrameSide::Kernel,
            ..frame("do_syscall_64", "[kernel]", None)
        };
        let shown = frames.iter().map(|shown| shown.frame.clone());
        let stack = book.intern([kernel].into_iter().chain(shown), StackEnd::Complete);
        for _ in 0..count {
            let tid = snapshot.threads.len() as u32 + 1;
            snapshot.threads.push(SnapshotThread {
                tid,
                name: "mariadbd".to_owned(),
                state: RunState::Sleeping,
                syscall: None,
                stack,
                switches: 0,
                sampled: false,
            });
            writeln!(
                text,
                "\nThread {tid} (Thread 0x7f26 (LWP {tid}) \"mariadbd\"):"
            )
            .unwrap();
            if frames.is_empty() {
                writeln!(text, "#0  0x0000000000000000 in ?? ()").unwrap();
            }
            for (depth, shown) in frames.iter().enumerate() {
                writeln!(text, "#{depth:<2} 0x00007f26a1b2c3d4 in {}", shown.gdb).unwrap();
            }
        }
    }
    text.push_str("[Inferior 1 (process 4242) detached]\n");
    (snapshot, book, text)
}

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_same_bytes_as_pt_pmp() {
    let installed = Command::new("pt-pmp")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !installed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: pt-pmp is not installed");
        return;
    }
    let (snapshot, book, gdb) = both();
    let name = format!("pt-pmp-{}", std::process::id());
    let dir = Dir(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
    std::fs::create_dir_all(&dir.0).unwrap();
    std::fs::write(dir.0.join("gdb"), gdb).unwrap();
    // Its own configuration file must not be read, and its order is that of the locale.
    let theirs = Command::new("pt-pmp")
        .arg("gdb")
        .current_dir(&dir.0)
        .env("HOME", &dir.0)
        .env("TMPDIR", &dir.0)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let theirs = String::from_utf8(theirs.stdout).unwrap();
    let ours = pt_pmp(&group_snapshots(&[snapshot], &book), &book, &with_lines());
    assert_eq!(theirs.lines().count(), 7, "{theirs}");
    assert!(
        ours == theirs,
        "ours:\n{}\ntheirs:\n{}",
        without_long(&ours),
        without_long(&theirs)
    );
}

fn without_long(text: &str) -> String {
    text.replace(&"x".repeat(3000), "x…")
}

#[test]
fn the_format_where_pt_pmp_is_not_installed() {
    let (snapshot, book, _) = both();
    let ours = pt_pmp(&group_snapshots(&[snapshot], &book), &book, &with_lines());
    let lines: Vec<&str> = ours.lines().collect();
    assert!(lines[0].starts_with("  12345 ppoll(libc.so.6),xxx"));
    assert_eq!(
        lines[1],
        "     31 __futex_abstimed_wait_common(libc.so.6),pthread_cond_wait,inline_mysql_cond_wait,\
         cache_thread,handle_one_connection,pfs_spawn_thread,libc::??(libc.so.6),clone3(libc.so.6)"
    );
    assert!(
        lines[2].contains(",std::vector::reserve,") || lines[3].contains(",std::vector::reserve,")
    );
    assert_eq!(lines[6], "      1 ??");
}

#[test]
fn hostile_names_break_no_line() {
    let nasty = "a\nThread 1\r\n#0 0x1 in x\u{1b}[2J\u{9b}\u{202e}((<<)>::";
    let mut book = StackTable::default();
    let stack = book.intern(
        [
            frame(nasty, nasty, None),
            frame("", "", None),
            frame("x", ".so.", None),
        ],
        StackEnd::Broken,
    );
    let snapshot = ThreadSnapshot {
        threads: vec![SnapshotThread {
            tid: 1,
            name: nasty.to_owned(),
            state: RunState::Other,
            syscall: None,
            stack,
            switches: 0,
            sampled: false,
        }],
        ..both().0
    };
    let out = pt_pmp(&group_snapshots(&[snapshot], &book), &book, &with_lines());
    assert_eq!(out.lines().count(), 1, "{out:?}");
    assert!(!out.trim_end().chars().any(char::is_control), "{out:?}");
    assert_eq!(
        pt_pmp(&group_snapshots(&[], &book), &book, &with_lines()),
        ""
    );
}
