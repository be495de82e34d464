//! The unit or the container that a process runs in, by its control group.

/// What a control group says of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The unit of the host's systemd.
    pub(super) unit: Option<String>,
    /// The container.
    pub(super) container: Option<Container>,
    /// The last part of the path, for what is neither.
    pub(super) last: String,
}

/// A container that a server runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The part of the control group's path that names it; empty when it is known otherwise.
    pub group: String,
    /// What has made it.
    pub runtime: Runtime,
    /// Its id or name, as its runtime has it.
    pub id: Option<String>,
    /// The unit of a systemd that runs in it.
    pub unit: Option<String>,
}

/// What makes containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Docker, and what takes its commands.
    Docker,
    /// Podman.
    Podman,
    /// A pod of Kubernetes, whatever makes the containers there.
    Kubernetes,
    /// LXC, Incus.
    Lxc,
    /// systemd-nspawn, and what else is a machine to systemd-machined.
    Machine,
    /// Namespaces of its own are all that is known.
    Unknown,
}

/// Digits that are shown of an id, as the runtimes' own lists do.
const ID_DIGITS: usize = 12;

impl Container {
    /// One of which only the runtime is known.
    pub(super) fn from_group(runtime: Runtime, group: &str) -> Self {
        Self {
            group: group.to_owned(),
            runtime,
            id: None,
            unit: None,
        }
    }

    /// For people: `Docker 0123456789ab`.
    pub fn name(&self) -> String {
        let runtime = match self.runtime {
            Runtime::Docker => "Docker",
            Runtime::Podman => "Podman",
            Runtime::Kubernetes => "Kubernetes",
            Runtime::Lxc => "LXC",
            Runtime::Machine => "machine",
            Runtime::Unknown if self.group.is_empty() => {
                return "with its own namespaces".to_owned();
            }
            Runtime::Unknown => return format!("with its own namespaces ({})", self.group),
        };
        match self.short_id() {
            Some(id) => format!("{runtime} {id}"),
            None => runtime.to_owned(),
        }
    }

    /// Its id or name, long ones cut.
    pub(super) fn short_id(&self) -> Option<&str> {
        let id = self.id.as_deref()?;
        Some(if is_long_id(id) {
            id.get(..ID_DIGITS).unwrap_or(id)
        } else {
            id
        })
    }
}

/// Reads /proc/PID/cgroup (cgroups(7)). The last container on the path is the one, and units above it are those that
/// run it.
pub(super) fn read(text: &str) -> Group {
    let path = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, controllers) = (fields.next()?, fields.next()?);
            let path = fields.next()?;
            (number == "0" || controllers == "name=systemd").then_some(path)
        })
        .max_by_key(|path| path.len())
        .unwrap_or_default();
    let mut found = Group::default();
    // The user manager is a unit of the system; what runs below it is none of ours.
    let mut of_user = false;
    let mut runtime = Runtime::Unknown;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        part.clone_into(&mut found.last);
        if part.ends_with(".service") {
            of_user |= part.starts_with("user@");
            if !is_unit_name(part) {
                continue;
            }
            match &mut found.container {
                Some(container) => container.unit = Some(part.to_owned()),
                None => found.unit = Some(part.to_owned()),
            }
        } else if let Some(container) = named_below(&mut found.container, part) {
            container.id = Some(part.to_owned());
            part.clone_into(&mut container.group);
        } else if let Some((known, id)) = container(part, &mut runtime) {
            found.container = Some(Container {
                id: id.map(str::to_owned),
                ..Container::from_group(known, part)
            });
        }
    }
    if of_user || found.container.is_some() {
        found.unit = None;
    }
    found
}

/// The container whose name is the part below its group: `lxc/NAME`.
fn named_below<'a>(container: &'a mut Option<Container>, part: &str) -> Option<&'a mut Container> {
    container
        .as_mut()
        .filter(|found| found.group == "lxc" && found.id.is_none() && !part.ends_with(".slice"))
}

