//! What stands in front of each line of a capture, put there on its way: signs of quotations and lists, numbers of lines,
//! names of hosts and containers, moments, the columns of an export.
//!
//! There are as many forms of it as there are ways that a text can take, and several at once. So no form is known here,
//! but what they have in common: a stretch of lines begins alike, and **behind it more lines are known than before**.
//! Where nothing more is known the lines stay as they are: most that begin alike do so by themselves, as the lines of an
//! error log begin with their dates.

use std::borrow::Cow;
use std::iter;

use crate::layers::{Layer, layers_of};
use crate::times;

/// Fewer lines that begin alike are chance.
const RUN_LINES_MIN: usize = 3;

/// Where all lines of a text begin alike, and they are so many, it is decoration though nothing is known behind it: who
/// tells a story begins each line with another word.
const ALL_LINES_MIN: usize = 5;

/// Lines that begin in another way may stand between two of a stretch: the rest of one that was broken.
const GAP_LINES_MAX: usize = 3;

/// Lines by which a stretch is judged.
const JUDGED_LINES: usize = 120;

/// Stretches that are judged in one text: of a large one they are alike.
const RUNS_MAX: usize = 24;

/// A stretch begins in so many lines, or there is none: what is longer was not pasted.
const STARTS_MAX: usize = 10_000;

/// What stands around a line at the most: a quoted mail about a log of a container in a pod has four.
const LAYERS_MAX: usize = 7;

/// Of the lines of a stretch so many begin alike, in percent.
const SHARE_MIN: usize = 90;

/// A listing has so many columns at the least.
const COLUMNS_MIN: usize = 4;

/// The lines without what stands in front of them; nothing where nothing does. `known` says how much of a text is known,
/// and is the larger the more surely.
pub(crate) fn undone<'a>(
    lines: &[&'a str],
    known: impl Fn(&str) -> usize,
) -> Option<Vec<Cow<'a, str>>> {
    let mut undone: Option<Vec<Cow<'a, str>>> = None;
    // Most large texts have none of it, which their begin tells.
    let head = lines.get(..STARTS_MAX + JUDGED_LINES).unwrap_or(lines);
    let (mut from, mut judged) = (0, 0);
    while from < lines.len().min(STARTS_MAX) && judged < RUNS_MAX {
        let Some(Run { to, layers: first }) = run(head, from) else {
            from += 1;
            continue;
        };
        judged += 1;
        let end = || match to < STARTS_MAX {
            true => to,
            false => {
                let ends = first.iter().filter_map(|layer| reach(lines, from, layer));
                ends.max().unwrap_or(to)
            }
        };
        let is_all = || {
            let length = end() - from;
            length >= ALL_LINES_MIN && length * 100 >= lines.len() * SHARE_MIN
        };
        let window = head.get(from..to.min(from + JUDGED_LINES));
        let layers = decoration(window.unwrap_or_default(), first.clone(), is_all, &known);
        if layers.is_empty() {
            from = to;
            continue;
        }
        let to = end();
        let bare = without(lines.get(from..to).unwrap_or_default(), &layers).into_iter();
        let undone =
            undone.get_or_insert_with(|| lines.iter().map(|line| Cow::Borrowed(*line)).collect());
        for (line, bare) in undone.iter_mut().skip(from).zip(bare) {
            *line = Cow::Owned(bare);
        }
        from = to;
    }
    undone
}

/// Lines that begin alike.
struct Run {
    /// Index behind the last of them.
    to: usize,
    /// What they may begin with.
    layers: Vec<Layer>,
}

/// The longest stretch of lines that begin like the one at the index.
fn run(lines: &[&str], from: usize) -> Option<Run> {
    let layers = layers_of(lines.get(from)?).into_iter();
    let runs = layers.filter_map(|layer| Some((reach(lines, from, &layer)?, layer)));
    let runs: Vec<(usize, Layer)> = runs.collect();
    let to = runs.iter().map(|(to, _)| *to).max()?;
    let is_long = |own: usize| (own - from) * 100 >= (to - from) * SHARE_MIN;
    let long = runs.into_iter().filter(|(own, _)| is_long(*own));
    let layers = long.map(|(_, layer)| layer).collect();
    Some(Run { to, layers })
}

