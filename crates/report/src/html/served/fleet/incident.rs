//! One incident of the fleet beside its relatives.

use super::stalls::{FleetStall, cause, file, stalls_address, way};
use super::{counted, foot, page};
use crate::html::served::Page;
use crate::html::table::{self, CellKind, Table};
use crate::line_breaks;
use crate::markup::{Markup, Show, markup, row};
use crate::time_format;

/// Time around an incident in which the other stalls of its server are listed, milliseconds.
const AROUND_MS: i64 = 7 * 86_400_000;

/// Bytes of markup of a command at the most, about.
const COMMAND_BYTES_MAX: usize = 1_500;

/// Remedies that are told of a cause.
const REMEDIES_MAX: usize = 3;

/// An incident with what is like it.
#[derive(Debug, Default)]
pub struct FleetIncident {
    /// How people call the store.
    pub store: String,
    /// The incident.
    pub stall: FleetStall,
    /// Its name.
    pub name: String,
    /// The rule that noticed it.
    pub trigger: String,
    /// The functions that were heavier than before, the heaviest first.
    pub functions: Vec<String>,
    /// What shows all of it where its file is; empty when the store does not know where.
    pub command: String,
    /// What was tried against its cause.
    pub remedies: Vec<FleetRemedy>,
    /// The statement that was first seen shortly before.
    pub statement: Option<NewStatement>,
    /// Servers that stalled like it.
    pub relatives: Vec<Relative>,
}

/// A remedy across the fleet.
#[derive(Debug, Clone, Default)]
pub struct FleetRemedy {
    /// The change.
    pub name: String,
    /// On so many servers it was made.
    pub servers: u64,
    /// On so many of these there were at most half as many stalls after it.
    pub helped: u64,
    /// On so many of these too few stalls came, or were to be expected, to tell.
    pub undecided: u64,
}

/// A statement that was first seen shortly before a stall.
#[derive(Debug, Clone, Default)]
pub struct NewStatement {
    /// The statement without its values.
    pub text: String,
    /// How long before the stall it was first seen, milliseconds.
    pub before_ms: u64,
    /// How many statements were new.
    pub statements: u64,
}

/// A server that stalled like an incident.
#[derive(Debug, Clone, Default)]
pub struct Relative {
    /// Its most similar stall. The length is that of all similar stalls of the server.
    pub stall: FleetStall,
    /// How many similar stalls it had.
    pub stalls: u64,
    /// By what they are alike.
    pub alike: String,
    /// What was tried against the cause of the most similar one.
    pub remedies: Vec<FleetRemedy>,
}

/// Whether remedies helped, in words.
pub(super) fn remedies(remedies: &[FleetRemedy]) -> Markup {
    let told = remedies.iter().take(REMEDIES_MAX).map(|remedy| {
        let judged = remedy.servers.saturating_sub(remedy.undecided);
        match judged {
            0 => markup!(
                "{} on {}: too early to tell",
                remedy.name.cell(),
                counted(remedy.servers, "server")
            ),
            judged => markup!(
                "{} helped on {} of {}",
                remedy.name.cell(),
                remedy.helped,
                counted(judged, "server")
            ),
        }
    });
    Markup::join(told, "; ")
}

/// The page.
pub fn fleet_incident_page(view: &FleetIncident) -> Page {
    let stall = &view.stall;
    let title = match stall.title.as_str() {
        "" => format!("A stall of {}, no known cause fits", stall.server),
        title => format!("{title}, on {}", stall.server),
    };
    let body = markup!(
        "<main><header class=\"top\"><h1>{title}</h1></header>\n{head}\
         <h2 id=\"relatives\">Relatives</h2>\n{relatives}</main>\n{foot}",
        head = head(view),
        relatives = relatives(view),
        foot = foot(&view.store),
        ..title
    );
    page(&format!("freezeframe: {title}"), "../", body)
}

