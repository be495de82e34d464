//! The processlist at the worst moment beside the last one before the onset.

use crate::markup::{Markup, markup, row};
use std::collections::BTreeMap;

use model::{Incident, Millis, OrderBy, ProcessList, Session, TextKind, Window};

use super::table::{CellKind, Table, column};
use crate::{time_format, units};

/// Rows of a histogram.
const GROUPS_MAX: usize = 10;
/// Longest sessions shown.
const SESSIONS_MAX: usize = 25;
/// Processlists looked at for the worst moment, the first ones of the stall.
const LISTS_MAX: usize = 900;

struct Moment {
    at: Millis,
    list: ProcessList,
}

pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let stall = incident.stall_window();
    let worst = worst(incident, stall);
    let before = last_before(incident);
    if worst.is_none() && before.is_none() {
        return None;
    }
    let empty = ProcessList::default();
    let at_worst = worst.as_ref().map_or(&empty, |moment| &moment.list);
    let at_before = before.as_ref().map_or(&empty, |moment| &moment.list);
    let groups = [
        ("By statement", &at_before.by_class, &at_worst.by_class),
        ("By state", &at_before.by_state, &at_worst.by_state),
        ("By user", &at_before.by_user, &at_worst.by_user),
        (
            "All, by command",
            &at_before.by_command,
            &at_worst.by_command,
        ),
    ];
    let tables: Markup = groups
        .iter()
        .map(|(title, before, worst)| histogram(title, before, worst))
        .collect();
    let mut out = markup!(
        "<p>{}</p>",
        summary(incident, before.as_ref(), worst.as_ref())
    );
    out += markup!("<div class=\"histograms\">{tables}</div>", ..tables);
    if let Some(moment) = worst
        .as_ref()
        .filter(|moment| !moment.list.longest.is_empty())
    {
        out += longest(incident, moment, "Longest sessions at the worst moment");
    }
    if let Some(moment) = before
        .as_ref()
        .filter(|moment| !moment.list.longest.is_empty())
    {
        out += markup!(
            "<details><summary>Longest sessions before the onset</summary>{}</details>",
            longest(incident, moment, "Longest sessions before the onset")
        );
    }
    Some(out)
}

fn lists(incident: &Incident) -> impl DoubleEndedIterator<Item = (Millis, &str)> {
    incident
        .texts
        .iter()
        .filter(|timed| timed.text.kind() == TextKind::Processlist)
        .map(|timed| (timed.at, timed.text.body()))
}

/// The processlist of the stall with the most sessions that do something.
fn worst(incident: &Incident, stall: Window) -> Option<Moment> {
    let inside = lists(incident).filter(|(at, _)| (stall.from..=stall.to).contains(at));
    let mut worst: Option<Moment> = None;
    for (at, body) in inside.take(LISTS_MAX) {
        let Some(list) = ProcessList::from_text(body) else {
            continue;
        };
        if worst
            .as_ref()
            .is_none_or(|worst| active(&list) > active(&worst.list))
        {
            worst = Some(Moment { at, list });
        }
    }
    worst
}

fn last_before(incident: &Incident) -> Option<Moment> {
    lists(incident)
        .rev()
        .filter(|(at, _)| *at < incident.stall.onset)
        .take(LISTS_MAX)
        .find_map(|(at, body)| {
            Some(Moment {
                at,
                list: ProcessList::from_text(body)?,
            })
        })
}

/// Sessions that do something, safe against counts that do not fit a sum.
fn active(list: &ProcessList) -> u64 {
    list.by_class
        .values()
        .fold(0, |sum, count| sum.saturating_add(*count))
}

fn summary(incident: &Incident, before: Option<&Moment>, worst: Option<&Moment>) -> Markup {
    let say = |moment: &Moment, words: &str| {
        markup!(
            "{words} ({}) <b>{}</b> of {} sessions were busy",
            time_format::time_text_utc(&incident.clock, moment.at),
            units::grouped(active(&moment.list)),
            units::grouped(moment.list.sessions),
            ..words
        )
    };
    let worst = worst.map_or_else(
        || Markup::literal("No processlist could be read in the stall"),
        |moment| say(moment, "At the worst moment"),
    );
    let before = before.map_or_else(
        || Markup::literal("none was recorded before the onset"),
        |moment| say(moment, "before the onset"),
    );
    markup!("{}; {}.", worst, before)
}

fn histogram(title: &str, before: &BTreeMap<String, u64>, worst: &BTreeMap<String, u64>) -> Markup {
    let mut names: Vec<&String> = worst.keys().chain(before.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |counts: &BTreeMap<String, u64>, name: &str| counts.get(name).copied().unwrap_or(0);
    names.order_by_key(|name| std::cmp::Reverse((of(worst, name), of(before, name))));
    let most = names
        .iter()
        .map(|name| of(worst, name).max(of(before, name)))
        .max()
        .unwrap_or(0);
    let head = |markup, holds| column(Markup::literal(markup), holds);
    let columns = [
        head("<span class=\"unseen\">Name</span>", CellKind::Text),
        head("<i class=\"swatch before\"></i>before", CellKind::Numbers),
        head("<i class=\"swatch c0\"></i>worst", CellKind::Numbers),
        head("<span class=\"unseen\">Bars</span>", CellKind::Text),
    ];
    let rows = names.iter().map(|name| {
        let shown = if name.is_empty() {
            "(none)"
        } else {
            name.as_str()
        };
        row![
            shown,
            units::grouped(of(before, name)),
            units::grouped(of(worst, name)),
            bars(of(before, name), of(worst, name), most),
        ]
    });
    Table::narrow("histogram", title, &columns).rows(rows, GROUPS_MAX)
}

/// Two bars: before, and at the worst moment.
fn bars(before: u64, worst: u64, most: u64) -> Markup {
    let width = |count: u64| {
        if most == 0 {
            0.0
        } else {
            count as f64 * 100.0 / most as f64
        }
    };
    markup!(
        "<span class=\"bar before\" style=\"width:{:.1}%\"></span>\
         <span class=\"bar\" style=\"width:{:.1}%\"></span>",
        width(before),
        width(worst)
    )
}

fn longest(incident: &Incident, moment: &Moment, caption: &str) -> Markup {
    let columns = [
        column("Id", CellKind::Numbers),
        column("User", CellKind::Text),
        column("Host", CellKind::Text),
        column("Database", CellKind::Text),
        column("Command", CellKind::Text),
        column("Time", CellKind::Numbers),
        column("State", CellKind::Text),
        column("Statement", CellKind::Code),
    ];
    let row = |session: &Session| {
        row![
            session.id.to_string(),
            session.user,
            session.host,
            session.db,
            session.command,
            units::Quantity::Seconds.to_text(session.seconds),
            session.state,
            session.statement,
        ]
    };
    let caption = format!(
        "{caption}, {}",
        time_format::time_text_utc(&incident.clock, moment.at)
    );
    Table::wide(&caption, &columns).rows(moment.list.longest.iter().map(row), SESSIONS_MAX)
}
