//! 1, Now: is it stalled, why, since when, what next.

use std::cell::LazyCell;

use diagnosis::{Finding, Level, Verdict};
use report::{format, plain_words};

use super::departures::{self, Departure};
use super::verdict::told;
use super::view::{Body, View};
use super::{lower_part, state_line, strips};
use crate::ink::{Ink, Line, cut};

/// How many lines each part has, by the lines of the screen.
struct Plan {
    strips: usize,
    waits: usize,
    signs: usize,
    rules: bool,
}

fn plan(lines: usize) -> Plan {
    let (strips, waits, rules) = match lines {
        0..=12 => (4, 1, false),
        13..=17 => (5, 2, false),
        18..=27 => (6, 3, true),
        28..=35 => (9, 5, true),
        _ => (strips::COUNT, 8, true),
    };
    // Verdict, why, next, the axis, the head of the waits, what is absent.
    let others = 6 + strips + waits + if rules { 2 } else { 0 };
    Plan {
        strips,
        waits,
        signs: lines.saturating_sub(others).clamp(1, 9),
        rules,
    }
}

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let plan = plan(view.lines);
    let mut lines = vec![state_line::line(view)];
    // Looked for where they are shown.
    let departures = LazyCell::new(|| departures::of_server_and_host(view));
    lines.extend(match told(view) {
        Some(verdict) => found(verdict, view, plan.signs),
        None => moved(view, plan.signs, &departures),
    });
    lines.push(next(view));
    if plan.rules {
        lines.push(view.rule());
    }
    lines.extend(strips::lines(view, plan.strips));
    if plan.rules {
        lines.push(view.rule());
    }
    lines.extend(lower_part::waits(view, plan.waits));
    let last = view.lines.saturating_sub(1);
    let room = last.saturating_sub(lines.len());
    if room >= lower_part::NOT_AS_USUAL_MIN {
        lines.extend(lower_part::not_as_usual(view, room, &departures));
    }
    lines.truncate(last);
    lines.resize(last, Line::default());
    lines.push(lower_part::absent(view));
    Body {
        head: lines,
        ..Body::default()
    }
}

/// Why: the first finding with its signs.
fn found(verdict: &Verdict, view: &View<'_>, signs: usize) -> Vec<Line> {
    let Some(first) = verdict.findings.first() else {
        return unsure(verdict, view, signs);
    };
    let level = format!(
        "{}  {} for, {} against",
        first.level.word().to_uppercase(),
        first.witnesses.len(),
        first.against.len()
    );
    let room = view.columns.saturating_sub(level.len() + 6);
    let ink = match first.level {
        Level::Certain | Level::Likely => Ink::Bad,
        _ => Ink::Strong,
    };
    let mut lines = vec![
        Line::colored(Ink::Strong, "WHY  ")
            .add(ink, &cut(&first.title, room))
            .right(Ink::Plain, &level, view.columns),
    ];
    let against = usize::from(!first.against.is_empty() && signs > 2);
    lines.extend(witnesses(
        first,
        view,
        signs.saturating_sub(against),
        against,
    ));
    lines
}

fn witnesses(finding: &Finding, view: &View<'_>, with: usize, against: usize) -> Vec<Line> {
    let told = |sign: &str, ink: Ink, says: &str| {
        Line::colored(ink, &format!("     {sign} "))
            .add(Ink::Plain, &cut(says, view.columns.saturating_sub(7)))
    };
    let signs = plain_words::signs(&finding.witnesses);
    let signs = signs.into_iter().take(with);
    let signs = signs.map(|one| told("+", Ink::Bad, &plain_words::sign_text(one)));
    let others = plain_words::signs(&finding.against);
    let others = others.into_iter().take(against);
    let others = others.map(|one| told("-", Ink::Good, &plain_words::sign_text(one)));
    signs.chain(others).collect()
}

/// No cause is named: what is nearest, and what is missing.
fn unsure(verdict: &Verdict, view: &View<'_>, signs: usize) -> Vec<Line> {
    let line = |text: &str| Line::plain(&cut(text, view.columns));
    let mut lines = vec![Line::colored(Ink::Strong, "WHY  ").add(
        Ink::Plain,
        &cut(
            &plain_words::verdict_text(verdict),
            view.columns.saturating_sub(5),
        ),
    )];
    for finding in verdict.folded.iter().take(2) {
        lines.push(line(&format!(
            "     ? {}: {}",
            finding.level.word(),
            finding.title
        )));
    }
    for mechanism in verdict.mechanism.iter().take(2) {
        lines.push(line(&format!("     + {}", mechanism.says)));
    }
    if let Some(absent) = verdict.absent.first() {
        lines.push(line(&format!(
            "     missing: {} ({})",
            absent.what,
            absent.reason.to_text()
        )));
    }
    lines.truncate(signs + 1);
    lines
}

/// Nothing is wrong: what moved most.
fn moved(view: &View<'_>, signs: usize, all: &[Departure<'_>]) -> Vec<Line> {
    let mut lines =
        vec![Line::colored(Ink::Strong, "WHY  ").add(Ink::Plain, "no stall; largest changes:")];
    for one in all.iter().take(signs.min(3)) {
        let text = format!(
            "     {} {}: {}, usually {}",
            one.change(),
            plain_words::signal(&one.series.name),
            format::value(one.series, one.now),
            format::value(one.series, one.spread.mean)
        );
        lines.push(Line::plain(&cut(&text, view.columns)));
    }
    if all.is_empty() {
        lines.push(Line::colored(Ink::Dim, "     nothing"));
    }
    lines
}

fn next(view: &View<'_>) -> Line {
    let first = told(view).and_then(|verdict| verdict.findings.first());
    let server = &view.incident().server;
    let step = first
        .map(|finding| plain_words::first_step(server, finding))
        .filter(|step| !step.is_empty());
    let line = Line::colored(Ink::Strong, "NEXT ");
    let keys = match view.columns >= 70 {
        true => "  r all, risk, undo  w why",
        false => "  r all  w why",
    };
    match step {
        Some(step) => {
            let one_line = step.lines().next().unwrap_or("");
            let room = view.columns.saturating_sub(5 + keys.len());
            line.add(Ink::Plain, &cut(&Line::plain(one_line).text(), room))
                .right(Ink::Dim, keys, view.columns)
        }
        None => line.add(Ink::Dim, "2 threads  3 locks  4 CPU profile  7 what moved"),
    }
}
