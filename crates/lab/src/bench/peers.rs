//! Running the tools that people have.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::measure::children_cpu_seconds;
use crate::background::terminate;

/// A tool that is not back by then is ended.
const TOOL_MAX: Duration = Duration::from_secs(60);

/// What one run of a tool took.
pub(super) struct ToolRun {
    pub(super) wall_ms: f64,
    pub(super) cpu_ms: f64,
    /// It did not end by itself.
    pub(super) ended_by_us: bool,
}

/// One run to the end; `None` when it is not installed.
pub(super) fn run_to_end(mut command: Command) -> Result<Option<ToolRun>> {
    let cpu = children_cpu_seconds()?;
    let begin = Instant::now();
    let Some(mut child) = start(&mut command)? else {
        return Ok(None);
    };
    let mut ended_by_us = false;
    while child.try_wait()?.is_none() {
        if begin.elapsed() > TOOL_MAX {
            // Not SIGKILL: a debugger must let the server go.
            ended_by_us = true;
            terminate(&child);
            child.wait()?;
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(Some(ToolRun {
        wall_ms: begin.elapsed().as_secs_f64() * 1000.0,
        cpu_ms: (children_cpu_seconds()? - cpu) * 1000.0,
        ended_by_us,
    }))
}

/// Starts a program that says nothing to us; `None` when it is not installed.
pub(super) fn start(command: &mut Command) -> Result<Option<Child>> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match child {
        Ok(child) => Ok(Some(child)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ends a program in order.
pub(super) fn end(mut child: Child) -> Result<()> {
    terminate(&child);
    child.wait()?;
    Ok(())
}

/// A program with its arguments.
pub(super) fn tool(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments);
    command
}
