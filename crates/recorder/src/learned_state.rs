//! What is usual for a server, kept over a restart of the recorder: it need not learn it anew, and is
//! not blind meanwhile.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Larger than what two thousand classes of statements take; a file beyond it is not ours.
const BYTES_MAX: u64 = 1 << 20;

/// What the detector and the sessions learnt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LearnedState {
    pub(crate) usual: detect::Learnt,
    pub(crate) statements: detect::LearntClasses,
}

fn path(dir: &Path, label: &str) -> PathBuf {
    dir.join(format!("learnt-{label}.json"))
}

impl LearnedState {
    /// What an earlier recorder of this server kept; nothing where there is none, or none that can
    /// be read.
    pub(crate) fn load(dir: &Path, label: &str) -> Self {
        let path = path(dir, label);
        let small = std::fs::metadata(&path).is_ok_and(|file| file.len() <= BYTES_MAX);
        let bytes = if small {
            std::fs::read(&path)
        } else {
            Ok(Vec::new())
        };
        bytes
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Writes it beside the history: under another name first, so that it is whole or not there.
    pub(crate) fn save(&self, dir: &Path, label: &str) -> io::Result<()> {
        let path = path(dir, label);
        let new = path.with_extension("new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        std::fs::rename(new, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_comes_back_and_anything_else_is_nothing() {
        let dir = std::env::temp_dir().join(format!("freezeframe-learnt-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        assert_eq!(LearnedState::load(&dir, "3306"), LearnedState::default());
        LearnedState::default().save(&dir, "3306").unwrap();
        let text = std::fs::read_to_string(path(&dir, "3306")).unwrap();
        assert!(text.contains("usual"), "{text}");
        assert_eq!(LearnedState::load(&dir, "3306"), LearnedState::default());
        for odd in [
            "",
            "[1]",
            "{\"usual\": 5}",
            "{\"usual\": {\"completions\": {\"values\": [1e999]}}}",
        ] {
            std::fs::write(path(&dir, "3306"), odd).unwrap();
            assert_eq!(
                LearnedState::load(&dir, "3306"),
                LearnedState::default(),
                "{odd}"
            );
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}
