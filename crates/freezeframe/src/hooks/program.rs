//! A hook that is a program: what its end means.

use std::collections::BTreeMap;
use std::time::Duration;

use transport::program::{Limits, output};

use super::failure::Failure;

/// Bytes of each of a program's outputs that are kept for the message.
const OUTPUT_BYTES_MAX: usize = 2048;

/// What a program exits with when it wants to be run again later (sysexits.h, EX_TEMPFAIL).
const TRY_AGAIN: i32 = 75;

/// Runs it.
pub(super) fn run(
    program: &[String],
    environment: &BTreeMap<String, String>,
    input: &[u8],
    deadline: Duration,
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
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let said = said.trim();
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    match ended.status.code() {
        Some(0) => Ok(()),
        Some(TRY_AGAIN) => Err(Failure::Later(format!("exit status {TRY_AGAIN}{said}"))),
        _ => Err(Failure::Never(format!("{}{said}", ended.status))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(line: &str, deadline: Duration) -> Result<(), Failure> {
        let program = ["/bin/sh", "-c", line].map(str::to_owned);
        let environment = BTreeMap::from([("FREEZEFRAME_EVENT".to_owned(), "start".to_owned())]);
        run(&program, &environment, b"{\"a\":1}", deadline)
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
            shell("echo busy; exit 75", LONG),
            Err(Failure::Later("exit status 75: busy".to_owned()))
        );
        assert_eq!(
            shell("echo no >&2; exit 3", LONG),
            Err(Failure::Never("exit status: 3: no".to_owned()))
        );
        let nowhere = run(
            &["/nonexistent/program".to_owned()],
            &BTreeMap::new(),
            b"",
            LONG,
        );
        assert!(matches!(nowhere, Err(Failure::Never(_))), "{nowhere:?}");
    }

    #[test]
    fn output_without_end_is_bounded_and_input_need_not_be_read() {
        let failed = shell("head -c 10000000 /dev/zero | tr '\\0' x; exit 1", LONG);
        let Err(Failure::Never(said)) = failed else {
            panic!("{failed:?}");
        };
        assert!(said.len() < 2 * OUTPUT_BYTES_MAX + 100, "{}", said.len());
        let program = ["/bin/true".to_owned()];
        let much = vec![b'x'; 1 << 20];
        assert_eq!(run(&program, &BTreeMap::new(), &much, LONG), Ok(()));
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
