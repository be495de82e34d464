//! Findings: why, against, what would refute them, what to do.

use diagnosis::{Finding, Level, Remedy, Verdict, Witness};
use model::Incident;

use super::{
    anchors,
    head::badge,
    table::{Column, Holds, Table, cell},
};
use crate::{
    escape,
    pick::Picked,
    steps::{self, Piece},
    units,
};

/// Rejected causes shown.
const REJECTED_MAX: usize = 40;
/// Ratios to the baseline below this are not worth words.
const RATIO_MIN: f64 = 1.5;

pub(super) fn section(incident: &Incident, verdict: &Verdict, picked: &Picked) -> Option<String> {
    let article = |(index, finding)| self::article(incident, verdict, picked, index, finding);
    let shown = verdict.findings.len();
    let mut out = mechanism(verdict);
    if verdict.findings.is_empty() {
        out.push_str("<p class=\"none\">No cause of the catalogue has enough witnesses here.</p>");
    }
    out.extend(verdict.findings.iter().enumerate().map(article));
    if !verdict.folded.is_empty() {
        let articles: String = verdict
            .folded
            .iter()
            .enumerate()
            .map(|(at, finding)| article((shown + at, finding)))
            .collect();
        out.push_str(&format!(
            "<details class=\"folded\"><summary>Weaker findings: {}</summary>{articles}</details>",
            verdict.folded.len()
        ));
    }
    if !verdict.rejected.is_empty() {
        let columns = [
            Column("Cause", Holds::Words),
            Column("Why it is not it", Holds::Words),
        ];
        let rows = verdict.rejected.iter().map(|rejected| {
            let title = escape::html(&rejected.title);
            vec![
                format!("{title} <code>{}</code>", escape::html(&rejected.cause)),
                cell(&rejected.why),
            ]
        });
        out.push_str("<h3>Looked alike and is not it</h3>");
        out.push_str(&Table::wide("", &columns).rows(rows, REJECTED_MAX));
    }
    Some(out)
}

/// What the processors, the threads and the sessions are in.
fn mechanism(verdict: &Verdict) -> String {
    if verdict.mechanism.is_empty() {
        return String::new();
    }
    let says = verdict.mechanism.iter().map(|one| escape::html(&one.says));
    let items: String = says.map(|says| format!("<li>{says}</li>")).collect();
    format!("<h3>What is going on</h3><ul class=\"mechanism\">{items}</ul>")
}

fn article(
    incident: &Incident,
    verdict: &Verdict,
    picked: &Picked,
    index: usize,
    finding: &Finding,
) -> String {
    let level = finding.level.word();
    let mut evidence = String::from("<div class=\"half\">");
    evidence.push_str("<h4>Why</h4>");
    evidence.push_str(&witnesses(incident, picked, &finding.witnesses));
    if !finding.against.is_empty() {
        evidence.push_str("<h4>Against</h4>");
        evidence.push_str(&witnesses(incident, picked, &finding.against));
    }
    let who: String = steps::who(&finding.actors)
        .iter()
        .map(|line| format!("<li>{}</li>", escape::html(line)))
        .collect();
    if !who.is_empty() {
        evidence.push_str(&format!("<h4>Who</h4><ul class=\"who\">{who}</ul>"));
    }
    evidence.push_str(&list("What would refute it", &finding.refuted_by));
    let unknown = match finding.level {
        Level::Suspicion => "What would decide it",
        _ => "Not known",
    };
    evidence.push_str(&list(unknown, &finding.unknown));
    evidence.push_str(&related(verdict, finding));
    evidence.push_str(&list("Known from", &finding.sources));
    evidence.push_str("</div>");
    format!(
        "<article class=\"finding {level}\" id=\"{id}\"><header><h3><span class=\"ordinal\">{ordinal}</span> \
         {title} {badge} <code>{cause}</code></h3><p>{what}</p></header>\n<div class=\"halves\">{evidence}\n\
         {remedy}</div></article>\n",
        id = anchors::finding(index),
        ordinal = index + 1,
        badge = badge(finding.level),
        title = escape::html(&finding.title),
        cause = escape::html(&finding.cause),
        what = prose(&finding.what),
        remedy = remedy(&finding.remedy),
    )
}

fn witnesses(incident: &Incident, picked: &Picked, witnesses: &[Witness]) -> String {
    let items: String = witnesses
        .iter()
        .map(|witness| {
            format!(
                "<li><p>{}</p><p class=\"numbers\">{}</p></li>\n",
                escape::html(&witness.says),
                numbers(incident, picked, witness)
            )
        })
        .collect();
    format!("<ol class=\"witnesses\">{items}</ol>")
}