/// Whether a part of a path names a container: its runtime, and its id where the part has it. `above` is what parts
/// before it told of the runtime.
fn container<'a>(part: &'a str, above: &mut Runtime) -> Option<(Runtime, Option<&'a str>)> {
    let name = part.strip_suffix(".scope").unwrap_or(part);
    // As systemd and each runtime name their groups; the longer prefix first.
    const PREFIXES: [(&str, Runtime); 10] = [
        ("docker-", Runtime::Docker),
        ("nerdctl-", Runtime::Docker),
        ("libpod-payload-", Runtime::Podman),
        ("libpod-", Runtime::Podman),
        ("cri-containerd-", Runtime::Kubernetes),
        ("cri-o-", Runtime::Kubernetes),
        ("crio-", Runtime::Kubernetes),
        ("lxc.payload.", Runtime::Lxc),
        ("lxc-", Runtime::Lxc),
        ("machine-", Runtime::Machine),
    ];
    for (prefix, runtime) in PREFIXES {
        let Some(id) = name.strip_prefix(prefix).filter(|id| !id.is_empty()) else {
            continue;
        };
        // Kubernetes may let Docker make them; a container of one of these has what is said of pods.
        if *above != Runtime::Kubernetes {
            *above = runtime;
        }
        return Some((*above, Some(id)));
    }
    // Without systemd a group for all, and below it one for each, by its id or name.
    let slice = name.strip_suffix(".slice").unwrap_or(name);
    let below = match slice {
        "docker" | "ecs" => Runtime::Docker,
        "libpod_parent" => Runtime::Podman,
        "lxc" => Runtime::Lxc,
        _ if slice.starts_with("kubepods") => Runtime::Kubernetes,
        _ if is_long_id(name) => return Some((*above, Some(name))),
        _ => return None,
    };
    *above = below;
    // containerd below a slice of systemd: `kubepods-podX.slice:cri-containerd:ID`.
    let id = name.rsplit(':').next().filter(|id| is_long_id(id));
    Some((below, id))
}

/// The ids that runtimes give.
fn is_long_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A name that may become part of a path (systemd.unit(5)).
fn is_unit_name(name: &str) -> bool {
    name.len() < 256
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b":-_.\\@".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn unit(text: &str) -> Option<String> {
        let group = read(text);
        assert_eq!(group.container, None, "{text}");
        group.unit
    }

    fn name(path: &str) -> String {
        let group = read(&format!("0::{path}\n"));
        assert_eq!(group.unit, None, "{path}");
        group.container.map_or(String::new(), |found| found.name())
    }

    #[test]
    fn units_are_told_by_the_control_group() {
        let is = |name: &str| Some(name.to_owned());
        assert_eq!(
            unit("0::/system.slice/mariadb.service\n"),
            is("mariadb.service")
        );
        assert_eq!(
            unit("0::/system.slice/system-mysql.slice/mysql@a.service\n"),
            is("mysql@a.service")
        );
        assert_eq!(
            unit("12:pids:/x\n1:name=systemd:/system.slice/mysqld.service\n0::/\n"),
            is("mysqld.service")
        );
        assert_eq!(unit("0::/user.slice/user-0.slice/session-1.scope\n"), None);
        assert_eq!(unit("0::/user.slice/user@0.service\n"), None);
        // A unit of somebody's own manager, which reads no drop-ins of the system's.
        assert_eq!(
            unit("0::/user.slice/user-7.slice/user@7.service/app.slice/mysqld.service\n"),
            None
        );
        assert_eq!(unit("0::/a/b c.service\n"), None);
        assert_eq!(unit(""), None);
        // A daemon's own unit is no container.
        assert_eq!(
            unit("0::/system.slice/docker.service\n"),
            is("docker.service")
        );
    }

    #[test]
    fn containers_are_told_by_the_control_group() {
        assert_eq!(name("/system.slice/docker-0123.scope"), "Docker 0123");
        assert_eq!(name(&format!("/docker/{ID}")), "Docker 0123456789ab");
        assert_eq!(
            name(&format!("/machine.slice/libpod-{ID}.scope/container")),
            "Podman 0123456789ab"
        );
        assert_eq!(
            name(&format!("/system.slice/db.service/libpod-payload-{ID}")),
            "Podman 0123456789ab"
        );
        assert_eq!(
            name("/user.slice/user-7.slice/user@7.service/user.slice/libpod-12.scope/container"),
            "Podman 12"
        );
        assert_eq!(
            name("/kubepods.slice/kubepods-pod1.slice/cri-containerd-12.scope"),
            "Kubernetes 12"
        );
        assert_eq!(
            name(&format!("/kubepods/burstable/pod1/{ID}")),
            "Kubernetes 0123456789ab"
        );
        assert_eq!(
            name(&format!(
                "/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:{ID}"
            )),
            "Kubernetes 0123456789ab"
        );
        assert_eq!(name("/lxc.payload.db"), "LXC db");
        assert_eq!(name("/lxc/db"), "LXC db");
    }

    #[test]
    fn a_container_may_have_a_systemd_of_its_own() {
        let group = read("0::/machine.slice/machine-db.scope/payload/system.slice/mysql.service\n");
        let container = group.container.unwrap();
        assert_eq!(container.name(), "machine db");
        assert_eq!(container.unit.as_deref(), Some("mysql.service"));
        assert_eq!(group.unit, None);
    }
}
