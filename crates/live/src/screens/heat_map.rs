//! `m`: how long answers took, by fifths of a second. A column is a second, a line a fifth of it, the first on top.

use report::evidence::heat::{CELL_MS, CELLS, Cell, Heat, answers};
use report::format;

use super::view::View;
use crate::ink::{Ink, Line, wrapped};

/// Columns of a line's name.
const NAME: usize = 6;

/// Letters of the levels, where there is more than ASCII.
const SHADES: [char; 8] = ['·', '·', '░', '░', '▒', '▒', '▓', '█'];

/// From this level on an answer is slow: a tenth of a second.
const SLOW: usize = 5;

/// The lines.
pub fn lines(view: &View<'_>) -> Vec<Line> {
    let title = "ANSWERS  of SELECT 1: a column for each second, a line for each 0.2 s";
    let mut out = vec![Line::colored(Ink::Strong, title)];
    let count = view.columns.saturating_sub(NAME + 1).max(8);
    let window = model::Window {
        from: view.at.saturating_sub((count as u64 - 1) * 1000),
        to: view.at,
    };
    let Some(heat) = answers(view.timeline(), view.model.clock(), window) else {
        let why = view.missing(
            "answers to SELECT 1, five times a second,",
            "no queries in this time, or no login",
        );
        out.push(Line::colored(Ink::Dim, &why));
        return out;
    };
    // A recording may begin later than the window.
    let before = count.saturating_sub(heat.seconds.len());
    let mut axis = Line::colored(Ink::Dim, &" ".repeat(NAME + before));
    axis.push(Ink::Dim, &view.clock(heat.from));
    out.push(axis.right(Ink::Dim, &view.clock(view.at), NAME + count));
    for part in 0..CELLS {
        let mut line = Line::plain(&format!(".{} s ", part as u64 * CELL_MS / 100));
        line.pad(NAME + before);
        for second in &heat.seconds {
            let cell = second.get(part).copied().unwrap_or_default();
            let (ink, letter) = sign(cell, view.state.is_ascii);
            line.push(ink, &letter.to_string());
        }
        out.push(line);
    }
    let mut told = vec![summary(view, &heat)];
    told.push(scale(view.state.is_ascii));
    for text in told {
        out.extend(wrapped(Ink::Plain, &text, 2, view.columns));
    }
    out
}

fn sign(cell: Cell, is_ascii: bool) -> (Ink, char) {
    match (cell, cell.level()) {
        (Cell::Unanswered, _) => (Ink::Bad, 'x'),
        (_, Some(level)) => {
            let letter = match is_ascii {
                true => u32::try_from(level)
                    .ok()
                    .and_then(|level| char::from_digit(level, 10)),
                false => SHADES.get(level).copied(),
            };
            let ink = if level >= SLOW { Ink::Bad } else { Ink::Good };
            (ink, letter.unwrap_or('?'))
        }
        (_, None) => (Ink::Plain, ' '),
    }
}

/// The same in a sentence.
fn summary(view: &View<'_>, heat: &Heat) -> String {
    let usual = view
        .timeline()
        .get("probe.query_us")
        .and_then(|series| view.usual(series));
    let slowest = heat.slowest.map_or_else(
        || "no answer came".to_owned(),
        |(seconds, at)| {
            format!(
                "the slowest answer took {} (at {})",
                format::seconds(seconds),
                view.clock(at)
            )
        },
    );
    let usual = usual.map_or(String::new(), |usual| {
        format!(", usually {}", format::seconds(usual.mean / 1e6))
    });
    format!(
        "{} of {} had no answer; {slowest}{usual}.",
        heat.unanswered, heat.asked
    )
}

fn scale(is_ascii: bool) -> String {
    let steps = match is_ascii {
        true => {
            "0 below 1 ms, 1 to 3 ms, 2 to 10 ms, 3 to 30 ms, 4 to 0.1 s, 5 to 0.3 s, 6 to 1 s, 7 more"
        }
        false => "· below 3 ms, ░ to 30 ms, ▒ to 0.3 s, ▓ to 1 s, █ more",
    };
    format!("{steps}; x no answer, blank not asked. Left and Right move in time.")
}
