//! A hook that is a program: what its end means.
//!
//! **What it prints is no message of ours**: it may be a token, an address with one, all that `curl -v` sends. It goes
//! to a file that only we can read; the message names the file.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use store::{make_private_dir, write_private};
use transport::program::{Limits, output};

use super::failure::Failure;

/// Bytes of each of a program's outputs that are kept.
const OUTPUT_BYTES_MAX: usize = 2048;

/// What a program exits with when it wants to be run again later (sysexits.h, EX_TEMPFAIL).
const TRY_AGAIN: i32 = 75;

/// Runs it. What it prints and then fails goes to `output_file`, in the place of what the last failure printed.
pub(super) fn run(
    program: &[String],
    environment: &BTreeMap<String, String>,
    input: &[u8],
    deadline: Duration,
    output_file: &Path,
) -> Result<(), Failure> {
    let limits = Limits {
        deadline,
        output_bytes: OUTPUT_BYTES_MAX,
    };
    let ended =
        output(program, environment, input, limits).map_err(|error| match error.is_missing {
            true => Failure::Never(error.said),
            false => Failure::Later(error.said),
        })?;
    if ended.status.success() {
        return Ok(());
    }
    let said = kept(&[ended.stdout, ended.stderr].concat(), output_file);
    match ended.status.code() {
        Some(TRY_AGAIN) => Err(Failure::Later(format!("exit status {TRY_AGAIN}{said}"))),
        _ => Err(Failure::Never(format!("{}{said}", ended.status))),
    }
}

/// Keeps what a program printed; how much it is and where, for a message.
fn kept(printed: &[u8], output_file: &Path) -> String {
    let bytes = printed.len();
    if bytes == 0 {
        return String::new();
    }
    let dir = output_file.parent().unwrap_or(output_file);
    let written = make_private_dir(dir).and_then(|()| write_private(output_file, printed));
    match written {
        Ok(()) => format!("; it printed {bytes} bytes, see {}", output_file.display()),
        Err(error) => format!("; it printed {bytes} bytes, which could not be kept: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use super::*;

    fn shell_to(line: &str, deadline: Duration, output_file: &Path) -> Result<(), Failure> {
        let program = ["/bin/sh", "-c", line].map(str::to_owned);
        let environment = BTreeMap::from([("FREEZEFRAME_EVENT".to_owned(), "start".to_owned())]);
        run(&program, &environment, b"{\"a\":1}", deadline, output_file)
    }

    fn shell(line: &str, deadline: Duration) -> Result<(), Failure> {
        let dir = tempfile::tempdir().unwrap();
        shell_to(line, deadline, &dir.path().join("x.output"))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn input_and_variables_arrive() {
        let line = "test \"$(cat)\" = '{\"a\":1}' && test \"$FREEZEFRAME_EVENT\" = start";
        assert_eq!(shell(line, LONG), Ok(()));
    }

    #[test]
    fn an_end_says_whether_to_try_again() {
        assert_eq!(
            shell("exit 75", LONG),
            Err(Failure::Later("exit status 75".to_owned()))
        );
        assert_eq!(
            shell("exit 3", LONG),
            Err(Failure::Never("exit status: 3".to_owned()))
        );
        let nowhere = run(
            &["/nonexistent/program".to_owned()],
            &BTreeMap::new(),
            b"",
            LONG,
            Path::new("/dev/null"),
        );
        assert!(matches!(nowhere, Err(Failure::Never(_))), "{nowhere:?}");
    }

    #[test]
    fn what_a_program_prints_is_in_a_file_and_not_in_the_message() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hooks/x.output");
        for (line, printed) in [
            (
                "echo '401 for https://api.example/v2?token=A1B2C3'; exit 1",
                "401 for https://api.example/v2?token=A1B2C3\n",
            ),
            (
                "echo '> Authorization: Bearer A1B2C3' >&2; exit 75",
                "> Authorization: Bearer A1B2C3\n",
            ),
        ] {
            let failed = shell_to(line, LONG, &file).unwrap_err();
            let (Failure::Later(said) | Failure::Never(said)) = failed;
            let bytes = format!("it printed {} bytes, see {}", printed.len(), file.display());
            assert!(
                said.contains("exit status") && said.contains(&bytes),
                "{said}"
            );
            assert!(!said.contains("A1B2C3"), "{said}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), printed);
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        // A disk that refuses costs the text, and it is not said instead.
        let line = "echo A1B2C3; exit 1";
        let Err(Failure::Never(said)) = shell_to(line, LONG, Path::new("/dev/null/x/y")) else {
            panic!("it failed");
        };
        assert!(
            said.contains("7 bytes, which could not be kept: "),
            "{said}"
        );
        assert!(!said.contains("A1B2C3"), "{said}");
    }

    #[test]
    fn output_without_end_is_bounded_and_input_need_not_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.output");
        let line = "head -c 10000000 /dev/zero | tr '\\0' x; exit 1";
        let failed = shell_to(line, LONG, &file);
        assert!(matches!(failed, Err(Failure::Never(_))), "{failed:?}");
        assert_eq!(file.metadata().unwrap().len(), OUTPUT_BYTES_MAX as u64);
        let program = ["/bin/true".to_owned()];
        let much = vec![b'x'; 1 << 20];
        assert_eq!(run(&program, &BTreeMap::new(), &much, LONG, &file), Ok(()));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let line = format!("sleep 600 & echo $! > {}; wait", pid.display());
        let failed = shell(&line, Duration::from_secs(1));
        assert!(matches!(failed, Err(Failure::Later(_))), "{failed:?}");
        let child: u32 = std::fs::read_to_string(pid)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        // It may be a zombie until somebody takes it.
        let end = Instant::now() + LONG;
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < end, "{}", state());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
