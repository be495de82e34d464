//! One change of a fix: made, put back, and how to do either by hand.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::command::to_text;
use super::end_session::EndSession;
use super::kernel_setting::KernelSetting;
use super::own_file::{OwnFile, Reload};
use super::root::Root;
use super::undone::Undone;
use super::variable::{Access, GlobalVariable, PersistedVariable};

/// One thing that is changed, with what was there before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// A file of ours.
    OwnFile(OwnFile),
    /// A setting of the running kernel.
    KernelSetting(KernelSetting),
    /// A variable of the running server.
    GlobalVariable(GlobalVariable),
    /// A variable that the server keeps for its next start.
    PersistedVariable(PersistedVariable),
    /// A session of the server that is ended; nothing brings it back.
    EndSession(EndSession),
}

impl Change {
    /// What is changed, for people.
    pub fn name(&self) -> String {
        match self {
            Self::OwnFile(file) => file.path.display().to_string(),
            Self::KernelSetting(setting) => setting.path.display().to_string(),
            Self::GlobalVariable(variable) => format!("@@GLOBAL.{}", variable.name),
            Self::PersistedVariable(variable) => format!("@@PERSIST_ONLY.{}", variable.name),
            Self::EndSession(session) => format!("connection {}", session.connection),
        }
    }

    /// Whether it can be put back.
    pub fn has_undo(&self) -> bool {
        !matches!(self, Self::EndSession(_))
    }

    /// Whether it is made in the server.
    pub fn needs_server(&self) -> bool {
        matches!(
            self,
            Self::GlobalVariable(_) | Self::PersistedVariable(_) | Self::EndSession(_)
        )
    }

    /// Makes it. What the server made of a value is kept, so that it is known again.
    pub(super) fn make(
        &mut self,
        root: &Root,
        id: &str,
        access: Option<&mut Access>,
    ) -> Result<(), String> {
        let name = self.name();
        let told = |error: std::io::Error| format!("{name}: {error}");
        match self {
            Self::OwnFile(file) => {
                file.make(root, id).map_err(told)?;
                reload(root, file.reload)
            }
            Self::KernelSetting(setting) => setting.set(root).map_err(told),
            Self::GlobalVariable(variable) => {
                variable.after = variable.set(access.ok_or(NO_SERVER)?)?;
                Ok(())
            }
            Self::PersistedVariable(variable) => variable.set(access.ok_or(NO_SERVER)?),
            Self::EndSession(session) => session.end(access.ok_or(NO_SERVER)?),
        }
    }

    /// Puts it back; more than once is harmless.
    pub(super) fn put_back(
        &self,
        root: &Root,
        id: &str,
        access: Option<&mut Access>,
        forced: bool,
        interrupted: bool,
    ) -> Result<Undone, String> {
        let told = |error: std::io::Error| format!("{}: {error}", self.name());
        match self {
            Self::OwnFile(file) => {
                let undone = file.take_away(root, id, forced).map_err(told)?;
                // Also when it is gone already: who took it away may have been killed before telling.
                if undone.is_over() {
                    reload(root, file.reload)?;
                }
                Ok(undone)
            }
            Self::KernelSetting(setting) => setting.set_back(root, forced).map_err(told),
            Self::GlobalVariable(variable) => {
                variable.set_back(access.ok_or(NO_SERVER)?, forced, interrupted)
            }
            Self::PersistedVariable(variable) => {
                variable.set_back(access.ok_or(NO_SERVER)?, forced)
            }
            Self::EndSession(_) => Ok(Undone::NoWayBack),
        }
    }

    /// How a person puts it back. In another root than the system's own the paths are those of that: followed to the
    /// letter it must not change the host.
    pub fn undo_by_hand(&self, root: &Root) -> String {
        let shown = |path: &PathBuf| to_text(&[root.here(path).display().to_string()]);
        match self {
            Self::OwnFile(file) => {
                let reload = match file.reload {
                    Some(Reload::Systemd) if root.is_real() => "; systemctl daemon-reload",
                    _ => "",
                };
                let made: String = file
                    .directories
                    .iter()
                    .rev()
                    .map(|dir| format!("; rmdir {}", shown(dir)))
                    .collect();
                format!("rm {}{made}{reload}", shown(&file.path))
            }
            Self::KernelSetting(setting) => {
                let (path, value) = match &setting.instead {
                    Some((path, value)) if root.is_real() => (path, value.as_str()),
                    _ if root.is_real() => (&setting.path, setting.before.as_str()),
                    // No kernel makes of a choice the list of all.
                    _ => (&setting.path, setting.shown.trim_end()),
                };
                format!("echo {} > {}", to_text(&[value.to_owned()]), shown(path))
            }
            Self::GlobalVariable(variable) => format!(
                "{};",
                super::variable::set_statement("GLOBAL", &variable.name, &variable.before)
            ),
            Self::PersistedVariable(variable) => match &variable.before {
                Some(before) => format!(
                    "{};",
                    super::variable::set_statement("PERSIST_ONLY", &variable.name, before)
                ),
                None => format!("RESET PERSIST {};", variable.name),
            },
            Self::EndSession(_) => {
                "none: its transaction is rolled back, and its client must run it again".to_owned()
            }
        }
    }
}

const NO_SERVER: &str = "no login to the server where this was set";

/// Tells who must know. In another root nobody listens.
fn reload(root: &Root, reload: Option<Reload>) -> Result<(), String> {
    let Some(Reload::Systemd) = reload else {
        return Ok(());
    };
    if !root.is_real() || !root.here("/run/systemd/system".as_ref()).exists() {
        return Ok(());
    }
    let output = std::process::Command::new("systemctl")
        .arg("daemon-reload")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| format!("systemctl daemon-reload: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().next().unwrap_or("it failed");
    Err(format!("systemctl daemon-reload: {line}"))
}
