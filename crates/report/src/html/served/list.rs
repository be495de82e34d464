//! The list of incidents.

use diagnosis::Level;

use super::{Files, Page, Views, bar, percent, shell};
use crate::html::head::badge;
use crate::markup::{Markup, Show, markup};
use crate::time_format;

/// Bytes of markup of one text in a row at the most, about.
const TEXT_BYTES_MAX: usize = 600;

/// An incident in the list, or a stall that was noticed and not captured.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name in the view; absent where there is nothing to open.
    pub id: Option<String>,
    /// The server, as it is called in the view.
    pub server: String,
    /// Its begin, milliseconds since 1970 UTC; absent where no time is told.
    pub onset_ms: Option<i64>,
    /// How long it lasted; absent where its end is not known.
    pub length_ms: Option<u64>,
    /// What is known of it.
    pub state: RowState,
    /// What users felt.
    pub felt: String,
    /// Where what is searched for was found, if it is none of the above.
    pub found: Option<String>,
    /// The history around it.
    pub history: Option<String>,
}

/// What is known of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowState {
    /// It is not judged yet.
    Waiting,
    /// Why it cannot be read.
    Unreadable(String),
    /// No known cause fits.
    Unknown,
    /// The title of its first finding, and how sure.
    Cause(String, Level),
    /// It was not captured; the cause that was named, if any.
    NotCaptured(Option<String>),
}

/// Something that can be chosen: value, words.
pub type Choice = (String, String);

/// What the list is narrowed by, as it was asked.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// Words that are searched for.
    pub q: String,
    /// A server.
    pub server: String,
    /// A cause.
    pub cause: String,
    /// Not older than this.
    pub since: String,
    /// Not shorter than this.
    pub longer: String,
    /// What stands first.
    pub sort: String,
}

/// The list as it is shown.
#[derive(Debug, Default)]
pub struct ListView {
    /// The rows that are wanted, as far as they are shown.
    pub rows: Vec<Row>,
    /// How many are wanted.
    pub wanted: usize,
    /// How many incidents there are.
    pub all: usize,
    /// How many of them are not judged yet.
    pub waiting: usize,
    /// What cannot be read, in words.
    pub problems: Vec<String>,
    /// Servers to choose from.
    pub servers: Vec<Choice>,
    /// Causes to choose from.
    pub causes: Vec<Choice>,
    /// What was asked.
    pub filters: Filters,
    /// The present, milliseconds since 1970 UTC.
    pub now_ms: i64,
}

const SINCE: [(&str, &str); 5] = [
    ("", "any time"),
    ("1h", "the last hour"),
    ("24h", "24 hours"),
    ("7d", "7 days"),
    ("30d", "30 days"),
];
const LONGER: [(&str, &str); 5] = [
    ("", "any length"),
    ("5s", "5 s or longer"),
    ("30s", "30 s or longer"),
    ("2m", "2 min or longer"),
    ("10m", "10 min or longer"),
];
const SORT: [(&str, &str); 5] = [
    ("time", "latest first"),
    ("length", "longest first"),
    ("level", "most certain first"),
    ("cause", "by cause"),
    ("server", "by server"),
];

/// The page.
pub fn list_page(view: &ListView, views: Views) -> Page {
    let body = markup!(
        "<main><header class=\"top\"><h1>Incidents</h1><p class=\"line\">{line}</p></header>\n\
         {problems}{filters}{rows}</main>\n\
         <footer><p>freezeframe {version}. All times are UTC. Statements have no literals. \
         Only files are read; the server is not queried. Charts: \
         <a href=\"static/uplot-licence.txt\">uPlot</a>.</p></footer>\n",
        line = line(view),
        problems = problems(&view.problems),
        filters = filters(view),
        rows = rows(view),
        version = env!("CARGO_PKG_VERSION"),
    );
    Page::own(shell(
        "freezeframe: incidents",
        Files::All,
        bar("", "list", "", Markup::new(), views),
        body,
    ))
}