/// The index behind the last line that begins so, where there are enough of them.
fn reach(lines: &[&str], from: usize, layer: &Layer) -> Option<usize> {
    let mut expected = None;
    let (mut to, mut count, mut gap) = (from, 0, 0);
    for (index, line) in (from..).zip(lines.iter().skip(from)) {
        if layer.behind(line, &mut expected).is_some() {
            (to, gap) = (index + 1, 0);
            count += 1;
        } else if !line.trim_ascii().is_empty() {
            gap += 1;
        }
        if gap > GAP_LINES_MAX {
            break;
        }
    }
    (count >= RUN_LINES_MIN).then_some(to)
}

/// What stands around the lines, from the outside; nothing where they are what was printed.
fn decoration(
    lines: &[&str],
    first: Vec<Layer>,
    is_all: impl Fn() -> bool,
    known: &impl Fn(&str) -> usize,
) -> Vec<Layer> {
    let full = lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let count = full.count();
    let before = known(&lines.join("\n"));
    let is_dated = |lines: &[String]| {
        let dated = lines.iter().filter(|line| times::starts_with_date(line));
        dated.count() * 2 > count
    };
    let mut layers: Vec<Layer> = Vec::new();
    let mut bare: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut best: Option<(usize, usize)> = None;
    let mut next = first;
    while layers.len() < LAYERS_MAX {
        let tried = next.into_iter().map(|layer| {
            let inner = without(&bare, std::slice::from_ref(&layer));
            (known(&inner.join("\n")), layer, inner)
        });
        let Some((known, layer, inner)) =
            tried.reduce(|best, one| if one.0 > best.0 { one } else { best })
        else {
            break;
        };
        layers.push(layer);
        bare = inner;
        // A log's own dates are behind those of who carried it.
        let is_own = layers.contains(&Layer::Moment) && known >= before && is_dated(&bare);
        let is_better = match best {
            None => is_own || known > before + before / 10 + 1,
            Some((_, best)) => known > best || (is_own && known == best),
        };
        if is_better {
            best = Some((layers.len(), known));
        }
        next = common(&bare);
    }
    // A table that nobody knows stays as it is.
    let is_table = |layer: &Layer| matches!(layer, Layer::Row(..) | Layer::Cell(..));
    let rows = layers.iter().position(is_table);
    let of_story = match before == 0 && is_all() && !are_columns(lines) {
        true => rows.unwrap_or(layers.len()),
        false => 0,
    };
    layers.truncate(best.map_or(of_story, |(depth, _)| depth));
    layers
}

/// Lines of a story have more words or fewer; those of a listing have its columns, and may begin alike in each.
fn are_columns(lines: &[&str]) -> bool {
    let words = |line: &&str| line.split_ascii_whitespace().count();
    let mut counts: Vec<usize> = lines.iter().map(words).filter(|count| *count > 0).collect();
    counts.sort_unstable();
    let middle = counts.get(counts.len() / 2);
    let alike = counts.iter().filter(|count| Some(*count) == middle).count();
    middle.is_some_and(|columns| *columns >= COLUMNS_MIN) && alike * 100 >= counts.len() * SHARE_MIN
}

/// What nearly all of the lines begin with.
fn common(lines: &[String]) -> Vec<Layer> {
    let full = || lines.iter().filter(|line| !line.trim_ascii().is_empty());
    let count = full().count();
    let layers = full().next().map(|first| layers_of(first));
    let layers = layers.into_iter().flatten().filter(|layer| {
        let mut expected = None;
        let alike = full().filter(|line| layer.behind(line, &mut expected).is_some());
        alike.count() * 100 >= count * SHARE_MIN
    });
    layers.collect()
}

