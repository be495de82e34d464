use crate::read;
use crate::roots::ProcRoot;

/// `/proc/self/status`: about 1.5 KiB.
const STATUS_BYTES_MAX: usize = 16 << 10;

/// A capability that some evidence needs (capabilities(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Load BPF programs (Linux 5.8).
    Bpf,
    /// Sample processors, trace (Linux 5.8).
    Perfmon,
    /// Read another process's memory and images.
    SysPtrace,
    /// See addresses of the kernel.
    Syslog,
    /// Read files that only their owner may.
    DacReadSearch,
    /// Holds BPF and PERFMON too, and is the only way to them before Linux 5.8.
    SysAdmin,
}

impl Capability {
    /// All of them, in the order in which they are written in commands.
    pub const ALL: [Self; 6] = [
        Self::Bpf,
        Self::Perfmon,
        Self::SysPtrace,
        Self::Syslog,
        Self::DacReadSearch,
        Self::SysAdmin,
    ];

    /// Its number (include/uapi/linux/capability.h).
    fn number(self) -> u32 {
        match self {
            Self::DacReadSearch => 2,
            Self::SysPtrace => 19,
            Self::SysAdmin => 21,
            Self::Syslog => 34,
            Self::Perfmon => 38,
            Self::Bpf => 39,
        }
    }

    /// As `setcap` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpf => "cap_bpf",
            Self::Perfmon => "cap_perfmon",
            Self::SysPtrace => "cap_sys_ptrace",
            Self::Syslog => "cap_syslog",
            Self::DacReadSearch => "cap_dac_read_search",
            Self::SysAdmin => "cap_sys_admin",
        }
    }
}

/// A set of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u64);

impl Capabilities {
    /// The effective set of this process; empty when it cannot be read.
    pub fn effective() -> Self {
        read::head(&ProcRoot::default().file("self/status"), STATUS_BYTES_MAX)
            .ok()
            .and_then(|status| Self::parse_effective(&status))
            .unwrap_or_default()
    }

    /// `CapEff` of a `/proc/PID/status`.
    pub fn parse_effective(status: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(status).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        u64::from_str_radix(line.trim(), 16).ok().map(Self)
    }

    /// A set of these.
    pub fn of(capabilities: &[Capability]) -> Self {
        capabilities.iter().copied().collect()
    }

    /// It is in the set itself.
    pub fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability.number()) != 0
    }

    /// The kernel grants what it stands for: CAP_SYS_ADMIN does for BPF and PERFMON (`bpf_capable`,
    /// `perfmon_capable`, include/linux/capability.h).
    pub fn grants(self, capability: Capability) -> bool {
        let by_admin = matches!(capability, Capability::Bpf | Capability::Perfmon);
        self.has(capability) || (by_admin && self.has(Capability::SysAdmin))
    }

    /// May sample processors as far as capabilities go.
    pub fn perfmon_or_admin(self) -> bool {
        self.grants(Capability::Perfmon)
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        Self(
            capabilities
                .into_iter()
                .fold(0, |set, capability| set | 1 << capability.number()),
        )
    }
}