fn problems(problems: &[String]) -> Markup {
    let told = problems
        .iter()
        .map(|problem| markup!("<p class=\"problem\" role=\"alert\">{}</p>\n", problem));
    told.collect()
}

/// How many there are, and when the last one was.
fn line(view: &ListView) -> String {
    let is_filtered = view.wanted != view.all;
    let count = |count: usize, of: &str| match count {
        1 => format!("1 {of}"),
        _ => format!("{count} {of}s"),
    };
    let all = count(view.all, "incident");
    let mut line = match is_filtered {
        true => format!("{} of {all}", view.wanted),
        false => all,
    };
    if !is_filtered && view.servers.len() > 1 {
        line += &format!(" of {}", count(view.servers.len(), "server"));
    }
    let onsets = view.rows.iter().filter_map(|row| row.onset_ms);
    if let Some(last) = onsets.max() {
        line += &format!("; the latest {}", ago(view.now_ms, last));
    }
    if view.waiting > 0 {
        line += &format!(". {} not read yet: load again", view.waiting);
    }
    line + "."
}

/// `3 h ago`, as exactly as people need it.
pub(super) fn ago(now_ms: i64, at_ms: i64) -> String {
    let seconds = now_ms.saturating_sub(at_ms).max(0) / 1000;
    let (number, unit) = match seconds {
        0..120 => (seconds, "s"),
        120..7200 => (seconds / 60, "min"),
        7200..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{number} {unit} ago")
}

/// A choice as a list that opens.
pub(super) fn select<T: AsRef<str>, W: AsRef<str>>(
    label: &'static str,
    name: &'static str,
    choices: impl IntoIterator<Item = (T, W)>,
    chosen: &str,
) -> Markup {
    let options: Markup = choices
        .into_iter()
        .map(|(value, words)| {
            let is_chosen = match value.as_ref() == chosen {
                true => Markup::literal(" selected"),
                false => Markup::new(),
            };
            markup!(
                "<option value=\"{}\"{}>{}</option>",
                value.as_ref(),
                is_chosen,
                words.as_ref()
            )
        })
        .collect();
    markup!(
        "<label>{label} <select name=\"{name}\">{options}</select></label>\n",
        ..label,
        ..name,
        ..options
    )
}

fn filters(view: &ListView) -> Markup {
    let filters = &view.filters;
    let with_all = |all: &'static str, choices: &[Choice]| {
        let mut options = vec![(String::new(), all.to_owned())];
        options.extend_from_slice(choices);
        options
    };
    let mut selects = Markup::new();
    if view.servers.len() > 1 {
        let servers = with_all("all", &view.servers);
        selects += select("Server", "server", servers, &filters.server);
    }
    let causes = with_all("any", &view.causes);
    selects += select("Cause", "cause", causes, &filters.cause);
    selects += select("Since", "since", SINCE, &filters.since);
    selects += select("Length", "longer", LONGER, &filters.longer);
    selects += select("Order", "sort", SORT, &filters.sort);
    markup!(
        "<form class=\"filters\" method=\"get\" action=\"./\" role=\"search\">\n\
         <label class=\"search\">Search <input type=\"search\" name=\"q\" value=\"{}\" \
         placeholder=\"cause, statement, table, user\"></label>\n{}<button>Show</button> \
         <a href=\"./\">Reset</a></form>\n",
        filters.q,
        selects
    )
}

fn rows(view: &ListView) -> Markup {
    if view.rows.is_empty() {
        let says = match view.all {
            0 if !view.problems.is_empty() => "No incident here can be read: see above.",
            0 => "No stall was captured yet. A recorder writes one here for each stall.",
            _ => "No incident fits this search. Reset shows all.",
        };
        return markup!("<p class=\"none\">{}</p>", says);
    }
    let rows: Markup = view.rows.iter().map(|row| one(view, row)).collect();
    let more = match view.wanted.saturating_sub(view.rows.len()) {
        0 => Markup::new(),
        more => markup!(
            "<p class=\"none\">{} more not shown: narrow the search above.</p>",
            more
        ),
    };
    markup!(
        "<form method=\"get\" action=\"pair\" id=\"choose\">\n<table class=\"incidents\">\
         <caption class=\"unseen\">Incidents</caption><thead><tr>\
         <th scope=\"col\"><span class=\"unseen\">Compare</span></th><th scope=\"col\">When (UTC)</th>\
         <th scope=\"col\">How long</th><th scope=\"col\">Cause, and effect on users</th></tr></thead>\n\
         <tbody>{rows}</tbody></table>\n{more}\
         <p class=\"compare\"><button>Compare the two ticked</button></p></form>\n",
        ..rows,
        ..more
    )
}

