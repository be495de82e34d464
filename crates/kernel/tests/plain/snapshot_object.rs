//! The committed BPF objects are the ones that their committed sources make.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// `make bpf` writes the hashes of a source and its object beside them.
#[test]
fn every_object_is_of_its_source() {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf"));
    let mut sources = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(stem) = name.strip_suffix(".bpf.c") else {
            continue;
        };
        sources += 1;
        let hashes = format!("{stem}.bpf.sha256");
        let recorded = fs::read_to_string(directory.join(&hashes)).unwrap();
        for part in [name.to_owned(), format!("{stem}.bpf.o")] {
            assert!(recorded.contains(&part), "{hashes} does not name {part}");
        }
        let output = Command::new("sha256sum")
            .args(["--check", "--strict", &hashes])
            .current_dir(directory)
            .output();
        match output {
            Ok(output) => assert!(
                output.status.success(),
                "{name} or its object has changed, run `make bpf`: {}",
                String::from_utf8_lossy(&output.stdout)
            ),
            Err(e) => eprintln!("skipped: sha256sum: {e}"),
        }
    }
    assert!(sources > 0);
}

/// Built on any machine, the objects are the same.
#[test]
fn no_object_holds_a_path_of_the_machine_it_was_built_on() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "o") {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for start in ["/home/", "/work/", "/root/", "/usr/"] {
                assert!(!text.contains(start), "{}: {start}", path.display());
            }
        }
    }
}