fn numbers(incident: &Incident, picked: &Picked, witness: &Witness) -> String {
    let mut parts = vec![format!(
        "<span class=\"source\">{}</span>",
        escape::html(&witness.source)
    )];
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            parts.push(format!("<span>{name} <b>{}</b></span>", units::bare(value)));
        }
    };
    add("measured", witness.value);
    add("before", witness.baseline);
    add("limit", witness.limit);
    if let (Some(value), Some(baseline)) = (witness.value, witness.baseline)
        && baseline > 0.0
        && value / baseline >= RATIO_MIN
    {
        parts.push(format!(
            "<span><b>{}</b> times before</span>",
            units::bare(value / baseline)
        ));
    }
    if witness.conclusive {
        parts.push("<span class=\"tag\">conclusive</span>".to_owned());
    }
    parts.push(links(incident, picked, witness));
    parts.join(" ")
}

/// Links to the charts of a witness, or to the place where the evidence of its source stands.
fn links(incident: &Incident, picked: &Picked, witness: &Witness) -> String {
    let charts = picked.charts_of(incident, witness);
    let is_fact = |name: &String| incident.facts.iter().any(|timed| timed.fact.name == *name);
    if charts.is_empty() {
        let section = match witness.source.as_str() {
            _ if witness.signals.iter().any(is_fact) => "facts",
            "variables" | "thp" | "host" | "server" => "facts",
            "processlist" => "sessions",
            "innodb" => "innodb",
            "threads" => "threads",
            _ => return String::new(),
        };
        return format!("<a href=\"#{section}\">evidence</a>");
    }
    let many = charts.len() > 1;
    charts
        .iter()
        .enumerate()
        .map(|(number, chart)| {
            let label = if many {
                format!("chart {}", number + 1)
            } else {
                "chart".to_owned()
            };
            format!("<a href=\"#{}\">{label}</a>", anchors::chart(*chart))
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn related(verdict: &Verdict, finding: &Finding) -> String {
    if finding.relations.is_empty() {
        return String::new();
    }
    let items: String = finding
        .relations
        .iter()
        .map(|relation| {
            let all = verdict.findings.iter().chain(&verdict.folded);
            let other = all
                .enumerate()
                .find(|(_, other)| other.cause == relation.cause);
            let cause = escape::html(&relation.cause);
            let name = other.map_or_else(
                || format!("<code>{cause}</code>"),
                |(index, other)| {
                    format!(
                        "<a href=\"#{}\">{}</a>",
                        anchors::finding(index),
                        escape::html(&other.title)
                    )
                },
            );
            format!(
                "<li>{} {name}</li>",
                escape::html(&relation.kind.replace('-', " "))
            )
        })
        .collect();
    format!("<h4>Related</h4><ul>{items}</ul>")
}

fn remedy(remedy: &Remedy) -> String {
    let risk = match remedy.risk.is_empty() {
        true => String::new(),
        false => format!("<h4>Risk</h4><p>{}</p>", prose(&remedy.risk)),
    };
    let paired = remedy.paired();
    format!(
        "<div class=\"half remedy\">{}{}{}{}{risk}{}</div>",
        list("With freezeframe", &remedy.fix),
        list("Do now", &steps::with_undo(&paired.now)),
        list("For good", &steps::with_undo(&paired.durable)),
        list("Undo", &paired.rest),
        list("See that it worked", &remedy.verify),
    )
}

fn list(heading: &str, steps: &[impl AsRef<str>]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let items: String = steps.iter().map(|step| self::step(step.as_ref())).collect();
    format!("<h4>{heading}</h4><ul>{items}</ul>")
}

fn step(step: &str) -> String {
    let pieces = steps::pieces(step);
    let class = match pieces.first() {
        Some(Piece::Command(_)) => " class=\"bare\"",
        _ => "",
    };
    let is_command = |piece: &Piece<'_>| matches!(piece, Piece::Command(_));
    let mut content = String::new();
    for group in pieces.chunk_by(|a, b| is_command(a) && is_command(b)) {
        let lines: Vec<&str> = group
            .iter()
            .map(|(Piece::Command(text) | Piece::Prose(text))| *text)
            .collect();
        content.push_str(&match group.iter().any(is_command) {
            true => format!(
                "<pre class=\"command\"><code>{}</code></pre>",
                escape::html(&lines.join("\n"))
            ),
            false => format!("<p>{}</p>", prose(&lines.join(" "))),
        });
    }
    format!("<li{class}>{content}</li>\n")
}

/// Words with what stands between backticks as code.
fn prose(text: &str) -> String {
    steps::spans(text)
        .into_iter()
        .map(|(code, part)| match code {
            true => format!("<code>{}</code>", escape::html(part)),
            false => escape::html(part),
        })
        .collect()
}
