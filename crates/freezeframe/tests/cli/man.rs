//! The man pages that `freezeframe man` writes, beside what `--help` says.

use std::path::Path;

use crate::harness::{freezeframe, run};

/// `--help` of a command, no line broken.
fn help(command: &[String]) -> String {
    let output = freezeframe()
        .args(command)
        .arg("--help")
        .env("COLUMNS", "1000")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A command and all below it, as `--help` lists them.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let help = help(above);
    let listed = help.split_once("Commands:\n").map_or("", |(_, list)| list);
    let mut found = vec![above.to_vec()];
    for line in listed.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        if name != "help" {
            found.extend(commands(&[above, &[name.to_owned()]].concat()));
        }
    }
    found
}

/// A page's text as it is read, in one line.
fn read(page: &str) -> String {
    let text: Vec<&str> = page.lines().filter(|line| !line.starts_with('.')).collect();
    let text = text.join(" ").replace("\\-", "-").replace("\\*(Aq", "'");
    let text = text.replace("\\&", "").replace("\\\\", "\\");
    words(&text)
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_command_has_a_page_with_its_examples() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man").join("man1");
    let output = run(&["man", "--dir", pages.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let commands = commands(&[]);
    assert!(commands.contains(&vec!["causes".to_owned(), "show".to_owned()]));
    for command in &commands {
        let mut name = vec!["freezeframe".to_owned()];
        name.extend_from_slice(command);
        let path = pages.join(format!("{}.1", name.join("-")));
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(told.contains(path.to_str().unwrap()), "{told}");
        assert!(page.contains("\n.SH NAME\n") && page.contains("\n.SH OPTIONS\n"));
        let text = read(&page);
        assert!(text.contains(&name.join("-")), "{text}");
        let help = help(command);
        let examples = help.split_once("Examples:\n").map_or("", |(_, text)| text);
        for line in examples.lines().take_while(|line| !line.is_empty()) {
            assert!(text.contains(&words(line)), "{line} in {page}");
        }
        assert!(
            examples.is_empty() || page.contains("\n.SH EXAMPLES\n.nf\n"),
            "{page}"
        );
        assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
    }
    assert_eq!(files(&pages), commands.len());
    assert_eq!(told.lines().count(), commands.len());
}

fn files(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let output = run(&["man", "--dir", "/proc/man1"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("/proc/man1") && told.lines().count() == 1,
        "{told}"
    );
}
