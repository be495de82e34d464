//! Whether a process is a database server.

use super::{cmdline, link, note};
use crate::procfs::maps;
use crate::roots::ProcRoot;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Arguments of a command line that are looked at.
const ARGUMENTS_MAX: usize = 4096;

/// Options of glibc's loader that take the next argument as their value (elf/rtld.c, `dl_main`).
const LOADER_OPTIONS: [&[u8]; 7] = [
    b"--library-path",
    b"--inhibit-rpath",
    b"--audit",
    b"--preload",
    b"--argv0",
    b"--glibc-hwcaps-prepend",
    b"--glibc-hwcaps-mask",
];

pub(super) struct Identity {
    pub(super) program: &'static str,
    pub(super) exe: Option<PathBuf>,
    pub(super) via_loader: bool,
}

/// `None` when the process is something else. The executable decides; only where it cannot be read (without
/// CAP_SYS_PTRACE over another user's process) do the name and the command line, which a process may choose.
pub(super) fn identify(
    proc: &ProcRoot,
    pid: u32,
    comm: &str,
    absent: &mut Vec<String>,
) -> Option<Identity> {
    let mut unreadable = Vec::new();
    match link(&proc.of(pid, "exe"), &mut unreadable) {
        Some(exe) => {
            let exe = without_deleted(&exe);
            let name = exe.file_name()?.as_bytes();
            if let Some(program) = program(name) {
                return Some(Identity {
                    program,
                    exe: Some(exe),
                    via_loader: false,
                });
            }
            is_loader(name).then(|| loaded(proc, pid, absent)).flatten()
        }
        None => {
            let identity = if let Some(program) = program(comm.as_bytes()) {
                Identity {
                    program,
                    exe: None,
                    via_loader: false,
                }
            } else if is_loader(comm.as_bytes()) {
                loaded_by_cmdline(proc, pid, absent)?
            } else {
                return None;
            };
            absent.append(&mut unreadable);
            Some(identity)
        }
    }
}

/// A process that runs its program through the loader.
fn loaded(proc: &ProcRoot, pid: u32, absent: &mut Vec<String>) -> Option<Identity> {
    let mut unreadable = Vec::new();
    match note(maps::read(&proc.of(pid, "maps")), &mut unreadable) {
        Some(maps) => maps::mappings(&maps)
            .filter(maps::Mapping::is_executable)
            .filter_map(|mapping| mapping.file())
            .find_map(|file| {
                Some(Identity {
                    program: program(file.file_name()?.as_bytes())?,
                    exe: Some(file.to_owned()),
                    via_loader: true,
                })
            }),
        None => {
            let identity = loaded_by_cmdline(proc, pid, absent)?;
            absent.append(&mut unreadable);
            Some(identity)
        }
    }
}

fn loaded_by_cmdline(proc: &ProcRoot, pid: u32, absent: &mut Vec<String>) -> Option<Identity> {
    let cmdline = cmdline(proc, pid, &mut Vec::new());
    let file = Path::new(OsStr::from_bytes(loader_operand(&cmdline)?));
    let program = program(file.file_name()?.as_bytes())?;
    if !file.is_absolute() {
        absent.push(format!(
            "executable of process {pid}: its command line gives a relative path"
        ));
    }
    Some(Identity {
        program,
        exe: file.is_absolute().then(|| file.to_owned()),
        via_loader: true,
    })
}

fn program(name: &[u8]) -> Option<&'static str> {
    match name {
        b"mariadbd" => Some("mariadbd"),
        b"mysqld" | b"mysqld-debug" => Some("mysqld"),
        _ => None,
    }
}

/// Names of dynamic loaders; also when cut to 15 bytes, as in `comm`.
fn is_loader(name: &[u8]) -> bool {
    name.starts_with(b"ld-linux")
        || name.starts_with(b"ld-musl")
        || name.starts_with(b"ld.so")
        || name.starts_with(b"ld64.so")
        || (name.starts_with(b"ld-") && name.windows(3).any(|part| part == b".so"))
}

/// The kernel appends this to the link when the file was removed or replaced, as by an upgrade (fs/d_path.c).
fn without_deleted(exe: &Path) -> PathBuf {
    let bytes = exe.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn arguments(cmdline: &[u8]) -> impl Iterator<Item = &[u8]> {
    cmdline.split(|&b| b == 0).take(ARGUMENTS_MAX)
}

/// The program that a loader was told to run.
fn loader_operand(cmdline: &[u8]) -> Option<&[u8]> {
    let mut arguments = arguments(cmdline).skip(1);
    while let Some(argument) = arguments.next() {
        if LOADER_OPTIONS.contains(&argument) {
            arguments.next();
        } else if !argument.starts_with(b"--") {
            return Some(argument);
        }
    }
    None
}

/// The value of the last `--name=value` or `--name value`.
pub(super) fn option_value(cmdline: &[u8], name: &[u8]) -> Option<PathBuf> {
    let mut value = None;
    let mut arguments = arguments(cmdline);
    while let Some(argument) = arguments.next() {
        let rest = argument
            .strip_prefix(b"--")
            .and_then(|argument| argument.strip_prefix(name));
        match rest {
            Some([b'=', given @ ..]) => value = Some(given),
            Some([]) => value = arguments.next(),
            _ => {}
        }
    }
    value.map(|value| PathBuf::from(OsStr::from_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(program(b"mariadbd"), Some("mariadbd"));
        for other in [
            &b"mysqld_safe"[..],
            b"mysqld_multi",
            b"mariadbd-safe",
            b"mysql",
            b"",
        ] {
            assert_eq!(program(other), None);
        }
        for loader in [
            "ld-linux-x86-64.so.2",
            "ld-linux-x86-64",
            "ld-linux-aarch64.so.1",
            "ld-2.31.so",
            "ld-musl-x86_64.so.1",
            "ld-musl-x86_64.",
            "ld.so",
            "ld64.so.2",
        ] {
            assert!(is_loader(loader.as_bytes()), "{loader}");
        }
        for other in ["ld", "ld-gold", "ldconfig", "lld"] {
            assert!(!is_loader(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn operand_of_a_loader() {
        let operand = |line: &str| {
            loader_operand(line.replace(' ', "\0").as_bytes())
                .map(|operand| String::from_utf8_lossy(operand).into_owned())
        };
        assert_eq!(
            operand("ld.so --library-path /l /s/mysqld --datadir=/d").as_deref(),
            Some("/s/mysqld")
        );
        assert_eq!(
            operand("ld.so --inhibit-cache /s/mysqld").as_deref(),
            Some("/s/mysqld")
        );
        assert_eq!(
            operand("ld.so --library-path /mysqld /bin/sh").as_deref(),
            Some("/bin/sh")
        );
        assert_eq!(operand("ld.so --library-path"), None);
    }

    #[test]
    fn options() {
        let value = |line: &str| option_value(line.replace(' ', "\0").as_bytes(), b"datadir");
        assert_eq!(
            value("mysqld --datadir=/a --datadir /b --port=1"),
            Some("/b".into())
        );
        assert_eq!(value("mysqld --datadir=/a"), Some("/a".into()));
        assert_eq!(value("mysqld --datadirs=/a -h /b"), None);
        assert_eq!(value("mysqld --datadir"), None);
    }
}
