//! The fleet's pages: what they say of a store whose rows are known, and of one that does not answer.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::fleet::row::{
    Action, Hash64, HealthRow, HostRow, IncidentId, IncidentRow, Millis, Proof, QueryRow,
    QueryTextRow, RemedyRow, Seconds, VerdictKind,
};
use ::fleet::sqlite::Store;
use ::fleet::{Batch, Token};

use crate::chromium::Chromium;
use crate::stage::{BEGIN_MS, NASTY, STALL, Served, freezeframe};

/// Milliseconds of six hours: a column of the map of seven days.
const COLUMN_MS: i64 = 6 * 3_600_000;

const DAY: i64 = 86_400;

/// The incident that has relatives.
pub(crate) const ME: &str = "01010101-0101-0101-0101-010101010101";

/// A store, and the moment in it when most stalls were.
pub(crate) struct KnownStore {
    path: PathBuf,
    /// Milliseconds since 1970, in the middle of a column.
    at_ms: i64,
}

impl KnownStore {
    pub(crate) fn arguments(&self) -> Vec<String> {
        vec![
            "--fleet".to_owned(),
            format!("sqlite://{}", self.path.display()),
        ]
    }
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn host(id: u64, host: &str, now: i64) -> HostRow {
    HostRow {
        host_id: Hash64(id),
        host: host.to_owned(),
        label: "3306".to_owned(),
        vendor: "MariaDB".to_owned(),
        version: "10.11.6-MariaDB".to_owned(),
        seen: Seconds(now),
        ..HostRow::default()
    }
}

fn incident(number: u8, host: u64, onset: i64, seconds: u32, cause: &str) -> IncidentRow {
    IncidentRow {
        incident_id: IncidentId([number; 16]),
        host_id: Hash64(host),
        onset: Millis(onset),
        detected: Millis(onset + 1000),
        duration_ms: seconds * 1000,
        trigger: "query-probe".to_owned(),
        verdict: match cause {
            "" => VerdictKind::NotEnough,
            _ => VerdictKind::Named,
        },
        cause: cause.to_owned(),
        confidence: if number == 1 { 0.93 } else { 0.64 },
        // Two have nothing to do with the others.
        shape: Hash64(if matches!(number, 5 | 6) { 8 } else { 7 }),
        absent: Vec::new(),
        facts: Vec::new(),
        frame_key: format!("/frames/{number}.frame"),
        frame_bytes: 1,
        frame_sha256: "0".repeat(64),
        rev: 1,
        name: format!("3306-{number}"),
        heaviest: vec!["buf_read".to_owned()],
    }
}

/// Four servers: two stalled alike, one has a name that means harm, one is silent.
pub(crate) fn store(dir: &Path) -> KnownStore {
    let path = dir.join("fleet.db");
    let now = now_ms() / 1000;
    let at = now_ms() - now_ms() % COLUMN_MS - COLUMN_MS / 2;
    let mut batch = Batch::new(Token {
        host_id: 1,
        boot: 1,
        seq: 1,
    });
    for (id, name) in [(1, "db1"), (2, "db2"), (3, NASTY)] {
        batch.push(&host(id, name, now));
        batch.push(&HealthRow {
            host_id: Hash64(id),
            ts: Seconds(now),
            ..HealthRow::default()
        });
    }
    batch.push(&host(4, "db4", now - 7200));
    batch.push(&HealthRow {
        host_id: Hash64(4),
        ts: Seconds(now - 7200),
        absent: vec!["profile".to_owned(), NASTY.to_owned()],
        lost: 5,
        ..HealthRow::default()
    });
    batch.push(&incident(1, 1, at, 40, "slow-fsync"));
    batch.push(&incident(2, 1, at + 60_000, 50, "slow-fsync"));
    batch.push(&incident(3, 2, at - 4 * COLUMN_MS, 600, "slow-fsync"));
    let mut hostile = incident(4, 3, at + 5000, 5, NASTY);
    hostile.frame_key = format!("/frames/{NASTY}.frame");
    hostile.name = NASTY.to_owned();
    hostile.heaviest = vec![NASTY.to_owned()];
    hostile.trigger = NASTY.to_owned();
    batch.push(&hostile);
    // The one whose file is in the first directory; and one that is not, long before the seven days.
    let recorded = BEGIN_MS + STALL.0 as i64 * 1000;
    batch.push(&incident(5, 1, recorded, 40, "row-lock-pileup"));
    batch.push(&incident(6, 1, recorded + 1, 3, ""));
    for (id, ago, action) in [
        (1, 20, Action::Apply),
        (2, 20, Action::Apply),
        (2, 10, Action::Undo),
    ] {
        batch.push(&RemedyRow {
            host_id: Hash64(id),
            at: Seconds(now - ago * DAY),
            remedy: "flush-log-2".to_owned(),
            cause: "slow-fsync".to_owned(),
            action,
            proof: Proof::Pending,
            rev: 1,
        });
    }
    // Before the remedy on the second server only: there it helped, on the first it did not.
    for (number, host, ago) in [
        (7, 2, 21),
        (8, 2, 22),
        (9, 2, 23),
        (10, 2, 24),
        (11, 2, 25),
        (12, 1, 19),
        (13, 1, 18),
        (14, 1, 17),
    ] {
        let onset = (now - ago * DAY) * 1000;
        batch.push(&incident(number, host, onset, 5, "slow-fsync"));
    }
    for (digest, ago) in [(1, 7200), (2, 120)] {
        batch.push(&QueryTextRow {
            digest: Hash64(digest),
            text: format!("select {NASTY} from t{digest}"),
            first_seen: Seconds(at / 1000 - ago),
        });
        batch.push(&QueryRow {
            host_id: Hash64(1),
            ts: Seconds(at / 1000 - ago),
            digest: Hash64(digest),
            n: 1,
            sum_us: 9,
            ..QueryRow::default()
        });
    }
    let (mut store, _) = Store::init(&path, now, "test").unwrap();
    store.insert(&batch, now).unwrap();
    KnownStore { path, at_ms: at }
}

fn served() -> (Served, i64) {
    let mut at_ms = 0;
    let served = Served::start_with(|dir| {
        let store = store(dir);
        at_ms = store.at_ms;
        store.arguments()
    });
    (served, at_ms)
}

/// The rows of the table behind this heading, each with its cells without their tags.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, behind) = page.split_once(&format!("<h2 id=\"{heading}\"")).unwrap();
    let behind = behind.split("<h2").next().unwrap();
    let body = behind.split("<tbody>").nth(1).unwrap();
    let body = body.split("</tbody>").next().unwrap();
    let rows = body.split("<tr>").skip(1);
    rows.map(|row| {
        let cells = row.split("</t").map(text);
        let mut cells: Vec<String> = cells.collect();
        cells.pop();
        cells.pop();
        cells
    })
    .collect()
}