/// What is known of the incident itself.
fn head(view: &FleetIncident) -> Markup {
    let stall = &view.stall;
    let (from, to) = (
        stall.onset_ms.saturating_sub(AROUND_MS),
        stall.onset_ms.saturating_add(AROUND_MS),
    );
    let server = markup!(
        "{} <small><a href=\"{}\">its stalls of these days</a></small>",
        stall.server.cell(),
        stalls_address(&stall.server, from, to)
    );
    let statement = view.statement.as_ref().map_or_else(Markup::new, |new| {
        let more = match new.statements {
            0 | 1 => String::new(),
            all => format!(", one of {all} new ones"),
        };
        markup!(
            "<code>{}</code> <small>first seen {} before the stall{}</small>",
            new.text.cell(),
            time_format::duration(new.before_ms),
            more
        )
    });
    let command = match view.command.as_str() {
        "" => Markup::new(),
        command => markup!(
            "<pre class=\"command\"><code>{}</code></pre>",
            line_breaks::command(command, COMMAND_BYTES_MAX)
        ),
    };
    let when = time_format::date_second(stall.onset_ms);
    // Those of the second kind have a line of their own.
    let facts = [
        ("Server", false, server),
        ("Begin (UTC)", false, when.cell()),
        (
            "How long",
            false,
            time_format::duration(stall.length_ms).cell(),
        ),
        ("Noticed by", false, view.trigger.cell()),
        ("Incident", false, view.name.cell()),
        ("Cause", true, cause(stall)),
        ("Remedy across the fleet", true, remedies(&view.remedies)),
        ("New statement", true, statement),
        ("Heaviest functions", true, view.functions.join(", ").cell()),
        ("File", true, file(stall)),
        ("Where that file is", true, command),
    ];
    let facts: Markup = facts
        .into_iter()
        .filter(|(.., value)| !value.is_empty())
        .map(|(name, is_wide, value)| {
            let class = match is_wide {
                true => Markup::literal(" class=\"wide\""),
                false => Markup::new(),
            };
            markup!(
                "<div{class}><dt>{name}</dt><dd>{value}</dd></div>\n",
                ..class,
                ..name,
                ..value
            )
        })
        .collect();
    markup!("<dl class=\"head\">{}</dl>\n", facts)
}

/// The incident, and below it a line for each server that stalled like it.
fn relatives(view: &FleetIncident) -> Markup {
    if view.relatives.is_empty() {
        return Markup::literal(
            "<p class=\"none\">No other incident has its cause, its shape or its stacks.</p>\n",
        );
    }
    let columns = [
        table::column("Server", CellKind::Text),
        table::column("Begin (UTC)", CellKind::Text),
        table::column("Cause", CellKind::Text),
        table::column("Alike by", CellKind::Text),
        table::column("Stalls", CellKind::Numbers),
        table::column("Stalled", CellKind::Numbers),
        table::column("Remedy of its cause", CellKind::Text),
        table::column("File", CellKind::Text),
    ];
    let stall = &view.stall;
    let own = row![
        markup!("{} <small>this incident</small>", stall.server.cell()),
        time_format::date_second(stall.onset_ms),
        cause(stall),
        "",
        1_u64,
        time_format::duration(stall.length_ms),
        remedies(&view.remedies),
        file(stall),
    ];
    let others = view.relatives.iter().map(|relative| {
        let stall = &relative.stall;
        row![
            way(stall, stall.server.cell()),
            time_format::date_second(stall.onset_ms),
            cause(stall),
            relative.alike,
            relative.stalls,
            time_format::duration(stall.length_ms),
            remedies(&relative.remedies),
            file(stall),
        ]
    });
    let rows = std::iter::once(own).chain(others);
    let table = Table::wide("", &columns).rows(rows, view.relatives.len() + 1);
    markup!(
        "<p>A line for each server, with its most similar stall: the same cause counts most, then the same shape \
         (its five heaviest functions and what noticed it), then its stacks.</p>\n{}",
        table
    )
}
