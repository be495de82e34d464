//! The history of hours: pictures without a script, numbers for the script that makes them move.

use model::{Incident, Millis, Window};
use serde_json::{Value, json};

use super::list::Choice;
use super::{Files, Page, Views, bar, percent, shell};
use crate::chart::{self, ChartFrame};
use crate::curve::{Curve, Point};
use crate::escape;
use crate::html::timeline;
use crate::markup::{Markup, markup};
use crate::strip::{self, Strip};
use crate::time_format;
use crate::units::Quantity;

/// Points of one line for the script, which draws on the whole width of a screen.
const POINTS_MAX: usize = 1_600;

/// Marks that are shown at the most.
const MARKS_MAX: usize = 200;

/// The shortest time that is shown, milliseconds.
const SPAN_MIN_MS: i64 = 10_000;

/// A stall within the time that is looked at.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Its begin, milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Its end; absent where none is known.
    pub to_ms: Option<i64>,
    /// The incident; absent where it was not captured.
    pub id: Option<String>,
    /// What it was.
    pub title: String,
}

impl Mark {
    /// How long it lasted, in words.
    fn length(&self) -> Option<String> {
        let length = self.to_ms?.saturating_sub(self.from_ms).max(0);
        Some(time_format::duration(length.unsigned_abs()))
    }
}

/// A stretch of a history, on a clock of its own.
#[derive(Debug)]
pub struct HistoryWindow {
    /// What was recorded. Its window is what is shown.
    pub incident: Incident,
}

/// What is looked at.
#[derive(Debug, Default)]
pub struct HistoryView {
    /// The server: its name in addresses, and for people.
    pub server: Choice,
    /// All servers with a history.
    pub servers: Vec<Choice>,
    /// The time, milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Its end.
    pub to_ms: i64,
    /// The moment that is meant.
    pub at_ms: Option<i64>,
    /// The first and the last moment that were recorded.
    pub recorded: Option<(i64, i64)>,
    /// The signals; absent where nothing was recorded in that time.
    pub stretch: Option<HistoryWindow>,
    /// The stalls.
    pub marks: Vec<Mark>,
    /// What cannot be read, or was left out, in words.
    pub problem: Option<String>,
}

impl HistoryView {
    fn span_ms(&self) -> i64 {
        self.to_ms.saturating_sub(self.from_ms).max(1)
    }

    /// The address of another time of this history.
    fn address(&self, from_ms: i64, to_ms: i64) -> String {
        format!(
            "history?server={}&from={from_ms}&to={to_ms}",
            percent(&self.server.0)
        )
    }

    /// The address of so many spans later, with a span so many times as long.
    fn moved(&self, later: f64, times: f64) -> String {
        let (from, span) = (self.from_ms as f64, self.span_ms() as f64);
        let middle = from + span / 2.0 + later * span;
        let half = (span * times).max(SPAN_MIN_MS as f64) / 2.0;
        self.address((middle - half) as i64, (middle + half) as i64)
    }

    /// What is drawn, and the titles of what was zero all the time.
    fn strips(&self) -> (Vec<(&Incident, Strip)>, Vec<&'static str>) {
        let (mut drawn, mut silent) = (Vec::new(), Vec::new());
        if let Some(stretch) = &self.stretch {
            for strip in strip::hours(&stretch.incident) {
                match strip.curves.iter().all(Curve::is_flat_zero) && strip.failed.is_empty() {
                    true => silent.push(strip.title),
                    false => drawn.push((&stretch.incident, strip)),
                }
            }
        }
        (drawn, silent)
    }
}

