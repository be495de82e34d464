//! What a person does in a browser: open, search, zoom, go to an incident, compare, print.

use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::stage::{BEGIN_MS, STALL, Served};

/// In the middle of the stall, milliseconds since 1970.
const IN_STALL_MS: i64 = BEGIN_MS + (STALL.0 as i64 + 20) * 1000;

/// The time that the address of a history says.
fn shown(browser: &mut Chromium) -> (i64, i64) {
    let number = |value: Value| value.as_str().unwrap().parse().unwrap();
    let mut of = |name: &str| {
        number(browser.js(&format!(
            "new URL(location.href).searchParams.get('{name}')"
        )))
    };
    (of("from"), of("to"))
}

#[test]
fn a_person_finds_zooms_drills_and_compares() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let served = Served::start();
    browser.open(&served.url("/"));
    assert_eq!(
        browser.js("document.querySelectorAll('.incidents tbody tr').length"),
        4
    );

    // Search, by typing and by a choice.
    browser.js("document.querySelector('[name=q]').value = 'shop.orders'");
    browser.click(".filters button");
    browser.ready("location.search.includes('shop.orders')");
    assert_eq!(
        browser.js("document.querySelectorAll('.incidents tbody tr').length"),
        1
    );
    browser.open(&served.url("/"));
    browser.js(
        "(() => { const select = document.querySelector('[name=sort]'); select.value = 'cause'; \
         select.dispatchEvent(new Event('change')); })()",
    );
    browser.ready("location.search.includes('sort=cause')");

    // The history, from the incident's line on, and with the mouse closer to the stall.
    browser.open(&served.url("/history?server=db1:3306"));
    browser.ready("document.querySelectorAll('#charts canvas').length >= 4");
    let before = shown(&mut browser);
    assert_eq!(before, (BEGIN_MS, BEGIN_MS + 4 * 3_600_000));
    browser.drag("#charts .u-over", 0.6, 0.65);
    browser.ready("document.querySelector('#said').textContent.includes('min')");
    let zoomed = shown(&mut browser);
    let onset = BEGIN_MS + STALL.0 as i64 * 1000;
    assert!(zoomed.0 < onset && onset < zoomed.1, "{zoomed:?}");
    assert!(zoomed.1 - zoomed.0 < 1_000_000, "{zoomed:?}");
    browser.click("#charts .u-over");
    browser.ready("new URL(location.href).searchParams.get('at') > 0");
    let told = browser.js("document.querySelector('#charts .at').textContent");
    assert!(told.as_str().unwrap().contains(":"), "{told}");
    // By keys too, and back.
    browser.js(
        "(() => { const plot = document.querySelector('#charts .plot'); \
         plot.dispatchEvent(new KeyboardEvent('keydown', {key: '-', bubbles: true})); })()",
    );
    browser.ready(&format!(
        "new URL(location.href).searchParams.get('to') - new URL(location.href).searchParams.get('from') > {}",
        zoomed.1 - zoomed.0
    ));
    browser.js("history.back()");
    browser.ready(&format!("location.href.includes('from={}')", zoomed.0));
    browser.ready("document.querySelectorAll('.flags a').length === 1");

    // Drill.
    browser.click(".flags a");
    browser.ready("location.pathname.includes('/incident/3306-')");
    assert!(
        browser
            .js("document.querySelector('h1').textContent")
            .is_string()
    );
    browser.click(".views a[href*=history\\?server]");
    browser.ready("document.querySelectorAll('#charts canvas').length >= 4");
    let around = shown(&mut browser);
    assert!(around.0 < onset && onset < around.1);

    // Compare: two, and no third.
    browser.open(&served.url("/"));
    assert_eq!(
        browser.js("document.querySelector('.compare button').disabled"),
        true
    );
    browser.click(".incidents tbody tr:nth-child(1) input");
    browser.click(".incidents tbody tr:nth-child(2) input");
    assert_eq!(
        browser.js("document.querySelector('.incidents tbody tr:nth-child(3) input').disabled"),
        true
    );
    browser.click(".compare button");
    browser.ready("location.pathname.endsWith('/pair')");
    assert_eq!(
        browser.js("document.querySelectorAll('.cell').length > 3"),
        true
    );

    // On paper, what happened to both and its pictures are on the first sheet: A4 without its margins.
    browser.media(688, 1031, &[]);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let end =
        browser.js("document.querySelector('figure.beside')?.getBoundingClientRect().bottom ?? 0");
    assert!(end.as_f64().unwrap() < 1031.0, "{end}");
    browser.call("Emulation.setEmulatedMedia", json!({"media": ""}));

    // A print is a document, and nothing went wrong or elsewhere on the way.
    let print = browser.call("Page.printToPDF", json!({}));
    assert!(
        print["data"].as_str().unwrap().starts_with("JVBER"),
        "no PDF"
    );
    let own = format!("http://{}/", served.address);
    assert_eq!(browser.complaints(&own), [""; 0]);
}

/// Two units where it stands alone, one on the axis.
#[test]
fn a_long_time_is_said_in_minutes() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let served = Served::start();
    browser.open(&served.url(&format!(
        "/history?server=db1:3306&from={}&to={}&at={IN_STALL_MS}",
        IN_STALL_MS - 60_000,
        IN_STALL_MS + 60_000
    )));
    browser.ready("document.querySelectorAll('#charts canvas').length >= 4");
    let mut text = |selector: &str| -> String {
        let told = browser.js(&format!(
            "[...document.querySelectorAll('#charts .strip')].find((one) => \
             one.textContent.startsWith('Time to an answer')).querySelector('{selector}').textContent"
        ));
        told.as_str().unwrap().to_owned()
    };
    assert!(text("p").contains("at most 2 min 43 s"), "{}", text("p"));
    assert!(text(".at").ends_with("2 min 43 s"), "{}", text(".at"));
}

#[test]
fn hostile_names_run_nothing_and_no_page_needs_a_script() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let served = Served::start();
    let own = format!("http://{}/", served.address);
    browser.open(&served.url("/"));
    let hostile = browser.js(
        "[...document.querySelectorAll('[name=server] option')].map((one) => one.value).find((name) => name.endsWith(':3307'))",
    );
    let hostile = hostile.as_str().unwrap();
    assert!(hostile.contains("<script>"), "{hostile}");
    let address = format!(
        "/history?server={}",
        hostile
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect::<String>()
    );
    for (width, scheme) in [(1280, "light"), (400, "dark")] {
        browser.look(width, 800, scheme);
        for path in [
            "/",
            &address,
            "/incident/3307-20261120T043000.000Z~2",
            "/history?server=db1:3306",
        ] {
            browser.open(&served.url(path));
            // Nothing is wider than the screen.
            let wide = browser.js("document.documentElement.scrollWidth");
            assert!(
                wide.as_u64().unwrap() <= u64::from(width),
                "{path} at {width}: {wide}"
            );
        }
        browser.open(&served.url(&address));
        browser.ready("document.querySelectorAll('#charts canvas').length >= 4");
    }
    assert_eq!(browser.complaints(&own), [""; 0]);

    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.look(1280, 800, "light");
    browser.open(&served.url("/history?server=db1:3306"));
    assert_eq!(
        browser.js("document.querySelectorAll('#charts svg.strip').length >= 4"),
        true
    );
    browser.click("#in");
    browser.ready("location.search.includes('from=')");
    browser.click("#stalls a");
    browser.ready("location.pathname.includes('/incident/')");
    assert_eq!(browser.complaints(&own), [""; 0]);
}
