//! The servers of a fleet.

use super::FleetView;
use super::stalls::stalls_address;
use crate::html::served::list::ago;
use crate::html::table::{self, CellKind, Table};
use crate::markup::{Markup, markup, row};
use crate::time_format;

/// Servers in the list at the most.
const ROWS_MAX: usize = 1_000;

/// Bytes of the list's markup at the most: 1,000 servers with usual names.
const BYTES_MAX: usize = 1 << 20;

/// A server is silent that was not heard of for longer, as the question `silent` counts it, seconds.
const SILENT_SECONDS: u64 = 300;

/// A server.
#[derive(Debug, Clone, Default)]
pub struct FleetServer {
    /// Its name.
    pub name: String,
    /// Its vendor and version.
    pub version: String,
    /// The cluster that it belongs to; may be empty.
    pub cluster: String,
    /// How often it stalled in the time that is shown.
    pub stalls: u64,
    /// How long, milliseconds.
    pub stall_ms: u64,
    /// When it stalled last in that time, milliseconds since 1970 UTC.
    pub last_stall_ms: Option<i64>,
    /// What lacks; nothing where it was heard of just now, with all evidence.
    pub silence: Option<Silence>,
}

/// A server that was not heard of just now, or lacks evidence.
#[derive(Debug, Clone, Default)]
pub struct Silence {
    /// When it was heard of last, milliseconds since 1970 UTC.
    pub last_ms: Option<i64>,
    /// How long ago that is.
    pub silent_seconds: u64,
    /// Samples and rows that its recorder lost within a day.
    pub lost: u64,
    /// Evidence that cannot be taken there.
    pub absent: Vec<String>,
}

impl FleetServer {
    /// Whether nothing was heard of it for a while.
    pub fn is_silent(&self) -> bool {
        self.silent_seconds() > SILENT_SECONDS
    }

    /// How long nothing was heard of it.
    pub fn silent_seconds(&self) -> u64 {
        self.silence
            .as_ref()
            .map_or(0, |silence| silence.silent_seconds)
    }
}

/// The list of servers.
pub(super) fn table(view: &FleetView) -> Markup {
    if view.servers.is_empty() {
        return Markup::literal(
            "<p class=\"none\">No server is in the store. Recorders with [fleet] in their configuration send to it, \
             and <code>freezeframe fleet add</code> adds recorded incidents.</p>",
        );
    }
    let has_clusters = view.servers.iter().any(|server| !server.cluster.is_empty());
    let mut columns = vec![
        table::column("Server", CellKind::Text),
        table::column("Version", CellKind::Text),
        table::column("Last heard from (UTC)", CellKind::Text),
        table::column("Stalls", CellKind::Numbers),
        table::column("Stalled", CellKind::Numbers),
        table::column("Last stall (UTC)", CellKind::Text),
        table::column("Recording", CellKind::Text),
    ];
    if has_clusters {
        columns.insert(1, table::column("Cluster", CellKind::Text));
    }
    let rows = view.servers.iter().map(|server| {
        let mut cells = one(view, server);
        if has_clusters {
            cells.insert(1, table::cell(&server.cluster));
        }
        cells
    });
    Table::wide("", &columns)
        .within(BYTES_MAX)
        .rows(rows, ROWS_MAX)
}

fn one(view: &FleetView, server: &FleetServer) -> Vec<Markup> {
    let map = &view.map;
    let name = table::cell(&server.name);
    let name = match server.stalls {
        0 => name,
        _ => markup!(
            "<a href=\"fleet/{}\">{name}</a>",
            stalls_address(&server.name, map.from_ms, map.to_ms()),
            ..name
        ),
    };
    let heard = match &server.silence {
        None => "in the last 5 min".to_owned(),
        Some(silence) => silence.last_ms.map_or_else(String::new, |at| {
            let (when, ago) = (time_format::date_second(at), ago(view.now_ms, at));
            format!("{when}, {ago}")
        }),
    };
    let stalled = match server.stalls {
        0 => String::new(),
        _ => time_format::duration(server.stall_ms),
    };
    let last = server.last_stall_ms.map(time_format::date_second);
    row![
        name,
        server.version,
        heard,
        server.stalls,
        stalled,
        last.unwrap_or_default(),
        recording(server),
    ]
}

/// Whether it is recorded, and what lacks.
fn recording(server: &FleetServer) -> Markup {
    let Some(silence) = &server.silence else {
        return Markup::literal("yes");
    };
    let state = match server.is_silent() {
        true => Markup::literal("<span class=\"badge silent\">not recording</span>"),
        false => Markup::literal("yes"),
    };
    let mut lacks = Vec::new();
    if !silence.absent.is_empty() {
        lacks.push(format!("without {}", silence.absent.join(", ")));
    }
    if silence.lost > 0 {
        lacks.push(format!("{} samples lost in a day", silence.lost));
    }
    match lacks.is_empty() {
        true => state,
        false => {
            let lacks = table::cell(&lacks.join("; "));
            markup!("{state} <small>{lacks}</small>", ..state, ..lacks)
        }
    }
}
