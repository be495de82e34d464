//! What users felt, by what the clients of the server show and not by what its insides do.

use model::{Incident, Measure, ProbeOutcome, ProcessList, Session, Stall, TextKind, Window};

use super::phrases::{capital, number, rate, sentence, span};

/// Clauses that are told, at the most: the first says how bad it is.
const CLAUSES_MAX: usize = 2;

/// The rule of a trigger of the user's own, whose words are a formula.
const USER: &str = "user";

/// From here on the rule of the time in the kernel tells of the server.
const SERVER_SPENDS: &str = "; the server spends ";

/// Fewer statements a second say nothing of "fewer": the recorder's own are among them.
const RATE_MIN: f64 = 10.0;

/// From this share of the statements before on, nobody misses the others.
const FEWER_SHARE: f64 = 0.7;

/// A statement that takes so many times as long as before is slow, if it takes as long as the next.
const SLOW_TIMES: f64 = 2.0;

/// In seconds: nobody feels less.
const SLOW_MIN: f64 = 0.01;

/// Where fewer clients hang than this share of them, what the others feel is told first.
const HANG_SHARE: f64 = 0.1;

/// A statement that hangs for less is no such one, in seconds.
const HANG_MIN: f64 = 1.0;

/// The server's own threads, which are in the list of sessions and are no clients: by user, and by what they do.
const OWN_USERS: [&str; 2] = ["system user", "event_scheduler"];
const OWN_COMMANDS: [&str; 5] = [
    "Connect",
    "Daemon",
    "Sleep",
    "Binlog Dump",
    "Binlog Dump GTID",
];

