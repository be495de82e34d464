//! One chart as inline SVG.
//!
//! The drawing has no fixed width: curves live in a nested picture that is stretched, everything
//! with letters is placed in percent, so letters keep their size from a phone to a wide screen.

use crate::markup::{Markup, markup};
use model::{Incident, Millis, Window};

use crate::{
    axis::{Span, ValueAxis, time_ticks},
    curve::{Curve, Point},
    derived::FailedProbe,
    standard::Chart,
    strip::Strip,
    time_format,
};

/// Units of the stretched picture, across.
pub(crate) const WIDTH: f64 = 2000.0;
/// Units of the stretched picture, down.
pub(crate) const HEIGHT: f64 = 1000.0;
/// Height of the plot in CSS pixels.
const PLOT_PX: f64 = 128.0;
/// Height of one row of event labels in CSS pixels.
const LABEL_ROW_PX: f64 = 14.0;
/// What the label of the highest value needs above the plot, in CSS pixels.
const HALF_LETTER_PX: f64 = 7.0;
/// Height of the time axis in CSS pixels.
const TIME_AXIS_PX: f64 = 20.0;
/// The narrowest plot for which event labels are kept apart, in CSS pixels.
const NARROW_PX: f64 = 270.0;
/// Width of a letter of an event label, in CSS pixels, rounded up.
const LETTER_PX: f64 = 6.5;
/// Marks of failed probes at the most.
const FAILED_MARKS_MAX: usize = 300;

/// What all charts of an incident share: the time axis and the stall in it.
#[derive(Debug)]
pub(crate) struct ChartFrame {
    span: Span,
    /// What of the span is the incident's.
    window: Window,
    events: Vec<Event>,
    rows: usize,
    ticks: Vec<(f64, String)>,
    /// Where the stalls begin and end.
    bands: Vec<(f64, f64)>,
}

/// A labelled vertical line.
#[derive(Debug, Clone, PartialEq)]
struct Event {
    class: &'static str,
    place: f64,
    /// Whether the label stands left of its line.
    before: bool,
    row: usize,
}

impl ChartFrame {
    /// The frame of an incident's charts.
    pub(crate) fn new(incident: &Incident) -> Self {
        let (span, ticks) = (Span::from_window(incident.window), time_ticks(incident));
        Self::with(
            incident,
            incident.window,
            span,
            ticks,
            events(incident, span),
        )
    }

    /// A frame whose times count from a moment, so that it can stand beside another one's. Without events it is not
    /// about the stall.
    pub(crate) fn counted(
        incident: &Incident,
        window: Window,
        span: Span,
        has_events: bool,
    ) -> Self {
        let events = match has_events {
            true => events(incident, span),
            false => Vec::new(),
        };
        Self::with(incident, window, span, span.ticks(), events)
    }

    fn with(
        incident: &Incident,
        window: Window,
        span: Span,
        ticks: Vec<(f64, String)>,
        events: Vec<Event>,
    ) -> Self {
        let stall = (!events.is_empty()).then(|| incident.stall_window());
        Self {
            span,
            window,
            rows: events.iter().map(|event| event.row + 1).max().unwrap_or(1),
            events,
            ticks,
            bands: bands(span, stall.as_slice()),
        }
    }

    /// The frame of a stretch of a history, with the stalls in it.
    pub(crate) fn of_window(incident: &Incident, stalls: &[Window]) -> Self {
        let (span, ticks) = (Span::from_window(incident.window), time_ticks(incident));
        Self {
            bands: bands(span, stalls),
            ..Self::with(incident, incident.window, span, ticks, Vec::new())
        }
    }

    /// Where a moment lies: 0 at the begin, 1 at the end.
    pub(crate) fn x_percent(&self, at: Millis) -> f64 {
        self.span.place(at)
    }

