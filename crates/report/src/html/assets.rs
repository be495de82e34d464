//! The styles and scripts of `assets/`.

use std::sync::LazyLock;

/// Embedded by `build.rs`.
const PACKED: embed::PackedAsOne = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

static ASSETS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| embed::unpack_each(PACKED));

/// The text of this file.
pub(super) fn asset(file: &str) -> &'static str {
    let asset = ASSETS.iter().find(|(name, _)| *name == file);
    asset.map_or("", |(_, text)| text)
}
