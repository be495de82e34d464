//! Variables of the server: of the running one by SET GLOBAL, for its next start by SET PERSIST_ONLY where the server
//! knows that, else by a file of our own in a directory that its option files include.

use model::{FixAction, FixValue};

use super::contained::{self, ContainerPart};
use super::file_step;
use super::launch::not_yet;
use super::sysctl::wanted;
use crate::fix::change::Change;
use crate::fix::command::to_text;
use crate::fix::step::{RestartReason, Step, StepState, When, restart};
use crate::fix::system::{NO_PROCESS, ObservedServer, System};
use crate::fix::variable::{GlobalVariable, PersistedVariable, same, set_statement};

pub(super) fn steps(action: &FixAction, system: &System, when: When) -> Vec<Step> {
    let (variable, value, dynamic) = match action {
        FixAction::SetGlobal { variable, value } => (variable, value, true),
        FixAction::OptionFile { variable, value } => (variable, value, false),
        _ => return Vec::new(),
    };
    let place = format!("@@GLOBAL.{variable}");
    let no_login = |why: String| {
        let text = text_of(value);
        let commands = match when {
            When::Now => vec![
                format!("SHOW GLOBAL VARIABLES LIKE '{variable}'; -- note it"),
                format!("SET GLOBAL {variable} = {text};"),
            ],
            When::Durable => by_a_person(system.server.as_ref(), variable, &text, is_exact(value)),
        };
        let says = format!("Set {variable} to {text}");
        vec![Step::new(
            when,
            says,
            place.clone(),
            StepState::ByHand { why, commands },
        )]
    };
    // It takes a restart, and there is nothing to spread the memory over.
    if variable == "innodb_numa_interleave" && system.memory_nodes == Some(1) {
        let says = format!("Set {variable} to {}", text_of(value));
        let why = "this host has one NUMA node".to_owned();
        return vec![Step::new(when, says, place, StepState::NotHere(why))];
    }
    let Some(server) = &system.server else {
        return no_login("no server was found here".to_owned());
    };
    if server.variables.is_empty() {
        let why = server.no_login.clone().unwrap_or_default();
        return no_login(format!("no login to the server ({why})"));
    }
    let Some(now) = server.variables.get(&variable.to_ascii_lowercase()) else {
        let why = format!("{} has no variable {variable}", server.name());
        let says = format!("Set {variable} to {}", text_of(value));
        return vec![Step::new(when, says, place, StepState::NotHere(why))];
    };
    if variable.starts_with("wsrep_")
        && server
            .variables
            .get("wsrep_on")
            .is_some_and(|on| on == "OFF")
    {
        let says = format!("Set {variable} to {}", text_of(value));
        let why = "Galera does not run in this server".to_owned();
        return vec![Step::new(when, says, place, StepState::NotHere(why))];
    }
    let wanted = match filled(value, server).and_then(|value| wanted(&value, now, system.cpus)) {
        Ok(wanted) => wanted,
        Err(why) => {
            let says = format!("Set {variable}");
            return vec![Step::new(when, says, place, StepState::NotHere(why))];
        }
    };
    vec![match when {
        When::Now => at_once(server, variable, now, &wanted),
        When::Durable => for_next_start(system, server, variable, now, &wanted, dynamic),
    }]
}

/// Whether its text is what is set, and no description of that.
fn is_exact(value: &FixValue) -> bool {
    matches!(value, FixValue::Exactly(text) if !text.contains("{utc_offset}"))
}

/// A value in words, where what it follows is not known.
fn text_of(value: &FixValue) -> String {
    match value {
        FixValue::Exactly(text) => text.replace("{utc_offset}", "±HH:MM"),
        FixValue::AtLeast(least) => format!("{least} or more"),
        FixValue::AtMost(most) => format!("{most} or less"),
        FixValue::Times { factor, limit } => format!("{factor} times its value, {limit} at most"),
        FixValue::PerCpu(per) => format!("{per} times the number of CPUs"),
    }
}

pub(super) fn filled(value: &FixValue, server: &ObservedServer) -> Result<FixValue, String> {
    match value {
        FixValue::Exactly(text) if text.contains("{utc_offset}") => {
            let offset = server
                .utc_offset
                .as_ref()
                .ok_or("the server does not say its offset from UTC")?;
            Ok(FixValue::Exactly(text.replace("{utc_offset}", offset)))
        }
        other => Ok(other.clone()),
    }
}

