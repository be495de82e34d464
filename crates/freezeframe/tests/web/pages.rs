//! Each page and each address for programs.

use crate::stage::{BEGIN_MS, NASTY, STALL, Served, freezeframe};

fn is_harmful(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{202e}' | '\u{2066}')
}

#[test]
fn every_page_is_there_and_harmless() {
    let served = Served::start();
    let all = served.json("/api/incidents");
    let incidents = all["incidents"].as_array().unwrap();
    assert_eq!(incidents.len(), 4, "{all:#}");
    // A link is no incident, and what is none is told.
    let problems = all["problems"].to_string();
    assert!(problems.contains("broken.frame") && !problems.contains("link.frame"));
    let names: Vec<&str> = incidents
        .iter()
        .map(|incident| incident["name"].as_str().unwrap())
        .collect();
    assert!(incidents.iter().all(|incident| incident["path"].is_null()));

    let list = served.page("/");
    assert!(list.contains("Adaptive hash index: latch contention"));
    assert!(list.contains("db1:3306") && list.contains("broken.frame"));
    assert!(list.contains(":3307") && list.contains("&lt;/script&gt;"));
    let mut pages = vec![list];
    for name in &names {
        assert!(
            pages[0].contains(&format!("href=\"incident/{name}\"")),
            "{name}"
        );
        let page = served.page(&format!("/incident/{name}"));
        assert!(page.contains("<nav class=\"views\""), "{name}");
        pages.push(page);
    }
    pages.push(served.page("/history?server=db1:3306"));
    pages.push(served.page("/history"));
    pages.push(served.page(&format!("/pair?id={}&id={}", names[0], names[1])));
    for page in &pages {
        assert!(!page.contains("<script>alert"), "{}", &page[..200]);
        assert!(!page.chars().any(is_harmful));
        assert_eq!(page.matches("</html>").count(), 1);
    }
    for (path, kind) in [
        ("/static/web.js", "text/javascript"),
        ("/static/web.css", "text/css"),
        ("/static/report.css", "text/css"),
        ("/static/uplot.js", "text/javascript"),
        ("/static/uplot.css", "text/css"),
        ("/static/uplot-licence.txt", "text/plain"),
    ] {
        let (head, body) = served.get(path);
        assert!(
            head.contains(&format!("Content-Type: {kind}")),
            "{path}: {head}"
        );
        assert!(body.len() > 500);
    }
    assert!(served.stop().success());
}

/// One view for all: to make what it serves, and to judge it, takes longer than to ask for it.
#[test]
fn lists_and_histories_answer_what_they_are_asked() {
    let served = Served::start();
    lists_are_searched_narrowed_and_sorted(&served);
    a_history_of_hours_keeps_its_peaks_and_zooms(&served);
    hostile_names_stay_text_in_what_the_script_reads(&served);
}

fn lists_are_searched_narrowed_and_sorted(served: &Served) {
    let names = |query: &str| -> Vec<String> {
        let all = served.json(&format!("/api/incidents?{query}"));
        let incidents = all["incidents"].as_array().unwrap();
        let names = incidents.iter().map(|incident| incident["name"].as_str());
        names.map(|name| name.unwrap().to_owned()).collect()
    };
    let recorded = "3306-20261120T043000.000Z";
    for (query, wanted) in [
        ("q=adaptive+HASH", &["latch"][..]),
        ("q=shop.orders", &[recorded]),
        ("q=updating+web1", &[]),
        ("q=nothing+like+this", &[]),
        ("server=db1:3306", &[recorded]),
        ("server=nobody", &[]),
        ("longer=1h&q=shop", &[]),
        ("longer=30s&shorter=1m&server=db1:3306", &[recorded]),
        (
            "since=2026-11-20T00:00:00Z&until=2026-11-21T00:00:00Z&server=db1:3306",
            &[recorded],
        ),
    ] {
        assert_eq!(names(query), wanted, "{query}");
    }
    let found = served.json("/api/incidents?q=shop.orders");
    let found = found["incidents"][0]["found_in"].as_str().unwrap();
    assert!(
        found.starts_with("statement: UPDATE shop.orders"),
        "{found}"
    );
    assert!(
        served
            .page("/?q=shop.orders")
            .contains("found in statement: UPDATE shop.orders")
    );
    let all = served.json("/api/incidents?sort=level");
    let first = all["incidents"][0]["level"].as_str();
    assert!(first.is_some(), "{all}");
    for wrong in ["sort=x", "since=never", "longer=long"] {
        let (head, _) = served.get(&format!("/api/incidents?{wrong}"));
        assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
        let (head, body) = served.get(&format!("/?{wrong}"));
        assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("Bad request"));
    }
}

