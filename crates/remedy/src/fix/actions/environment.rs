//! A variable in the environment that the server is started with.

use model::FixAction;

use super::contained::Made;
use super::launch::{self, Launch};
use crate::fix::plan::{Step, When};
use crate::fix::system::System;

pub(super) fn steps(action: &FixAction, system: &System, _: When) -> Vec<Step> {
    let FixAction::ServerEnvironment { variable, value } = action else {
        return Vec::new();
    };
    let assignment = format!("{variable}={value}");
    let server = system.server.as_ref();
    let launch = Launch {
        says: format!("Start the server with {assignment}"),
        name: variable,
        // Cause files allow nothing in a value that would need quotes.
        unit: format!("Environment={assignment}"),
        safe: None,
        container: Made::Environment(variable, value),
        in_force: server.is_some_and(|server| {
            server
                .environment
                .iter()
                .any(|line| line.as_str() == assignment.as_str())
        }),
        shell: assignment,
    };
    vec![launch::step(system, launch)]
}
