//! The keys of a cause file as they stand there.

use serde::Deserialize;
use toml::Spanned;

use crate::cause::List;
use crate::human::Show;
use crate::moments::Over;
use crate::verdict::Remedy;

/// In place of a key that must be there and is not: it stands nowhere. So what stands behind it can be looked at too.
fn nothing<T: Default>() -> Spanned<T> {
    Spanned::new(0..0, T::default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCause {
    #[serde(default = "nothing")]
    pub(super) id: Spanned<String>,
    #[serde(default = "nothing")]
    pub(super) title: Spanned<String>,
    #[serde(default = "nothing")]
    pub(super) what: Spanned<String>,
    #[serde(default)]
    pub(super) witness: Vec<Spanned<RawSign>>,
    #[serde(default)]
    pub(super) against: Vec<Spanned<RawSign>>,
    #[serde(default = "nothing")]
    pub(super) refuted_by: Spanned<Vec<String>>,
    #[serde(default)]
    pub(super) look_alike: Vec<Spanned<RawLookAlike>>,
    #[serde(default)]
    pub(super) aggravates: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) effect_of: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) about: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) told: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) terms: Vec<Spanned<String>>,
    #[serde(default = "nothing")]
    pub(super) remedy: Spanned<Remedy>,
    #[serde(default)]
    pub(super) advice: Vec<Spanned<RawAdvice>>,
    #[serde(default)]
    pub(super) fix: Vec<Spanned<RawFix>>,
    #[serde(default = "nothing")]
    pub(super) sources: Spanned<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLookAlike {
    #[serde(default = "nothing")]
    pub(super) cause: Spanned<String>,
    #[serde(default = "nothing")]
    pub(super) difference: Spanned<String>,
    #[serde(default)]
    pub(super) external: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAdvice {
    #[serde(default)]
    pub(super) list: List,
    #[serde(default = "nothing")]
    pub(super) who: Spanned<String>,
    pub(super) step: Option<Spanned<String>>,
    pub(super) perhaps: Option<Spanned<String>>,
    pub(super) unknown: Option<Spanned<String>>,
    pub(super) nobody: Option<Spanned<String>>,
}

/// All keys of all actions, likewise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFix {
    #[serde(default = "nothing")]
    pub(super) action: Spanned<String>,
    #[serde(rename = "for")]
    pub(super) when: Option<Spanned<String>>,
    pub(super) who: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) variable: Option<Spanned<String>>,
    pub(super) value: Option<Spanned<String>>,
    pub(super) at_least: Option<Spanned<u64>>,
    pub(super) at_most: Option<Spanned<u64>>,
    pub(super) times: Option<Spanned<f64>>,
    pub(super) per_cpu: Option<Spanned<u64>>,
    pub(super) from: Option<Spanned<String>>,
    pub(super) risk: Option<Spanned<String>>,
    pub(super) consent: Option<Spanned<String>>,
    pub(super) mysql: Option<Spanned<String>>,
    pub(super) mariadb: Option<Spanned<String>>,
}

/// Which keys belong to what a sign looks at is checked later, so that the error can say it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSign {
    #[serde(default = "nothing")]
    pub(super) id: Spanned<String>,
    #[serde(default = "nothing")]
    pub(super) says: Spanned<String>,
    pub(super) necessary: Option<Spanned<bool>>,
    pub(super) one_of: Option<Spanned<String>>,
    pub(super) instead_of: Option<Spanned<String>>,
    pub(super) conclusive: Option<Spanned<bool>>,
    pub(super) counts: Option<Spanned<bool>>,
    pub(super) refutes: Option<Spanned<bool>>,
    pub(super) measure: Option<Spanned<String>>,
    pub(super) unit: Option<Spanned<Show>>,
    pub(super) each: Option<Spanned<bool>>,
    pub(super) window: Option<Spanned<Over>>,
    pub(super) only_if: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) left_out_if: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) above: Option<Spanned<f64>>,
    pub(super) below: Option<Spanned<f64>>,
    pub(super) times_baseline: Option<Spanned<f64>>,
    pub(super) at_most_times_baseline: Option<Spanned<f64>>,
    pub(super) baseline_optional: Option<Spanned<bool>>,
    pub(super) fact: Option<Spanned<String>>,
    pub(super) equals: Option<Spanned<String>>,
    pub(super) not: Option<Spanned<String>>,
    pub(super) matches: Option<Spanned<String>>,
}
