//! A headless Chromium, driven by its DevTools protocol through two pipes: JSON messages, each ended by a zero byte.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::PATIENCE;

/// Names under which it is installed.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser with one page; ended when the test ends.
pub(crate) struct Chromium {
    child: Child,
    ask: ChildStdin,
    answers: ChildStdout,
    unread: Vec<u8>,
    number: u64,
    session: Option<String>,
    /// What it told without being asked.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Chromium {
    /// Nothing where there is none; that is told.
    pub(crate) fn start() -> Option<Self> {
        let is_there = |program: &&&str| {
            let version = Command::new(program).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        };
        let Some(program) = PROGRAMS.iter().find(is_there) else {
            eprintln!("skipped: there is no chromium, which would open the pages");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // It reads from descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            ])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut browser = Self {
            ask: child.stdin.take().unwrap(),
            answers: child.stdout.take().unwrap(),
            child,
            unread: Vec::new(),
            number: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let wanted = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", wanted);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.look(1280, 800, "light");
        Some(browser)
    }

    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.tried(method, parameters)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same, or the error that the browser answers with.
    fn tried(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let bytes = format!("{message}\0");
        self.ask.write_all(bytes.as_bytes()).unwrap();
        loop {
            let message = self.next();
            if message["id"] != self.number {
                self.events.push(message);
                continue;
            }
            return match &message["error"] {
                Value::Null => Ok(message["result"].clone()),
                error => Err(error.clone()),
            };
        }
    }

    fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).unwrap();
            }
            let mut buffer = [0; 65_536];
            let count = self.answers.read(&mut buffer).unwrap();
            assert!(count > 0, "the browser ended");
            self.unread.extend(&buffer[..count]);
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn js(&mut self, expression: &str) -> Value {
        let wanted = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", wanted);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            // A page that is just left has nothing to be asked, and one that is left meanwhile gives an error.
            let asked = self.tried("Runtime.evaluate", json!({"expression": expression}));
            if asked.is_ok_and(|answer| answer["result"]["value"] == true) {
                return;
            }
            assert!(
                Instant::now() < end,
                "never: {expression}; {:?}",
                self.js("document.body.innerText.slice(0, 500)")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens an address, and waits until it is there and nothing in it is still being read.
    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.ready(&format!(
            "location.href.startsWith({})",
            json!(url.split('?').next())
        ));
    }

    /// Waits for a page of which this is true.
    pub(crate) fn ready(&mut self, is_it: &str) {
        self.wait(&format!(
            "document.readyState === 'complete' && !document.querySelector('[aria-busy]') && {is_it}"
        ));
    }

    /// Clicks in the middle of an element.
    pub(crate) fn click(&mut self, selector: &str) {
        let [x, y] = self.place(selector, 0.5);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    /// Presses on an element at one part of its width, and lets go at another.
    pub(crate) fn drag(&mut self, selector: &str, from: f64, to: f64) {
        let ([x, y], [end, _]) = (self.place(selector, from), self.place(selector, to));
        self.mouse("mouseMoved", x, y);
        self.mouse("mousePressed", x, y);
        for step in 1..=5 {
            self.mouse("mouseMoved", x + (end - x) * f64::from(step) / 5.0, y);
        }
        self.mouse("mouseReleased", end, y);
    }

    fn place(&mut self, selector: &str, part: f64) -> [f64; 2] {
        let place = self.js(&format!(
            "(() => {{ const one = document.querySelector({}); one.scrollIntoView({{block: 'center'}}); \
             const box = one.getBoundingClientRect(); return [box.left + box.width * {part}, box.top + box.height / 2]; }})()",
            json!(selector)
        ));
        [place[0].as_f64().unwrap(), place[1].as_f64().unwrap()]
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let count = u8::from(kind != "mouseMoved");
        let buttons = u8::from(kind != "mouseReleased");
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": count}),
        );
    }

    /// How wide the screen is, and whether it is dark.
    pub(crate) fn look(&mut self, width: u32, height: u32, scheme: &str) {
        self.media(width, height, &[("prefers-color-scheme", scheme)]);
    }

    /// How wide the screen is, and what else a page may ask of it.
    pub(crate) fn media(&mut self, width: u32, height: u32, features: &[(&str, &str)]) {
        let features = features
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}));
        let features: Vec<Value> = features.collect();
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Errors of scripts, what a policy refused, dialogs, and requests to elsewhere.
    pub(crate) fn complaints(&mut self, own: &str) -> Vec<String> {
        self.js("0");
        let is_wrong = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => true,
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"]
                    .as_str()
                    .unwrap_or_default();
                !url.starts_with(own) && !url.starts_with("data:") && url != "about:blank"
            }
            _ => false,
        };
        let wrong = self.events.iter().filter(is_wrong);
        wrong.map(ToString::to_string).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
