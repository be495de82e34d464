//! Whether the server's functions have names here, and the package that brings them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ::stacks::images::{Image, Images, Process};
use kernel::access::EvidenceAdvice;
use model::OrderBy;

/// What is told of the names of functions.
const EVIDENCE: &str = "names of all the server's functions";

/// The program itself and the C library: most frames are of these.
pub(crate) fn advice(pid: u32) -> Option<EvidenceAdvice> {
    // Where the memory map cannot be read another line says so.
    let process = Process::open(pid, &Images::new()).ok()?;
    let images: Vec<&Arc<Image>> = process.loaded_images().collect();
    let program = images
        .iter()
        .find(|image| is_server(image.name()))
        .or(images.first())?;
    let mut missing: Vec<&&Arc<Image>> = images
        .iter()
        .filter(|image| image.name() == program.name() || is_libc(image.name()))
        .filter(|image| !image.has_full_symbols())
        .collect();
    // An image may be mapped in several places.
    missing.order_by_key(|image| image.id());
    missing.dedup_by_key(|image| image.id());
    if missing.is_empty() {
        return Some(EvidenceAdvice {
            evidence: EVIDENCE,
            available: true,
            why: format!("{} has a symbol table", program.name()),
            cure: None,
        });
    }
    let names: Vec<&str> = missing.iter().map(|image| image.name()).collect();
    let in_our_root = is_same_root(pid);
    let packages: Vec<String> = missing
        .iter()
        .filter(|_| in_our_root)
        .filter_map(|image| debug_package(image.path()))
        .collect();
    let build_ids: Vec<String> = missing
        .iter()
        .filter_map(|image| image.build_id())
        .collect();
    let cure = match packages.first() {
        Some(_) => format!("install {}", packages.join(" and ")),
        None => format!(
            "put the separate debug file below /usr/lib/debug/.build-id (build id {})",
            build_ids.join(", ")
        ),
    };
    Some(EvidenceAdvice {
        evidence: EVIDENCE,
        available: false,
        why: format!(
            "{} has no symbol table: functions that are not exported are shown as image+address",
            names.join(" and ")
        ),
        cure: Some(cure),
    })
}

fn is_server(name: &str) -> bool {
    ["mysqld", "mariadbd"]
        .iter()
        .any(|server| name.starts_with(server))
}

fn is_libc(name: &str) -> bool {
    name.starts_with("libc.so") || name.starts_with("libc-")
}

/// A server in a container has packages of its own, which our package manager does not know.
fn is_same_root(pid: u32) -> bool {
    let root = |path: PathBuf| std::fs::read_link(path).ok();
    root(format!("/proc/{pid}/ns/mnt").into()) == root("/proc/self/ns/mnt".into())
}

/// The package with the debug symbols of a file, as the distribution calls it.
fn debug_package(path: &Path) -> Option<String> {
    if let Some(owner) = output_of("dpkg-query", &["-S"], path).or_else(|| {
        // Since /usr was merged, packages know some files without it.
        output_of(
            "dpkg-query",
            &["-S"],
            Path::new(path.to_str()?.strip_prefix("/usr")?),
        )
    }) {
        let package = owner.split(':').next()?.trim();
        return Some(match package {
            "libc6" => "libc6-dbg".to_owned(),
            package => {
                format!("{package}-dbgsym (from the distribution's archive of debug packages)")
            }
        });
    }
    let package = output_of("rpm", &["-qf", "--queryformat", "%{NAME}\n"], path)?;
    let package = package.lines().next()?.trim();
    Some(format!(
        "{package}-debuginfo (dnf debuginfo-install {package})"
    ))
}

fn output_of(program: &str, arguments: &[&str], path: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
