//! What the page of an incident shows before anybody scrolls, and what stays readable in colours of one's own.

use serde_json::json;
use tempfile::TempDir;

use crate::axe::written;
use crate::chromium::Chromium;

/// What the Tab key reaches; of a group of radio buttons that is the chosen one.
const REACHED_BY_TAB: &str = "[...document.querySelectorAll('a[href],button,input:not([type=radio]:not(:checked)),select,\
    summary,[tabindex=\"0\"]')].filter((one) => one.checkVisibility())";

/// The address of the page of an incident that has everything, and the directory that it is in.
fn page() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let incident = testbed::made_incident(&testbed::IncidentSize::small());
    let frame = store::write_incident(&incident, dir.path()).unwrap();
    let page = dir.path().join("page.html");
    let url = written(&["explain", frame.to_str().unwrap(), "--html"], &page);
    (dir, url)
}

/// The colours of an element, text and ground.
fn colours(browser: &mut Chromium, selector: &str) -> (String, String) {
    let mut of = |name: &str| {
        let expression = format!("getComputedStyle(document.querySelector('{selector}')).{name}");
        browser.js(&expression).as_str().unwrap().to_owned()
    };
    (of("color"), of("backgroundColor"))
}

#[test]
fn the_answer_is_on_the_first_screen_and_all_else_is_folded() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let (_dir, url) = page();
    browser.look(1280, 800, "light");
    browser.open(&url);
    for part in ["h1", "dl.answers", "figure.timeline"] {
        let bottom = browser.js(&format!(
            "document.querySelector('{part}').getBoundingClientRect().bottom"
        ));
        assert!(bottom.as_f64().unwrap() <= 800.0, "{part}: {bottom}");
    }
    assert_eq!(
        browser.js("document.querySelectorAll('main details.section[open]').length"),
        0
    );
    let sections = browser.js("document.querySelectorAll('main > section').length");
    assert_eq!(
        browser.js("document.querySelectorAll('main > section > details.section').length"),
        sections
    );
    // A link of the page unfolds what it leads to.
    browser.click("nav a[href='#in-findings']");
    browser.ready("document.querySelector('#findings details').open");

    // With colours of one's own a level is text on the page's ground, whatever level it is.
    browser.media(
        1280,
        800,
        &[
            ("prefers-color-scheme", "dark"),
            ("forced-colors", "active"),
        ],
    );
    browser.js(
        "document.querySelector('h1').insertAdjacentHTML('beforeend', \
         ['certain', 'likely', 'possible', 'worked', 'worse', 'no-effect', 'not-proven'].map((level) => \
         `<span class=\"badge ${level}\" id=\"of-${level}\">x</span>`).join(''))",
    );
    let page = colours(&mut browser, "body");
    for level in [
        "certain",
        "likely",
        "possible",
        "worked",
        "worse",
        "no-effect",
        "not-proven",
    ] {
        assert_eq!(
            colours(&mut browser, &format!("#of-{level}")),
            page,
            "{level}"
        );
    }
}

#[test]
fn a_print_has_two_pages_a_keyboard_reaches_all_and_a_phone_has_what_to_do_first() {
    let Some(mut browser) = Chromium::start() else {
        return;
    };
    let (_dir, url) = page();
    browser.open(&url);
    // A4 and Letter, inches.
    for (width, height) in [(8.27, 11.69), (8.5, 11.0)] {
        let paper = json!({"paperWidth": width, "paperHeight": height, "printBackground": true});
        let print = browser.call("Page.printToPDF", paper);
        let pages = browser.js(&format!(
            "atob({}).match(/\\/Type \\/Page\\b/g).length",
            print["data"]
        ));
        assert_eq!(pages, 2, "{width} x {height}");
    }

    let unfold = "document.querySelectorAll('details').forEach((one) => { one.open = true; })";
    browser.js(unfold);
    let all = browser.js(&format!(
        "window.left = new Set({REACHED_BY_TAB}); \
         document.addEventListener('focusin', (event) => left.delete(event.target)); left.size"
    ));
    let all = all.as_u64().unwrap();
    assert!(all > 20, "{all}");
    // What scrolls is reached as well.
    for _ in 0..all * 2 + 20 {
        for kind in ["rawKeyDown", "keyUp"] {
            let key =
                json!({"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9});
            browser.call("Input.dispatchKeyEvent", key);
        }
    }
    let left = browser.js("[...left].map((one) => one.outerHTML.slice(0, 100))");
    assert_eq!(left, json!([]));

    browser.look(400, 800, "light");
    browser.open(&url);
    browser.js(unfold);
    let wide = browser.js("document.documentElement.scrollWidth");
    assert!(wide.as_u64().unwrap() <= 400, "{wide}");
    let mut top = |selector: &str| -> f64 {
        let place = format!("document.querySelector('{selector}').getBoundingClientRect().top");
        browser.js(&place).as_f64().unwrap()
    };
    let order = [
        "dl.answers",
        "figure.timeline",
        ".finding .half.remedy",
        ".finding .half:not(.remedy)",
    ];
    let places = order.map(&mut top);
    assert!(places.is_sorted(), "{places:?}");
}
