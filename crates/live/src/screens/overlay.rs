//! What lies over a screen: the keys, the witnesses, the remedy, one row in full. Nothing here runs anything.

use diagnosis::{Finding, Verdict};

use report::plain_words;

use super::view::View;
use crate::ink::{Ink, Line, wrapped};
use crate::keys;
use crate::state::Overlay;

/// The lines of what lies over the screen; none where nothing does.
pub fn lines(view: &View<'_>) -> Option<Vec<Line>> {
    match &view.state.over {
        Overlay::Nothing => None,
        Overlay::Help => Some(help(view)),
        Overlay::Why => Some(with_verdict(view, why)),
        Overlay::Remedy => Some(with_verdict(view, remedy)),
        Overlay::Map => Some(super::heat_map::lines(view)),
        Overlay::Detail { title, lines } => {
            let mut out = vec![Line::colored(Ink::Strong, title), Line::default()];
            out.extend(
                lines
                    .iter()
                    .flat_map(|line| wrapped(Ink::Plain, line, 2, view.columns)),
            );
            Some(out)
        }
    }
}

fn help(view: &View<'_>) -> Vec<Line> {
    let word = view.state.help_word.to_lowercase();
    let title = match word.as_str() {
        "" => "KEYS  / searches, Esc closes".to_owned(),
        word => format!("KEYS with `{word}`  Esc closes"),
    };
    let rows = keys::help();
    let rows = rows
        .iter()
        .filter(|(shown, does)| format!("{shown} {does}").to_lowercase().contains(&word));
    let left = 23;
    let mut out = vec![Line::colored(Ink::Strong, &title)];
    for (shown, does) in rows {
        let mut text = wrapped(
            Ink::Plain,
            &format!("{does:>1}"),
            0,
            view.columns.saturating_sub(left),
        )
        .into_iter();
        let mut first = Line::colored(Ink::Strong, shown);
        first.pad(left);
        if let Some(line) = text.next() {
            first.push(Ink::Plain, &line.text());
        }
        out.push(first);
        out.extend(text.map(|line| Line::plain(&format!("{:left$}{}", "", line.text()))));
    }
    out
}

fn with_verdict(view: &View<'_>, make: fn(&View<'_>, &Verdict) -> Vec<Line>) -> Vec<Line> {
    match view.model.judged(view.at) {
        Some(verdict) => make(view, verdict),
        None => vec![Line::colored(
            Ink::Strong,
            "no stall before this moment has a verdict",
        )],
    }
}

fn heading(out: &mut Vec<Line>, text: &str) {
    out.push(Line::default());
    out.push(Line::colored(Ink::Strong, text));
}

fn items<'a>(
    out: &mut Vec<Line>,
    view: &View<'_>,
    sign: &str,
    ink: Ink,
    texts: impl Iterator<Item = &'a str>,
) {
    for text in texts {
        for (index, line) in text.lines().enumerate() {
            let sign = if index == 0 { sign } else { " " };
            out.extend(wrapped(ink, &format!("{sign} {line}"), 2, view.columns));
        }
    }
}

fn title(finding: &Finding) -> String {
    format!(
        "{}: {} [{}]",
        finding.level.word().to_uppercase(),
        finding.title,
        finding.cause
    )
}

fn why(view: &View<'_>, verdict: &Verdict) -> Vec<Line> {
    let mut out = wrapped(
        Ink::Strong,
        &plain_words::verdict_text(verdict),
        0,
        view.columns,
    );
    for finding in &verdict.findings {
        heading(&mut out, &title(finding));
        out.extend(wrapped(Ink::Plain, &finding.what, 0, view.columns));
        items(
            &mut out,
            view,
            "+",
            Ink::Plain,
            finding.witnesses.iter().map(|one| one.says.as_str()),
        );
        items(
            &mut out,
            view,
            "-",
            Ink::Good,
            finding.against.iter().map(|one| one.says.as_str()),
        );
        items(
            &mut out,
            view,
            "who",
            Ink::Plain,
            finding.actors.iter().map(|one| one.says.as_str()),
        );
        items(
            &mut out,
            view,
            "unknown:",
            Ink::Dim,
            finding.unknown.iter().map(String::as_str),
        );
        items(
            &mut out,
            view,
            "disproved if:",
            Ink::Dim,
            finding.refuted_by.iter().map(String::as_str),
        );
    }
    if !verdict.folded.is_empty() {
        heading(&mut out, "WEAKER");
        for finding in &verdict.folded {
            out.extend(wrapped(
                Ink::Plain,
                &format!("? {}", title(finding)),
                2,
                view.columns,
            ));
        }
    }
    if !verdict.rejected.is_empty() {
        heading(&mut out, "SIMILAR CAUSES, RULED OUT");
        for one in &verdict.rejected {
            out.extend(wrapped(
                Ink::Plain,
                &format!("- {}: {}", one.title, plain_words::rejection(one)),
                2,
                view.columns,
            ));
        }
    }
    if !verdict.absent.is_empty() {
        heading(&mut out, "MISSING EVIDENCE");
        for one in &verdict.absent {
            let text = format!("{}: {}; {}", one.what, one.reason.to_text(), one.detail);
            out.extend(wrapped(Ink::Plain, &text, 2, view.columns));
        }
    }
    out
}

fn remedy(view: &View<'_>, verdict: &Verdict) -> Vec<Line> {
    let Some(first) = verdict.findings.first() else {
        return vec![Line::colored(
            Ink::Strong,
            "no cause is named: w shows what is known",
        )];
    };
    let remedy = &first.remedy;
    let mut out = vec![
        Line::colored(Ink::Strong, &title(first)),
        Line::colored(Ink::Dim, "These commands are shown only, not run."),
    ];
    let parts: [(&str, &[String]); 5] = [
        ("NOW", &remedy.now),
        ("PERMANENT FIX", &remedy.durable),
        ("UNDO", &remedy.undo),
        ("VERIFY", &remedy.verify),
        ("COMMANDS", &remedy.fix),
    ];
    for (name, texts) in parts.iter().filter(|(_, texts)| !texts.is_empty()) {
        heading(&mut out, name);
        items(
            &mut out,
            view,
            "-",
            Ink::Plain,
            texts.iter().map(String::as_str),
        );
        if *name == "NOW" && !remedy.risk.is_empty() {
            heading(&mut out, "RISK");
            items(
                &mut out,
                view,
                "!",
                Ink::Bad,
                std::iter::once(remedy.risk.as_str()),
            );
        }
    }
    out
}
