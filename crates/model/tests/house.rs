//! The house: crates import from the layers above theirs, and within a crate files import in one direction.
//!
//! A module may know the module above it, whose part it is, and that one puts its parts together: this is no circle here.
//! Two other files that import each other can only be understood, moved and tested together.
#![allow(clippy::unwrap_used, reason = "a failing step fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path within its crate, such as `["sign", "signals"]`.
type Module = Vec<String>;

/// Which module imports from which.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn files_import_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let circles = circles(&imports(&path.join("src")));
        wrong.extend(
            circles
                .iter()
                .map(|files| format!("{name}: {}", words(files))),
        );
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table of layers in ARCHITECTURE.md has every crate, below those that it uses.
#[test]
fn crates_import_from_the_layers_above_theirs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, layers) = text.split_once("\n## Layers\n").unwrap();
    let rows = layers.split("\n## ").next().unwrap().lines();
    let layers: Vec<&str> = rows
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(manifest) = std::fs::read_to_string(path.join("Cargo.toml")) else {
            continue;
        };
        let own = path.file_name().unwrap().to_string_lossy().into_owned();
        let place = |name: &str| layers.iter().position(|layer| *layer == name);
        let uses = manifest
            .split("\n[dependencies]\n")
            .nth(1)
            .unwrap_or_default();
        let uses = uses.split("\n[").next().unwrap().lines();
        let uses = uses.filter_map(|line| place(line.split(' ').next()?));
        if place(&own).is_none_or(|own| uses.max().is_some_and(|lowest| lowest > own)) {
            wrong.push(own);
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong:?}: not in the table, or above a crate that it uses"
    );
}

/// Looking for examples takes a second a crate; a crate that has one lets it be tested.
#[test]
fn examples_in_documentation_are_tested() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
        if manifest.contains("\ndoctest = false\n") {
            let mut texts = BTreeMap::new();
            read(&path.join("src"), &mut Module::new(), &mut texts);
            let with = texts.iter().filter(|(_, text)| has_example(text));
            wrong.extend(with.map(|(module, _)| format!("{path:?}: {module:?}")));
        }
    }
    assert!(wrong.is_empty(), "doctest = false: {wrong:#?}");
}

/// Whether a doc comment has code that `cargo test` would run: a block that is not called a text.
fn has_example(text: &str) -> bool {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!")
            .or_else(|| line.strip_prefix("///"))
    });
    let mut fences = lines.filter_map(|line| line.trim().strip_prefix("```"));
    // Each second one ends a block.
    std::iter::from_fn(|| Some((fences.next()?, fences.next()))).any(|(kind, _)| kind != "text")
}

/// Where the tests of a crate are one program, a file that it does not name would never run.
#[test]
fn every_file_of_tests_is_in_its_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
        if !manifest.contains("\nautotests = false\n") {
            continue;
        }
        let program = std::fs::read_to_string(path.join("tests/all.rs")).unwrap();
        for file in std::fs::read_dir(path.join("tests")).unwrap() {
            let file = file.unwrap().path();
            let stem = file.file_stem().unwrap().to_string_lossy();
            let is_code = file.extension().is_some_and(|end| end == "rs");
            let is_part = is_code || file.join("mod.rs").exists();
            if is_part && stem != "all" && !program.contains(&format!("\nmod {stem};\n")) {
                wrong.push(file);
            }
        }
    }
    assert!(wrong.is_empty(), "not in all.rs: {wrong:#?}");
}