/// What users felt, in one sentence.
pub(crate) fn client_impact(incident: &Incident) -> String {
    let (hang, no_answer) = (hang(incident), no_answer(incident));
    // Whoever got no answer at all is not told that it was late.
    let is_slow = no_answer.is_none() && hang.as_ref().is_none_or(|hang| !hang.is_most);
    let (few, many): (Vec<Hang>, Vec<Hang>) = hang.into_iter().partition(|hang| hang.is_few);
    let said = |hang: Vec<Hang>| hang.into_iter().next().map(|hang| hang.says);
    let clauses = [
        no_answer,
        refused(incident),
        said(many),
        is_slow.then(|| slow(incident)).flatten(),
        fewer(incident),
        said(few),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().take(CLAUSES_MAX).collect();
    if !clauses.is_empty() {
        return sentence(&capital(&clauses.join("; ")));
    }
    if incident.stall.is_request_only() {
        return "No stall was noticed; this time was requested.".to_owned();
    }
    noticed(incident)
}

/// What the recorder noticed it by, where nothing else tells.
fn noticed(incident: &Incident) -> String {
    let mut triggers = incident.stall.triggers.iter();
    let own = triggers
        .find(|one| ![USER, Stall::IMPORTED, Stall::REQUESTED].contains(&one.rule.as_str()));
    if let Some(trigger) = own {
        // From when on a rule speaks is nothing that users felt, and no more is what the server's processors do.
        let felt = trigger.says.split(" (limit ").next().unwrap_or_default();
        let felt = felt.split(SERVER_SPENDS).next().unwrap_or_default();
        return sentence(&capital(
            &felt.replace("SELECT 1 takes", "the simplest query takes"),
        ));
    }
    let mut triggers = incident.stall.triggers.iter();
    if triggers.any(|trigger| trigger.rule == USER) {
        return "Unknown: one of your own triggers noticed it.".to_owned();
    }
    // The tool that collected saw it; what it collected may be of the time after.
    let mut triggers = incident.stall.triggers.iter();
    let running = triggers.find_map(|trigger| {
        let (_, value) = trigger.says.split_once("Threads_running)=")?;
        value.split(',').next()?.parse::<f64>().ok()
    });
    if let Some(running) = running {
        return format!(
            "{} clients ran a statement at the same time.",
            number(running)
        );
    }
    // A list of sessions that has no times in it.
    match most(incident, "processlist.active").filter(|active| *active >= 2.0) {
        Some(active) => format!(
            "{} clients ran a statement at the same time.",
            number(active)
        ),
        None => "The input does not say.".to_owned(),
    }
}

fn measured(incident: &Incident, name: &str, measure: Measure, window: Window) -> Option<f64> {
    let series = incident.timeline.get(name)?;
    let value = incident.timeline.measure(series, measure, window)?;
    value.is_finite().then_some(value)
}

/// The calm time before, or after, and its word. The reading at the onset itself is of the stall.
fn calm(incident: &Incident) -> (Window, &'static str) {
    if let Some(after) = incident.calm_after() {
        return (after, "afterwards");
    }
    let calm = incident.baseline_window();
    let to = calm.to.saturating_sub(1).max(calm.from);
    (Window { to, ..calm }, "before")
}

fn most(incident: &Incident, name: &str) -> Option<f64> {
    measured(incident, name, Measure::Max, incident.stall_window())
}

/// How a kind of probe ended in the stall.
fn outcomes(incident: &Incident, name: &str) -> Vec<(u64, ProbeOutcome)> {
    let Some(series) = incident.timeline.get(name) else {
        return Vec::new();
    };
    let points = incident.timeline.points_in(series, incident.stall_window());
    points
        .filter_map(|(at, code)| Some((at, ProbeOutcome::from_code(code)?)))
        .collect()
}

/// The simplest query had no answer.
fn no_answer(incident: &Incident) -> Option<String> {
    let ended = outcomes(incident, "probe.query_outcome");
    let failed = |outcome: ProbeOutcome| ended.iter().filter(|(_, one)| *one == outcome).count();
    if failed(ProbeOutcome::Refused) * 2 > ended.len() {
        return Some("the server was gone and accepted no connections".to_owned());
    }
    let waited = most(incident, "probe.query_waiting_us").unwrap_or(0.0) / 1e6;
    let lost = failed(ProbeOutcome::TimedOut) + failed(ProbeOutcome::Lost);
    if lost == 0 && waited < HANG_MIN {
        return None;
    }
    // From the last answer to the next one, or to the end of the stall.
    let stall = incident.stall_window();
    let answers = ended.iter().filter(|(_, one)| *one == ProbeOutcome::Ok);
    let mut moments = vec![stall.from];
    moments.extend(answers.map(|(at, _)| *at));
    moments.push(stall.to);
    let gaps = moments.windows(2).filter_map(|pair| {
        let (from, to) = (pair.first()?, pair.last()?);
        Some(to.saturating_sub(*from) as f64 / 1000.0)
    });
    let longest = gaps.fold(waited, f64::max);
    Some(format!(
        "the server did not answer even the simplest query for {}",
        span(longest)
    ))
}

/// New connections failed.
fn refused(incident: &Incident) -> Option<String> {
    let ended = outcomes(incident, "probe.connect_outcome");
    let has = |outcome: ProbeOutcome| ended.iter().any(|(_, one)| *one == outcome);
    if has(ProbeOutcome::TooManyConnections) {
        return Some("new connections were refused, because too many were open".to_owned());
    }
    if has(ProbeOutcome::NoResources) {
        return Some(
            "new connections failed, because the server got no thread for them".to_owned(),
        );
    }
    let turned_away = "status.Connection_errors_max_connections";
    let count = measured(
        incident,
        turned_away,
        Measure::Delta,
        incident.stall_window(),
    );
    if let Some(count) = count.filter(|count| *count >= 1.0) {
        return Some(format!(
            "{} connections were refused, because too many were open",
            number(count)
        ));
    }
    has(ProbeOutcome::TimedOut).then(|| "new connections got no answer in time".to_owned())
}

/// Statements that do not come to their end.
struct Hang {
    says: String,
    /// Half of the clients or more are in one, or it is not known how many there are.
    is_most: bool,
    /// Hardly any of the clients are.
    is_few: bool,
}

/// How many clients are in a statement that does not come to its end, and for how long.
fn hang(incident: &Incident) -> Option<Hang> {
    let oldest = [
        most(incident, "processlist.hung_oldest_ms"),
        most(incident, "processlist.waiting_oldest_ms"),
    ];
    let oldest = oldest.into_iter().flatten().fold(0.0, f64::max) / 1000.0;
    let hung = most(incident, "processlist.hung").unwrap_or(0.0);
    let clients = most(incident, "processlist.clients");
    let (count, oldest, clients, is_cut) = match hung >= 1.0 && oldest >= HANG_MIN {
        true => (hung, oldest, clients, false),
        // Captures of other tools have no more than the list.
        false if clients.is_none() => {
            let (count, oldest, is_cut) = in_the_list(incident)?;
            (count, oldest, None, is_cut)
        }
        false => return None,
    };
    let of = clients.filter(|clients| *clients > count);
    let who = match of {
        Some(clients) => format!("{} of {} clients", number(count), number(clients)),
        None if count < 1.5 => "1 client".to_owned(),
        None if is_cut => format!("at least {} clients", number(count)),
        None => format!("{} clients", number(count)),
    };
    let longest = if count < 1.5 { "" } else { "the longest " };
    Some(Hang {
        says: format!(
            "{who} waited for a statement to end, {longest}for {}",
            span(oldest)
        ),
        is_most: clients.is_none_or(|clients| count * 2.0 >= clients),
        is_few: clients.is_some_and(|clients| count < clients * HANG_SHARE),
    })
}

/// Sessions of clients in the fullest list of the stall that are in their statement for a second or longer, and the
/// longest time of these; and whether there are more than the list has in full.
fn in_the_list(incident: &Incident) -> Option<(f64, f64, bool)> {
    let stall = incident.stall_window();
    let texts = incident.texts.iter();
    let lists = texts
        .filter(|timed| timed.text.kind() == TextKind::Processlist)
        .filter(|timed| (stall.from..=stall.to).contains(&timed.at))
        .filter_map(|timed| ProcessList::from_text(timed.text.body()));
    let list = lists.max_by_key(ProcessList::active)?;
    let hangs = |session: &&Session| {
        session.seconds >= HANG_MIN
            && !OWN_USERS.contains(&session.user.as_str())
            && !OWN_COMMANDS.contains(&session.command.as_str())
    };
    let hung: Vec<f64> = list
        .longest
        .iter()
        .filter(hangs)
        .map(|one| one.seconds)
        .collect();
    let oldest = hung.iter().copied().fold(0.0, f64::max);
    let is_cut = list.active() > list.longest.len() as u64 && hung.len() == list.longest.len();
    (!hung.is_empty()).then_some((hung.len() as f64, oldest, is_cut))
}

/// Statements that take longer than before: those under way, by those that end in a second (Little's law).
fn slow(incident: &Incident) -> Option<String> {
    let each = |window: Window| {
        let under_way = measured(incident, "processlist.in_flight", Measure::Mean, window)?;
        let rate = measured(incident, "status.Questions", Measure::Rate, window)?;
        (rate >= 1.0).then_some(under_way / rate)
    };
    let now = each(incident.stall_window())?;
    let (calm, when) = calm(incident);
    let usual = each(calm)?;
    if now < SLOW_MIN || now < SLOW_TIMES * usual {
        return simplest(incident);
    }
    Some(format!(
        "a statement took {} on average, {} {when}",
        span(now),
        span(usual)
    ))
}

/// The simplest query took longer than before.
fn simplest(incident: &Incident) -> Option<String> {
    let took = |window| measured(incident, "probe.query_us", Measure::Max, window);
    let now = took(incident.stall_window())? / 1e6;
    let (calm, when) = calm(incident);
    let usual = took(calm)? / 1e6;
    (now >= SLOW_MIN && now >= SLOW_TIMES * usual).then(|| {
        format!(
            "the simplest query took up to {}, at most {} {when}",
            span(now),
            span(usual)
        )
    })
}

/// Fewer statements are done than before.
fn fewer(incident: &Incident) -> Option<String> {
    let answered = |window| measured(incident, "status.Questions", Measure::Rate, window);
    let (calm, when) = calm(incident);
    let usual = answered(calm).filter(|usual| *usual >= RATE_MIN)?;
    let now = answered(incident.stall_window())?;
    (now <= FEWER_SHARE * usual).then(|| {
        format!(
            "{} statements a second completed, {} {when}",
            rate(now),
            rate(usual)
        )
    })
}

#[cfg(test)]
mod tests {
    use model::{OwnText, Reading, Text, TimedText, Timeline, Trigger, Unit};

    use super::*;
    use crate::testing::incident_of;

    /// A hundred seconds; from 40 to 80 s the second of each pair holds.
    fn timeline(gauges: &[(&str, [f64; 2])], questions: [f64; 2]) -> Timeline {
        let mut timeline = Timeline::default();
        let mut asked = 0.0;
        for second in 0..=100_u64 {
            // What a counter grew by in the second before, and how a level is now.
            let grown = |pair: &[f64; 2]| pair[usize::from((41..=80).contains(&second))];
            let at = |pair: &[f64; 2]| pair[usize::from((40..=80).contains(&second))];
            let readings: Vec<Reading> = gauges
                .iter()
                .map(|(name, pair)| Reading::gauge((*name).to_owned(), Unit::Count, at(pair)))
                .collect();
            timeline.push_readings("test", second * 1000, &readings);
            asked += grown(&questions);
            let reading = Reading::counter("status.Questions", Unit::Count, asked);
            timeline.push_readings("status", second * 1000, &[reading]);
        }
        timeline
    }

    #[test]
    fn how_bad_it_is_comes_first() {
        let hung = [
            ("processlist.hung", [0.0, 39.0]),
            ("processlist.hung_oldest_ms", [0.0, 23_400.0]),
            ("processlist.clients", [60.0, 60.0]),
        ];
        assert_eq!(
            client_impact(&incident_of(timeline(&hung, [400.0, 3.0]))),
            "39 of 60 clients waited for a statement to end, the longest for 23 s; 3 statements a second completed, \
             400 before."
        );
        let few = [
            ("processlist.hung", [0.0, 1.0]),
            ("processlist.hung_oldest_ms", [0.0, 1700.0]),
            ("processlist.clients", [24.0, 24.0]),
            ("processlist.in_flight", [0.04, 19.0]),
        ];
        assert_eq!(
            client_impact(&incident_of(timeline(&few, [400.0, 140.0]))),
            "A statement took 136 ms on average, less than 1 ms before; 140 statements a second completed, 400 before."
        );
        let slow = [("processlist.in_flight", [4.0, 162.0])];
        assert_eq!(
            client_impact(&incident_of(timeline(&slow, [400.0, 1157.0]))),
            "A statement took 140 ms on average, 10 ms before."
        );
        let outcomes = [ProbeOutcome::Ok.code(), ProbeOutcome::TimedOut.code()];
        let frozen = [
            ("probe.query_outcome", outcomes),
            ("probe.connect_outcome", outcomes),
        ];
        assert_eq!(
            client_impact(&incident_of(timeline(&frozen, [400.0, 400.0]))),
            "The server did not answer even the simplest query for 40 s; new connections got no answer in time."
        );
    }

    #[test]
    fn captures_tell_by_their_list_of_sessions() {
        let mut incident = incident_of(Timeline::default());
        assert_eq!(client_impact(&incident), "The input does not say.");
        let session = |user: &str, seconds: f64| Session {
            id: 1,
            user: user.to_owned(),
            host: String::new(),
            db: String::new(),
            command: "Query".to_owned(),
            seconds,
            state: String::new(),
            statement: String::new(),
        };
        let list = ProcessList {
            longest: vec![
                session("system user", 90_000.0),
                session("app", 25_904.0),
                session("app", 7.0),
                session("app", 0.0),
            ],
            ..ProcessList::default()
        };
        let body = serde_json::to_string(&list).unwrap();
        incident.texts.push(TimedText {
            at: 50_000,
            text: Text::own(OwnText::Processlist, body),
        });
        assert_eq!(
            client_impact(&incident),
            "2 clients waited for a statement to end, the longest for 7 h 11 min."
        );
    }

    #[test]
    fn a_formula_is_not_what_users_felt() {
        let mut incident = incident_of(Timeline::default());
        let trigger = |rule: &str, says: &str| Trigger {
            rule: rule.to_owned(),
            says: says.to_owned(),
        };
        incident.stall.triggers = vec![trigger("user", "Threads_running > 200 for 3s: it is 250")];
        assert_eq!(
            client_impact(&incident),
            "Unknown: one of your own triggers noticed it."
        );
        incident
            .stall
            .triggers
            .push(trigger("work-stops", "40 sessions hang (limit 2 s)"));
        assert_eq!(client_impact(&incident), "40 sessions hang.");
        incident.stall.triggers = vec![trigger(
            "system-cpu",
            "SELECT 1 takes 1.1 ms, 0.1 ms usually; the server spends 32 % of all CPUs in the kernel, \
             1 % usually (limit 25 %)",
        )];
        assert_eq!(
            client_impact(&incident),
            "The simplest query takes 1.1 ms, 0.1 ms usually."
        );
        incident.stall.triggers = vec![trigger(Stall::REQUESTED, "an incident was requested")];
        assert!(client_impact(&incident).starts_with("No stall was noticed"));
    }
}
