//! Captures of any bytes: nothing breaks, lines lie within the text, evidence within the window, and
//! what came of it can be judged.
#![no_main]

use import::{Input, import, printed_threads};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // One capture, or two that belong together.
    let (first, second) = match input.split_first() {
        Some((at, rest)) if *at > 0 => rest.split_at(rest.len() * usize::from(*at) / 256),
        Some((_, rest)) => (rest, &[][..]),
        None => return,
    };
    let inputs = [
        Input {
            path: "a.tsv",
            bytes: first,
        },
        Input {
            path: "a.yaml",
            bytes: second,
        },
    ];
    let imported = import(&inputs);
    for part in &imported.parts {
        if let Some((from, to)) = part.lines {
            assert!(from <= to && to <= first.len().max(second.len()) + 2, "{part:?}");
        }
    }
    if let Some(incident) = imported.incident {
        let to = incident.window.to;
        assert!(incident.texts.iter().all(|text| text.at <= to));
        assert!(incident.stacks.runs.iter().all(|run| run.to <= to));
        let printed: usize = inputs.iter().map(|input| printed_threads(input).len()).sum();
        assert!(printed <= input.len());
    }
});