/// Phrases that stood in messages and were hard to read for whoever was woken up and has English as a second language,
/// with what says the same in plain words.
const HARD_PHRASES: [(&str, &str); 45] = [
    ("absent evidence", "missing evidence"),
    ("evidence is absent", "evidence is missing"),
    ("be judged", "be checked"),
    ("saw nothing", "found nothing"),
    ("what is called a", "the name of the thing"),
    ("to have it:", "to enable:"),
    ("have it done", "make the changes"),
    ("who must agree", "those responsible"),
    ("in general words", "in general"),
    ("by a look of", "watched for"),
    ("then look", "verify"),
    ("see that it worked", "verify"),
    ("known from", "source, references"),
    ("looked alike", "similar"),
    ("told by what", "the input does not say"),
    ("is told", "is shown"),
    ("put back", "undo"),
    ("given back", "undone"),
    ("for want of", "without, because"),
    ("of ours", "a new file"),
    ("is there already", "already exists"),
    ("tried again", "trying again"),
    ("not understood", "cannot be read"),
    ("somebody asked", "requested"),
    ("whoever", "anyone who, the user who"),
    ("at the most", "at most"),
    ("which is there too", "also present"),
    ("stands still", "does not change, hangs"),
    ("stood still", "was stopped, hung"),
    ("stands behind", "follows"),
    ("stands before", "is before, comes first"),
    ("said so", "reported it"),
    ("says so:", "reports a full disk: (name it)"),
    ("lets go", "releases"),
    ("gives back", "returns, releases"),
    ("takes back", "undoes, cancels"),
    ("taken back", "undone"),
    ("thrown out", "evicted, expelled"),
    ("holds up", "blocks, delays"),
    ("for ever ", "forever"),
    ("the begin ", "the start"),
    ("its begin", "its start"),
    ("beside the ", "next to, on the same host as, compared with"),
    ("asked for anew", "requested again"),
    ("made anew", "recreated"),
];

