//! Findings: why, against, what would refute them, what to do.

use crate::markup::{Markup, markup, row};
use diagnosis::{Finding, Level, Remedy, Verdict, Witness};
use model::Incident;

use super::{
    anchors,
    head::badge,
    table::{Holds, Table, column},
};
use crate::{
    pick::Picked,
    steps::{self, Piece},
    units,
};

/// Rejected causes shown.
const REJECTED_MAX: usize = 40;
/// Ratios to the baseline below this are not worth words.
const RATIO_MIN: f64 = 1.5;

pub(super) fn section(incident: &Incident, verdict: &Verdict, picked: &Picked) -> Option<Markup> {
    let article = |(index, finding)| self::article(incident, verdict, picked, index, finding);
    let shown = verdict.findings.len();
    let mut out = mechanism(verdict);
    if verdict.findings.is_empty() {
        out += Markup::literal(
            "<p class=\"none\">No cause of the catalogue has enough witnesses here.</p>",
        );
    }
    out += verdict.findings.iter().enumerate().map(article).collect();
    if !verdict.folded.is_empty() {
        let articles: Markup = verdict
            .folded
            .iter()
            .enumerate()
            .map(|(at, finding)| article((shown + at, finding)))
            .collect();
        out += markup!(
            "<details class=\"folded\"><summary>Weaker findings: {}</summary>{articles}</details>",
            verdict.folded.len(),
            ..articles
        );
    }
    if !verdict.rejected.is_empty() {
        let columns = [
            column("Cause", Holds::Words),
            column("Why it is not it", Holds::Words),
        ];
        let rows = verdict.rejected.iter().map(|rejected| {
            let title = &rejected.title;
            row![
                markup!("{title} <code>{}</code>", rejected.cause, ..title),
                rejected.why,
            ]
        });
        out += Markup::literal("<h3>Looked alike and is not it</h3>");
        out += Table::wide("", &columns).rows(rows, REJECTED_MAX);
    }
    Some(out)
}

/// What the processors, the threads and the sessions are in.
fn mechanism(verdict: &Verdict) -> Markup {
    if verdict.mechanism.is_empty() {
        return Markup::new();
    }
    let says = verdict.mechanism.iter().map(|one| &one.says);
    let items: Markup = says
        .map(|says| markup!("<li>{says}</li>", ..says))
        .collect();
    markup!(
        "<h3>What is going on</h3><ul class=\"mechanism\">{items}</ul>",
        ..items
    )
}

fn article(
    incident: &Incident,
    verdict: &Verdict,
    picked: &Picked,
    index: usize,
    finding: &Finding,
) -> Markup {
    let level = finding.level.word();
    let mut evidence = Markup::literal("<div class=\"half\">");
    evidence += Markup::literal("<h4>Why</h4>");
    evidence += witnesses(incident, picked, &finding.witnesses);
    if !finding.against.is_empty() {
        evidence += Markup::literal("<h4>Against</h4>");
        evidence += witnesses(incident, picked, &finding.against);
    }
    let who: Markup = steps::who(&finding.actors)
        .iter()
        .map(|line| markup!("<li>{}</li>", line))
        .collect();
    if !who.is_empty() {
        evidence += markup!("<h4>Who</h4><ul class=\"who\">{who}</ul>", ..who);
    }
    evidence += list("What would refute it", &finding.refuted_by);
    let unknown = match finding.level {
        Level::Suspicion => "What would decide it",
        _ => "Not known",
    };
    evidence += list(unknown, &finding.unknown);
    evidence += related(verdict, finding);
    evidence += list("Known from", &finding.sources);
    evidence += Markup::literal("</div>");
    markup!(
        "<article class=\"finding {level}\" id=\"{id}\"><header><h3><span class=\"ordinal\">{ordinal}</span> \
         {title} {badge} <code>{cause}</code></h3><p>{what}</p></header>\n<div class=\"halves\">{evidence}\n\
         {remedy}</div></article>\n",
        id = anchors::finding(index),
        ordinal = index + 1,
        badge = badge(finding.level),
        title = finding.title,
        cause = finding.cause,
        what = prose(&finding.what),
        remedy = remedy(&finding.remedy),
        ..level,
        ..evidence
    )
}

fn witnesses(incident: &Incident, picked: &Picked, witnesses: &[Witness]) -> Markup {
    let items: Markup = witnesses
        .iter()
        .map(|witness| {
            markup!(
                "<li><p>{}</p><p class=\"numbers\">{}</p></li>\n",
                witness.says,
                numbers(incident, picked, witness)
            )
        })
        .collect();
    markup!("<ol class=\"witnesses\">{items}</ol>", ..items)
}

