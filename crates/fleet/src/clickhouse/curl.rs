//! One request and its answer by https, through curl(1).
//!
//! As hooks do it: a library would bring several times our own code, and cryptography that has to be updated with us.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::http::{Answer, parse};

/// Where curl(1) is looked for.
const CURL: [&str; 3] = ["/usr/bin/curl", "/usr/local/bin/curl", "/bin/curl"];

/// Posts. Address and header lines, in which the password is, go through a private file: everybody on the host can read
/// the arguments of programs.
pub(super) fn exchange(
    url: &str,
    headers: &[String],
    body: Vec<u8>,
    ca_file: Option<&Path>,
    deadline: Duration,
) -> Result<Answer, String> {
    let told = |error: std::io::Error| error.to_string();
    let curl = CURL.into_iter().find(|path| Path::new(path).exists());
    let curl = curl.ok_or("https goes through curl, which is not installed")?;
    let mut config = tempfile::NamedTempFile::new().map_err(told)?;
    let mut lines = format!("url = \"{}\"\n", quoted(url));
    for line in headers {
        lines += &format!("header = \"{}\"\n", quoted(line));
    }
    // No wait for `100 Continue`.
    lines += "header = \"Expect:\"\n";
    config.write_all(lines.as_bytes()).map_err(told)?;
    let mut command = Command::new(curl);
    command
        // Not the configuration of whoever we run as.
        .arg("--disable")
        .args([
            "--silent",
            "--show-error",
            "--http1.1",
            "--include",
            "--raw",
        ])
        .args(["--suppress-connect-headers", "--data-binary", "@-"])
        .args(["--max-time", &deadline.as_secs().max(1).to_string()])
        .arg("--config")
        .arg(config.path());
    if let Some(path) = ca_file {
        command.arg("--cacert").arg(path);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(told)?;
    // From a thread: it may answer before it has read all.
    let feed = child.stdin.take().map(|mut stdin| {
        let feed = std::thread::Builder::new().name("ff-fleet-body".to_owned());
        feed.spawn(move || stdin.write_all(&body))
    });
    let output = child.wait_with_output().map_err(told)?;
    if let Some(Ok(feed)) = feed {
        // curl has ended; what it says counts.
        drop(feed.join());
    }
    match output.status.success() {
        true => parse(&output.stdout).map_err(str::to_owned),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// As a text in quotes of curl's configuration.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