/// What freezeframe prints. The lab is for who works on it.
#[test]
fn messages_have_plain_words() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("lab") || path.ends_with("testbed") {
            continue;
        }
        let mut texts = BTreeMap::new();
        read(&path.join("src"), &mut Module::new(), &mut texts);
        for (module, text) in &texts {
            let found = hard_phrases(text).into_iter();
            wrong.extend(found.map(|(hard, plain)| {
                format!("{}: {module:?}: '{hard}': better: {plain}", path.display())
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The catalogue, the lexicon's sentences, the lab's scenarios, the documents that people write.
#[test]
fn data_and_documents_have_plain_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    for (folder, end) in [
        ("crates/diagnosis/causes", "toml"),
        ("crates/testbed/scenarios", "toml"),
        ("crates/testbed/cascades", "toml"),
        ("crates/lexicon/data", "txt"),
        ("docs", "md"),
        ("docs/internals", "md"),
    ] {
        let mut files = 0;
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|own| own != end) {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines().filter_map(|line| sentence(end, line)) {
                let found = hard_phrases(line).into_iter();
                wrong.extend(found.map(|(hard, plain)| {
                    format!("{}: '{hard}': better: {plain}: {line}", path.display())
                }));
            }
        }
        assert!(files > 0, "{folder} has no file of {end}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What people read of a line: not the words by which a cause or an entry is recognised in their texts.
fn sentence<'a>(end: &str, line: &'a str) -> Option<&'a str> {
    match end {
        "toml" => (!line.starts_with("told = ") && !line.starts_with("terms = ")).then_some(line),
        "txt" => line.split(" | ").nth(5),
        _ => Some(line),
    }
}

/// Those in a text that are in no comment.
fn hard_phrases(text: &str) -> Vec<(&'static str, &'static str)> {
    let code = text.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with("//") => "",
        line => line.split(" // ").next().unwrap_or_default(),
    });
    let code = code.collect::<Vec<_>>().join("\n").to_lowercase();
    let mut found = HARD_PHRASES.to_vec();
    found.retain(|(hard, _)| code.contains(hard));
    found
}

#[test]
fn a_hard_phrase_is_found_in_code_and_not_in_comments() {
    let found = hard_phrases("/// Put back.\nlet text = \"Put back\"; // is told\n");
    assert_eq!(found, [("put back", "undo")]);
}

#[test]
fn an_example_is_told_from_a_text() {
    assert!(has_example(
        "//! ```text\n//! a\n//! ```\n/// ```\n/// b();\n/// ```\nfn f() {}\n"
    ));
    assert!(!has_example("/// ```text\n/// a\n/// ```\nfn f() {}\n"));
}

#[test]
fn a_circle_is_found_and_a_line_is_none() {
    let module = |name: &str| vec![name.to_owned()];
    let arrows = |pairs: &[(&str, &str)]| {
        let mut arrows = Arrows::new();
        for (from, to) in pairs {
            arrows.entry(module(from)).or_default().insert(module(to));
            arrows.entry(module(to)).or_default();
        }
        arrows
    };
    assert!(circles(&arrows(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    assert_eq!(
        circles(&arrows(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")])),
        [vec![module("b"), module("c")]]
    );
}

#[test]
fn paths_are_found_in_imports_and_in_code() {
    let own = ["a".to_owned(), "b".to_owned()].to_vec();
    let texts = [
        ("", "pub use f::{g::Far, Near};\n"),
        ("a", ""),
        ("a::b", ""),
        ("a::b::c", ""),
        ("d", ""),
        ("d::e", ""),
        ("f", ""),
        ("f::g", ""),
    ];
    let module = |path: &str| {
        path.split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let texts = texts.map(|(path, text)| (module(path), text.to_owned()));
    let house = House::new(&BTreeMap::from(texts));
    let text = "use std::fmt;\nuse crate::{\n    Far,\n    d::{\n        e::Thing,\n        Other,\n    },\n};\nuse super::Up;\n// use crate::f::Y;\nmod c;\nfn f() {\n    c::g(crate::a::b::c::H)\n}\n";
    let found: BTreeSet<String> = paths(text)
        .iter()
        .filter_map(|path| house.resolve(&own, path))
        .map(|module| module.join("::"))
        .collect();
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        ["a", "a::b::c", "d", "d::e", "f::g"]
    );
}

fn words(files: &[Module]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.join("::")).collect();
    format!("    {}", files.join(", "))
}

/// The imports of the files below `src`.
fn imports(src: &Path) -> Arrows {
    let mut texts = BTreeMap::new();
    read(src, &mut Vec::new(), &mut texts);
    let house = House::new(&texts);
    texts
        .iter()
        .map(|(module, text)| {
            let paths = paths(text).into_iter();
            let targets = paths.filter_map(|path| house.resolve(module, &path));
            let targets = targets.filter(|target| target != module);
            (module.clone(), targets.collect())
        })
        .collect()
}

/// Reads the files of a folder, by their module. What tests import is no part of the house.
fn read(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    for path in paths {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(stem);
            read(&path, module, texts);
            module.pop();
        } else if path.extension().is_some_and(|end| end == "rs") && stem != "tests" {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = without_tests(&text);
            let mut own = module.clone();
            if !["mod", "lib", "main"].contains(&stem.as_str()) {
                own.push(stem);
            }
            texts.entry(own).or_default().push_str(text);
        }
    }
}

/// A file without the module of its tests, which stands at its end.
fn without_tests(text: &str) -> &str {
    let begins = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at);
    let is_module = |at: &usize| {
        let mut lines = text.get(*at..).unwrap_or_default().lines();
        let items = [
            "mod ", "pub", "use ", "fn ", "impl", "const ", "static ", "struct ",
        ];
        let first = lines.find(|line| items.iter().any(|item| line.starts_with(item)));
        first.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let end = begins.into_iter().find(is_module).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// The paths in a text: `crate::a::f` in code, and of `use a::{b, c::{D, e}}` all three.
fn paths(text: &str) -> Vec<Module> {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    for line in statements(text) {
        // The heads of the groups that are open.
        let mut open: Vec<Module> = Vec::new();
        let mut rest = line.as_str();
        while let Some(start) = rest.find(|c: char| is_of_path(c) || c == '{' || c == '}') {
            rest = &rest[start..];
            let end = rest.find(|c| !is_of_path(c)).unwrap_or(rest.len());
            let (path, behind) = rest.split_at(end);
            let group = behind.strip_prefix('{').filter(|_| path.ends_with("::"));
            let own = path.split("::").filter(|part| !part.is_empty());
            let head = open.last().into_iter().flatten().map(String::as_str);
            let parts: Module = head.chain(own).map(str::to_owned).collect();
            if path.is_empty() {
                if rest.starts_with('}') {
                    open.pop();
                }
                rest = &rest[1..];
            } else if let Some(inside) = group {
                open.push(parts);
                rest = inside;
            } else {
                if parts.len() > 1 && path != "self" {
                    found.push(parts);
                }
                rest = behind;
            }
        }
    }
    found
}

/// The text without comments, each import on one line.
fn statements(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let begins =
            line.starts_with("use ") || (line.starts_with("pub") && line.contains(" use "));
        if open.is_empty() && !begins {
            lines.push(line.to_owned());
            continue;
        }
        open.push_str(line);
        if line.ends_with(';') {
            lines.push(std::mem::take(&mut open));
        }
    }
    lines
}

/// The modules of a crate, and what each exports of its parts.
struct House {
    modules: BTreeSet<Module>,
    exports: BTreeMap<(Module, String), Module>,
}

impl House {
    fn new(texts: &BTreeMap<Module, String>) -> Self {
        let mut house = Self {
            modules: texts.keys().cloned().collect(),
            exports: BTreeMap::new(),
        };
        for (module, text) in texts {
            let exports = statements(text).into_iter();
            let exports = exports.filter(|line| line.starts_with("pub") && line.contains(" use "));
            for mut path in exports.flat_map(|line| paths(&line)) {
                if !["crate", "super", "self"].contains(&path[0].as_str()) {
                    path.insert(0, "self".to_owned());
                }
                let name = path.last().unwrap().clone();
                house.exports.insert((module.clone(), name), path);
            }
        }
        house
    }

    /// The module that a path is about: the longest part of it that is a file, or the file whose thing is exported there.
    fn resolve(&self, own: &Module, path: &[String]) -> Option<Module> {
        // Other paths are of other crates, or of a module's own parts, which it puts together and which may know it.
        let is_own = ["crate", "super"].contains(&path.first()?.as_str());
        is_own.then(|| self.follow(own, path)).flatten()
    }

    fn follow(&self, own: &Module, path: &[String]) -> Option<Module> {
        let mut base = own.clone();
        let mut names = path;
        while let Some((first, rest)) = names.split_first() {
            match first.as_str() {
                "crate" => base = Vec::new(),
                "super" => drop(base.pop()?),
                "self" => {}
                _ => break,
            }
            names = rest;
        }
        let (found, names) = (0..=names.len()).rev().find_map(|count| {
            let module = [base.clone(), names[..count].to_vec()].concat();
            self.modules
                .contains(&module)
                .then_some((module, &names[count..]))
        })?;
        let exported = names
            .first()
            .and_then(|name| self.exports.get(&(found.clone(), name.clone())));
        match exported {
            Some(path) => self.follow(&found, path),
            // What the root has itself is everybody's.
            None => (!found.is_empty()).then_some(found),
        }
    }
}

/// Modules that reach each other, by circle.
fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let reach = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Module> = arrows.get(from).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(arrows.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = arrows
        .keys()
        .map(|module| (module, reach(module)))
        .collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    let mut done: BTreeSet<&Module> = BTreeSet::new();
    for (module, all) in &reached {
        if !all.contains(*module) || done.contains(*module) {
            continue;
        }
        let circle: Vec<&Module> = reached
            .iter()
            .filter(|(other, back)| all.contains(**other) && back.contains(*module))
            .map(|(other, _)| *other)
            .collect();
        done.extend(&circle);
        circles.push(circle.into_iter().cloned().collect());
    }
    circles
}