    fn drawn_bands(&self, top: f64, height: f64) -> Markup {
        let bands = self.bands.iter().map(|(from, to)| {
            markup!(
                "<rect class=\"band\" x=\"{:.2}%\" y=\"{top}\" width=\"{:.2}%\" height=\"{height}\"/>",
                from * 100.0,
                (to - from).max(0.0) * 100.0,
                ..top,
                ..height
            )
        });
        bands.collect()
    }
}

fn bands(span: Span, stalls: &[Window]) -> Vec<(f64, f64)> {
    let place = |stall: &Window| (span.place(stall.from), span.place(stall.to));
    stalls.iter().map(place).collect()
}

fn events(incident: &Incident, span: Span) -> Vec<Event> {
    let stall = &incident.stall;
    let named = [
        ("onset", Some(stall.onset)),
        ("trigger", Some(stall.trigger)),
        ("end", stall.end),
    ];
    let mut events: Vec<Event> = Vec::new();
    let mut taken: Vec<f64> = Vec::new();
    for (class, at) in named {
        let Some(at) = at else {
            continue;
        };
        let place = span.place(at);
        let width = (class.len() as f64 * LETTER_PX + 10.0) / NARROW_PX;
        let before = if class == "onset" {
            place > width
        } else {
            place + width > 1.0
        };
        let (from, to) = if before {
            (place - width, place)
        } else {
            (place, place + width)
        };
        let row = taken
            .iter()
            .position(|end| *end <= from)
            .unwrap_or(taken.len());
        match taken.get_mut(row) {
            Some(end) => *end = to,
            None => taken.push(to),
        }
        events.push(Event {
            class,
            place,
            before,
            row,
        });
    }
    events
}

/// The chart as an SVG element; `id` must be unique on the page.
pub(crate) fn svg(incident: &Incident, frame: &ChartFrame, chart: &Chart, id: &str) -> Markup {
    let axis = value_axis(&chart.curves);
    let top = frame.rows as f64 * LABEL_ROW_PX;
    let bottom = top + PLOT_PX;
    let mut out = markup!(
        "<svg class=\"plot\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" width=\"100%\" \
         height=\"{height}\" data-top=\"{top}\" data-bottom=\"{bottom}\" data-low=\"{low}\" \
         data-high=\"{high}\" data-factor=\"{factor}\" data-suffix=\"{suffix}\">\
         <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>",
        height = bottom + TIME_AXIS_PX,
        low = axis.low,
        high = axis.high,
        factor = axis.scale.factor,
        suffix = axis.scale.short_suffix(),
        title = chart.title,
        description = describe(incident, chart),
        ..id,
        ..top,
        ..bottom
    );
    out += frame.drawn_bands(top, PLOT_PX);
    for (value, label) in &axis.ticks {
        let y = bottom - axis.place(*value) * PLOT_PX;
        out += markup!(
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"value\" x=\"-6\" y=\"{:.1}\">{}</text>",
            y + 3.5,
            label,
            ..y
        );
    }
    out += times(frame, bottom);
    out += markup!(
        "<svg class=\"curves\" y=\"{top}\" width=\"100%\" height=\"{PLOT_PX}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        ..top,
        ..PLOT_PX,
        ..WIDTH,
        ..HEIGHT
    );
    let alone = chart.curves.len() == 1;
    for (index, curve) in chart.curves.iter().enumerate().rev() {
        out += curve_paths(frame, &axis, curve, index, alone);
    }
    out += failed_marks(frame, &chart.failed);
    out += Markup::literal("</svg>");
    for event in &frame.events {
        out += event_line(event, bottom);
    }
    out += Markup::literal("</svg>");
    out
}

/// How a strip of a timeline is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StripLayout {
    /// Height of the plot in CSS pixels.
    pub(crate) plot_px: f64,
    /// Events have their names above it.
    pub(crate) has_events: bool,
    /// Times stand below it.
    pub(crate) has_times: bool,
    /// Each curve is an area down to the one below.
    pub(crate) is_stacked: bool,
}

