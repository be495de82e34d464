//! Every page, with what is folded in it unfolded, as axe sees it: what keeps a person from reading or using it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::chromium::Chromium;
use crate::stage::{Served, freezeframe};

type Look = (u32, &'static str, &'static str, &'static str);

/// Screens: width, colours, whether the system's own colours are forced on pages, and which rules are asked. Another scheme
/// changes colours alone (assets/*.css), so that the rules about colours are those that can find something new.
static LOOKS: [Look; 4] = [
    (1280, "light", "none", ALL_RULES),
    (1280, "dark", "none", RULES_OF_COLOURS),
    (400, "light", "none", ALL_RULES),
    (1280, "dark", "active", RULES_OF_COLOURS),
];

/// Files that the view serves as well, beneath its bar: there they are seen in each look.
const SERVED_TOO: [&str; 3] = ["report", "report of captures", "two beside each other"];

const ALL_RULES: &str = "";
const RULES_OF_COLOURS: &str =
    "runOnly: {type: 'rule', values: ['color-contrast', 'link-in-text-block']}, ";

/// Its script, where `scripts/need axe` has put it.
fn script() -> Option<String> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = || {
        let home = || Some(variable("HOME")?.join(".cache"));
        Some(
            variable("XDG_CACHE_HOME")
                .or_else(home)?
                .join("freezeframe/axe"),
        )
    };
    let path = variable("FREEZEFRAME_AXE")
        .or_else(cache)?
        .join("axe.min.js");
    let script = std::fs::read_to_string(&path).ok();
    if script.is_none() {
        eprintln!("skipped: there is no axe-core; scripts/need axe fetches it");
    }
    script
}

/// What it finds on the page that is open: rule, how many places, the first of them and why.
fn found(browser: &mut Chromium, script: &str, page: &str, looks: &[Look]) -> Vec<String> {
    browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    browser.js(&format!("{script}\n;0"));
    let mut all = Vec::new();
    for &(width, scheme, forced, rules) in looks {
        browser.media(
            width,
            800,
            &[("prefers-color-scheme", scheme), ("forced-colors", forced)],
        );
        // A picture that is drawn anew for another width is drawn.
        browser
            .js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
        browser.ready("true");
        let told = "(one) => `${one.id} ${one.nodes.length} times: ${one.nodes[0].html.slice(0, 300)} \
            ${one.nodes[0].failureSummary}`";
        let wrong = browser.js(&format!(
            "axe.run(document, {{{rules}resultTypes: ['violations']}}).then((all) => all.violations.map({told}))"
        ));
        let Value::Array(wrong) = wrong else {
            panic!("{page}: {wrong}");
        };
        let told = wrong.iter().filter_map(Value::as_str);
        all.extend(told.map(|one| format!("{page} at {width}, {scheme}, forced {forced}: {one}")));
    }
    all
}

/// A page that the program writes.
pub(crate) fn written(arguments: &[&str], path: &Path) -> String {
    let output = freezeframe().args(arguments).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    format!("file://{}", path.display())
}

#[test]
fn axe_finds_nothing_on_any_page() {
    let (Some(script), Some(mut browser)) = (script(), Chromium::start()) else {
        return;
    };
    let served = Served::start_with(|dir| crate::fleet::store(dir).arguments());
    let recorded = "3306-20261120T043000.000Z";
    let hostile = "3307-20261120T043000.000Z~2";
    let begin = crate::stage::BEGIN_MS + 8_700_000;
    let near = format!(
        "/history?server=db1:3306&from={begin}&to={}",
        begin + 900_000
    );
    let pair = format!("/pair?id={recorded}&id=latch");
    let mut pages = vec![
        ("list", served.url("/")),
        ("found", served.url("/?q=shop.orders")),
        ("empty list", served.url("/?q=nothing+like+this")),
        ("history", served.url("/history?server=db1:3306")),
        ("history of minutes", served.url(&near)),
        ("incident", served.url(&format!("/incident/{recorded}"))),
        (
            "hostile incident",
            served.url(&format!("/incident/{hostile}")),
        ),
        ("captures", served.url("/incident/latch")),
        ("pair", served.url(&pair)),
        ("fleet", served.url("/fleet?since=30d")),
        ("stalls of the fleet", served.url("/fleet/stalls")),
        (
            "incident of the fleet",
            served.url(&format!("/fleet/incident?id={}", crate::fleet::ME)),
        ),
        ("no page", served.url("/incident/none")),
        ("wrong address", served.url("/?sort=x")),
        ("no token", format!("http://{}/", served.address)),
    ];
    // Files, which have no server and no bar above them.
    let dir = tempfile::tempdir().unwrap();
    let frames = std::fs::read_dir(served.dir.path().join("one")).unwrap();
    let frames = frames.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
    let frames: Vec<String> = frames.filter(|path| path.ends_with(".frame")).collect();
    let named = |part: &str| frames.iter().find(|path| path.contains(part)).unwrap();
    let (stall, other) = (named("/3306-"), named("/pool"));
    let file = |name: &str| dir.path().join(name);
    // One that has everything: flame graphs, locks, threads, statements.
    let full = testbed::made_incident(&testbed::IncidentSize::small());
    let full = store::write_incident(&full, dir.path()).unwrap();
    let full = full.to_str().unwrap();
    for (name, arguments) in [
        ("report", vec!["explain", stall, "--html"]),
        ("report of captures", vec!["explain", other, "--html"]),
        ("full report", vec!["explain", full, "--html"]),
        (
            "two beside each other",
            vec!["explain", stall, other, "--html"],
        ),
        ("comparison", vec!["compare", other, stall, "--html"]),
    ] {
        let path = file(&format!("{}.html", name.replace(' ', "-")));
        pages.push((name, written(&arguments, &path)));
    }
    let mut wrong = Vec::new();
    for (name, url) in &pages {
        browser.look(1280, 800, "light");
        browser.open(url);
        if name.starts_with("history") {
            browser.ready("document.querySelectorAll('#charts canvas').length >= 4");
        }
        let looks = match SERVED_TOO.contains(name) {
            true => &LOOKS[..1],
            false => &LOOKS[..],
        };
        wrong.extend(found(&mut browser, &script, name, looks));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