fn one(view: &ListView, row: &Row) -> Markup {
    let when = match row.onset_ms {
        Some(at) => markup!(
            "<time datetime=\"{}\">{}</time> <small>{}</small>",
            time_format::rfc3339(at),
            time_format::date_second(at),
            ago(view.now_ms, at)
        ),
        None => Markup::literal("unknown time"),
    };
    let length = match (row.length_ms, row.onset_ms) {
        (Some(ms), _) => time_format::duration(ms),
        (None, Some(_)) => "end unknown".to_owned(),
        (None, None) => String::new(),
    };
    let what = what(row);
    let tick = match &row.id {
        Some(id) => markup!(
            "<input type=\"checkbox\" name=\"id\" value=\"{}\" aria-label=\"Compare the one of {}\">",
            id,
            row.onset_ms
                .map_or_else(String::new, time_format::date_second)
        ),
        None => Markup::new(),
    };
    let server = match view.servers.len() {
        0 | 1 => Markup::new(),
        _ => markup!("<span class=\"where\">{}</span> ", row.server),
    };
    let found = match &row.found {
        Some(found) => markup!(
            "<p class=\"found\">found in {}</p>",
            Markup::cut(found, TEXT_BYTES_MAX)
        ),
        None => Markup::new(),
    };
    let history = match &row.history {
        Some(href) => markup!(" <a class=\"more\" href=\"{}\">history</a>", href),
        None => Markup::new(),
    };
    markup!(
        "<tr><td class=\"tick\">{tick}</td><td class=\"when\">{when}</td><td class=\"long\">{length}</td>\
         <td class=\"what\"><p>{server}{what}{history}</p><p class=\"felt\">{felt}</p>{found}</td></tr>\n",
        felt = Markup::cut(&row.felt, TEXT_BYTES_MAX),
        ..tick,
        ..when,
        ..length,
        ..server,
        ..what,
        ..history,
        ..found
    )
}

fn what(row: &Row) -> Markup {
    let (title, more) = match &row.state {
        RowState::Waiting => (markup!("{}", "not read yet"), Markup::new()),
        RowState::Unreadable(why) => (
            markup!("{}", "the file cannot be read"),
            markup!(" <small>{}</small>", Markup::cut(why, TEXT_BYTES_MAX)),
        ),
        RowState::Unknown => (markup!("{}", "no known cause fits"), Markup::new()),
        RowState::Cause(title, level) => (title.cell(), markup!(" {}", badge(*level))),
        RowState::NotCaptured(cause) => (
            match cause {
                Some(cause) => cause.cell(),
                None => markup!("{}", "noticed, not captured"),
            },
            match cause {
                Some(_) => Markup::literal(" <span class=\"badge\">not captured</span>"),
                None => Markup::new(),
            },
        ),
    };
    match &row.id {
        Some(id) => markup!(
            "<a href=\"incident/{}\">{title}</a>{more}",
            percent(id),
            ..title,
            ..more
        ),
        None => markup!("{title}{more}", ..title, ..more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_not_called_none() {
        let mut view = ListView::default();
        assert!(
            rows(&view)
                .into_string()
                .contains("No stall was captured yet")
        );
        view.problems = vec!["a.frame: Permission denied".to_owned()];
        let page = rows(&view).into_string();
        assert!(page.contains("can be read: see above"), "{page}");
        view.all = 3;
        assert!(
            rows(&view)
                .into_string()
                .contains("No incident fits this search")
        );
    }
}
