//! Pages of the fleet: its servers and when they stalled, the stalls of a time, one incident beside its relatives.
//!
//! They need no script. The map of stalls is a table with its numbers in it, so that it can be read without its colours.

mod incident;
mod map;
mod servers;
mod stalls;

pub use incident::{FleetIncident, FleetRemedy, NewStatement, Relative, fleet_incident_page};
pub use map::{MapCell, StallMap};
pub use servers::{FleetServer, Silence};
pub use stalls::{FleetStall, StallsView, fleet_stalls_page};

use super::list::select;
use super::{Files, Page, Views, bar, shell};
use crate::html::table::{self, CellKind, Table};
use crate::markup::{Markup, markup, row};
use crate::time_format;
use crate::units::Quantity;

/// Times that can be chosen: value, words.
const SINCE: [(&str, &str); 4] = [
    ("24h", "24 hours"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
];

/// What stands first among the servers.
const SORT: [(&str, &str); 3] = [
    ("stalled", "longest stalled"),
    ("silent", "longest silent"),
    ("name", "by name"),
];

/// The fleet as it is shown.
#[derive(Debug, Default)]
pub struct FleetView {
    /// How people call its store.
    pub store: String,
    /// Its servers, in their order.
    pub servers: Vec<FleetServer>,
    /// When they stalled.
    pub map: StallMap,
    /// What costs the most stall time.
    pub causes: Vec<CauseCost>,
    /// The time and the order that were chosen, as the address has them.
    pub since: String,
    /// See `since`.
    pub sort: String,
    /// What was left out, in words.
    pub problem: Option<String>,
    /// The present, milliseconds since 1970 UTC.
    pub now_ms: i64,
}

/// What a cause costs in the time that is shown.
#[derive(Debug, Clone, Default)]
pub struct CauseCost {
    /// The cause in words.
    pub title: String,
    /// Stall time by it, milliseconds.
    pub stall_ms: u64,
    /// Its share of all stall time.
    pub share: f64,
    /// How many stalls.
    pub stalls: u64,
    /// Of how many servers.
    pub servers: u64,
    /// What was tried against it.
    pub remedies: Vec<FleetRemedy>,
}

/// The page of the whole fleet.
pub fn fleet_page(view: &FleetView) -> Page {
    let problem = match &view.problem {
        Some(problem) => markup!("<p class=\"problem\" role=\"alert\">{}</p>\n", problem),
        None => Markup::new(),
    };
    let body = markup!(
        "<main><header class=\"top\"><h1>Fleet</h1><p class=\"line\">{line}</p></header>\n\
         {problem}{filters}\
         <h2 id=\"map\">Stalls by server and time</h2>\n{map}\
         <h2 id=\"causes\">What costs the most stall time</h2>\n{causes}\
         <h2 id=\"servers\">Servers</h2>\n{servers}</main>\n{foot}",
        line = line(view),
        filters = filters(view),
        map = map::section(&view.map),
        causes = causes(&view.causes),
        servers = servers::table(view),
        foot = foot(&view.store),
        ..problem
    );
    page("freezeframe: fleet", "", body)
}

/// A page of the fleet, from so far down.
fn page(title: &str, up: &'static str, body: Markup) -> Page {
    let views = Views { has_fleet: true };
    let bar = bar(up, "fleet", "", Markup::new(), views);
    Page::own(shell(title, Files::Style(up), bar, body))
}

fn foot(store: &str) -> Markup {
    markup!(
        "<footer><p>freezeframe {}. From the fleet's store {}, which is only read. All times are UTC. \
         A server that <code>fleet add</code> put there is silent since its last incident.</p></footer>\n",
        env!("CARGO_PKG_VERSION"),
        Markup::cut(store, 200)
    )
}

/// How many servers there are, and what they stalled.
fn line(view: &FleetView) -> String {
    let servers = view.servers.iter();
    let stalled: Vec<&FleetServer> = servers.filter(|server| server.stalls > 0).collect();
    let stalls: u64 = stalled.iter().map(|server| server.stalls).sum();
    let stall_ms: u64 = stalled.iter().map(|server| server.stall_ms).sum();
    let silent = view.servers.iter().filter(|server| server.is_silent());
    let all = counted(view.servers.len() as u64, "server");
    let words = SINCE.iter().find(|(value, _)| *value == view.since);
    let time = words.map_or("this time", |(_, words)| *words);
    let mut line = match stalls {
        0 => format!("{all}, none of which stalled in {time}"),
        _ => format!(
            "{all}; {} stalled in {time}: {}, {} in total",
            stalled.len(),
            counted(stalls, "stall"),
            time_format::duration(stall_ms)
        ),
    };
    line += &match silent.count() {
        0 => ".".to_owned(),
        silent => format!(". Not heard from: {silent}."),
    };
    line
}

fn filters(view: &FleetView) -> Markup {
    markup!(
        "<form class=\"filters\" method=\"get\" action=\"fleet\">\n{}{}<button>Show</button></form>\n",
        select("Time", "since", SINCE, &view.since),
        select("Order of servers", "sort", SORT, &view.sort)
    )
}

fn causes(causes: &[CauseCost]) -> Markup {
    if causes.is_empty() {
        return Markup::literal("<p class=\"none\">No stall was recorded in this time.</p>");
    }
    let columns = [
        table::column("Cause", CellKind::Text),
        table::column("Stalled", CellKind::Numbers),
        table::column("of all", CellKind::Numbers),
        table::column("Stalls", CellKind::Numbers),
        table::column("Servers", CellKind::Numbers),
        table::column("Remedy", CellKind::Text),
    ];
    let rows = causes.iter().map(|cause| {
        row![
            cause.title,
            time_format::duration(cause.stall_ms),
            Quantity::Share.to_text(cause.share),
            cause.stalls,
            cause.servers,
            incident::remedies(&cause.remedies),
        ]
    });
    Table::wide("", &columns).rows(rows, causes.len())
}

/// `1 stall`, `3 stalls`.
fn counted(count: u64, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NASTY: &str = "</script><script>alert(1)</script>\"'&\u{1b}[31m\u{202e}";

    fn server(name: &str, stalls: u64) -> FleetServer {
        FleetServer {
            name: name.to_owned(),
            version: NASTY.to_owned(),
            stalls,
            stall_ms: stalls * 30_000,
            ..FleetServer::default()
        }
    }

    #[test]
    fn the_line_counts_and_no_name_ends_a_tag() {
        let mut one = server(NASTY, 3);
        one.silence = Some(Silence {
            last_ms: Some(0),
            silent_seconds: 4000,
            lost: 2,
            absent: vec![NASTY.to_owned()],
        });
        let view = FleetView {
            store: NASTY.to_owned(),
            servers: vec![one, server("db2", 0)],
            causes: vec![CauseCost {
                title: NASTY.to_owned(),
                remedies: vec![FleetRemedy {
                    name: NASTY.to_owned(),
                    servers: 37,
                    helped: 31,
                    undecided: 3,
                }],
                ..CauseCost::default()
            }],
            since: "7d".to_owned(),
            ..FleetView::default()
        };
        let page = fleet_page(&view);
        let says =
            "2 servers; 1 stalled in 7 days: 3 stalls, 1 min 30 s in total. Not heard from: 1.";
        assert_eq!(line(&view), says);
        assert!(page.html.contains("helped on 31 of 34"), "{}", page.html);
        for harm in ["<script", "\u{1b}", "\u{202e}", " style="] {
            assert!(!page.html.contains(harm), "{harm:?}");
        }
    }
}