/// A piece of a page without its tags; of what was cut within one, what stands behind it.
fn text(piece: &str) -> String {
    let mut out = String::new();
    for part in piece.split('<') {
        out += part.split_once('>').map_or("", |(_, text)| text);
    }
    out.trim().to_owned()
}

fn is_harmful(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character, '\u{202e}' | '\u{2066}')
}

fn assert_harmless(page: &str) {
    assert!(!page.contains("<script"), "{page}");
    assert!(!page.chars().any(is_harmful), "{page}");
    assert!(!page.contains(" style="), "{page}");
    assert_eq!(page.matches("</html>").count(), 1);
}

/// One view for all: to make what it serves, and to judge it, takes longer than to ask for it.
#[test]
fn the_fleet_is_as_the_store_has_it_and_guarded() {
    let (served, at_ms) = served();
    servers_their_stalls_and_causes_are_as_the_store_has_them(&served, at_ms);
    an_incident_stands_beside_its_relatives_and_leads_to_its_file(&served, at_ms);
    the_fleet_is_guarded_as_everything_is(&served);
}

fn servers_their_stalls_and_causes_are_as_the_store_has_them(served: &Served, at_ms: i64) {
    assert!(served.page("/").contains("<a href=\"fleet\">Fleet</a>"));
    let page = served.page("/fleet");
    assert_harmless(&page);
    assert!(page.contains("aria-current=\"page\">Fleet</a>"));
    // 40 and 50 s, 10 min, 5 s.
    let line = "4 servers; 3 stalled in 7 days: 4 stalls, 11 min 35 s in total. Not heard from: 1.";
    assert!(page.contains(line), "{page}");
    let servers = table(&page, "servers");
    let of = |name: &str| {
        let row = servers.iter().find(|row| row[0] == name);
        row.unwrap_or_else(|| panic!("{name}: {servers:#?}"))
    };
    let first = of("db1:3306");
    assert_eq!(
        first[1..5],
        ["10.11.6-MariaDB", "in the last 5 min", "2", "1 min 30 s"]
    );
    assert_eq!(first[6], "yes");
    let silent = of("db4:3306");
    assert!(silent[2].ends_with(", 2 h ago"), "{silent:?}");
    assert_eq!((silent[3].as_str(), silent[4].as_str()), ("0", ""));
    assert!(
        silent[6].starts_with("not recording without profile, "),
        "{silent:?}"
    );
    assert!(silent[6].ends_with("5 samples lost in a day"), "{silent:?}");
    let by_time: Vec<&str> = servers.iter().map(|row| row[3].as_str()).collect();
    assert_eq!(by_time, ["1", "2", "1", "0"]);
    let silent_first = table(&served.page("/fleet?sort=silent"), "servers");
    assert_eq!(silent_first[0][0], "db4:3306");

    let map = table(&page, "map");
    assert_eq!(map.len(), 3, "{map:?}");
    // The longest stalled first; the last columns but one are those of now and half a column before.
    assert_eq!(
        (map[0][0].as_str(), map[1][0].as_str()),
        ("db2:3306", "db1:3306")
    );
    assert_eq!(map[1].len(), 29);
    let place = |row: &[String]| row.iter().rposition(|cell| !cell.is_empty()).unwrap();
    assert_eq!(map[1][place(&map[1])], "2");
    assert_eq!(place(&map[1]), place(&map[0]) + 4);
    // An hour is a shorter column, so that the two of a minute are still in one.
    let of_day = table(&served.page("/fleet?since=24h"), "map");
    assert!(
        of_day.iter().any(|row| row.contains(&"2".to_owned())),
        "{of_day:?}"
    );
    let from = at_ms - COLUMN_MS / 2;
    let cell = format!(
        "href=\"fleet/stalls?server=db1%3A3306&amp;from={from}&amp;to={}\"",
        from + COLUMN_MS
    );
    assert!(page.contains(&cell), "{cell}: {page}");

    let causes = table(&page, "causes");
    assert_eq!(
        causes[0][1..],
        [
            "11 min 30 s",
            "99.3%",
            "3",
            "2",
            "flush-log-2 helped on 1 of 2 servers"
        ]
    );
    for wrong in [
        "/fleet?since=8d",
        "/fleet?sort=x",
        "/fleet/stalls?from=x",
        "/fleet/incident",
    ] {
        let (head, _) = served.get(wrong);
        assert!(head.starts_with("HTTP/1.1 400 "), "{wrong}: {head}");
    }
    for wrong in [
        "/fleet/",
        "/fleet/x",
        "/fleet/incident?id=3306-99",
        "/fleetx",
    ] {
        let (head, body) = served.get(wrong);
        assert!(head.starts_with("HTTP/1.1 404 "), "{wrong}: {head}");
        assert_harmless(&body);
    }
}

