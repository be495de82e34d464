//! What the page of an incident shows before anybody scrolls, and what stays readable in colours of one's own.

use crate::axe::written;
use crate::chromium::Chromium;

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
    let dir = tempfile::tempdir().unwrap();
    let incident = testbed::made_incident(&testbed::IncidentSize::small());
    let frame = store::write_incident(&incident, dir.path()).unwrap();
    let page = dir.path().join("page.html");
    let url = written(&["explain", frame.to_str().unwrap(), "--html"], &page);
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
