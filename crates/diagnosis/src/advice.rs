//! Steps of a remedy that are about somebody: told with the values of who it is, or how to find them.

use model::Incident;

use crate::actors::{self, Actor, SETTING, Scene};
use crate::cause::{Advice, Cause, List};
use crate::evidence::Evidence;
use crate::once::once;
use crate::setting;
use crate::verdict::{Finding, Remedy};

/// Places in a step, and what stands there where nothing is known.
const PLACES: [(&str, &str); 3] = [("id", "ID"), ("pid", "PID"), ("program", "NAME")];

/// The place of who it is, in words.
const WHO: &str = "who";

/// What is wrong with a text with places, if anything is.
pub(crate) fn mistake(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((place, after)) = after.split_once('}') else {
            return Some("'{' is not closed".to_owned());
        };
        if place != WHO && PLACES.iter().all(|(known, _)| *known != place) {
            return Some(format!(
                "there is no place {{{place}}}: id, pid, program, who"
            ));
        }
        rest = after;
    }
    None
}

impl Advice {
    /// The step as it is told where no incident is at hand.
    pub(crate) fn in_general(&self) -> Vec<String> {
        let general = actors::general(&self.who).unwrap_or_default();
        let mut step = self.step.clone();
        for (place, word) in PLACES.into_iter().chain([(WHO, general)]) {
            step = step.map(|step| step.replace(&format!("{{{place}}}"), word));
        }
        let find = self.unknown.iter().chain(&self.nobody).cloned();
        find.chain(step).collect()
    }

    /// The steps for an incident with these actors.
    fn fitting(&self, actors: &[Actor]) -> Vec<String> {
        let of_part = actors.iter().filter(|actor| actor.who == self.who);
        let steps: Vec<String> = of_part
            .filter_map(|actor| {
                let perhaps = self.perhaps.as_ref().filter(|_| !actor.sure);
                let step = self.step.as_ref().filter(|_| actor.sure);
                filled(step.or(perhaps)?, actor)
            })
            .collect();
        match steps.is_empty() {
            true if actors.is_empty() => self.unknown.iter().chain(&self.nobody).cloned().collect(),
            true => self.unknown.iter().cloned().collect(),
            false => steps,
        }
    }
}

/// The text with the actor's values; nothing when one is not known.
fn filled(text: &str, actor: &Actor) -> Option<String> {
    let mut out = text.to_owned();
    for place in PLACES.iter().map(|(place, _)| *place).chain([WHO]) {
        let mark = format!("{{{place}}}");
        if out.contains(&mark) {
            out = out.replace(&mark, &actor.place(place)?);
        }
    }
    Some(out)
}

impl Cause {
    /// The remedy in general words: with the steps about somebody as they are told of nobody in particular.
    pub(crate) fn general(steps: &Remedy, advice: &[Advice]) -> Remedy {
        with(steps, advice, Advice::in_general)
    }

    fn fitting(&self, actors: &[Actor]) -> Remedy {
        with(&self.steps, &self.advice, |one| one.fitting(actors))
    }
}

/// Steps about somebody go before those that are about nobody.
fn with(steps: &Remedy, advice: &[Advice], told: impl Fn(&Advice) -> Vec<String>) -> Remedy {
    let list = |wanted: List, rest: &[String]| -> Vec<String> {
        let of_list = advice.iter().filter(|one| one.list == wanted);
        once(of_list.flat_map(&told).chain(rest.iter().cloned()))
    };
    Remedy {
        now: list(List::Now, &steps.now),
        durable: list(List::Durable, &steps.durable),
        undo: list(List::Undo, &steps.undo),
        verify: list(List::Verify, &steps.verify),
        risk: steps.risk.clone(),
        fix: steps.fix.clone(),
    }
}

/// Who did it, and what to do about them, should an incident have this cause.
pub fn advise(cause: &Cause, incident: &Incident) -> (Vec<Actor>, Remedy) {
    let scene = Scene::new(&Evidence::new(incident));
    let actors = of_parts(cause, &scene);
    let remedy = cause.fitting(&actors);
    (actors, remedy)
}

/// Those of an incident that the remedy of a cause is about.
fn of_parts(cause: &Cause, scene: &Scene<'_>) -> Vec<Actor> {
    let parts = once(cause.parts());
    let found = |who: &str| match who.strip_prefix(SETTING) {
        Some(name) => actors::told(who, setting::actor(cause, scene.incident, name)),
        None => actors::having(who, scene),
    };
    parts.into_iter().flat_map(found).collect()
}

/// Puts the actors of an incident into a finding, and its remedy in words that fit them.
pub(crate) fn fit(finding: &mut Finding, cause: &Cause, scene: &Scene<'_>) {
    finding.actors = of_parts(cause, scene);
    finding.remedy = cause.fitting(&finding.actors);
}
