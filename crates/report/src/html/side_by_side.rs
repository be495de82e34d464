//! Strips of two recordings beside each other, on the same axes: what is twice as high is twice as much, what is twice as
//! wide takes twice as long, and a state has the same colour in both.

use model::{Incident, Millis, Window};

use super::timeline;
use crate::axis::Span;
use crate::chart::ChartFrame;
use crate::markup::{Markup, markup};
use crate::strip::{self, Strip, StripScope};

/// Two stretches whose lengths differ more are not drawn on one axis of time: nothing could be seen of the shorter one.
const LENGTHS_MAX: u64 = 4;

/// One of the two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    /// What it is called beside the picture.
    pub(super) name: &'static str,
    pub(super) incident: &'a Incident,
    /// What of it is drawn.
    pub(super) window: Window,
    /// The moment that stands at the same place in both; times count from it.
    pub(super) zero: Millis,
    /// The stall is marked in it; else it is a stretch of time as any other.
    pub(super) is_stall: bool,
}

impl<'a> Side<'a> {
    /// An incident with its stall, from the onset on.
    pub(super) fn of_stall(name: &'static str, incident: &'a Incident) -> Self {
        Self {
            name,
            incident,
            window: incident.window,
            zero: incident.stall.onset,
            is_stall: true,
        }
    }

    /// A stretch of a recording, from its begin on.
    pub(super) fn of_stretch(name: &'static str, incident: &'a Incident, window: Window) -> Self {
        Self {
            name,
            incident,
            window,
            zero: window.from,
            is_stall: false,
        }
    }

    fn before(&self) -> Millis {
        self.zero.saturating_sub(self.window.from)
    }

    fn after(&self) -> Millis {
        self.window.to.saturating_sub(self.zero)
    }
}

/// The figure; nothing where neither has anything that was recorded over time.
pub(super) fn figure(sides: &[Side<'_>; 2]) -> Markup {
    let rows = strip::alike(&sides.each_ref().map(|side| StripScope {
        incident: side.incident,
        window: side.window,
        counted: match side.is_stall {
            true => side.incident.stall_window(),
            false => side.window,
        },
    }));
    if rows.is_empty() {
        return Markup::new();
    }
    let spans = spans(sides);
    let frames = [0, 1].map(|at: usize| {
        let side = &sides[at];
        ChartFrame::counted(side.incident, side.window, spans[at], side.is_stall)
    });
    let last = rows.len() - 1;
    let drawn: Markup = rows
        .iter()
        .enumerate()
        .map(|(index, pair)| row(sides, &frames, pair, index == 0, index == last))
        .collect();
    markup!(
        "<figure class=\"timeline beside\" aria-label=\"{}\">{drawn}</figure>\n",
        match spans[0] == spans[1] || sides[0].is_stall {
            true => "Both on the same axes",
            false => "Both on the same value axes; their lengths differ too much for one time axis",
        },
        ..drawn
    )
}

/// The times that both axes show: the same, unless one of two stretches would be too narrow to be read.
fn spans(sides: &[Side<'_>; 2]) -> [Span; 2] {
    let [first, second] = sides;
    let length = |side: &Side<'_>| side.before().saturating_add(side.after()).max(1);
    let (short, long) = match length(first) < length(second) {
        true => (length(first), length(second)),
        false => (length(second), length(first)),
    };
    let is_near = long <= short.saturating_mul(LENGTHS_MAX);
    let (before, after) = (
        first.before().max(second.before()),
        first.after().max(second.after()),
    );
    sides.each_ref().map(|side| match side.is_stall || is_near {
        true => Span::around(side.zero, before, after),
        false => Span::around(side.zero, side.before(), side.after()),
    })
}

fn row(
    sides: &[Side<'_>; 2],
    frames: &[ChartFrame; 2],
    pair: &[Option<Strip>; 2],
    is_first: bool,
    is_last: bool,
) -> Markup {
    let strips = || pair.iter().flatten();
    let Some(any) = strips().max_by_key(|strip| strip.curves.len()) else {
        return Markup::new();
    };
    let axis = timeline::axis(strips());
    let cell = |at: usize| {
        let side = &sides[at];
        let Some(strip) = &pair[at] else {
            return markup!(
                "<div class=\"strip\"><p><b class=\"side\">{}</b> <span>not recorded</span></p></div>",
                side.name
            );
        };
        let place = timeline::place(strip, is_first && side.is_stall, is_last);
        let says = match side.is_stall {
            true => timeline::says(side.incident, strip),
            false => timeline::mean(strip, side.window).map_or_else(String::new, |mean| {
                timeline::of_line(strip, &format!("{mean} on average"))
            }),
        };
        markup!(
            "<div class=\"strip\"><p><b class=\"side\">{}</b> <span>{}</span> {}</p>\
             <div class=\"frame\">{}</div></div>",
            side.name,
            says,
            timeline::marks(strip),
            crate::chart::strip(&frames[at], strip, &axis, &place)
        )
    };
    markup!(
        "<div class=\"row\"><p class=\"strip-title\"><b>{}</b> {}</p>{}{}</div>\n",
        any.title,
        timeline::keys(any),
        cell(0),
        cell(1)
    )
}