/// The lines without the layers, from the outer to the inner; where one is not there the rest stays.
fn without<S: AsRef<str>>(lines: &[S], layers: &[Layer]) -> Vec<String> {
    let mut expected: Vec<Option<u64>> = iter::repeat_n(None, layers.len()).collect();
    let bare = lines.iter().map(|line| {
        let mut line = Cow::Borrowed(line.as_ref());
        for (layer, expected) in layers.iter().zip(&mut expected) {
            let Some(inner) = layer.behind(&line, expected) else {
                break;
            };
            line = Cow::Owned(inner.into_owned());
        }
        line.into_owned()
    });
    bare.collect()
}

#[cfg(test)]
mod tests {
    use super::undone;
    use crate::clean::known;

    fn bare(text: &str) -> String {
        let lines: Vec<&str> = text.split('\n').collect();
        undone(&lines, known).map_or_else(|| text.to_owned(), |bare| bare.join("\n"))
    }

    const LIST: [&str; 4] = [
        "| Id | User | Host | db | Command | Time | State | Info |",
        "| 5 | app | web:1 | shop | Query | 12 | update | UPDATE t |",
        "| 6 | app | web:2 | shop | Query | 11 | update | UPDATE t |",
        "",
    ];

    const LOG: &str = "2026-11-21T06:25:01Z 9 [Note] InnoDB: a";

    #[test]
    fn what_stands_in_front_goes_where_more_is_known_without() {
        let list = LIST.join("\n");
        let ways: [fn(usize, &str) -> String; 8] = [
            |nth, line| format!("{nth:6}\t{line}"),
            |nth, line| format!("> {nth}: {line}").trim_end().to_owned(),
            |_, line| format!("db1 mysqld[7]: {line}").trim_end().to_owned(),
            |nth, line| format!("[06:25:{nth:02}] # {line}"),
            |_, line| format!("[pod/db-0/mysql] 2026-11-21T06:25:01.5Z {line}"),
            |_, line| format!("\"Nov 21, 2026\",\"{line}\",db1"),
            |_, line| format!("// {line}"),
            |nth, line| format!("a.txt:{nth}:{line}"),
        ];
        for way in ways {
            let lines = (8..).zip(LIST).map(|(nth, line)| way(nth, line));
            let text = lines.collect::<Vec<_>>().join("\n");
            assert_eq!(bare(&text), list, "{text}");
            let among = format!("Look at that:\n\n{text}\n\nThanks\n");
            assert_eq!(bare(&among), format!("Look at that:\n\n{list}\n\nThanks\n"));
        }
    }

    #[test]
    fn rows_of_exports_are_tables() {
        let rows: Vec<String> = (1..5)
            .map(|id| {
                format!(
                    "\"{id}\",\"app\",\"web:1\",\"shop\",\"Query\",\"12\",\"update\",\"UPDATE t\""
                )
            })
            .collect();
        let first = "| 1 | app | web:1 | shop | Query | 12 | update | UPDATE t |";
        assert!(bare(&rows.join("\n")).starts_with(first));
    }

    #[test]
    fn a_log_keeps_its_own_dates_alone() {
        let log = [LOG; 6].join("\n");
        assert_eq!(bare(&log), log);
        let carried = [
            format!("2026-11-21T06:25:01.5Z {LOG}"),
            format!("db1: {LOG}"),
        ];
        for line in carried {
            assert_eq!(bare(&vec![line; 6].join("\n")), log);
        }
    }

    #[test]
    fn a_story_begins_each_line_with_another_word() {
        let story = "It hangs.\nEach night at three.\nNobody knows why.\nWe asked.\nNothing came.";
        let carried: Vec<String> = story.lines().map(|line| format!("web1: {line}")).collect();
        assert_eq!(bare(&carried.join("\n")), story);
        assert_eq!(bare(story), story);
        let sockets: Vec<String> = (1..40)
            .map(|port| format!("tcp  0  0 10.0.0.1:{port}  10.0.0.2:3306  TIME_WAIT"))
            .collect();
        assert_eq!(bare(&sockets.join("\n")), sockets.join("\n"));
        let table = "a,\"b\",c\n".repeat(6);
        assert_eq!(bare(&table), table);
    }
}
