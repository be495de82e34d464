//! A curve as one line of block characters.

use model::{Incident, Millis};

use crate::{axis::time_percent, curve::Curve};

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A curve in `cells` characters: the largest value of each stretch of time, from zero (or the
/// smallest value below it) to the largest; blank where there is no evidence.
pub(crate) fn line(incident: &Incident, curve: &Curve, cells: usize) -> String {
    let mut peaks: Vec<Option<f64>> = vec![None; cells];
    let mut last: Millis = incident.window.from;
    for point in &curve.points {
        let begin = match (curve.step, point.joined) {
            (true, _) => point.since,
            (false, true) => last,
            (false, false) => point.at,
        };
        last = point.at;
        let from = cell(incident, begin, cells)
            + usize::from(begin < point.at && !starts_cell(incident, begin, cells));
        let to = cell(incident, point.at, cells);
        for peak in peaks.iter_mut().take(to + 1).skip(from.min(to)) {
            *peak = Some(peak.map_or(point.value, |peak| peak.max(point.value)));
        }
    }
    let values = || peaks.iter().flatten().copied();
    let low = values().fold(0.0, f64::min);
    let span = values().fold(low, f64::max) - low;
    peaks
        .iter()
        .map(|peak| match peak {
            None => ' ',
            Some(value) if span > 0.0 => {
                let level = ((value - low) / span * BLOCKS.len() as f64).ceil() as usize;
                BLOCKS.get(level.saturating_sub(1)).copied().unwrap_or('█')
            }
            Some(_) => '▁',
        })
        .collect()
}

/// The line that marks onset (O), trigger (T) and end (E) below the curves. Marks of one cell
/// stand beside each other.
pub(crate) fn markers(incident: &Incident, cells: usize) -> String {
    let mut marks = vec![' '; cells];
    let stall = &incident.stall;
    for (mark, at) in [
        ('O', Some(stall.onset)),
        ('T', Some(stall.trigger)),
        ('E', stall.end),
    ] {
        let Some(at) = at else {
            continue;
        };
        let from = cell(incident, at, cells);
        let free = (from..cells)
            .chain((0..from).rev())
            .find(|index| marks.get(*index) == Some(&' '));
        if let Some(place) = free.and_then(|index| marks.get_mut(index)) {
            *place = mark;
        }
    }
    marks.into_iter().collect::<String>().trim_end().to_owned()
}

fn cell(incident: &Incident, at: Millis, cells: usize) -> usize {
    ((time_percent(incident, at) * cells as f64) as usize).min(cells.saturating_sub(1))
}

/// Whether a moment is the very begin of a cell: a rate since then is about that cell too.
fn starts_cell(incident: &Incident, at: Millis, cells: usize) -> bool {
    let place = time_percent(incident, at) * cells as f64;
    place - place.floor() < 0.5
}

#[cfg(test)]
mod tests {
    use model::{Reading, Timeline, Unit};

    use super::*;
    use crate::testing::incident_of;

    #[test]
    fn peaks_and_holes_show() {
        let mut timeline = Timeline::default();
        for second in (0..=100).filter(|second| !(60..80).contains(second)) {
            let value = if second == 45 { 100.0 } else { 1.0 };
            timeline.push_readings(
                "s",
                second * 1000,
                &[Reading::gauge("s.x", Unit::Count, value)],
            );
        }
        let incident = incident_of(timeline);
        let curve = Curve::from_series(&incident, incident.timeline.get("s.x").unwrap());
        assert_eq!(line(&incident, &curve, 10), "▁▁▁▁█▁  ▁▁");
        assert_eq!(markers(&incident, 10), "    OT  E");
    }

    #[test]
    fn nothing_and_a_constant_have_a_line() {
        let mut timeline = Timeline::default();
        timeline.push_readings("s", 0, &[Reading::gauge("s.x", Unit::Count, 0.0)]);
        let incident = incident_of(timeline);
        let curve = Curve::from_series(&incident, incident.timeline.get("s.x").unwrap());
        assert_eq!(line(&incident, &curve, 4), "▁   ");
        assert_eq!(
            line(
                &incident,
                &Curve {
                    points: Vec::new(),
                    ..curve
                },
                4
            ),
            "    "
        );
    }
}