/// The page.
pub fn history_page(view: &HistoryView, views: Views) -> Page {
    let title = match view.server.1.as_str() {
        "" => "History".to_owned(),
        name => format!("History of {name}"),
    };
    let (strips, silent) = view.strips();
    let drawn = drawn(view, &strips);
    let body = markup!(
        "<main><header class=\"top\"><h1>{title}</h1></header>\n{tools}{problem}\
         <p id=\"said\" role=\"status\" class=\"none\">{said}</p>\n\
         <div id=\"charts\" data-server=\"{server}\" data-from=\"{from}\" data-to=\"{to}\" data-at=\"{at}\" \
         data-first=\"{first}\" data-last=\"{last}\">{drawn}</div>\n\
         <small id=\"keys\" hidden>Drag to zoom in, double-click to zoom out, click for a moment; \
         with a chart focused, ← and → move, + and − zoom.</small>\n\
         <p class=\"none\" id=\"silent\">{silent}</p>\n\
         <section id=\"stalls\">{stalls}</section>\n{numbers}</main>\n\
         <footer><p>All times are UTC. A line shows the smallest and largest value of each interval, so no peak is lost. Charts: <a href=\"static/uplot-licence.txt\">uPlot</a>. \
         The same as JSON: <a href=\"api/{api}\">api/history</a>.</p></footer>\n",
        tools = tools(view),
        problem = match &view.problem {
            Some(problem) => markup!("<p class=\"problem\" role=\"alert\">{}</p>\n", problem),
            None => Markup::new(),
        },
        said = said(view, view.stretch.is_none()),
        server = view.server.0,
        from = view.from_ms,
        to = view.to_ms,
        at = view.at_ms.map_or_else(String::new, |at| at.to_string()),
        first = view.recorded.map_or(0, |(first, _)| first),
        last = view.recorded.map_or(0, |(_, last)| last),
        silent = told_silent(&silent),
        stalls = stalls(&view.marks),
        numbers = numbers(&strips),
        api = view.address(view.from_ms, view.to_ms),
        ..title,
        ..drawn
    );
    Page::own(shell(
        &format!("freezeframe: {title}"),
        Files::All,
        bar("", "history", "", Markup::new(), views),
        body,
    ))
}

/// The same for programs, and for the page's script.
pub fn history_json(view: &HistoryView) -> String {
    let (strips, silent) = view.strips();
    let told = strips.iter().map(|(incident, strip)| {
        let clock = |at: Millis| incident.clock.wall_ms(at) as f64 / 1000.0;
        json!({
            "title": strip.title,
            "says": says(incident, strip),
            "unit": unit(strip),
            "stacked": strip.is_stacked,
            "level": strip.level.as_ref().map(|(level, name)| json!({"value": level, "name": name})),
            "failed": strip.failed.iter().map(|probe| clock(probe.at)).take(POINTS_MAX).collect::<Vec<_>>(),
            "lines": strip.curves.iter().map(|curve| line(incident, curve)).collect::<Vec<_>>(),
        })
    });
    let told: Vec<Value> = told.collect();
    let value = json!({
        "server": view.server.0,
        "name": view.server.1,
        "from_ms": view.from_ms,
        "to_ms": view.to_ms,
        "recorded_ms": view.recorded.map(|(first, last)| [first, last]),
        "says": said(view, view.stretch.is_none()),
        "problem": view.problem,
        "stalls": view.marks.iter().take(MARKS_MAX).map(|mark| json!({
            "from_ms": mark.from_ms, "to_ms": mark.to_ms, "incident": mark.id, "title": escape::terminal(&mark.title),
            "lasts": mark.length(),
        })).collect::<Vec<_>>(),
        "silent": told_silent(&silent),
        "charts": told,
    });
    escape::json(&value.to_string())
}

/// A line: seconds since 1970, values; a value that is null is a gap.
fn line(incident: &Incident, curve: &Curve) -> Value {
    let points = curve.reduced_to(incident.window, POINTS_MAX);
    let mut times: Vec<f64> = Vec::with_capacity(points.len());
    let mut values: Vec<Option<f64>> = Vec::with_capacity(points.len());
    let seconds = |at: Millis| incident.clock.wall_ms(at) as f64 / 1000.0;
    let mut last: Option<&Point> = None;
    for point in &points {
        if let Some(last) = last.filter(|_| !point.joined) {
            // On both sides, so that no moment within it has the value of its edge.
            times.extend([
                seconds(last.at) + 0.001,
                seconds(point.since.max(last.at + 2)) - 0.001,
            ]);
            values.extend([None, None]);
        }
        times.push(seconds(point.at));
        values.push(Some(point.value));
        last = Some(point);
    }
    json!({"label": escape::terminal(&curve.label), "signals": curve.signals, "steps": curve.step, "t": times, "v": values})
}

