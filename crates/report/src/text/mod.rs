//! The verdict as people read it in a terminal at night.

mod asked;
pub(crate) mod compare;
pub(crate) mod page;
mod spark;
mod threads;
pub(crate) mod wrap;

use diagnosis::{Actor, Finding, Level, Verdict, Witness};
use model::{Incident, Millis};

use crate::{
    escape, pick,
    steps::{self, Piece},
    units, when,
};
use page::{Page, Style};

/// Sources that are listed.
const SOURCES_MAX: usize = 60;

/// Width of lines when the terminal's is not known, in columns.
const WIDTH_USUAL: usize = 80;
/// The narrowest lines, in columns.
const WIDTH_MIN: usize = 40;
/// Absences listed.
const ABSENCES_MAX: usize = 30;
/// Curves in the block of curves.
const CURVES_MAX: usize = 5;
/// Columns between a curve's label, its cells and its maximum.
const BETWEEN: usize = 4;
/// Cells of a curve for which its label gives way.
const CELLS_MIN: usize = 8;
/// Cells of a curve at the most.
const CELLS_MAX: usize = 80;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextOptions {
    /// Columns of a line; 0 when not known (80 then), at least 40.
    pub width: usize,
    /// Whether escape codes for colours and bold are used; without, there are none at all.
    pub color: bool,
}

impl TextOptions {
    /// An empty page of this width.
    pub(crate) fn page(&self) -> Page {
        let width = match self.width {
            0 => WIDTH_USUAL,
            width => width.max(WIDTH_MIN),
        };
        Page::new(width, self.color)
    }
}

/// The verdict in words: the sentence, the times, curves, each finding with its signs and what to
/// do, and what is missing. Times are UTC. No line is wider than the width.
pub fn text(incident: &Incident, verdict: &Verdict, options: &TextOptions) -> String {
    let mut page = options.page();
    page.paragraph(0, &verdict.sentence, Style::Bold);
    page.blank();
    head(&mut page, incident);
    let is_import = verdict
        .sources
        .iter()
        .any(|source| source.lines.is_some() || source.skipped.is_some());
    if is_import {
        read(&mut page, verdict);
    }
    curves(&mut page, incident, verdict);
    mechanism(&mut page, verdict);
    let count = verdict.findings.len();
    for (index, finding) in verdict.findings.iter().enumerate() {
        let number = format!("{} of {count}", index + 1);
        self::finding(&mut page, &number, finding);
    }
    asked::asked_section(&mut page, incident);
    threads::threads(&mut page, incident);
    folded(&mut page, verdict);
    rejected(&mut page, verdict);
    absent(&mut page, incident, verdict);
    if !is_import {
        read(&mut page, verdict);
    }
    page.finish()
}

/// What was read: of captures of other tools the first thing, with what was left out and why.
fn read(page: &mut Page, verdict: &Verdict) {
    if verdict.sources.is_empty() {
        return;
    }
    page.heading("WHAT WAS READ");
    for source in verdict.sources.iter().take(SOURCES_MAX) {
        page.item(2, "- ", &source.line(), Style::Plain);
    }
    let more = verdict.sources.len().saturating_sub(SOURCES_MAX);
    if more > 0 {
        page.item(
            2,
            "- ",
            &format!("and {more} more (--json has all)"),
            Style::Plain,
        );
    }
}