/// A narrow chart of a timeline: the largest value alone is written at its side. What it says stands beside it in words.
pub(crate) fn strip(
    frame: &ChartFrame,
    strip: &Strip,
    axis: &ValueAxis,
    place: &StripLayout,
) -> Markup {
    let top = match place.has_events {
        true => frame.rows as f64 * LABEL_ROW_PX,
        false => HALF_LETTER_PX,
    };
    let bottom = top + place.plot_px;
    let height = bottom + if place.has_times { TIME_AXIS_PX } else { 4.0 };
    let mut out = markup!(
        "<svg class=\"strip\" aria-hidden=\"true\" width=\"100%\" height=\"{height}\">{}",
        frame.drawn_bands(top, place.plot_px),
        ..height
    );
    for (value, label) in [axis.ticks.first(), axis.ticks.last()]
        .into_iter()
        .flatten()
    {
        let y = bottom - axis.place(*value) * place.plot_px;
        out += markup!(
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"value\" x=\"-6\" y=\"{:.1}\">{}</text>",
            y + 3.5,
            label,
            ..y
        );
    }
    if place.has_times {
        out += times(frame, bottom);
    }
    out += markup!(
        "<svg class=\"curves\" y=\"{top}\" width=\"100%\" height=\"{}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\">",
        place.plot_px,
        ..top,
        ..WIDTH,
        ..HEIGHT
    );
    let has_area = place.is_stacked || strip.curves.len() == 1;
    for (index, curve) in strip.curves.iter().enumerate().rev() {
        out += curve_paths(frame, axis, curve, index, has_area);
    }
    if let Some((level, _)) = &strip.level {
        let y = ((1.0 - axis.place(*level)) * HEIGHT).round();
        out += markup!("<path class=\"level\" d=\"M0 {y}H{WIDTH}\"/>", ..y, ..WIDTH);
    }
    out += failed_marks(frame, &strip.failed);
    out += Markup::literal("</svg>");
    for event in &frame.events {
        out += match place.has_events {
            true => event_line(event, bottom),
            false => markup!(
                "<g class=\"event {}\"><line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"{bottom}\"/></g>",
                event.class,
                x = event.place * 100.0,
                ..bottom
            ),
        };
    }
    out += Markup::literal("</svg>");
    out
}

/// A picture that is [`WIDTH`] units wide and [`HEIGHT`] high, on the axis of time with the stall's moments.
pub(crate) fn rows(frame: &ChartFrame, body: Markup, plot_px: f64) -> Markup {
    let top = frame.rows as f64 * LABEL_ROW_PX;
    let bottom = top + plot_px;
    let mut out = markup!(
        "<svg class=\"heat\" aria-hidden=\"true\" width=\"100%\" height=\"{}\">{}\
         <svg class=\"curves\" y=\"{top}\" width=\"100%\" height=\"{plot_px}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\">{body}</svg>",
        bottom + TIME_AXIS_PX,
        times(frame, bottom),
        ..top,
        ..plot_px,
        ..WIDTH,
        ..HEIGHT,
        ..body
    );
    for event in &frame.events {
        out += event_line(event, bottom);
    }
    out += Markup::literal("</svg>");
    out
}

fn times(frame: &ChartFrame, bottom: f64) -> Markup {
    let mut out = Markup::new();
    for (index, (place, label)) in frame.ticks.iter().enumerate() {
        let (x, odd) = (place * 100.0, if index % 2 == 1 { " odd" } else { "" });
        out += markup!(
            "<line class=\"tick\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{bottom}\" y2=\"{}\"/>\
             <text class=\"time{odd}\" x=\"{x:.2}%\" y=\"{}\">{label}</text>",
            bottom + 4.0,
            bottom + 16.0,
            ..x,
            ..bottom,
            ..odd,
            ..label
        );
    }
    out
}