fn unit(strip: &Strip) -> &'static str {
    match strip.curves.first().map(|curve| curve.quantity) {
        Some(Quantity::Seconds | Quantity::SecondsPerSecond) => "seconds",
        Some(Quantity::Share) => "share",
        Some(Quantity::Bytes | Quantity::BytesPerSecond) => "bytes",
        Some(Quantity::PerSecond) => "per second",
        _ => "count",
    }
}

/// The mean and the most, in words.
fn says(incident: &Incident, strip: &Strip) -> String {
    let curve = match strip.is_stacked {
        true => strip.curves.last(),
        false => strip.curves.first(),
    };
    let stats = curve.and_then(|curve| Some((curve, curve.stats(incident.window)?)));
    stats.map_or_else(String::new, |(curve, stats)| {
        let say = |value| curve.quantity.to_short_text(value);
        let numbers = format!("{} on average, at most {}", say(stats.mean), say(stats.max));
        timeline::of_line(strip, &numbers)
    })
}

fn told_silent(silent: &[&str]) -> String {
    match silent.is_empty() {
        true => String::new(),
        false => format!("Recorded, but always zero: {}.", silent.join(", ")),
    }
}

/// What time is shown.
fn said(view: &HistoryView, is_empty: bool) -> String {
    if view.server.0.is_empty() {
        return "No history here: a recorder writes one unless it is started with --no-history."
            .to_owned();
    }
    let time = format!(
        "{} to {} UTC, {}",
        time_format::date_second(view.from_ms),
        time_format::date_second(view.to_ms),
        time_format::duration(view.span_ms().unsigned_abs())
    );
    match (is_empty, view.recorded) {
        (false, _) => time,
        (true, Some((first, last))) => format!(
            "{time}: nothing was recorded. The history is from {} to {}.",
            time_format::date_second(first),
            time_format::date_second(last)
        ),
        (true, None) => format!("{time}: nothing was recorded yet."),
    }
}

/// Ways to another time, all of them links and forms.
fn tools(view: &HistoryView) -> Markup {
    if view.server.0.is_empty() {
        return Markup::new();
    }
    let link = |href: String, id: &'static str, text: &'static str| {
        markup!(
            "<a class=\"button\" id=\"{}\" href=\"{}\">{}</a>\n",
            id,
            href,
            text
        )
    };
    let last = view.recorded.map_or(view.to_ms, |(_, last)| last);
    let spans: Markup = [
        (15 * 60_000, "last 15 min"),
        (3_600_000, "1 h"),
        (6 * 3_600_000, "6 h"),
        (24 * 3_600_000, "24 h"),
    ]
    .into_iter()
    .map(|(span, text)| {
        markup!(
            "<a class=\"button\" href=\"{}\">{}</a>\n",
            view.address(last - span, last),
            text
        )
    })
    .collect();
    let servers = match view.servers.len() {
        0 | 1 => markup!(
            "<input type=\"hidden\" name=\"server\" value=\"{}\">",
            view.server.0
        ),
        _ => super::list::select("Server", "server", view.servers.clone(), &view.server.0),
    };
    markup!(
        "<div class=\"tools\">{}{}{}{}<span class=\"gap\"></span>{spans}<span class=\"gap\"></span>\
         <form method=\"get\" action=\"history\">{servers}\
         <label>from <input name=\"from\" value=\"{}\" spellcheck=\"false\"></label>\n\
         <label>to <input name=\"to\" value=\"{}\" spellcheck=\"false\"></label>\n\
         <button>Go</button></form>\
         <button type=\"button\" id=\"copy\" hidden>Copy link</button></div>\n",
        link(view.moved(-0.5, 1.0), "earlier", "← earlier"),
        link(view.moved(0.5, 1.0), "later", "later →"),
        link(view.moved(0.0, 0.4), "in", "zoom in"),
        link(view.moved(0.0, 2.5), "out", "zoom out"),
        time_format::date_second(view.from_ms),
        time_format::date_second(view.to_ms),
        ..spans,
        ..servers
    )
}

