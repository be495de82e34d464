//! A variable in the environment that the server is started with.

use model::FixAction;

use super::contained::ContainerPart;
use super::launch::{self, Launch};
use crate::fix::step::{Step, StepState, When};
use crate::fix::system::{ObservedServer, System};

pub(super) fn steps(action: &FixAction, system: &System, _: When) -> Vec<Step> {
    let FixAction::ServerEnvironment { variable, value } = action else {
        return Vec::new();
    };
    let assignment = format!("{variable}={value}");
    let server = system.server.as_ref();
    if let Some(why) = server.and_then(|server| read_by_another(server, variable)) {
        let says = format!("Start the server with {assignment}");
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
        container: ContainerPart::Environment(variable, value),
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

/// Why the server's allocator does not read the variable, where that is known.
fn read_by_another(server: &ObservedServer, variable: &str) -> Option<String> {
    let (_, reader) = READERS
        .iter()
        .find(|(begin, _)| variable.starts_with(begin))?;
    match (&server.allocator, &server.c_library) {
        (Some(allocator), _) => (!allocator.contains(reader))
            .then(|| format!("the server's allocator is {allocator}")),
        // An allocator that is linked into the program has no library of its own.
        (None, Some(library)) => (*reader != GLIBC).then(|| {
            format!("the server has loaded no library of {reader}: its allocator is that of {library}, unless another one is linked into it")
        }),
        (None, None) => None,
    }
}