fn event_line(event: &Event, bottom: f64) -> Markup {
    let x = event.place * 100.0;
    let baseline = (event.row + 1) as f64 * LABEL_ROW_PX - 4.0;
    let (anchor, dx) = if event.before {
        ("end", -4)
    } else {
        ("start", 4)
    };
    markup!(
        "<g class=\"event {class}\"><line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{from}\" y2=\"{bottom}\"/>\
         <text x=\"{x:.2}%\" dx=\"{dx}\" y=\"{baseline}\" text-anchor=\"{anchor}\">{class}</text></g>",
        class = event.class,
        from = baseline - 8.0,
        ..x,
        ..bottom,
        ..dx,
        ..baseline,
        ..anchor
    )
}

fn value_axis(curves: &[Curve]) -> ValueAxis {
    let values = || {
        curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.value)
    };
    let quantity = curves
        .first()
        .map_or(crate::units::Quantity::Count, |curve| curve.quantity);
    ValueAxis::new(
        quantity,
        values().reduce(f64::min).unwrap_or(0.0),
        values().reduce(f64::max).unwrap_or(1.0),
    )
}

/// A curve as a path of its joined stretches, a path of its lone points, and, when it is the only
/// one (or stands on others) and begins at zero, the area below it.
fn curve_paths(
    frame: &ChartFrame,
    axis: &ValueAxis,
    curve: &Curve,
    index: usize,
    alone: bool,
) -> Markup {
    let points = curve.reduced(frame.window);
    let x = |at: Millis| (frame.span.place(at) * WIDTH).round();
    let y = |value: f64| ((1.0 - axis.place(value)) * HEIGHT).round();
    let floor = y(0.0);
    let (mut line, mut area, mut dots) = (Markup::new(), Markup::new(), Markup::new());
    for (number, stretch) in points.chunk_by(|_, next| next.joined).enumerate() {
        let Some(first) = stretch.first() else {
            continue;
        };
        if stretch.len() == 1 && first.since == first.at {
            dots += markup!("M{} {}h0", x(first.at), y(first.value));
            continue;
        }
        let path = window_path(stretch, curve.step, x, y);
        if alone && axis.low <= 0.0 {
            let begin = if curve.step { first.since } else { first.at };
            area += markup!("{path}V{floor}H{}Z", x(begin), ..path, ..floor);
        }
        if number > 0 {
            line += Markup::literal(" ");
        }
        line += path;
    }
    let mut out = Markup::new();
    for (kind, path) in [("area", area), ("line", line), ("dots", dots)] {
        if !path.is_empty() {
            out += markup!(
                "<path class=\"{kind} c{index}\" data-line=\"{index}\" d=\"{path}\"/>",
                ..kind,
                ..index,
                ..path
            );
        }
    }
    out
}

fn window_path(
    stretch: &[Point],
    step: bool,
    x: impl Fn(Millis) -> f64,
    y: impl Fn(f64) -> f64,
) -> Markup {
    let mut path = Markup::new();
    let mut pen = None;
    for point in stretch {
        let (to_x, to_y) = (x(point.at), y(point.value));
        path += match (pen, step) {
            (None, true) => markup!("M{} {to_y}H{to_x}", x(point.since), ..to_y, ..to_x),
            (None, false) => markup!("M{to_x} {to_y}", ..to_x, ..to_y),
            (Some((_, pen_y)), true) if pen_y == to_y => markup!("H{to_x}", ..to_x),
            (Some(_), true) => markup!("V{to_y}H{to_x}", ..to_y, ..to_x),
            (Some((pen_x, pen_y)), false) if pen_x == to_x && pen_y == to_y => Markup::new(),
            (Some(_), false) => markup!("L{to_x} {to_y}", ..to_x, ..to_y),
        };
        pen = Some((to_x, to_y));
    }
    path
}

