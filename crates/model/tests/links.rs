//! The house: what the documents point at is there. Each relative link in them leads to a file, its `#anchor` to a heading
//! of that file, and each page that code, scripts or the Makefile name by its path exists.
#![allow(clippy::unwrap_used, reason = "a failing step fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    clean(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

#[test]
fn links_lead_to_files_and_headings() {
    let root = root();
    let mut pages: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for page in documents(&root) {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => page.clone(),
                path => clean(&page.parent().unwrap().join(path)),
            };
            let is_there = target.exists() && target.starts_with(&root);
            let is_found = is_there
                && (anchor.is_empty()
                    || pages
                        .entry(target.clone())
                        .or_insert_with(|| {
                            anchors(&std::fs::read_to_string(&target).unwrap_or_default())
                        })
                        .iter()
                        .any(|one| one == anchor));
            if !is_found {
                let page = page.strip_prefix(&root).unwrap();
                wrong.push(format!("    {}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "lead nowhere:\n{}", wrong.join("\n"));
}

/// Help texts and comments name pages by their path from the root.
#[test]
fn pages_that_code_names_exist() {
    let root = root();
    let mut files = vec![root.join("Makefile")];
    for folder in ["crates", "scripts", ".ci", "fuzz"] {
        below(&root.join(folder), &mut files);
    }
    for page in documents(&root) {
        files.push(page);
    }
    let own = Path::new(file!()).file_name().unwrap();
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| file.file_name() != Some(own)) {
        // Objects and samples are no text.
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        for name in named(&text) {
            if !root.join(&name).exists() {
                let file = file.strip_prefix(&root).unwrap();
                wrong.push(format!("    {}: {name}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
}

/// Each page can be reached from the README, else nobody finds it.
#[test]
fn every_page_can_be_reached_from_the_readme() {
    let root = root();
    let mut seen = BTreeSet::new();
    let mut open = vec![root.join("README.md")];
    while let Some(page) = open.pop() {
        if !seen.insert(page.clone()) {
            continue;
        }
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        for link in links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            let target = clean(&page.parent().unwrap().join(path));
            if !path.is_empty() && target.extension().is_some_and(|end| end == "md") {
                open.push(target);
            }
        }
    }
    let lost: Vec<String> = documents(&root)
        .into_iter()
        .filter(|page| !seen.contains(page))
        .map(|page| format!("    {}", page.strip_prefix(&root).unwrap().display()))
        .collect();
    assert!(lost.is_empty(), "no link leads to:\n{}", lost.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let lines = text.lines().count();
    assert!(
        lines <= 150,
        "README.md has {lines} lines: at most 150, the rest is for docs/"
    );
}

#[test]
fn links_and_anchors_are_read_as_github_reads_them() {
    let text = "# The `x` of [it](a.md)\n\n[one](b/c.md#d) and [`two`](#e), [out](https://x.y/z)\n```\n[no](n.md)\n# no\n```\n## Before/after: 5 % (old)\n## It's_here\n## It's_here\n";
    assert_eq!(links(text), ["a.md", "b/c.md#d", "#e"]);
    let found = anchors(text);
    let expected = [
        "the-x-of-it",
        "beforeafter-5--old",
        "its_here",
        "its_here-1",
    ];
    assert_eq!(found, expected);
    assert_eq!(
        named("see docs/a.md, docs/b/c-d.md. results/e.jsonl; mariadb.com/docs/f.md my-docs/g.md"),
        ["docs/a.md", "docs/b/c-d.md", "results/e.jsonl"]
    );
}

/// The documents for people. What is below `captures/` is data.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ]
    .iter()
    .map(|name| root.join(name))
    .collect();
    for folder in ["docs", "results"] {
        below(&root.join(folder), &mut pages);
    }
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages
}

/// All files below a folder.
fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.file_name().is_some_and(|name| name == "target") => {}
            true => below(&path, files),
            false => files.push(path),
        }
    }
}

/// The path without `..`, which need not exist.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

/// The lines outside of fences.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Where the relative links of a page lead.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines(text) {
        for (at, opening) in line.match_indices("](") {
            let target = &line[at + opening.len()..];
            let target = target.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push(target.to_owned());
            }
        }
    }
    found
}

/// The anchors of a page's headings.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in lines(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading.trim());
        let count = seen.entry(anchor.clone()).or_default();
        found.push(match *count {
            0 => anchor,
            count => format!("{anchor}-{count}"),
        });
        *count += 1;
    }
    found
}

/// A heading as an anchor: letters, digits, `-` and `_` in lower case, blanks as `-`; of a link its text.
fn anchor(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, behind)) = rest.split_once("](") {
        text.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    text.to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

/// The pages that a text names by their path from the root.
fn named(text: &str) -> Vec<String> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    text.split(|c: char| !is_of_path(c))
        .map(|word| word.trim_start_matches(['.', '/']).trim_end_matches('.'))
        .filter(|word| word.starts_with("docs/") || word.starts_with("results/"))
        .filter(|word| word.ends_with(".md") || word.ends_with(".jsonl"))
        .map(str::to_owned)
        .collect()
}
