//! A variable in the environment that the server is started with.

use model::FixAction;

use super::contained::Made;
use super::launch::{self, Launch};
use crate::fix::plan::{Step, StepState, When};
use crate::fix::system::{SeenServer, System};

pub(super) fn steps(action: &FixAction, system: &System, _: When) -> Vec<Step> {
    let FixAction::ServerEnvironment { variable, value } = action else {
        return Vec::new();
    };
    let assignment = format!("{variable}={value}");
    let server = system.server.as_ref();
    if let Some(allocator) = server.and_then(|server| other_allocator(server, variable)) {
        let says = format!("Start the server with {assignment}");
        let why = format!("the server's allocator is {allocator}");
        return vec![Step::new(
            When::Durable,
            says,
            assignment,
            StepState::NotHere(why),
        )];
    }
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

/// Who reads a variable, by the begin of its name; the first that fits.
const READERS: [(&str, &str); 5] = [
    ("TCMALLOC_", "tcmalloc"),
    ("MALLOC_CONF", "jemalloc"),
    ("MIMALLOC_", "mimalloc"),
    ("MALLOC_", GLIBC),
    ("GLIBC_TUNABLES", GLIBC),
];

const GLIBC: &str = "glibc";

/// The server's allocator where it is known and does not read the variable.
fn other_allocator<'a>(server: &'a SeenServer, variable: &str) -> Option<&'a str> {
    let (_, reader) = READERS
        .iter()
        .find(|(begin, _)| variable.starts_with(begin))?;
    match (&server.allocator, &server.c_library) {
        (Some(allocator), _) => (!allocator.contains(reader)).then_some(allocator),
        (None, Some(library)) => (*reader != GLIBC).then_some(library),
        (None, None) => None,
    }
}
