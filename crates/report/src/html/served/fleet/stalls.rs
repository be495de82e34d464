//! The stalls of a time, of one server or of all.

use diagnosis::Level;

use super::{counted, foot, page};
use crate::html::head::badge;
use crate::html::served::{Page, percent};
use crate::html::table::{self, CellKind, Table};
use crate::markup::{Markup, Show, markup, row};
use crate::time_format;

/// An incident of the fleet.
#[derive(Debug, Clone, Default)]
pub struct FleetStall {
    /// Its identity in the store.
    pub id: String,
    /// Its server.
    pub server: String,
    /// Its begin, milliseconds since 1970 UTC.
    pub onset_ms: i64,
    /// How long it lasted.
    pub length_ms: u64,
    /// The cause in words; empty when none was found.
    pub title: String,
    /// How sure it is.
    pub level: Option<Level>,
    /// Its name in this view, where its file is in one of the directories.
    pub own: Option<String>,
    /// Where its file is; empty when the store does not know.
    pub frame: String,
}

/// The stalls that were asked for.
#[derive(Debug, Default)]
pub struct StallsView {
    /// How people call the store.
    pub store: String,
    /// The server; empty for all.
    pub server: String,
    /// The time, milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Its end.
    pub to_ms: i64,
    /// The stalls, the latest first.
    pub stalls: Vec<FleetStall>,
    /// Whether there may be more than these.
    pub is_cut: bool,
}

/// The address of the stalls of a server, from within the fleet's pages.
pub(super) fn stalls_address(server: &str, from_ms: i64, to_ms: i64) -> String {
    format!(
        "stalls?server={}&from={from_ms}&to={to_ms}",
        percent(server)
    )
}

/// The cause, and how sure it is.
pub(super) fn cause(stall: &FleetStall) -> Markup {
    if stall.title.is_empty() {
        return Markup::literal("no known cause fits");
    }
    let level = stall.level.map_or_else(Markup::new, badge);
    markup!("{} {}", stall.title.cell(), level)
}

/// A way to what was recorded: the page of the incident where its file is here, else where the file is.
pub(super) fn file(stall: &FleetStall) -> Markup {
    match &stall.own {
        Some(id) => markup!("<a href=\"../incident/{}\">its page</a>", percent(id)),
        None if stall.frame.is_empty() => Markup::new(),
        None => markup!("<code>{}</code>", stall.frame.cell()),
    }
}

/// The page of an incident beside its relatives, from within the fleet's pages.
pub(super) fn way(stall: &FleetStall, words: Markup) -> Markup {
    markup!(
        "<a href=\"incident?id={}\">{words}</a>",
        percent(&stall.id),
        ..words
    )
}

/// The page.
pub fn fleet_stalls_page(view: &StallsView) -> Page {
    let title = match view.server.as_str() {
        "" => "Stalls of all servers".to_owned(),
        server => format!("Stalls of {server}"),
    };
    let more = match view.is_cut {
        true => {
            Markup::literal("<p class=\"none\">There may be more: only the latest are shown.</p>\n")
        }
        false => Markup::new(),
    };
    let body = markup!(
        "<main><header class=\"top\"><h1>{title}</h1><p class=\"line\">{}, {} to {}.</p></header>\n\
         <p><a href=\"../fleet\">The whole fleet</a></p>\n{}{more}</main>\n{}",
        counted(view.stalls.len() as u64, "stall"),
        time_format::date_second(view.from_ms),
        time_format::date_second(view.to_ms),
        list(&view.stalls),
        foot(&view.store),
        ..title,
        ..more
    );
    page(&format!("freezeframe: {title}"), "../", body)
}

fn list(stalls: &[FleetStall]) -> Markup {
    if stalls.is_empty() {
        return Markup::literal(
            "<p class=\"none\">No incident is in the store from that time.</p>\n",
        );
    }
    let columns = [
        table::column("When (UTC)", CellKind::Text),
        table::column("How long", CellKind::Numbers),
        table::column("Server", CellKind::Text),
        table::column("Cause", CellKind::Text),
        table::column("File", CellKind::Text),
    ];
    let rows = stalls.iter().map(|stall| {
        let when = time_format::date_second(stall.onset_ms);
        row![
            way(stall, when.cell()),
            time_format::duration(stall.length_ms),
            stall.server,
            cause(stall),
            file(stall),
        ]
    });
    Table::wide("", &columns).rows(rows, stalls.len())
}
