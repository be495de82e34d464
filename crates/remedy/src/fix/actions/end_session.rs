//! Ending a session that others wait behind.

use model::FixAction;

use crate::fix::change::Change;
use crate::fix::end_session::Suspect;
use crate::fix::step::{Step, StepState, When};
use crate::fix::system::System;

/// What is said without a session that could be ended.
const NOBODY: &str = "no incident names such a session";

pub(super) fn steps(action: &FixAction, system: &System, when: When) -> Vec<Step> {
    let FixAction::EndSession { who } = action else {
        return Vec::new();
    };
    let suspects = system.suspects.iter().filter(|one| one.who == *who);
    let steps: Vec<Step> = suspects.map(|one| step(one, when)).collect();
    if !steps.is_empty() {
        return steps;
    }
    let place = who.replace('-', " ");
    let says = format!("End the {place}");
    vec![Step::new(
        when,
        says,
        place,
        StepState::NotHere(NOBODY.to_owned()),
    )]
}

fn step(suspect: &Suspect, when: When) -> Step {
    let id = suspect.session.connection;
    let says = format!("End {}", suspect.says);
    let state = match &suspect.looked {
        Ok(looked) if suspect.sure || looked.in_front_of > 0 => {
            StepState::ToDo(Change::EndSession(suspect.session.clone()))
        }
        Ok(_) => StepState::ByHand {
            why: "several sessions may be in front, and the server does not say which one is"
                .to_owned(),
            commands: vec![format!("KILL {id};")],
        },
        Err(why) => StepState::NotHere(why.clone()),
    };
    let mut step = Step::new(when, says, format!("connection {id}"), state);
    if let Ok(looked) = &suspect.looked {
        let waits = match looked.in_front_of {
            0 => "the server does not say how many wait behind it".to_owned(),
            1 => "1 waits behind it now".to_owned(),
            count => format!("{count} wait behind it now"),
        };
        step = step
            .shown_as(&looked.does, format!("KILL {id}"))
            .note(format!("the same session as in the incident; {waits}"));
    }
    step
}
