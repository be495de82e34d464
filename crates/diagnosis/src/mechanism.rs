//! What was seen is in what: shown of every capture, also where no cause is found.

use crate::named::{AllNamed, InLayer, Seen};
use crate::verdict::Mechanism;

/// Layers of one source that are told, at the most.
const LAYERS_MAX: usize = 3;

/// A smaller share of what was seen tells nothing, 0 to 1.
const SHARE_MIN: f64 = 0.05;

/// Names of a layer that are told, at the most.
const NAMES_MAX: usize = 3;

/// The sources one after the other, of each the largest layer first.
pub(crate) fn mechanisms(all: &AllNamed) -> Vec<Mechanism> {
    let is_apart = all.layers.iter().any(|layer| layer.seen == Seen::Host);
    let mut told: Vec<Mechanism> = Vec::new();
    for layer in all.layers.iter().filter(|layer| layer.share >= SHARE_MIN) {
        let source = layer.seen.source();
        let of_source = told.iter().filter(|one| one.source == source).count();
        if of_source < LAYERS_MAX {
            told.push(mechanism(layer, is_apart));
        }
    }
    told
}

/// `is_apart`: the server's samples are told from those of others.
fn mechanism(layer: &InLayer, is_apart: bool) -> Mechanism {
    let names: Vec<String> = layer.names.iter().take(NAMES_MAX).cloned().collect();
    let words = lexicon::layer(layer.layer).map_or(layer.layer, |layer| layer.words);
    let share = match layer.seen {
        Seen::Sentences => "Sentences tell of".to_owned(),
        Seen::Logs => "The logs tell of".to_owned(),
        seen => {
            let whole = match seen {
                Seen::Profile if is_apart => "the server's samples",
                seen => seen.whole(),
            };
            format!("{:.0} % of {whole} are in", 100.0 * layer.share)
        }
    };
    Mechanism {
        source: layer.seen.source().to_owned(),
        layer: layer.layer.to_owned(),
        role: layer.entry.role.word().to_owned(),
        share: layer.share,
        says: format!(
            "{share} {words}: {}. {}",
            names.join(", "),
            layer.entry.meaning
        ),
        names,
    }
}
