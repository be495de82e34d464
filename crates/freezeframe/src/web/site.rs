//! Which address is what.

use std::sync::Arc;
use std::time::Duration;

use diagnosis::Verdict;
use diagnosis::compare::{cause_in_question, settings};
use model::{Incident, Plain};
use report::served::{self, IncidentLinks, Page, Views, percent};
use store::{READ_BYTES_MAX, read_incident_within};

use super::HTML;
use super::fleet::FleetPages;
use super::for_script::ForScript;
use super::guard::{self, Refused};
use super::history::HistoryQuery;
use super::index::{Entry, Index};
use super::list;
use super::query::{Query, decoded};
use super::token::Token;
use super::workers::Workers;
use crate::listen::{Answer, Limits, Reply, Request, Site};
use crate::{causes, explain, memory};

const JSON: &str = "application/json";

/// The served view.
pub(super) struct Web {
    pub(super) token: Token,
    pub(super) index: Arc<Index>,
    pub(super) workers: Workers,
    pub(super) for_script: Arc<ForScript>,
    /// The pages of the fleet, where a store is asked.
    pub(super) fleet: Option<FleetPages>,
}

impl Site for Web {
    fn limits(&self) -> Limits {
        Limits {
            // A browser opens six at a time.
            connections: 64,
            // A large incident on a slow disk.
            making: Duration::from_secs(60),
            // A page of 3 MB through a slow line.
            answering: Duration::from_secs(60),
            // Lists are made on it.
            stack_bytes: 2 << 20,
            unsent_bytes: 32 << 20,
        }
    }

    fn answer(&mut self, request: &Request) -> Reply {
        match guard::admit(&self.token, request) {
            Ok(path) => self.route(path, request),
            Err(Refused::Foreign) => now(
                Answer::text(403, "the request comes from a page of another site"),
                request,
            ),
            Err(Refused::NoToken) => now(self.without_token(request), request),
        }
    }
}

fn now(answer: Answer, request: &Request) -> Reply {
    Reply::Now(answer.bytes(request.head_only).into())
}

fn page(page: Page) -> Answer {
    coded(200, page)
}

fn coded(code: u16, page: Page) -> Answer {
    Answer {
        policy: page.policy,
        ..Answer::new(code, HTML, page.html)
    }
}

impl Web {
    /// The parts that every page leads to.
    fn views(&self) -> Views {
        Views {
            has_fleet: self.fleet.is_some(),
        }
    }

    fn problem(&self, code: u16, title: &str, says: &str, up: &'static str) -> Answer {
        coded(code, served::problem_page(title, says, up, self.views()))
    }

    fn not_found(&self, up: &'static str) -> Answer {
        let says = "No such page or incident. It may have been deleted.";
        self.problem(404, "Not found", says, up)
    }

    fn route(&self, path: &str, request: &Request) -> Reply {
        let query = Query::parse(&request.query);
        if let Some(name) = path.strip_prefix("/static/") {
            let file = served::file(name);
            let answer = file.map(|(kind, text)| Answer::new(200, kind, text.to_owned()));
            return now(answer.unwrap_or_else(|| self.not_found("../")), request);
        }
        if let Some(id) = path.strip_prefix("/incident/") {
            return self.incident(&decoded(id, false), request);
        }
        if path == "/fleet" || path.starts_with("/fleet/") {
            return self.fleet(path, &query, request);
        }
        match path {
            "/" => now(self.list(&query), request),
            "/api/incidents" => now(self.list_json(&query), request),
            "/history" => self.history(&query, request, false),
            "/api/history" => self.history(&query, request, true),
            "/pair" => self.pair(&query, request),
            _ => now(self.not_found(up(path)), request),
        }
    }

    fn list(&self, query: &Query) -> Answer {
        match list::view(&self.index, query) {
            Ok(view) => page(served::list_page(&view, self.views())),
            Err(wrong) => self.problem(400, "Bad request", &wrong, ""),
        }
    }

    /// Without a store that is asked, how one is.
    fn fleet(&self, path: &str, query: &Query, request: &Request) -> Reply {
        let up = up(path);
        let Some(fleet) = &self.fleet else {
            let says = "This view has no fleet: start it with freezeframe web --fleet URL, or with [fleet] url in the configuration.";
            return now(self.problem(404, "No fleet", says, up), request);
        };
        let made = fleet.page(path, query, &self.index, request.head_only);
        made.unwrap_or_else(|| now(self.not_found(up), request))
    }

    fn list_json(&self, query: &Query) -> Answer {
        match list::json(&self.index, query) {
            Ok(value) => Answer::new(200, JSON, Plain::json(&format!("{value}\n")).into_string()),
            Err(wrong) => Answer::text(400, &wrong),
        }
    }

    fn history(&self, query: &Query, request: &Request, is_json: bool) -> Reply {
        let asked = match HistoryQuery::from_query(&self.index, query) {
            Ok(asked) => asked,
            Err(wrong) => {
                let answer = match is_json {
                    true => Answer::text(400, &wrong),
                    false => self.problem(400, "Bad request", &wrong, ""),
                };
                return now(answer, request);
            }
        };
        let json = |json: String| Answer::new(200, JSON, format!("{json}\n"));
        if is_json && let Some(made) = self.for_script.take(asked.stretch()) {
            return now(json(made), request);
        }
        let (index, views) = (self.index.clone(), self.views());
        let for_script = self.for_script.clone();
        self.workers.make(request.head_only, move || {
            let view = asked.view(&index);
            if is_json {
                return json(served::history_json(&view));
            }
            for_script.keep(&view);
            page(served::history_page(&view, views))
        })
    }

    fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        self.index.with(|known| known.entries.get(id).cloned())
    }

    fn incident(&self, id: &str, request: &Request) -> Reply {
        let Some(entry) = self.entry(id) else {
            return now(self.not_found("../"), request);
        };
        let ways = self.links(&entry);
        let (index, views) = (self.index.clone(), self.views());
        self.workers.make(request.head_only, move || {
            let read = index.reading(|| {
                read(&entry, READ_BYTES_MAX).map(|(incident, verdict)| {
                    served::incident_page(&incident, &verdict, &ways, views)
                })
            });
            match read {
                Ok(made) => page(made),
                Err(why) => coded(
                    500,
                    served::problem_page("Cannot be read", &why, "../", views),
                ),
            }
        })
    }

    /// Where one goes from an incident.
    fn links(&self, entry: &Entry) -> IncidentLinks {
        self.index.with(|known| {
            let own = known.of_server(&entry.server);
            let place = own.iter().position(|one| one.id == entry.id);
            let near = |step: isize| {
                let at = place?.checked_add_signed(step)?;
                own.get(at).map(|one| one.id.clone())
            };
            let before = near(-1);
            let caught = &entry.caught;
            let at = caught.summary.clock.is_known().then(|| caught.onset_ms());
            let history =
                at.and_then(|at| list::around(known, &entry.server, at, caught.length_ms()));
            IncidentLinks {
                server: entry.server.clone(),
                history: history.map(|href| format!("../{href}")),
                beside: before
                    .as_ref()
                    .map(|id| format!("../pair?id={}&id={}", percent(id), percent(&entry.id))),
                before: before.map(|id| percent(&id)),
                after: near(1).map(|id| percent(&id)),
            }
        })
    }

    fn pair(&self, query: &Query, request: &Request) -> Reply {
        let ids: Vec<&str> = query.all("id").collect();
        let [first, second] = ids[..] else {
            let says = "Tick exactly two incidents of the list.";
            let answer = self.problem(400, "Choose two incidents", says, "");
            return now(answer, request);
        };
        let (Some(first), Some(second)) = (self.entry(first), self.entry(second)) else {
            return now(self.not_found(""), request);
        };
        let (index, views) = (self.index.clone(), self.views());
        self.workers.make(request.head_only, move || {
            match index.reading(|| pair(&first, &second, views)) {
                Ok(made) => page(made),
                Err(why) => coded(500, served::problem_page("Cannot be read", &why, "", views)),
            }
        })
    }

    /// Whoever has no token may bring it: it leads to what was asked.
    fn without_token(&self, request: &Request) -> Answer {
        let query = Query::parse(&request.query);
        if request.path == "/open" && self.token.is(query.get("token")) {
            let wanted = query.get("next");
            // Only what an address of ours can be made of.
            let is_address = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
            let is_fit = wanted.starts_with('/') && wanted.bytes().all(is_address);
            let wanted = if is_fit { wanted } else { "/" };
            return Answer {
                more: format!("Location: t/{}{wanted}\r\n", self.token.text()),
                ..Answer::text(303, "see there")
            };
        }
        let wanted = match (request.path.as_str(), request.query.as_str()) {
            ("/open", _) => query.get("next").to_owned(),
            // With a token that is wrong or old: what stands behind it.
            (path, asked) => {
                let path = match path.strip_prefix("/t/") {
                    Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
                    None => path,
                };
                match asked {
                    "" => path.to_owned(),
                    asked => format!("{path}?{asked}"),
                }
            }
        };
        if request.path.contains("/api/") {
            return Answer {
                more: "WWW-Authenticate: Bearer\r\n".to_owned(),
                ..Answer::text(401, "token needed: Authorization: Bearer TOKEN")
            };
        }
        let action = format!(
            "{}open",
            "../".repeat(request.path.matches('/').count().saturating_sub(1))
        );
        Answer {
            more: "WWW-Authenticate: Bearer\r\n".to_owned(),
            ..coded(401, served::refused_page(&action, &wanted))
        }
    }
}

/// The way from a page to the list.
fn up(path: &str) -> &'static str {
    match path.matches('/').count() {
        0 | 1 => "",
        _ => "../",
    }
}

/// An incident with its verdict.
fn read(entry: &Entry, bytes_max: u64) -> Result<(Incident, Verdict), String> {
    let path = &entry.caught.path;
    memory::now_reading(path);
    let loaded = read_incident_within(path, bytes_max).map_err(|error| error.to_string())?;
    Ok(explain::judged(loaded, path))
}

fn pair(first: &Entry, second: &Entry, views: Views) -> Result<Page, String> {
    let (a, of_a) = read(first, READ_BYTES_MAX / 2)?;
    let (b, of_b) = read(second, READ_BYTES_MAX / 2)?;
    let cause = cause_in_question(&[&of_a, &of_b], causes::catalogue());
    let settings = settings(&a, &b, cause);
    let ways = [first, second].map(|entry| format!("incident/{}", percent(&entry.id)));
    Ok(served::pair_page(
        [(&a, &of_a), (&b, &of_b)],
        &settings,
        &ways,
        views,
    ))
}
