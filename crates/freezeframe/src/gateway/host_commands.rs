//! `freezeframe fleet gateway add-host`, `remove-host`, `hosts`: who may send.

use std::path::Path;
use std::process::ExitCode;

use ::fleet::gateway::Owner;
use anyhow::{Result, anyhow, bail};
use cli::{output, usage};
use serde_json::json;

use super::hosts;
use crate::args::{GatewayAddHost, GatewayRemoveHost};

pub(super) fn add(dir: &Path, args: &GatewayAddHost) -> Result<ExitCode> {
    let named = |text: &str| {
        let name = hosts::name(text);
        name.map_err(|error| usage(anyhow!("'{text}': {error}")))
    };
    let owner = Owner {
        name: named(&args.name)?,
        also: args
            .also
            .iter()
            .map(|one| named(one))
            .collect::<Result<_>>()?,
        any: args.any,
    };
    store::make_private_dir(dir)?;
    let token = hosts::add(dir, owner)?;
    match args.json {
        true => output::print_json(&json!({"host": args.name, "token": token}))?,
        false => output::print_line(&token)?,
    }
    output::note(&format!(
        "this token is shown once: it is the fleet-password of {}'s recorder",
        args.name
    ));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn remove(dir: &Path, args: &GatewayRemoveHost) -> Result<ExitCode> {
    let name = &args.name;
    match hosts::remove(dir, name, args.keep_newest)? {
        0 => bail!(
            "{}: no token of '{name}' to remove",
            hosts::path_in(dir).display()
        ),
        1 => output::print_line(&format!("{name}: 1 token removed"))?,
        count => output::print_line(&format!("{name}: {count} tokens removed"))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(dir: &Path, is_json: bool) -> Result<ExitCode> {
    let path = hosts::path_in(dir);
    let (lines, wrong) = hosts::lines(&path)?;
    if is_json {
        let hosts = lines.iter().map(|line| {
            let owner = &line.owner;
            json!({"host": owner.name, "also": owner.also, "any_host": owner.any})
        });
        output::print_json(&hosts.collect::<Vec<_>>())?;
    } else {
        for line in &lines {
            let owner = &line.owner;
            let mut text = owner.name.clone();
            match (owner.any, owner.also.as_slice()) {
                (true, _) => text += ", and any other host",
                (false, []) => {}
                (false, also) => text += &format!(", and {}", also.join(", ")),
            }
            output::print_line(&text)?;
        }
        if lines.is_empty() {
            output::note(&format!(
                "{}: no host yet: freezeframe fleet gateway add-host NAME",
                path.display()
            ));
        }
    }
    for number in wrong {
        output::note(&format!(
            "{}:{number}: not a line of HOST and SHA-256",
            path.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
