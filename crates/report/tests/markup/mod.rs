//! A small checker of markup: tags balance, attributes are quoted, ids are unique, local links
//! have a target.

use std::collections::BTreeSet;

const VOID: [&str; 3] = ["meta", "br", "hr"];

/// What is wrong with a page; empty when it is well-formed.
pub(crate) fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut targets = BTreeSet::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        if rest[..at].contains('>') {
            faults.push(format!("a bare > before {}", excerpt(&rest[at..])));
        }
        rest = &rest[at + 1..];
        let Some(end) = tag_end(rest) else {
            faults.push(format!("a tag without end: {}", excerpt(rest)));
            break;
        };
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                faults.push(format!(
                    "</{name}> closes something else, before {}",
                    excerpt(rest)
                ));
            }
            continue;
        }
        if tag.starts_with('!') {
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            faults.push(format!("a bare < before {}", excerpt(tag)));
        }
        for (key, value) in attributes(tag, &mut faults) {
            match key {
                "id" if !ids.insert(value.to_owned()) => faults.push(format!("id {value} twice")),
                "href" => match value.strip_prefix('#') {
                    Some(target) => drop(targets.insert(target.to_owned())),
                    None => faults.push(format!("a link to outside: {value}")),
                },
                "aria-labelledby" => targets.extend(value.split(' ').map(str::to_owned)),
                "src" | "srcset" | "data" | "action" => faults.push(format!("{key} in {name}")),
                _ if key.starts_with("on") => faults.push(format!("a handler: {key}")),
                _ => {}
            }
        }
        if tag.ends_with('/') || VOID.contains(&name) {
            continue;
        }
        if matches!(name, "script" | "style") {
            let close = format!("</{name}>");
            let length = rest.find(&close).unwrap_or(rest.len());
            rest = rest.get(length + close.len()..).unwrap_or_default();
            continue;
        }
        open.push(name);
    }
    faults.extend(open.iter().map(|name| format!("<{name}> stays open")));
    faults.extend(
        targets
            .difference(&ids)
            .map(|id| format!("nothing has the id {id}")),
    );
    faults
}

/// Where a tag ends, quotes considered.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b'>' && !quoted
    })
}

fn attributes<'a>(tag: &'a str, faults: &mut Vec<String>) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    let mut rest = tag
        .split_once(' ')
        .map_or("", |(_, rest)| rest)
        .trim_end_matches('/')
        .trim();
    while !rest.is_empty() {
        let parts = rest.split_once("=\"").and_then(|(key, after)| {
            let (value, after) = after.split_once('"')?;
            Some((key, value, after))
        });
        let Some((key, value, after)) = parts else {
            faults.push(format!("not an attribute: {}", excerpt(rest)));
            break;
        };
        if key.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-') || value.contains('<') {
            faults.push(format!("a broken attribute: {}", excerpt(rest)));
        }
        found.push((key, value));
        rest = after.trim_start();
    }
    found
}

fn excerpt(text: &str) -> String {
    text.chars().take(60).collect()
}

#[test]
fn the_checker_finds_faults() {
    assert_eq!(faults("<p id=\"a\"><a href=\"#a\">x</a><br></p>"), [""; 0]);
    for broken in [
        "<p>",
        "<p></div></p>",
        "<p id=\"a\"></p><p id=\"a\"></p>",
        "<a href=\"#b\"></a>",
        "<a href=\"https://x\"></a>",
        "<p onclick=\"x\"></p>",
        "<p title=x></p>",
        "1 < 2",
        "<img src=\"x\"/>",
        "a > b <p></p>",
    ] {
        assert!(!faults(broken).is_empty(), "{broken}");
    }
}
