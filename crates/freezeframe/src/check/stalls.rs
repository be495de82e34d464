//! What would be called a stall, with the limits in force, and what would be missed.

use cli::output::wrapped;
use detect::Room;
use recorder::{RecorderConfig, SourceCheck};
use serde_json::{Value, json};

/// A rule in words.
struct Rule {
    name: &'static str,
    when: String,
    /// Sources without which it sees nothing, or less.
    needs: &'static [&'static str],
    /// A source that stands in for them, and what is not seen then.
    stand_in: Option<(&'static str, &'static str)>,
}

fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1000.0)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn rules(config: &RecorderConfig) -> Vec<Rule> {
    let detect = &config.detect;
    let mut rules = vec![
        Rule {
            name: "query-probe",
            when: format!(
                "SELECT 1 fails or takes {} ms or longer, for {} (if the server is gone, for {})",
                detect.probe_limit_ms,
                seconds(detect.probe_hold_ms),
                seconds(detect.restart_ms)
            ),
            needs: &["query-probe"],
            stand_in: None,
        },
        Rule {
            name: "connect-probe",
            when: "the same for a new connection".to_owned(),
            needs: &["connect-probe"],
            stand_in: None,
        },
        Rule {
            name: "work-stops",
            when: format!(
                "only {} of the usual statements a second complete, or fewer, while {} or more of the sessions that usually do \
                 the work hang for a second",
                percent(detect.completions_share),
                percent(detect.hung_share)
            ),
            needs: &["status", "processlist"],
            stand_in: Some((
                "connections",
                "watches TCP connections that have a request and no answer; does not see clients of the unix socket",
            )),
        },
        Rule {
            name: "work-waits",
            when: "a statement waits 2 s for another session, or one that usually takes milliseconds hangs for 2 s"
                .to_owned(),
            needs: &["status", "processlist"],
            stand_in: None,
        },
        Rule {
            name: "statements-slow",
            when: format!(
                "a statement takes {} ms or longer and {} times as long as usual; while a CPU is idle, \
                 {:.0} ms if half of the clients run one, {:.0} ms if `SELECT 1` is slow, too",
                detect.statement_limit_ms,
                detect.statement_times_usual,
                detect.statement_room_limit_ms(Room::ManyWait),
                detect.statement_room_limit_ms(Room::AllWait)
            ),
            needs: &["status", "processlist"],
            stand_in: None,
        },
        Rule {
            name: "slow-burn",
            when: format!(
                "a statement takes {} ms or longer and {} times as long as an hour ago",
                detect.burn_limit_ms, detect.burn_times_hour_ago
            ),
            needs: &["status", "processlist"],
            stand_in: None,
        },
        Rule {
            name: "sessions-stuck",
            when: format!(
                "{} sessions more than usual run a statement for 2 s, and other clients are affected",
                detect.stuck_above_usual
            ),
            needs: &["processlist"],
            stand_in: None,
        },
        Rule {
            name: "not-let-in",
            when: "connections are refused because there are too many, clients wait to log in, or the server does not accept connections"
                .to_owned(),
            needs: &["status"],
            stand_in: Some((
                "accept-queue",
                "sees only connections that the server does not accept",
            )),
        },
        Rule {
            name: "system-cpu",
            when: format!(
                "the server spends {} or more of all CPUs in the kernel (less if no CPU is idle), {} times as much as usual, \
                 and SELECT 1 takes {} ms or longer and {} times as long as usual",
                percent(detect.system_share_min),
                detect.system_times_usual,
                detect.answer_limit_ms,
                detect.answer_times_usual
            ),
            needs: &["process", "query-probe"],
            stand_in: None,
        },
    ];
    rules.extend(detect.user.iter().map(|trigger| Rule {
        name: "user",
        when: trigger.text.clone(),
        needs: &[],
        stand_in: None,
    }));
    rules
}

impl Rule {
    /// The sources that it lacks.
    fn lacks(&self, checked: &[SourceCheck]) -> Vec<&'static str> {
        self.needs
            .iter()
            .copied()
            .filter(|name| {
                !is_taken(checked, name) || (*name != self.name && has_no_times(checked, name))
            })
            .collect()
    }
}

/// A probe that is refused tells that the server answers, and nothing of how fast.
fn has_no_times(checked: &[SourceCheck], name: &str) -> bool {
    let is_probe = |source: &&SourceCheck| source.source == name && name.ends_with("-probe");
    checked
        .iter()
        .find(is_probe)
        .is_some_and(|source| !source.absent.is_empty())
}

