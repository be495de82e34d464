//! Data of ours that comes with the program, as TOML.

use serde::de::DeserializeOwned;

/// What such a text holds.
#[expect(
    clippy::expect_used,
    reason = "the texts are embedded; the crate's tests read them"
)]
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("embedded data is sound")
}
