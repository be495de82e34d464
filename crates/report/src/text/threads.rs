//! What the threads and the processors did, in a few lines.

use diagnosis::Verdict;
use model::Incident;

use super::page::{Page, Style};
use crate::evidence::chain::with_named_holder;
use crate::evidence::summary::{GrownGroup, stacks_summary};
use crate::units::digits;

/// Functions of a stack that are written.
const FRAMES_MAX: usize = 7;

pub(super) fn threads(page: &mut Page, incident: &Incident, verdict: &Verdict) {
    let Some(summary) = stacks_summary(incident) else {
        return;
    };
    if !summary.chains.is_empty() || !summary.grown.is_empty() {
        page.heading("THREADS");
        for chain in &summary.chains {
            let chain = with_named_holder(chain, verdict);
            page.item(2, "- ", &format!("{chain}."), Style::Plain);
        }
        for group in &summary.grown {
            page.item(2, "- ", &group_words(group), Style::Plain);
        }
    }
    if summary.server.is_some() || !summary.risen.is_empty() {
        page.heading("CPU PROFILE");
        let both = |before: f64, in_stall: f64| {
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            format!(
                "{} before, {} in the stall",
                percent(before),
                percent(in_stall)
            )
        };
        if let Some([before, in_stall]) = summary.server {
            let text = format!(
                "The server's share of the samples: {}.",
                both(before, in_stall)
            );
            page.item(2, "- ", &text, Style::Plain);
        }
        for function in &summary.risen {
            let text = format!(
                "{}: {} ({})",
                both(function.before, function.in_stall),
                function.name,
                function.image
            );
            page.item(2, "- ", &text, Style::Plain);
        }
        for thread in &summary.others {
            let text = format!(
                "Other programs: {}: {}",
                both(thread.before, thread.in_stall),
                thread.name
            );
            page.item(2, "- ", &text, Style::Plain);
        }
    }
}

fn group_words(group: &GrownGroup) -> String {
    let shown: Vec<&str> = group
        .frames
        .iter()
        .take(FRAMES_MAX)
        .map(String::as_str)
        .collect();
    let more = if group.frames.len() > FRAMES_MAX {
        " < …"
    } else {
        ""
    };
    let syscall = match group.syscall.as_str() {
        "" => String::new(),
        name => format!(" in {name}"),
    };
    let threads = match digits(group.in_stall) {
        one if one == "1" => "1 thread".to_owned(),
        count => format!("{count} threads"),
    };
    let threads = match group.before {
        Some(before) => format!("{threads} on average, {} before", digits(before)),
        None => threads,
    };
    format!("{threads}{syscall}: {}{more}", shown.join(" < "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_no_threads() {
        let words = |in_stall, before| {
            group_words(&GrownGroup {
                before,
                in_stall,
                frames: vec!["open_table".to_owned()],
                syscall: "futex".to_owned(),
            })
        };
        assert_eq!(
            words(1.0, Some(0.0)),
            "1 thread on average, 0 before in futex: open_table"
        );
        assert_eq!(words(1.0, None), "1 thread in futex: open_table");
        assert!(words(8.0, Some(0.0)).starts_with("8 threads on average, "));
    }
}
