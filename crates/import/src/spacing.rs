//! Captures with an empty line behind each line, as editors, chats and trackers make them that take a line for a
//! paragraph.

use crate::line::Line;

/// Fewer lines in such a stretch may stand apart by themselves.
const LINES_MIN: usize = 6;

/// Takes away the empty lines of stretches in which no two lines stand together; those that were there before stay.
pub(crate) fn close_up(lines: &mut Vec<Line<'_>>) {
    let mut dropped = Vec::new();
    let mut from = 0;
    while from < lines.len() {
        let stretch = stretch(lines, from);
        from = stretch.behind.max(from + 1);
        if stretch.lines < LINES_MIN {
            continue;
        }
        for (begin, count) in &stretch.gaps {
            let kept = (count - stretch.apart) / (stretch.apart + 1);
            dropped.push((begin + kept, begin + count));
        }
    }
    if dropped.is_empty() {
        return;
    }
    let mut dropped = dropped.into_iter().peekable();
    let mut index = 0;
    lines.retain(|_| {
        let at = index;
        index += 1;
        while dropped.next_if(|(_, to)| *to <= at).is_some() {}
        dropped.peek().is_none_or(|(from, _)| at < *from)
    });
}

/// Lines no two of which stand together.
#[derive(Default)]
struct Stretch {
    /// Index behind it.
    behind: usize,
    /// Its lines that are not empty.
    lines: usize,
    /// Where empty lines begin, and how many they are.
    gaps: Vec<(usize, usize)>,
    /// The fewest empty lines between two others.
    apart: usize,
}

fn stretch(lines: &[Line<'_>], from: usize) -> Stretch {
    let mut stretch = Stretch::default();
    let mut at = from;
    stretch.behind = lines.len();
    while let Some(line) = lines.get(at) {
        if line.is_blank() {
            at += 1;
            continue;
        }
        stretch.lines += 1;
        stretch.behind = at + 1;
        let blank = lines.iter().skip(at + 1).take_while(|line| line.is_blank());
        let count = blank.count();
        at += 1 + count;
        if at >= lines.len() {
            break;
        }
        if count == 0 {
            // The next line stands at this one: it begins another.
            break;
        }
        let is_first = stretch.gaps.is_empty();
        stretch.apart = if is_first {
            count
        } else {
            stretch.apart.min(count)
        };
        stretch.gaps.push((at - count, count));
    }
    stretch
}

#[cfg(test)]
mod tests {
    use crate::line::Line;

    fn closed(text: &str) -> String {
        let line = |(number, text): (usize, &str)| Line {
            number,
            text: text.to_owned().into(),
        };
        let mut lines: Vec<Line<'_>> = (1..).zip(text.split('\n')).map(line).collect();
        super::close_up(&mut lines);
        let lines: Vec<&str> = lines.iter().map(|line| line.text.as_ref()).collect();
        lines.join("\n")
    }

    #[test]
    fn lines_stand_together_again() {
        let text = "a\nb\n\nc\nd\ne\nf\n\n\ng\n";
        assert_eq!(closed(&text.replace('\n', "\n\n")).trim(), text.trim());
        assert_eq!(closed(&text.replace('\n', "\n\n\n")).trim(), text.trim());
        assert_eq!(closed(text), text);
        let few = "a\n\nb\n\nc\nd";
        assert_eq!(closed(few), few);
    }
}