fn numbers(incident: &Incident, picked: &Picked, witness: &Witness) -> Markup {
    let mut parts = vec![markup!("<span class=\"source\">{}</span>", witness.source)];
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            parts.push(markup!(
                "<span>{name} <b>{}</b></span>",
                units::bare(value),
                ..name
            ));
        }
    };
    add("measured", witness.value);
    add("before", witness.baseline);
    add("limit", witness.limit);
    if let (Some(value), Some(baseline)) = (witness.value, witness.baseline)
        && baseline > 0.0
        && value / baseline >= RATIO_MIN
    {
        parts.push(markup!(
            "<span><b>{}</b> times before</span>",
            units::bare(value / baseline)
        ));
    }
    if witness.conclusive {
        parts.push(Markup::literal("<span class=\"tag\">conclusive</span>"));
    }
    parts.push(links(incident, picked, witness));
    Markup::join(parts, " ")
}

/// Links to the charts of a witness, or to the place where the evidence of its source stands.
fn links(incident: &Incident, picked: &Picked, witness: &Witness) -> Markup {
    let charts = picked.charts_of(incident, witness);
    let is_fact = |name: &String| incident.facts.iter().any(|timed| timed.fact.name == *name);
    if charts.is_empty() {
        let section = match witness.source.as_str() {
            _ if witness.signals.iter().any(is_fact) => "facts",
            "variables" | "thp" | "host" | "server" => "facts",
            "processlist" => "sessions",
            "innodb" => "innodb",
            "threads" => "threads",
            _ => return Markup::new(),
        };
        return markup!("<a href=\"#{section}\">evidence</a>", ..section);
    }
    let many = charts.len() > 1;
    let links = charts.iter().enumerate().map(|(number, chart)| {
        let label = if many {
            format!("chart {}", number + 1)
        } else {
            "chart".to_owned()
        };
        markup!(
            "<a href=\"#{}\">{label}</a>",
            anchors::chart(*chart),
            ..label
        )
    });
    Markup::join(links, " ")
}

fn related(verdict: &Verdict, finding: &Finding) -> Markup {
    if finding.relations.is_empty() {
        return Markup::new();
    }
    let items: Markup = finding
        .relations
        .iter()
        .map(|relation| {
            let all = verdict.findings.iter().chain(&verdict.folded);
            let other = all
                .enumerate()
                .find(|(_, other)| other.cause == relation.cause);
            let cause = &relation.cause;
            let name = other.map_or_else(
                || markup!("<code>{cause}</code>", ..cause),
                |(index, other)| {
                    markup!(
                        "<a href=\"#{}\">{}</a>",
                        anchors::finding(index),
                        other.title
                    )
                },
            );
            markup!(
                "<li>{} {name}</li>",
                relation.kind.replace('-', " "),
                ..name
            )
        })
        .collect();
    markup!("<h4>Related</h4><ul>{items}</ul>", ..items)
}

fn remedy(remedy: &Remedy) -> Markup {
    let risk = match remedy.risk.is_empty() {
        true => Markup::new(),
        false => markup!("<h4>Risk</h4><p>{}</p>", prose(&remedy.risk)),
    };
    let paired = remedy.paired();
    markup!(
        "<div class=\"half remedy\">{}{}{}{}{risk}{}</div>",
        list("With freezeframe", &remedy.fix),
        list("Do now", &steps::with_undo(&paired.now)),
        list("For good", &steps::with_undo(&paired.durable)),
        list("Undo", &paired.rest),
        list("See that it worked", &remedy.verify),
        ..risk
    )
}

fn list(heading: &str, steps: &[impl AsRef<str>]) -> Markup {
    if steps.is_empty() {
        return Markup::new();
    }
    let items: Markup = steps.iter().map(|step| self::step(step.as_ref())).collect();
    markup!("<h4>{heading}</h4><ul>{items}</ul>", ..heading, ..items)
}

fn step(step: &str) -> Markup {
    let pieces = steps::pieces(step);
    let class = Markup::literal(match pieces.first() {
        Some(Piece::Command(_)) => " class=\"bare\"",
        _ => "",
    });
    let is_command = |piece: &Piece<'_>| matches!(piece, Piece::Command(_));
    let mut content = Markup::new();
    for group in pieces.chunk_by(|a, b| is_command(a) && is_command(b)) {
        let lines: Vec<&str> = group
            .iter()
            .map(|(Piece::Command(text) | Piece::Prose(text))| *text)
            .collect();
        content += match group.iter().any(is_command) {
            true => markup!(
                "<pre class=\"command\"><code>{}</code></pre>",
                lines.join("\n")
            ),
            false => markup!("<p>{}</p>", prose(&lines.join(" "))),
        };
    }
    markup!("<li{class}>{content}</li>\n", ..class, ..content)
}

/// Words with what stands between backticks as code.
fn prose(text: &str) -> Markup {
    steps::spans(text)
        .into_iter()
        .map(|(code, part)| match code {
            true => markup!("<code>{}</code>", part),
            false => markup!("{}", part),
        })
        .collect()
}