fn head(page: &mut Page, incident: &Incident) {
    let moment = |at: Millis| when::date_time(incident.clock.wall_ms(at));
    let stall = &incident.stall;
    let since_onset = |at: Millis| when::duration(at.saturating_sub(stall.onset));
    let server = &incident.server;
    let pid = server.pid.map(|pid| format!("pid {pid}"));
    let parts = [
        Some(server.label.clone()),
        Some(server.version.clone()),
        pid,
        Some(server.address.clone()),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    page.field("server", &parts.join(", "));
    page.field("host", &incident.host);
    // Captures of other tools need not tell a time.
    if !incident.clock.is_known() {
        page.field("time", "not told by what was read");
        page.field(
            "captured by",
            "other tools; taken for the moment of the stall",
        );
        page.field("incident", &incident.id);
        return;
    }
    page.field("onset", &format!("{} UTC", moment(stall.onset)));
    page.field(
        "trigger",
        &format!(
            "{} UTC, {} after the onset",
            moment(stall.trigger),
            since_onset(stall.trigger)
        ),
    );
    page.field(
        "end",
        &match stall.end {
            Some(end) => format!("{} UTC, after {}", moment(end), since_onset(end)),
            None => format!(
                "not within the recording, which goes on for {} after the onset",
                since_onset(incident.window.to)
            ),
        },
    );
    if let Some(before) = when::stall_before(incident) {
        page.field("one before", &before);
    }
    for (index, trigger) in stall.triggers.iter().enumerate() {
        let label = if index == 0 { "noticed by" } else { "" };
        page.field(label, &format!("{}: {}", trigger.rule, trigger.says));
    }
    page.field("incident", &incident.id);
}

fn curves(page: &mut Page, incident: &Incident, verdict: &Verdict) {
    let curves = pick::headline(incident, verdict, CURVES_MAX);
    if curves.is_empty() {
        return;
    }
    page.blank();
    let maxima: Vec<String> = curves
        .iter()
        .map(|curve| {
            let most = curve
                .stats(incident.window)
                .map_or(f64::NAN, |stats| stats.max);
            format!("max {}", curve.quantity.say(most))
        })
        .collect();
    let labels: Vec<String> = curves
        .iter()
        .map(|curve| escape::terminal(&curve.label))
        .collect();
    let right = maxima
        .iter()
        .map(|text| wrap::columns(text))
        .max()
        .unwrap_or(0);
    let left = labels
        .iter()
        .map(|text| wrap::columns(text))
        .max()
        .unwrap_or(0);
    let left = left
        .min(page.width() * 2 / 5)
        .min(page.width().saturating_sub(right + BETWEEN + CELLS_MIN));
    let cells = page
        .width()
        .saturating_sub(left + right + BETWEEN)
        .min(CELLS_MAX);
    for ((curve, label), most) in curves.iter().zip(&labels).zip(&maxima) {
        let label = wrap::cut(label, left);
        let padding = " ".repeat(left.saturating_sub(wrap::columns(&label)));
        let line = spark::line(incident, curve, cells);
        page.raw(&[
            (&label, Style::Plain),
            (&padding, Style::Plain),
            ("  ", Style::Plain),
            (&line, Style::Mark),
            ("  ", Style::Plain),
            (most, Style::Dim),
        ]);
    }
    let indent = " ".repeat(left + 2);
    page.raw(&[
        (&indent, Style::Plain),
        (&spark::markers(incident, cells), Style::Bold),
    ]);
    let clock = |at| when::moment(&incident.clock, at);
    let end = if incident.stall.end.is_some() {
        ", E end"
    } else {
        ""
    };
    page.paragraph(
        0,
        &format!(
            "{} to {}; O onset, T trigger{end}; blank where there is no evidence.",
            clock(incident.window.from),
            when::moment_utc(&incident.clock, incident.window.to),
        ),
        Style::Dim,
    );
}

/// What the processors, the threads and the sessions are in, with what the first name means.
fn mechanism(page: &mut Page, verdict: &Verdict) {
    if verdict.mechanism.is_empty() {
        return;
    }
    page.heading("WHAT IS GOING ON");
    for mechanism in &verdict.mechanism {
        page.item(2, "- ", &mechanism.says, Style::Plain);
    }
}

fn finding(page: &mut Page, number: &str, finding: &Finding) {
    page.blank();
    page.rule(
        &format!("{number}: {}", finding.level.word().to_uppercase()),
        finding.level,
    );
    page.paragraph(
        0,
        &format!("{} [{}]", finding.title, finding.cause),
        Style::Bold,
    );
    page.paragraph(0, &finding.what, Style::Plain);
    page.heading("WHY");
    witnesses(page, &finding.witnesses);
    if !finding.against.is_empty() {
        page.heading("AGAINST");
        witnesses(page, &finding.against);
    }
    who(page, &finding.actors);
    let remedy = &finding.remedy;
    list(page, "WHAT WOULD REFUTE IT", &finding.refuted_by);
    let unknown = match finding.level {
        Level::Suspicion => "WHAT WOULD DECIDE IT",
        _ => "NOT KNOWN",
    };
    list(page, unknown, &finding.unknown);
    list(page, "WITH FREEZEFRAME", &remedy.fix);
    let paired = remedy.paired();
    list(page, "DO NOW", &steps::with_undo(&paired.now));
    list(page, "FOR GOOD", &steps::with_undo(&paired.durable));
    list(page, "UNDO", &paired.rest);
    if !remedy.risk.is_empty() {
        page.heading("RISK");
        page.paragraph(2, &remedy.risk, Style::Plain);
    }
    list(page, "SEE THAT IT WORKED", &remedy.verify);
    let related: Vec<String> = finding
        .relations
        .iter()
        .map(|relation| format!("{} {}", relation.kind.replace('-', " "), relation.cause))
        .collect();
    list(page, "RELATED", &related);
    list(page, "KNOWN FROM", &finding.sources);
}

/// Who did it, and of several that may be it that they only may.
fn who(page: &mut Page, actors: &[Actor]) {
    let told: Vec<String> = steps::who(actors);
    if told.is_empty() {
        return;
    }
    page.heading("WHO");
    for line in &told {
        page.item(2, "- ", line, Style::Plain);
    }
}

fn witnesses(page: &mut Page, witnesses: &[Witness]) {
    for witness in witnesses {
        page.item(2, "- ", &witness.says, Style::Plain);
        page.paragraph(4, &numbers(witness), Style::Dim);
    }
}

/// A witness' numbers and where they are from.
fn numbers(witness: &Witness) -> String {
    let mut parts = vec![witness.source.clone()];
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            parts.push(format!("{name} {}", units::bare(value)));
        }
    };
    add("measured", witness.value);
    add("before", witness.baseline);
    add("limit", witness.limit);
    if witness.conclusive {
        parts.push("conclusive".to_owned());
    }
    format!("({})", parts.join("; "))
}