fn is_taken(checked: &[SourceCheck], name: &str) -> bool {
    checked
        .iter()
        .any(|source| source.source == name && source.taken)
}

pub(super) fn as_text(config: &RecorderConfig, checked: &[SourceCheck], width: usize) -> String {
    let mut text = "  rules that detect a stall\n".to_owned();
    for rule in rules(config) {
        let lacks = rule.lacks(checked);
        let stand_in = rule
            .stand_in
            .filter(|(source, _)| is_taken(checked, source));
        let is_halved = has_no_times(checked, rule.name);
        let state = match (lacks.is_empty(), stand_in) {
            (true, _) if !is_halved => "ok  ",
            (true, _) => "part",
            (false, Some(_)) => "part",
            (false, None) => "no  ",
        };
        text += &wrapped(
            &format!("    {state}  {:<16} ", rule.name),
            &rule.when,
            width,
        );
        if is_halved && lacks.is_empty() {
            let seen = "sees only whether the server answers, not how fast";
            text += &wrapped(&format!("          {:<16} ", ""), seen, width);
        }
        if !lacks.is_empty() {
            let missed = match stand_in {
                Some((_, instead)) => format!("without {}: {instead}", lacks.join(", ")),
                None => format!("cannot detect this without {}", lacks.join(", ")),
            };
            text += &wrapped(&format!("          {:<16} ", ""), &missed, width);
        }
    }
    text
}

pub(super) fn as_json(config: &RecorderConfig, checked: &[SourceCheck]) -> Value {
    rules(config)
        .iter()
        .map(|rule| {
            let lacks = rule.lacks(checked);
            let stand_in = rule
                .stand_in
                .filter(|(source, _)| is_taken(checked, source));
            json!({"rule": rule.name, "when": rule.when, "works": lacks.is_empty(), "lacks": lacks,
                "instead": stand_in.map(|(source, _)| source)})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_and_what_would_be_missed() {
        let mut config = RecorderConfig::in_dir("/x");
        config.detect.probe_limit_ms = 250;
        let source = |source, taken| SourceCheck {
            source,
            taken,
            signals: 1,
            took_ms: 1.0,
            absent: Vec::new(),
        };
        let checked = [source("query-probe", true), source("status", false)];
        let text = as_text(&config, &checked, 0);
        assert!(
            text.contains("SELECT 1 fails or takes 250 ms or longer"),
            "{text}"
        );
        let rules = as_json(&config, &checked);
        assert_eq!(rules[0]["works"], true);
        assert_eq!(rules[2]["lacks"], json!(["status", "processlist"]));
        assert_eq!(rules[2]["instead"], json!(null));
        assert!(text.contains("without status, processlist"), "{text}");
        let checked = [source("query-probe", true), source("connections", true)];
        let text = as_text(&config, &checked, 0);
        assert!(text.contains("part  work-stops"), "{text}");
        assert_eq!(as_json(&config, &checked)[2]["instead"], "connections");
    }

    #[test]
    fn a_refused_probe_works_in_part_and_has_no_times() {
        let config = RecorderConfig::in_dir("/x");
        let source = |source: &'static str, absent: &[&str]| SourceCheck {
            source,
            taken: true,
            signals: 1,
            took_ms: 1.0,
            absent: absent
                .iter()
                .map(|what| model::Absent::new(*what, model::Reason::NoLogin, "Access denied"))
                .collect(),
        };
        let refused = [
            source("query-probe", &["query probe"]),
            source("connect-probe", &[]),
            source("process", &[]),
        ];
        let text = as_text(&config, &refused, 0);
        assert!(text.contains("part  query-probe"), "{text}");
        assert!(
            text.contains("sees only whether the server answers"),
            "{text}"
        );
        assert!(text.contains("ok    connect-probe"), "{text}");
        assert!(text.contains("no    system-cpu"), "{text}");
        let rules = as_json(&config, &refused);
        let of = |name: &str| {
            let all = rules.as_array().unwrap();
            all.iter()
                .find(|rule| rule["rule"] == name)
                .unwrap()
                .clone()
        };
        assert_eq!(of("system-cpu")["lacks"], json!(["query-probe"]));
        assert_eq!(of("query-probe")["works"], true);
        // Let in, it is whole; and what else is partly there is there.
        let whole = [source("query-probe", &[]), source("process", &["process"])];
        let text = as_text(&config, &whole, 0);
        assert!(
            text.contains("ok    query-probe") && text.contains("ok    system-cpu"),
            "{text}"
        );
    }
}
