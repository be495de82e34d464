//! Rule 16: `s{\b(select\s.*?)(?:(\sunion(?:\sall)?)\s\1)+}{$1 /*repeat$2*/}g`

use std::borrow::Cow;

use super::text::{byte, is_boundary, is_space, tail};

/// Bytes and pairs of `select` and `union` that are compared in one statement, at most. The tool has no such limit and
/// works for minutes on a statement of many different ones; here what is left then stays as it is.
const STEPS_MAX: usize = 1 << 24;

/// Writes a query that is repeated by `UNION` once.
pub(super) fn fold_repeated(query: &mut Cow<'_, [u8]>) {
    let text: &[u8] = query;
    let unions: Vec<usize> = (0..text.len())
        .filter(|&at| union_end(text, at).is_some())
        .collect();
    if unions.is_empty() {
        return;
    }
    let mut steps = STEPS_MAX;
    let mut output = Vec::new();
    let mut written = 0;
    let mut at = 0;
    while at < text.len() {
        match repeated_at(text, at, &unions, &mut steps) {
            Some((select_end, last_union, end)) => {
                output.extend_from_slice(text.get(written..select_end).unwrap_or_default());
                output.extend_from_slice(b" /*repeat");
                output.extend_from_slice(last_union);
                output.extend_from_slice(b"*/");
                written = end;
                at = end;
            }
            None => at += 1,
        }
    }
    if written > 0 {
        output.extend_from_slice(tail(text, written));
        *query = Cow::Owned(output);
    }
}

/// The end of the first query, the last `\sunion(?:\sall)?`, and the end of all, where a repeated query starts here.
fn repeated_at<'a>(
    text: &'a [u8],
    start: usize,
    unions: &[usize],
    steps: &mut usize,
) -> Option<(usize, &'a [u8], usize)> {
    let shortest = start + b"select ".len();
    let is_select = tail(text, start).starts_with(b"select")
        && text.get(shortest - 1).is_some_and(|&byte| is_space(byte))
        && is_boundary(text, start);
    if !is_select {
        return None;
    }
    let first = unions.partition_point(|&union| union < shortest);
    for &select_end in unions.get(first..).unwrap_or_default() {
        let select = text.get(start..select_end)?;
        let mut repeated = None;
        let mut end = select_end;
        while let Some((union, next)) = repetition(text, end, select, steps) {
            repeated = Some(union);
            end = next;
        }
        if let Some(union) = repeated {
            return Some((select_end, union, end));
        }
        if *steps == 0 {
            return None;
        }
    }
    None
}

/// `(\sunion(?:\sall)?)\s\1` at a place: the union and the end.
fn repetition<'a>(
    text: &'a [u8],
    at: usize,
    select: &[u8],
    steps: &mut usize,
) -> Option<(&'a [u8], usize)> {
    let union_end = union_end(text, at)?;
    if !is_space(byte(text, union_end)) {
        return None;
    }
    let next = tail(text, union_end + 1);
    let same = next.iter().zip(select).take_while(|(a, b)| a == b).count();
    *steps = steps.saturating_sub(same + 1);
    if same < select.len() || *steps == 0 {
        return None;
    }
    Some((text.get(at..union_end)?, union_end + 1 + same))
}

/// The end of `\sunion(?:\sall)?` at a place.
fn union_end(text: &[u8], at: usize) -> Option<usize> {
    let is_union = text.get(at).is_some_and(|&byte| is_space(byte))
        && tail(text, at + 1).starts_with(b"union");
    if !is_union {
        return None;
    }
    let end = at + 1 + b"union".len();
    let has_all = text.get(end).is_some_and(|&byte| is_space(byte))
        && tail(text, end + 1).starts_with(b"all");
    Some(if has_all { end + 4 } else { end })
}
