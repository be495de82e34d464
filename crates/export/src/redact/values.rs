//! Values of facts, and what a trigger says.

use super::names::{host_, program, user_};
use super::pseudonyms::{NameKind, Pseudonyms};
use super::{line, names, paths, setting_words, settings, text, variables, well_known, wordwise};

/// Stands for a number of somebody's.
const GONE: &str = "?";

/// Areas of facts that are settings: of the server and of the kernel.
const SETTINGS: [&str; 2] = ["variables.", "sysctl."];

/// The value of a fact with other names.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, name: &str, value: &str) -> String {
    let setting = SETTINGS.iter().find_map(|area| name.strip_prefix(area));
    if let Some(setting) = setting {
        // What a number is of is told by its name, and that goes: a row of a table may have been read for a setting.
        let is_number = value
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte));
        if is_number && !value.is_empty() && variables::is_somebodys(name) {
            return GONE.to_owned();
        }
        let renamed = settings::of_fact(pseudonyms, setting, value);
        return pseudonyms.sweep(&renamed).into_owned();
    }
    match name {
        "packets.show_warnings.senders" => senders(pseudonyms, value),
        "server.program" => program(pseudonyms, value),
        "server.version" => version(pseudonyms, value),
        "server.unix_sockets" => {
            let sockets: Vec<String> = value
                .split(' ')
                .map(|one| socket(pseudonyms, one))
                .collect();
            sockets.join(" ")
        }
        _ => line::value(pseudonyms, value),
    }
}

/// A version, and behind it in words who built the server.
pub(super) fn version(pseudonyms: &mut Pseudonyms<'_>, version: &str) -> String {
    let renamed = line::value(pseudonyms, version);
    let renamed = wordwise::rename(pseudonyms, &renamed, &setting_words::is_known);
    pseudonyms.sweep(&renamed).into_owned()
}

/// Why a capture began. pt-stalk may ask a program of somebody's: `pt-stalk: plugin(acme_check)=25, matched=yes`.
pub(super) fn trigger(pseudonyms: &mut Pseudonyms<'_>, says: &str) -> String {
    let call = says
        .strip_prefix("pt-stalk: ")
        .and_then(|rest| rest.split_once(')'))
        .and_then(|(call, behind)| Some((call.split_once('(')?, behind)));
    // What we noticed ourselves is told in words.
    let call = call.filter(|((function, _), _)| *function != "freezeframe");
    let Some(((function, variable), behind)) = call else {
        return text::rename(pseudonyms, says);
    };
    let function = match function.contains('/') {
        true => paths::path(pseudonyms, function),
        false => names::part_of_variable(pseudonyms, function),
    };
    let variable = names::part_of_variable(pseudonyms, variable);
    let behind = text::rename(pseudonyms, behind);
    format!("pt-stalk: {function}({variable}){behind}")
}

/// `@name` is a socket without a file.
fn socket(pseudonyms: &mut Pseudonyms<'_>, socket: &str) -> String {
    match socket.strip_prefix('@') {
        Some(name) if !name.contains('/') && !name.is_empty() => {
            format!("@{}", pseudonyms.name(NameKind::Path, name))
        }
        _ => text::rename(pseudonyms, socket),
    }
}

/// `user orm (75 %), app (20 %); host 10.0.0.7 (100 %); program Connector/J (98 %)`.
fn senders(pseudonyms: &mut Pseudonyms<'_>, value: &str) -> String {
    let parts: Vec<String> = value
        .split("; ")
        .map(|part| {
            let Some((word, names)) = part.split_once(' ') else {
                return String::new();
            };
            let names: Vec<String> = names
                .split(", ")
                .map(|one| {
                    let (name, share) = one.rsplit_once(" (").unwrap_or((one, ""));
                    let renamed = match word {
                        "user" => user_(pseudonyms, name),
                        "host" => host_(pseudonyms, name),
                        _ => connector(pseudonyms, name),
                    };
                    match share {
                        "" => renamed,
                        share => format!("{renamed} ({share}"),
                    }
                })
                .collect();
            format!("{word} {}", names.join(", "))
        })
        .collect();
    parts.join("; ")
}

/// A client library keeps its name; a program that gave its own does not.
pub(super) fn connector(pseudonyms: &mut Pseudonyms<'_>, name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let is_known = name.is_empty()
        || well_known::USERS.contains(&lower.as_str())
        || well_known::CONNECTORS.contains(&lower.as_str())
        || well_known::PROGRAMS.contains(&lower.as_str());
    match is_known {
        true => name.to_owned(),
        false => pseudonyms.name(NameKind::Program, name),
    }
}
