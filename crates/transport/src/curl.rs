//! One request and its answer by https, through curl(1).

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use super::http::{ANSWER_BYTES_MAX, Answer, parse};
use super::program;

/// Where curl(1) is looked for.
const CURL: [&str; 3] = ["/usr/bin/curl", "/usr/local/bin/curl", "/bin/curl"];

/// What it may take longer than it was told, before it is killed.
const SPARE: Duration = Duration::from_secs(2);

/// What the names of private files begin with; the number of the process follows.
const PREFIX: &str = ".freezeframe-curl-";

/// Where curl(1) is; nothing when it is not installed.
pub fn installed() -> Option<&'static str> {
    CURL.into_iter().find(|path| Path::new(path).exists())
}

/// One request by this method. Address and header lines, in which passwords are, go through a private file: everybody on
/// the host can read the arguments of programs.
///
/// # Errors
///
/// Why there is no answer, in a few words.
pub fn exchange(
    method: &str,
    url: &str,
    headers: &[String],
    body: &[u8],
    ca_file: Option<&Path>,
    deadline: Duration,
) -> Result<Answer, String> {
    let told = |error: std::io::Error| error.to_string();
    let curl = installed().ok_or("https goes through curl, which is not installed")?;
    let mut config = private_file().map_err(told)?;
    let mut lines = format!("url = \"{}\"\nrequest = \"{method}\"\n", quoted(url));
    for line in headers {
        lines += &format!("header = \"{}\"\n", quoted(line));
    }
    // No wait for `100 Continue`.
    lines += "header = \"Expect:\"\n";
    config.write_all(lines.as_bytes()).map_err(told)?;
    // --disable: not the configuration of whoever we run as.
    let mut arguments: Vec<String> = [
        curl,
        "--disable",
        "--silent",
        "--show-error",
        "--http1.1",
        "--include",
        "--raw",
        "--suppress-connect-headers",
        "--data-binary",
        "@-",
        "--max-time",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(deadline.as_secs().max(1).to_string());
    arguments.extend(["--config".to_owned(), config.path().display().to_string()]);
    if let Some(path) = ca_file {
        arguments.extend(["--cacert".to_owned(), path.display().to_string()]);
    }
    let limits = program::Limits {
        deadline: deadline + SPARE,
        output_bytes: ANSWER_BYTES_MAX,
    };
    let output =
        program::output(&arguments, &BTreeMap::new(), body, limits).map_err(|error| error.said)?;
    match output.status.success() {
        true => parse(&output.stdout).map_err(str::to_owned),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("curl, {}: {}", output.status, said.trim()))
        }
    }
}

/// A file that only we can read, and which goes with its use.
fn private_file() -> std::io::Result<tempfile::NamedTempFile> {
    static LOOKED: Once = Once::new();
    LOOKED.call_once(|| remove_left(&std::env::temp_dir()));
    let prefix = format!("{PREFIX}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempfile()
}

/// Deletes the files of processes that are gone: one that was killed while it asked left the passwords of its request.
fn remove_left(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let process = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next());
        let process = process.and_then(|process| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            // It may be another user's, who sees to it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// As a text in quotes of curl's configuration.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_processes_that_are_gone_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let own = format!("{PREFIX}{}-abc", std::process::id());
        // No process has this number.
        let left = format!("{PREFIX}{}-abc", u32::MAX);
        let names = [own.as_str(), ".freezeframe-curl-x", "notes"];
        for name in names.iter().chain([&left.as_str()]) {
            std::fs::write(dir.path().join(name), "header = \"x\"").unwrap();
        }
        remove_left(dir.path());
        assert!(!dir.path().join(&left).exists());
        for name in names {
            assert!(dir.path().join(name).exists(), "{name}");
        }
    }
}