fn a_history_of_hours_keeps_its_peaks_and_zooms(served: &Served) {
    let whole = served.json("/api/history?server=db1:3306");
    let (from, to) = (
        whole["from_ms"].as_i64().unwrap(),
        whole["to_ms"].as_i64().unwrap(),
    );
    assert_eq!((from, to), (BEGIN_MS, BEGIN_MS + 4 * 3_600_000));
    let titled = |value: &serde_json::Value, title: &str| {
        let charts = value["charts"].as_array().unwrap().clone();
        let mut charts = charts.into_iter();
        charts
            .find(|chart| chart["title"] == title)
            .unwrap_or_else(|| panic!("{title}: {value:.300}"))
    };
    let values = |chart: &serde_json::Value| -> Vec<f64> {
        let values = chart["lines"][0]["v"].as_array().unwrap().iter();
        values.filter_map(serde_json::Value::as_f64).collect()
    };
    // 40 s of four hours: not averaged away, and not more points than a screen has.
    let answers = values(&titled(&whole, "Time to an answer"));
    assert!(
        answers.contains(&163.0) && answers.len() <= 1600,
        "{}",
        answers.len()
    );
    let done = values(&titled(&whole, "Statements completed"));
    assert!(done.contains(&0.0) && done.contains(&900.0));
    let stalls = whole["stalls"].as_array().unwrap();
    assert_eq!(stalls.len(), 1, "{stalls:?}");
    assert_eq!(stalls[0]["incident"], "3306-20261120T043000.000Z");
    assert_eq!(stalls[0]["from_ms"], BEGIN_MS + STALL.0 as i64 * 1000);
    // A few minutes have the states of sessions, each second.
    let (from, to) = (BEGIN_MS + 8_940_000, BEGIN_MS + 9_060_000);
    let near = served.json(&format!("/api/history?server=db1:3306&from={from}&to={to}"));
    let sessions = titled(&near, "Sessions in statements");
    assert_eq!(sessions["lines"][0]["label"], "updating", "{sessions}");
    assert!(values(&sessions).len() > 110);
    let page = served.page(&format!(
        "/history?server=db1:3306&from={from}&to={to}&at={from}"
    ));
    assert!(page.contains("<svg class=\"strip\"") && page.contains("class=\"band\""));
    assert!(page.contains("2026-11-20 04:29:00 to 2026-11-20 04:31:00 UTC"));
    // Nothing is there before, and a time may be written in words.
    let page =
        served.page("/history?server=db1:3306&from=2026-11-19+01:00&to=2026-11-19T02:00:00Z");
    assert!(page.contains("nothing was recorded. The history is from 2026-11-20 02:00:00"));
    for wrong in ["server=x", "from=x", "from=5&to=4", "at=1e3", "to=-1"] {
        let (head, _) = served.get(&format!("/api/history?{wrong}"));
        assert!(head.starts_with("HTTP/1.1 400 "), "{wrong}: {head}");
    }
    let edges = "/api/history?server=db1:3306&from=0&to=253402300799000";
    assert!(served.json(edges)["charts"].as_array().unwrap().is_empty());
}

fn hostile_names_stay_text_in_what_the_script_reads(served: &Served) {
    let list = served.json("/api/incidents");
    let servers = list["servers"].as_array().unwrap();
    let nasty = servers
        .iter()
        .find(|name| name.as_str().unwrap().ends_with(":3307"));
    let nasty = nasty.unwrap().as_str().unwrap();
    assert!(
        nasty.starts_with("</code>") && !nasty.chars().any(is_harmful),
        "{nasty}"
    );
    let encoded: String = nasty.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let history = served.page(&format!("/api/history?server={encoded}"));
    assert!(!history.chars().any(is_harmful));
    let value: serde_json::Value = serde_json::from_str(&history).unwrap();
    assert_eq!(
        value["stalls"][0]["incident"],
        "3307-20261120T043000.000Z~2"
    );
    let found = served.page("/?q=alert(1)");
    assert!(found.contains("incident/3307-20261120T043000.000Z~2"));
    let searched: String = NASTY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let page = served.page(&format!("/?q={searched}"));
    assert!(!page.contains("<script>alert") && !page.chars().any(is_harmful));
}

#[test]
fn nothing_is_written_and_a_used_port_is_one_line() {
    let served = Served::start();
    let state = || {
        let mut files: Vec<_> = ["one", "two"]
            .into_iter()
            .flat_map(|name| std::fs::read_dir(served.dir.path().join(name)).unwrap())
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                let is_shared = name.ends_with("-shm") || name.ends_with("-wal");
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                (name, is_shared, bytes)
            })
            .filter(|(_, is_shared, _)| !is_shared)
            .collect();
        files.sort();
        files
    };
    let before = state();
    served.page("/history?server=db1:3306");
    served.page("/incident/latch");
    assert!(before == state());
    let address = served.address.to_string();
    let refused = freezeframe()
        .args(["web", "--listen", &address, "--dir"])
        .arg(served.dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(
        (refused.status.code(), said.lines().count()),
        (Some(1), 1),
        "{said}"
    );
    assert!(said.contains(&format!("{address} is in use")), "{said}");
    let nowhere = served.dir.path().join("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    for (arguments, code, words) in [
        (&["--listen", "0.0.0.0:0"][..], 2, "--exposed"),
        (&["--dir", nowhere], 1, "no such directory"),
        (&["--token-file", "/dev/null"], 1, "a token needs 16"),
        (&["--listen-host", "a:b"], 2, "without a port"),
    ] {
        let refused = freezeframe()
            .arg("web")
            .args(arguments)
            .arg("--dir")
            .arg(served.dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
