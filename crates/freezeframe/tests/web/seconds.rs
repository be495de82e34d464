//! The map of a page chooses the seconds that its flame graph is of.

use crate::axe::written;
use crate::chromium::Chromium;

/// Words of the flame graph about what was chosen.
const CHOSEN: &str = "document.querySelector('.flame-chosen').textContent";

/// Samples of the whole graph, as its root tells them to who reads with the keys.
fn samples(browser: &mut Chromium) -> u64 {
    let told = browser.js(
        "(() => { const canvas = document.querySelector('.flame-canvas canvas'); canvas.focus(); \
         canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true})); \
         return document.querySelector('.flame-status').textContent; })()",
    );
    let told = told.as_str().unwrap().to_owned();
    let count = told
        .split("in the stall: ")
        .nth(1)
        .and_then(|rest| rest.split(", ").nth(1));
    let digits = |text: &str| {
        text.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    digits(&count.unwrap_or_default().replace(" samples", ""))
        .parse()
        .unwrap_or_else(|_| panic!("no samples in {told:?}"))
}

#[test]
fn seconds_of_the_map_choose_what_the_flame_graph_shows() {
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
    // With a mouse over seconds of the stall: the flame graph, folded until now, is unfolded with fewer samples.
    let is_open = "document.querySelector('figure.flame').closest('details.section').open";
    browser.js("document.querySelector('figure.seconds').closest('details').open = true");
    assert_eq!(browser.js(is_open), false);
    browser.drag("figure.seconds svg.heat", 0.3, 0.7);
    browser.ready(is_open);
    browser
        .ready("document.querySelector('figure.flame.live .flame-canvas canvas').clientHeight > 0");
    let told = browser.js(CHOSEN);
    assert!(
        told.as_str().unwrap().starts_with("in the stall: only "),
        "{told}"
    );
    let dragged = samples(&mut browser);
    browser.click(".seconds-tools button");
    browser.ready(&format!("{CHOSEN} === ''"));
    assert!(0 < dragged && dragged < samples(&mut browser), "{dragged}");
    browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    browser
        .ready("document.querySelector('figure.flame.live .flame-canvas canvas').clientHeight > 0");
    assert_eq!(browser.js(CHOSEN), "");
    let whole = samples(&mut browser);

    // By keys, all but the last second: fewer samples. Back to the whole by the button.
    let until = "document.querySelectorAll('.seconds-tools input')[1]";
    browser.js(&format!(
        "{until}.value = Math.round({until}.max * 0.7); {until}.dispatchEvent(new Event('input'))"
    ));
    let told = browser.js(CHOSEN);
    assert!(
        told.as_str().unwrap().starts_with("in the stall: only "),
        "{told}"
    );
    let some = samples(&mut browser);
    assert!(0 < some && some < whole, "{some} of {whole}");
    browser.click(".seconds-tools button");
    browser.ready(&format!("{CHOSEN} === ''"));
    assert_eq!(samples(&mut browser), whole);

    // By the mouse, over the seconds before the stall: it has none of them.
    browser.drag("figure.seconds svg.heat", 0.0, 0.02);
    let told = browser.js(CHOSEN);
    assert!(told.as_str().unwrap().starts_with("No samples"), "{told}");
    assert_eq!(samples(&mut browser), whole);
}
