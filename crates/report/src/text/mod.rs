//! The verdict as people read it in a terminal at night.

pub(crate) mod brief;
pub(crate) mod compare;
pub(crate) mod page;
mod spark;
mod threads;
pub(crate) mod wrap;

use diagnosis::{Finding, Verdict};
use model::{Incident, Millis, QueryMethod};

use crate::content::{self, absences, findings, findings::Context};
use crate::document::{Part, Section, terminal};
use crate::evidence::workload::{self, Workload};
use crate::{escape, pick, time_format};
use page::{Page, Style, TextOptions};

/// Ways of looking at statements that are shown; the page has all of them.
const WAYS_MAX: usize = 2;
/// Curves in the block of curves.
const CURVES_MAX: usize = 5;
/// Columns between a curve's label, its cells and its maximum.
const BETWEEN: usize = 4;
/// Cells of a curve for which its label gives way.
const CELLS_MIN: usize = 8;
/// Cells of a curve at the most.
const CELLS_MAX: usize = 80;

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
        section(&mut page, "Input", absences::read(verdict));
    }
    curves(&mut page, incident, verdict);
    section(
        &mut page,
        "Activity in the stall",
        findings::mechanism(verdict),
    );
    let context = Context {
        incident,
        verdict,
        picked: None,
    };
    let count = verdict.findings.len();
    for (index, finding) in verdict.findings.iter().enumerate() {
        let number = format!("{} of {count}", index + 1);
        self::finding(&mut page, &context, &number, finding);
    }
    section(&mut page, "Statements", workload_parts(incident));
    threads::threads(&mut page, incident, verdict);
    folded(&mut page, verdict);
    let rejected = absences::rejected(verdict);
    section(&mut page, "Similar causes, ruled out", rejected);
    let absent = absences::absent(incident, verdict);
    section(&mut page, "Missing evidence", absent);
    if !is_import {
        section(&mut page, "Input", absences::read(verdict));
    }
    page.finish()
}

/// A section, where there is something in it.
fn section(page: &mut Page, title: &str, parts: Vec<Part>) {
    if let Some(section) = Section::from_parts(title, parts) {
        terminal::write_section(page, &section);
    }
}

/// What the server was asked: by the ways that looked in the stall, the first of them.
fn workload_parts(incident: &Incident) -> Vec<Part> {
    let seen: Vec<Workload> = workload::workloads(incident)
        .into_iter()
        .filter(|workload| workload.stall_seconds.is_some())
        .collect();
    // Counters know no statements: they are shown where no way that does looked before the stall.
    let compared =
        |workload: &Workload| workload.before_seconds.is_some() && !workload.is_blind_to_most();
    let counters = QueryMethod::StatementCounters;
    let known = seen
        .iter()
        .any(|workload| compared(workload) && workload.way != counters);
    seen.iter()
        .filter(|workload| !known || workload.way != counters)
        .take(WAYS_MAX)
        .flat_map(content::workload::parts)
        .collect()
}

fn head(page: &mut Page, incident: &Incident) {
    let moment = |at: Millis| time_format::date_time(incident.clock.wall_ms(at));
    let stall = &incident.stall;
    let since_onset = |at: Millis| time_format::duration(at.saturating_sub(stall.onset));
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
        page.field("time", "not in the input");
        page.field("captured by", "other tools, assumed in the stall");
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
                "not in the recording, which ends {} after the onset",
                since_onset(incident.window.to)
            ),
        },
    );
    if let Some(before) = time_format::stall_before(incident) {
        page.field("stall before", &before);
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
            format!("max {}", curve.quantity.to_text(most))
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
    let clock = |at| time_format::time_text(&incident.clock, at);
    let end = if incident.stall.end.is_some() {
        ", E end"
    } else {
        ""
    };
    page.paragraph(
        0,
        &format!(
            "{} to {}; O onset, T trigger{end}; blank: no data.",
            clock(incident.window.from),
            time_format::time_text_utc(&incident.clock, incident.window.to),
        ),
        Style::Dim,
    );
}

fn finding(page: &mut Page, context: &Context<'_>, number: &str, finding: &Finding) {
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
    for (_, section) in findings::sections(context, finding) {
        terminal::write_section(page, &section);
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