fn an_incident_stands_beside_its_relatives_and_leads_to_its_file(served: &Served, at_ms: i64) {
    let page = served.page(&format!("/fleet/incident?id={ME}"));
    assert_harmless(&page);
    assert_eq!(served.page("/fleet/incident?id=3306-1"), page);
    assert!(
        page.contains("freezeframe explain /frames/1.frame"),
        "{page}"
    );
    assert!(page.contains("first seen 2 min before the stall"), "{page}");
    assert!(page.contains("select &lt;/code&gt;"), "{page}");
    let relatives = table(&page, "relatives");
    let [own, second, ..] = relatives.as_slice() else {
        panic!("{relatives:?}");
    };
    assert_eq!(own[0], "db1:3306 this incident");
    assert!(own[2].ends_with(" certain"), "{own:?}");
    // A server has a line for all of its stalls that are like this one.
    assert_eq!(relatives.len(), 4, "{relatives:?}");
    assert!(["db1:3306", "db2:3306"].contains(&second[0].as_str()));
    let same = relatives.iter().find(|row| row[0] == "db1:3306").unwrap();
    assert_eq!((same[4].as_str(), same[5].as_str()), ("4", "1 min 5 s"));
    let other = relatives.iter().find(|row| row[0] == "db2:3306").unwrap();
    assert!(other[2].ends_with(" likely"), "{other:?}");
    assert_eq!(other[3], "cause, shape");
    assert_eq!((other[4].as_str(), other[5].as_str()), ("6", "10 min 25 s"));
    assert_eq!(other[6], "flush-log-2 helped on 1 of 2 servers");
    assert!(other[7].starts_with("/frames/"), "{other:?}");
    assert!(page.contains("href=\"incident?id="));

    // Where the file is in one of the directories, its page is.
    let day = BEGIN_MS + 4 * 3_600_000;
    let stalls = format!("/fleet/stalls?server=db1:3306&from={BEGIN_MS}&to={day}");
    let page = served.page(&stalls);
    assert_harmless(&page);
    assert!(
        page.contains("2 stalls, 2026-11-20 02:00:00 to 2026-11-20 06:00:00"),
        "{page}"
    );
    let here = "href=\"../incident/3306-20261120T043000.000Z\"";
    assert_eq!(page.matches(here).count(), 1, "{page}");
    assert!(page.contains("/frames/6.frame") && !page.contains("/frames/5.frame"));
    let own = served.page("/fleet/incident?id=05050505-0505-0505-0505-050505050505");
    assert!(
        own.contains(here) && !own.contains("freezeframe explain"),
        "{own}"
    );

    // The one with the hostile names, found by what leads there.
    let list = served.page(&format!(
        "/fleet/stalls?from={}&to={}",
        at_ms,
        at_ms + 10_000
    ));
    assert_harmless(&list);
    let hostile = "04040404-0404-0404-0404-040404040404";
    assert!(
        list.contains(&format!("href=\"incident?id={hostile}\"")),
        "{list}"
    );
    let page = served.page(&format!("/fleet/incident?id={hostile}"));
    assert_harmless(&page);
    // Whoever takes the command as it is runs nothing in it.
    // Its control characters are escaped: they could not be copied.
    assert!(page.contains("freezeframe explain $&#39;"), "{page}");
}