fn failed_marks(frame: &ChartFrame, failed: &[FailedProbe]) -> Markup {
    let mut path = Markup::new();
    let mut last = None;
    let mut marks = 0;
    for probe in failed {
        let x = (frame.span.place(probe.at) * WIDTH).round();
        if last != Some(x) && marks < FAILED_MARKS_MAX {
            path += markup!("M{x} 0V70", ..x);
            last = Some(x);
            marks += 1;
        }
    }
    match path.is_empty() {
        true => path,
        false => markup!("<path class=\"failed\" d=\"{path}\"/>", ..path),
    }
}

/// The chart in words, for those who do not see it.
fn describe(incident: &Incident, chart: &Chart) -> String {
    let clock = |at| time_format::time_text(&incident.clock, at);
    let mut out = format!(
        "From {} to {}; onset {}, trigger {}",
        clock(incident.window.from),
        time_format::time_text_utc(&incident.clock, incident.window.to),
        clock(incident.stall.onset),
        clock(incident.stall.trigger),
    );
    if let Some(end) = incident.stall.end {
        out += &format!(", end {}", clock(end));
    }
    out.push('.');
    for curve in &chart.curves {
        if let Some(stats) = curve.stats(incident.window) {
            let say = |value| curve.quantity.to_text(value);
            out += &format!(
                " {}: least {}, mean {}, most {}.",
                curve.label,
                say(stats.min),
                say(stats.mean),
                say(stats.max),
            );
        }
    }
    if !chart.failed.is_empty() {
        out += &format!(" Probes without an answer: {}.", chart.failed.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use model::{Reading, Timeline, Unit};

    use super::*;
    use crate::testing::incident_of;

    fn drawn(values: &[(Millis, f64)]) -> String {
        let mut timeline = Timeline::default();
        for (at, value) in values {
            timeline.push_readings("s", *at, &[Reading::gauge("s.x", Unit::Count, *value)]);
        }
        let incident = incident_of(timeline);
        let curves = incident
            .timeline
            .get("s.x")
            .map(|series| Curve::from_series(&incident, series));
        let chart = Chart {
            title: "x".to_owned(),
            note: String::new(),
            curves: curves.into_iter().collect(),
            failed: Vec::new(),
        };
        svg(&incident, &ChartFrame::new(&incident), &chart, "c").into_string()
    }

    #[test]
    fn odd_values_never_reach_the_drawing() {
        for values in [
            &[][..],
            &[(1000, 5.0)],
            &[(1000, f64::NAN), (2000, f64::NAN)],
            &[(1000, 3.0), (2000, 3.0), (3000, 3.0)],
            &[(1000, -3.0), (2000, -9.0)],
            &[(1000, f64::MAX), (2000, f64::MIN), (3000, 0.0)],
            &[(1000, f64::INFINITY), (2000, 1e-300)],
        ] {
            let svg = drawn(values);
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{values:?}: {svg}"
            );
            assert!(svg.contains("class=\"event onset\""));
        }
    }

    #[test]
    fn a_lone_point_is_a_dot_and_a_hole_is_a_hole() {
        assert!(drawn(&[(50_000, 5.0)]).contains("d=\"M1000 0h0\""));
        let svg = drawn(&[(0, 1.0), (1000, 1.0), (60_000, 1.0), (61_000, 1.0)]);
        assert!(svg.contains("d=\"M0 0L20 0 M1200 0L1220 0\""), "{svg}");
    }

    #[test]
    fn labels_of_near_events_stand_in_rows() {
        let mut incident = incident_of(Timeline::default());
        incident.stall.trigger = 45_000;
        incident.stall.end = Some(48_000);
        let events = |incident: &Incident| events(incident, Span::from_window(incident.window));
        let rows: Vec<usize> = events(&incident).iter().map(|event| event.row).collect();
        assert_eq!(rows, [0, 0, 1]);
        incident.stall.end = Some(90_000);
        assert!(events(&incident).iter().all(|event| event.row == 0));
        incident.stall.onset = 0;
        incident.stall.trigger = 0;
        assert!(!events(&incident)[0].before);
        assert_eq!(events(&incident)[1].row, 1);
    }
}