fn list(page: &mut Page, heading: &str, steps: &[impl AsRef<str>]) {
    if steps.is_empty() {
        return;
    }
    page.heading(heading);
    for step in steps {
        let mut mark = "- ";
        for piece in steps::pieces(step.as_ref()) {
            match piece {
                Piece::Prose(prose) => page.item(2, mark, prose, Style::Plain),
                Piece::Command(command) => page.command(4, command),
            }
            mark = "  ";
        }
    }
}

fn folded(page: &mut Page, verdict: &Verdict) {
    if verdict.folded.is_empty() {
        return;
    }
    page.heading("WEAKER FINDINGS");
    for finding in &verdict.folded {
        let line = format!(
            "{}: {} [{}]",
            finding.level.word(),
            finding.title,
            finding.cause
        );
        page.item(2, "- ", &line, Style::Plain);
    }
}

fn rejected(page: &mut Page, verdict: &Verdict) {
    if verdict.rejected.is_empty() {
        return;
    }
    page.heading("LOOKED ALIKE AND IS NOT IT");
    for rejected in &verdict.rejected {
        let line = format!("{} [{}]: {}", rejected.title, rejected.cause, rejected.why);
        page.item(2, "- ", &line, Style::Plain);
    }
}

/// What the verdict misses, and then what the recording misses beside that.
fn absent(page: &mut Page, incident: &Incident, verdict: &Verdict) {
    let recorded = incident
        .absent
        .iter()
        .map(|timed| (&timed.absent, Some(timed.count)));
    let named = verdict.absent.iter().map(|absent| {
        let timed = incident.absent.iter().find(|timed| timed.absent == *absent);
        (absent, timed.map(|timed| timed.count))
    });
    let all: Vec<_> = named
        .chain(recorded.filter(|(absent, _)| !verdict.absent.contains(absent)))
        .collect();
    if all.is_empty() {
        return;
    }
    page.heading("ABSENT EVIDENCE");
    let left_out = all.len().saturating_sub(ABSENCES_MAX);
    for (absent, count) in all.into_iter().take(ABSENCES_MAX) {
        let times = count
            .filter(|count| *count > 1)
            .map(|count| format!(" ({count} times)"));
        let detail = if absent.detail.is_empty() { "" } else { ": " };
        let line = format!(
            "{}: {}{detail}{}{}",
            absent.what,
            absent.reason.words(),
            absent.detail,
            times.unwrap_or_default()
        );
        page.item(2, "- ", &line, Style::Plain);
    }
    if left_out > 0 {
        page.paragraph(4, &format!("{left_out} more are not listed."), Style::Dim);
    }
}
