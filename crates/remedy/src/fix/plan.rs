//! The steps that a cause's fixes are on a system.

use model::{Fix, FixAction, FixWhen, OrderBy, Releases};

use super::actions;
use super::step::{Step, StepState, When};
use super::system::System;

/// What is to be done here.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In this order.
    pub steps: Vec<Step>,
}

/// The steps of fixes, in their order; nothing is changed.
pub fn plan(fixes: &[Fix], system: &System) -> Plan {
    let mut steps = Vec::new();
    for fix in fixes {
        let Some(action) = actions::for_action(&fix.action) else {
            continue;
        };
        let whens: &[When] = match fix.when {
            FixWhen::Now => &[When::Now],
            FixWhen::Durable => &[When::Durable],
            FixWhen::Both => &[When::Now, When::Durable],
        };
        for when in whens {
            let mut made = (action.steps)(&fix.action, system, *when);
            for step in &mut made {
                step.action = action.name;
                step.remedy = remedy(&fix.action);
                step.risk = step.risk.take().or_else(|| fix.risk.clone());
                step.consent.clone_from(&fix.consent);
                if let Some(change) = step.change() {
                    step.undo = change.undo_by_hand(&system.root);
                }
                let why = other_release(fix, system).or_else(|| {
                    let by_us = step.change().is_some();
                    by_us.then(|| actions::other_value(fix, system)).flatten()
                });
                if let Some(why) = why {
                    step.state = StepState::NotHere(why);
                }
            }
            steps.append(&mut made);
        }
    }
    // Those that count at once first: they end the stall.
    steps.order_by_key(|step| step.when);
    Plan { steps }
}

/// What the fleet calls a remedy: the action with the name of its setting, and no value.
fn remedy(action: &FixAction) -> String {
    let setting = match action {
        FixAction::Sysctl { key, .. } => Some(key),
        FixAction::SetGlobal { variable, .. }
        | FixAction::OptionFile { variable, .. }
        | FixAction::ServerEnvironment { variable, .. } => Some(variable),
        FixAction::ThpNever
        | FixAction::PreloadAllocator
        | FixAction::OpenFilesLimit { .. }
        | FixAction::EndSession { .. }
        | FixAction::TasksLimit { .. } => None,
    };
    match setting {
        Some(setting) => format!("{} {setting}", action.name()),
        None => action.name().to_owned(),
    }
}

/// Why a fix is not for this server.
fn other_release(fix: &Fix, system: &System) -> Option<String> {
    let server = system.server.as_ref()?;
    let release = server.release()?;
    let (releases, make) = if server.is_mariadb {
        (fix.mariadb, "MariaDB")
    } else {
        (fix.mysql, "MySQL")
    };
    if releases.has(release) {
        return None;
    }
    let name = server.name();
    Some(match releases {
        Releases::None => format!("not for {make}; this is {name}"),
        Releases::Range { .. } => format!("for {make}{}; this is {name}", releases.to_text()),
    })
}