fn at_once(server: &ObservedServer, variable: &str, now: &str, wanted: &str) -> Step {
    let says = format!("Set {variable} to {wanted} in the running server");
    let place = format!("@@GLOBAL.{variable}");
    let state = if same(now, wanted) {
        StepState::Already(format!("already {now}"))
    } else if server.read_only.iter().any(|name| name == variable) {
        StepState::NotHere(format!(
            "{} cannot set {variable} while it runs",
            server.name()
        ))
    } else if let Some(why) = could_not_be_put_back(server, variable, now) {
        StepState::NotHere(why)
    } else {
        StepState::ToDo(Change::GlobalVariable(GlobalVariable {
            name: variable.to_owned(),
            before: now.to_owned(),
            after: wanted.to_owned(),
        }))
    };
    let step = Step::new(When::Now, says, place, state).shown_as(now, wanted);
    if SESSION.contains(&variable) {
        step.note("it applies to new connections; open ones keep their value")
    } else {
        step
    }
}

/// A server may start with a value that it refuses while it runs: then a change could not be taken back.
fn could_not_be_put_back(server: &ObservedServer, variable: &str, now: &str) -> Option<String> {
    let (_, floor) = FLOORS.iter().find(|(name, _)| *name == variable)?;
    let least = server.variables.get(*floor)?;
    let is_below = now.parse::<f64>().ok()? < least.parse::<f64>().ok()?;
    is_below.then(|| {
        format!(
            "it could not be undone: {} refuses {now} while it runs, because it is below {floor} = {least}",
            server.name()
        )
    })
}

/// Variables that cannot be set below another one (MariaDB, ha_innodb.cc, `innodb_log_file_size_update`).
const FLOORS: [(&str, &str); 1] = [("innodb_log_file_size", "innodb_log_buffer_size")];

/// Variables of which each session takes a copy when it connects, as far as causes name them.
const SESSION: [&str; 10] = [
    "max_error_count",
    "sort_buffer_size",
    "join_buffer_size",
    "tmp_table_size",
    "max_heap_table_size",
    "time_zone",
    "innodb_lock_wait_timeout",
    "wait_timeout",
    "idle_transaction_timeout",
    "query_cache_type",
];

fn for_next_start(
    system: &System,
    server: &ObservedServer,
    variable: &str,
    now: &str,
    wanted: &str,
    dynamic: bool,
) -> Step {
    let says = if dynamic {
        format!("The same from the next start on: {variable} = {wanted}")
    } else {
        format!("{variable} = {wanted} from the next start on")
    };
    let mut step = match &server.persisted {
        Some(kept) => persisted(variable, wanted, kept.get(variable), says),
        None => in_a_file(system, server, variable, wanted, says),
    };
    if !dynamic {
        if same(now, wanted) {
            step.state = StepState::Already(format!("already {now}"));
        }
        step.before = Some(format!("{variable} = {now} (in the running server)"));
        let anew = if server.persisted.is_none() && server.container.is_some() {
            RestartReason::Made
        } else {
            RestartReason::Read
        };
        step.restart = Some(restart(Some(server), anew));
        not_yet(&mut step, same(now, wanted));
    }
    let option = option_of(variable);
    if server.is_on_command_line(option) && step.change().is_some() {
        step.notes.push(format!(
            "the server's command line has --{option}, which overrides this: remove it there"
        ));
    }
    step
}

fn persisted(variable: &str, wanted: &str, kept: Option<&String>, says: String) -> Step {
    let state = if kept.is_some_and(|kept| same(kept, wanted)) {
        StepState::Already("already kept".to_owned())
    } else {
        StepState::ToDo(Change::PersistedVariable(PersistedVariable {
            name: variable.to_owned(),
            before: kept.cloned(),
            after: wanted.to_owned(),
        }))
    };
    let place = format!(
        "mysqld-auto.cnf of the server, by {}",
        set_statement("PERSIST_ONLY", variable, wanted)
    );
    let mut step = Step::new(When::Durable, says, place, state);
    step.before = kept.map(|kept| format!("{variable} = {kept}"));
    step.after = Some(format!("{variable} = {wanted}"));
    step
}

fn in_a_file(
    system: &System,
    server: &ObservedServer,
    variable: &str,
    wanted: &str,
    says: String,
) -> Step {
    let by_hand = |why: String| {
        let place = match server.option_files.last() {
            _ if server.no_defaults => "the server's command line".to_owned(),
            Some(file) => file.display().to_string(),
            None => "the server's option file".to_owned(),
        };
        let state = StepState::ByHand {
            why,
            commands: by_a_person(Some(server), variable, wanted, true),
        };
        Step::new(When::Durable, says.clone(), place, state)
    };
    if server.process.is_none() {
        return by_hand(format!("which option files it reads is {NO_PROCESS}"));
    }
    if let Some(container) = &server.container {
        let directory = server.include_directories.last();
        let directory = directory.map(|directory| directory.display().to_string());
        let made = ContainerPart::Option(option_of(variable), wanted);
        let state = contained::by_hand(container, made, directory.as_deref());
        return Step::new(
            When::Durable,
            says.clone(),
            "how the server is started".to_owned(),
            state,
        );
    }
    if server.no_defaults {
        return by_hand(
            "the server was started with --no-defaults and reads no option file; on its command line"
                .to_owned(),
        );
    }
    if server.other_root.is_some() {
        return by_hand(
            "the server's files are in another root, which freezeframe does not change".to_owned(),
        );
    }
    let Some(directory) = server.include_directories.last() else {
        return by_hand(
            "no option file of the server includes a directory, and freezeframe does not edit existing files"
                .to_owned(),
        );
    };
    let path = directory.join(format!("zz-freezeframe-{variable}.cnf"));
    let lines = format!("[mysqld]\n{}\n", line_of(variable, &quoted(wanted)));
    file_step(system, says, path, &lines, None)
}