fn the_fleet_is_guarded_as_everything_is(served: &Served) {
    for path in ["/fleet", "/fleet/stalls", "/fleet/incident?id=x"] {
        let (head, body) = served.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert!(head.starts_with("HTTP/1.1 401 "), "{path}: {head}");
        assert!(!body.contains("db1"), "{path}");
        let root = &served.root;
        for (more, code) in [
            ("Host: evil.example\r\n", 421),
            ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ] {
            let request = format!("GET {root}{path} HTTP/1.1\r\n{more}\r\n");
            let (head, _) = served.ask(&request);
            assert!(
                head.starts_with(&format!("HTTP/1.1 {code} ")),
                "{path}: {head}"
            );
        }
        let request = format!("POST {root}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, _) = served.ask(&request);
        assert!(head.starts_with("HTTP/1.1 405 "), "{path}: {head}");
    }
    let (head, _) = served.get("/fleet");
    let policy =
        "\r\nContent-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'";
    assert!(
        head.contains(policy) && head.contains("frame-ancestors 'none'"),
        "{head}"
    );
    let path = served.dir.path().join("fleet.db");
    let before = std::fs::read(&path).unwrap();
    served.page("/fleet");
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_store_that_hangs_is_told_and_holds_up_nobody() {
    // Connections wait in its queue for ever.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = hanging.local_addr().unwrap().port();
    let served = Served::start_with(|_| {
        let url = format!("http://me@127.0.0.1:{port}/fleet");
        ["--fleet".to_owned(), url].into()
    });
    std::thread::scope(|threads| {
        let asked: Vec<_> = (0..2)
            .map(|_| threads.spawn(|| served.get("/fleet")))
            .collect();
        let begin = Instant::now();
        for path in ["/", "/incident/latch", "/history?server=db1:3306"] {
            assert!(served.get(path).0.starts_with("HTTP/1.1 200 "), "{path}");
        }
        let took = begin.elapsed();
        let is_waiting = asked.iter().all(|one| !one.is_finished());
        assert!(is_waiting || took > Duration::from_secs(9), "{took:?}");
        for one in asked {
            let (head, body) = one.join().unwrap();
            assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
            let line = format!("<p>http://127.0.0.1:{port}/fleet: no answer in 10 s");
            assert_eq!(body.matches(&line).count(), 1, "{body}");
            assert_harmless(&body);
        }
    });
    assert!(served.stop().success());
}

#[test]
fn a_store_that_is_not_there_is_one_line_and_no_fleet_is_none() {
    let served = Served::start_with(|dir| {
        let gone = dir.join("gone.db");
        ["--fleet".to_owned(), format!("sqlite://{}", gone.display())].into()
    });
    let (head, body) = served.get("/fleet");
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert!(
        body.contains("gone.db: no store of a fleet; `freezeframe fleet init"),
        "{body}"
    );
    // Something else in its place, and then a store that is empty.
    let gone = served.dir.path().join("gone.db");
    std::fs::write(&gone, "x".repeat(5000)).unwrap();
    let (head, body) = served.get("/fleet");
    assert!(head.starts_with("HTTP/1.1 503 ") && body.contains("not the store of a fleet"));
    std::fs::remove_file(&gone).unwrap();
    Store::init(&gone, 1, "test").unwrap();
    let page = served.page("/fleet");
    assert!(page.contains("No server is in the store"), "{page}");

    let without = Served::start();
    let (head, body) = without.get("/fleet");
    assert!(
        head.starts_with("HTTP/1.1 404 ") && body.contains("--fleet URL"),
        "{head}"
    );
    assert!(!without.page("/").contains("href=\"fleet\""));
    for (url, words) in [
        ("mysql://db1", "sqlite:///DIR/FILE"),
        ("http://me:secret@db1/f", "FREEZEFRAME_FLEET_PASSWORD"),
    ] {
        let refused = freezeframe()
            .args(["web", "--listen", "127.0.0.1:0", "--fleet", url, "--dir"])
            .arg(without.dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(
            (refused.status.code(), said.lines().count()),
            (Some(2), 1),
            "{said}"
        );
        assert!(said.contains(words) && !said.contains("secret"), "{said}");
    }
    // As the configuration says.
    let config = without.dir.path().join("f.toml");
    let url = format!("sqlite://{}", gone.display());
    std::fs::write(&config, format!("[fleet]\nurl = '{url}'\n")).unwrap();
    let configured =
        Served::start_with(|_| ["--config".to_owned(), config.display().to_string()].into());
    assert!(
        configured
            .page("/fleet")
            .contains("No server is in the store")
    );
}

/// Screens of both widths and colours: nothing is wider than they are, all of it can be reached by keys.
#[test]
fn the_fleet_fits_each_screen_and_keys_reach_it() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let (served, _) = served();
    let own = format!("http://{}/", served.address);
    let hostile = "/fleet/incident?id=04040404-0404-0404-0404-040404040404";
    let me = format!("/fleet/incident?id={ME}");
    for (width, scheme) in [
        (1280, "light"),
        (1280, "dark"),
        (400, "light"),
        (400, "dark"),
    ] {
        browser.look(width, 800, scheme);
        for path in ["/fleet", "/fleet?since=90d", "/fleet/stalls", &me, hostile] {
            browser.open(&served.url(path));
            let wide = browser.js("document.documentElement.scrollWidth");
            assert!(
                wide.as_u64().unwrap() <= u64::from(width),
                "{path} at {width}: {wide}"
            );
        }
    }
    browser.open(&served.url("/fleet"));
    let reached = browser.js(
        "[...document.querySelectorAll('.stall-map td')].filter((one) => one.textContent).every((one) => \
         { const link = one.querySelector('a[href]'); link.focus(); return document.activeElement === link; })",
    );
    assert_eq!(reached, true);
    browser.click(".stall-map tbody tr:first-child td a");
    browser.ready("location.pathname.endsWith('/fleet/stalls')");
    browser.click(".stack tbody th a");
    browser.ready("location.pathname.endsWith('/fleet/incident')");
    browser.click(".stack tbody th a");
    browser.ready("document.querySelectorAll('#relatives').length === 1");
    assert_eq!(browser.complaints(&own), [""; 0]);
}