/// The pictures without a script.
fn drawn(view: &HistoryView, strips: &[(&Incident, Strip)]) -> Markup {
    let Some((incident, _)) = strips.first() else {
        return Markup::new();
    };
    let zero = incident.clock.wall_at_zero_ms;
    let own = |wall: i64| u64::try_from(wall.saturating_sub(zero)).unwrap_or(0);
    let stalls: Vec<Window> = view
        .marks
        .iter()
        .take(MARKS_MAX)
        .map(|mark| Window {
            from: own(mark.from_ms),
            to: own(mark.to_ms.unwrap_or(mark.from_ms)),
        })
        .collect();
    let frame = ChartFrame::of_window(incident, &stalls);
    let rows: Markup = strips
        .iter()
        .map(|(incident, strip)| {
            markup!(
                "<div class=\"strip\"><p><b>{}</b> <span>{}</span> {}{}</p><div class=\"frame\">{}</div></div>\n",
                strip.title,
                says(incident, strip),
                timeline::keys(strip),
                timeline::marks(strip),
                chart::strip(
                    &frame,
                    strip,
                    &timeline::axis([strip]),
                    &timeline::place(strip, false, true)
                )
            )
        })
        .collect();
    markup!(
        "<figure class=\"timeline\" aria-label=\"Signals over time; the numbers stand below\">{}</figure>\n",
        rows
    )
}

fn stalls(marks: &[Mark]) -> Markup {
    if marks.is_empty() {
        return Markup::literal(
            "<h2>Stalls in this time</h2><p class=\"none\">None was noticed.</p>",
        );
    }
    let rows: Markup = marks
        .iter()
        .take(MARKS_MAX)
        .map(|mark| {
            let length = mark.length().unwrap_or_else(|| "end unknown".to_owned());
            let what = match &mark.id {
                Some(id) => markup!("<a href=\"incident/{}\">{}</a>", percent(id), mark.title),
                None => markup!("{} <span class=\"badge\">not captured</span>", mark.title),
            };
            markup!(
                "<li><time datetime=\"{}\">{}</time>, {}: {}</li>\n",
                time_format::rfc3339(mark.from_ms),
                time_format::date_second(mark.from_ms),
                length,
                what
            )
        })
        .collect();
    markup!(
        "<h2>Stalls in this time</h2><ul class=\"stalls\">{rows}</ul>\n",
        ..rows
    )
}

/// Each line in numbers, for those who do not see it.
fn numbers(strips: &[(&Incident, Strip)]) -> Markup {
    let rows: Markup = strips
        .iter()
        .flat_map(|(incident, strip)| strip.curves.iter().map(move |curve| (incident, strip, curve)))
        .filter_map(|(incident, strip, curve)| {
            let stats = curve.stats(incident.window)?;
            let say = |value| curve.quantity.to_text(value);
            let most = curve.points.iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
            Some(markup!(
                "<tr><th scope=\"row\">{}: {}</th><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td>{}</td></tr>\n",
                strip.title,
                curve.label,
                say(stats.min),
                say(stats.mean),
                say(stats.max),
                time_format::time_text_utc(&incident.clock, most.at)
            ))
        })
        .collect();
    if rows.is_empty() {
        return rows;
    }
    markup!(
        "<details class=\"numbers-table\"><summary>The same in numbers</summary><table><thead><tr>\
         <th scope=\"col\">Line</th><th scope=\"col\" class=\"number\">least</th>\
         <th scope=\"col\" class=\"number\">mean</th><th scope=\"col\" class=\"number\">most</th>\
         <th scope=\"col\">when</th></tr></thead><tbody>{rows}</tbody></table></details>\n",
        ..rows
    )
}