/// What a person sets where a file of ours would not be read: the lines of a file that is, or an option. Only a value
/// that is meant as it stands is quoted.
fn by_a_person(
    server: Option<&ObservedServer>,
    variable: &str,
    value: &str,
    is_exact: bool,
) -> Vec<String> {
    if server.is_some_and(|server| server.no_defaults) {
        let option = contained::option(option_of(variable), value);
        return vec![if is_exact { to_text(&[option]) } else { option }];
    }
    let value = if is_exact {
        quoted(value)
    } else {
        value.to_owned()
    };
    vec!["[mysqld]".to_owned(), line_of(variable, &value)]
}

/// The line of an option file. A server that does not know a variable any more does not start, unless it is loose.
fn line_of(variable: &str, value: &str) -> String {
    format!("loose_{} = {value}", option_of(variable))
}

/// A value as option files have it.
fn quoted(value: &str) -> String {
    let is_plain = value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-.,:+/".contains(&b));
    if is_plain {
        value.to_owned()
    } else {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// The option that sets a variable: `time_zone = +00:00` in a file keeps a server from starting.
fn option_of(variable: &str) -> &str {
    match variable {
        // The one variable here whose option has another name (MySQL 8.4 manual, 7.1.15).
        "time_zone" => "default_time_zone",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// What a person is told to do for the next start.
    fn by_hand(server: ObservedServer) -> (String, Vec<String>) {
        let system = System {
            server: Some(server),
            ..System::default()
        };
        let action = FixAction::SetGlobal {
            variable: "time_zone".to_owned(),
            value: FixValue::Exactly("{utc_offset}".to_owned()),
        };
        let step = steps(&action, &system, When::Durable).remove(0);
        match step.state {
            StepState::ByHand { commands, .. } => (step.place, commands),
            other => panic!("{other:?}"),
        }
    }

    fn server() -> ObservedServer {
        ObservedServer {
            process: Some(crate::ProcessId {
                pid: 4711,
                start_time_ticks: 1,
            }),
            variables: [("time_zone".to_owned(), "SYSTEM".to_owned())].into(),
            utc_offset: Some("+00:00".to_owned()),
            ..ObservedServer::default()
        }
    }

    #[test]
    fn a_person_is_told_the_option_and_not_the_variable() {
        let lines = ["[mysqld]", "loose_default_time_zone = +00:00"];
        let no_directory = ObservedServer {
            option_files: vec![PathBuf::from("/etc/my.cnf")],
            ..server()
        };
        let (place, commands) = by_hand(no_directory);
        assert_eq!(
            (place.as_str(), &commands[..]),
            ("/etc/my.cnf", &lines.map(str::to_owned)[..])
        );
        let no_login = ObservedServer {
            variables: Default::default(),
            ..server()
        };
        assert_eq!(by_hand(no_login).1[1], "loose_default_time_zone = ±HH:MM");
    }

    #[test]
    fn what_could_not_be_put_back_is_not_changed() {
        let at_once_with = |size: &str, buffer: &str| {
            let variables = [
                ("innodb_log_file_size", size),
                ("innodb_log_buffer_size", buffer),
            ];
            let system = System {
                server: Some(ObservedServer {
                    variables: variables
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .into(),
                    ..server()
                }),
                ..System::default()
            };
            let action = FixAction::SetGlobal {
                variable: "innodb_log_file_size".to_owned(),
                value: FixValue::AtLeast(1_073_741_824),
            };
            steps(&action, &system, When::Now).remove(0).state
        };
        match at_once_with("4194304", "16777216") {
            StepState::NotHere(why) => {
                assert!(why.contains("innodb_log_buffer_size = 16777216"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        for fits in ["4194304", "2097152"] {
            let state = at_once_with("4194304", fits);
            assert!(matches!(state, StepState::ToDo(_)), "{state:?}");
        }
    }

    #[test]
    fn a_server_that_reads_no_option_file_is_told_on_its_command_line() {
        let no_defaults = ObservedServer {
            no_defaults: true,
            ..server()
        };
        let (place, commands) = by_hand(no_defaults);
        assert_eq!(place, "the server's command line");
        assert_eq!(commands, ["--loose-default-time-zone=+00:00"]);
    }
}
