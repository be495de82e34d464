use super::{Access, Capabilities, Capability, ProcessAccess, Refusal};

/// What the recorder can use at most, beside what it has (docs: capabilities, not root).
const WANTED: [Capability; 5] = [
    Capability::Bpf,
    Capability::Perfmon,
    Capability::SysPtrace,
    Capability::Syslog,
    Capability::DacReadSearch,
];

/// CAP_BPF and CAP_PERFMON came with this kernel (capabilities(7)).
const OWN_CAPABILITIES_FROM: (u32, u32) = (5, 8);
/// Sleepable task iterators with `bpf_copy_from_user_task`.
const STACK_COPY_FROM: (u32, u32) = (5, 18);
/// Typed tracepoints (`tp_btf`).
const TYPED_TRACEPOINTS_FROM: (u32, u32) = (5, 5);
/// The tracepoints `lock:contention_begin` and `lock:contention_end`.
const CONTENTION_FROM: (u32, u32) = (5, 19);

/// Whether a kind of evidence can be had, why, and what would make it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceAdvice {
    /// The evidence.
    pub evidence: &'static str,
    /// It can be had.
    pub available: bool,
    /// What makes or prevents it.
    pub why: String,
    /// The command that would allow it; absent when it is available, or when no command would.
    pub cure: Option<String>,
}

/// A line for each kind of evidence. With a process, also what concerns that process; without, what would hold for a
/// server of another user. Pure.
///
/// All cures by `setcap` in one answer are the same command, with everything that any line lacks: `setcap` replaces the
/// set, so that single ones would undo each other.
pub fn advise(access: &Access, process: Option<&ProcessAccess>) -> Vec<EvidenceAdvice> {
    let judged = judge(access, process);
    let lacking: Vec<Capability> = judged
        .iter()
        .flat_map(|judged| judged.lacks.iter().copied())
        .collect();
    judged
        .into_iter()
        .map(|judged| {
            let cure = if judged.available {
                None
            } else if judged.lacks.is_empty() {
                judged.cure
            } else {
                Some(join(grant(access, &lacking), judged.cure))
            };
            EvidenceAdvice {
                evidence: judged.evidence,
                available: judged.available,
                why: judged.why,
                cure,
            }
        })
        .collect()
}

/// An [`EvidenceAdvice`] before the capabilities of all are put together.
struct Judged {
    evidence: &'static str,
    available: bool,
    why: String,
    /// Capabilities that would help.
    lacks: Vec<Capability>,
    /// What must be done besides, or instead when `lacks` is empty.
    cure: Option<String>,
}

impl Judged {
    fn yes(evidence: &'static str, why: impl Into<String>) -> Self {
        Self {
            evidence,
            available: true,
            why: why.into(),
            lacks: Vec::new(),
            cure: None,
        }
    }

    fn no(evidence: &'static str, why: impl Into<String>) -> Self {
        Self {
            available: false,
            ..Self::yes(evidence, why)
        }
    }

    fn lacking(mut self, lacks: Vec<Capability>) -> Self {
        self.lacks = lacks;
        self
    }

    fn cured_by(mut self, cure: Option<String>) -> Self {
        self.cure = cure;
        self
    }
}

fn judge(access: &Access, process: Option<&ProcessAccess>) -> Vec<Judged> {
    let mut all = vec![
        by_bpf(
            access,
            "thread stacks by BPF",
            STACK_COPY_FROM,
            "copies stacks of other processes",
        ),
        thread_stacks_by_proc(access, process),
        kernel_stacks(access, process),
        profile(access),
        profile_kernel_side(access, process),
    ];
    all.extend(process.map(|process| profile_of_process(access, process)));
    all.extend([
        lock_waits(
            access,
            "exact lock waits",
            TYPED_TRACEPOINTS_FROM,
            "has typed tracepoints",
        ),
        lock_waits(
            access,
            "kernel lock waits",
            CONTENTION_FROM,
            "reports waits for its locks",
        ),
        kernel_names(access),
        server_names(access, process),
    ]);
    all
}

/// Which are counted by the kernel's own process ids.
fn lock_waits(access: &Access, evidence: &'static str, from: (u32, u32), words: &str) -> Judged {
    let judged = by_bpf(access, evidence, from, words);
    if !judged.available || access.in_first_pid_namespace {
        return judged;
    }
    Judged::no(
        evidence,
        "freezeframe runs in its own pid namespace, and BPF programs do not know process ids of that",
    )
    .cured_by(Some(
        "run it on the host, or in a container with the host's process ids (hostPID, --pid=host)"
            .to_owned(),
    ))
}

fn by_bpf(access: &Access, evidence: &'static str, from: (u32, u32), words: &str) -> Judged {
    if access.kernel < from {
        let (major, minor) = access.kernel;
        return Judged::no(
            evidence,
            format!(
                "Linux {}.{} is the first that {words}; this is {major}.{minor}",
                from.0, from.1
            ),
        );
    }
    if !access.has_btf {
        return Judged::no(
            evidence,
            "the kernel was built without type information (CONFIG_DEBUG_INFO_BTF)",
        );
    }
    let Err(refusal) = &access.load_bpf else {
        return Judged::yes(evidence, "a BPF program can be loaded");
    };
    let lacks = missing(access, &[Capability::Bpf, Capability::Perfmon]);
    if !lacks.is_empty() {
        return Judged::no(
            evidence,
            format!("loading a BPF program needs {}", names(&lacks)),
        )
        .lacking(lacks);
    }
    held_back(
        access,
        evidence,
        "loading a BPF program",
        refusal,
        "kernel.unprivileged_bpf_disabled does not apply with CAP_BPF",
    )
}

fn thread_stacks_by_proc(access: &Access, process: Option<&ProcessAccess>) -> Judged {
    let evidence = "thread stacks by /proc";
    let wanted = [Capability::SysPtrace, Capability::DacReadSearch];
    let lacks = missing(access, &wanted);
    let Some(process) = process else {
        return if lacks.is_empty() {
            Judged::yes(evidence, format!("{} are effective", names(&wanted)))
        } else {
            Judged::no(
                evidence,
                format!(
                    "for a server of another user, reading its threads' registers and memory needs {}",
                    names(&lacks)
                ),
            )
            .lacking(lacks)
        };
    };
    match (&process.syscall_readable, &process.memory_readable) {
        (Ok(()), Ok(())) => Judged::yes(evidence, "its threads' registers and memory can be read"),
        (Err(refusal), _) | (Ok(()), Err(refusal)) => {
            if !refusal.is_permission() {
                return Judged::no(evidence, gone(process.pid, refusal));
            }
            let what = match (&process.syscall_readable, &process.memory_readable) {
                (Err(_), Err(_)) => "neither its threads' registers nor its memory can be read",
                (Err(_), Ok(())) => "its threads' registers cannot be read",
                _ => "its memory cannot be read",
            };
            refused(access, process, evidence, what, refusal, lacks)
        }
    }
}

fn kernel_stacks(access: &Access, process: Option<&ProcessAccess>) -> Judged {
    let evidence = "kernel stacks";
    if process.is_some_and(|process| process.kernel_stack_readable.is_ok()) {
        return Judged::yes(evidence, "/proc/PID/stack can be read");
    }
    // The iterator that copies user stacks brings the kernel's along.
    by_bpf(
        access,
        evidence,
        STACK_COPY_FROM,
        "copies stacks of other processes",
    )
}

fn profile(access: &Access) -> Judged {
    let evidence = "CPU profile";
    sampling(
        access,
        evidence,
        &access.sample_processors,
        "sampling the CPUs",
        0,
    )
}

fn profile_kernel_side(access: &Access, process: Option<&ProcessAccess>) -> Judged {
    let evidence = "CPU profile, kernel side";
    if access.sample_processors.is_ok() {
        return Judged::yes(evidence, "CPUs can be sampled with their kernel side");
    }
    match process.map(|process| &process.sample_kernel_side) {
        Some(tried) => sampling(access, evidence, tried, "sampling the kernel side", 1),
        None => sampling(
            access,
            evidence,
            &access.sample_own_kernel_side,
            "sampling the kernel side",
            1,
        ),
    }
}

fn profile_of_process(access: &Access, process: &ProcessAccess) -> Judged {
    let evidence = "CPU profile of the server";
    match &process.sample_user_side {
        Ok(()) => Judged::yes(evidence, "its threads can be sampled"),
        Err(refusal)
            if access.perf_event_paranoid.is_some_and(|value| value <= 2)
                && refusal.is_permission() =>
        {
            let lacks = missing(access, &[Capability::Perfmon]);
            refused(
                access,
                process,
                evidence,
                "its threads cannot be sampled",
                refusal,
                lacks,
            )
        }
        tried => sampling(access, evidence, tried, "sampling a process", 2),
    }
}

/// `highest`: the highest `perf_event_paranoid` that allows it to everybody.
fn sampling(
    access: &Access,
    evidence: &'static str,
    tried: &Result<(), Refusal>,
    what: &str,
    highest: i32,
) -> Judged {
    let Err(refusal) = tried else {
        return Judged::yes(evidence, format!("{what} is allowed"));
    };
    let Some(paranoid) = access.perf_event_paranoid else {
        return Judged::no(
            evidence,
            "the kernel was built without perf events (CONFIG_PERF_EVENTS)",
        );
    };
    if !refusal.is_permission() {
        return Judged::no(evidence, format!("{what} does not work: {}", refusal.text));
    }
    let setting = format!("sysctl kernel.perf_event_paranoid={highest}");
    let lacks = missing(access, &[Capability::Perfmon]);
    if !lacks.is_empty() {
        let why = if paranoid > highest {
            format!(
                "kernel.perf_event_paranoid is {paranoid}: {what} needs {}",
                names(&lacks)
            )
        } else {
            format!("{what} needs {} ({})", names(&lacks), refusal.text)
        };
        let other = (paranoid > highest).then(|| format!("or, for all users: {setting}"));
        return Judged::no(evidence, why).lacking(lacks).cured_by(other);
    }
    // Some distributions' kernels with a setting above the original ones ask for CAP_SYS_ADMIN in spite of PERFMON.
    let mut judged = held_back(
        access,
        evidence,
        what,
        refusal,
        &format!("kernel.perf_event_paranoid is {paranoid}"),
    );
    if paranoid > 2 && refusal.errno == Some(libc::EACCES) {
        judged.cure = Some("sysctl kernel.perf_event_paranoid=2".to_owned());
    }
    judged
}

fn kernel_names(access: &Access) -> Judged {
    let evidence = "kernel names";
    if access.kernel_names_visible {
        return Judged::yes(evidence, "/proc/kallsyms shows addresses");
    }
    let restrict = access.kptr_restrict.unwrap_or(0);
    let lacks = missing(access, &[Capability::Syslog]);
    // kallsyms_show_value (kernel/ksyms_common.c): at 2 nobody sees them; below, CAP_SYSLOG does.
    let open = (restrict >= 2).then(|| "sysctl kernel.kptr_restrict=1".to_owned());
    if lacks.is_empty() && open.is_none() {
        return Judged::no(
            evidence,
            "/proc/kallsyms shows no addresses although CAP_SYSLOG is effective: a user namespace or lockdown hides them",
        );
    }
    let why = match (&open, lacks.is_empty()) {
        (Some(_), true) => format!("kernel.kptr_restrict is {restrict}, which hides them from all"),
        (Some(_), false) => format!(
            "kernel.kptr_restrict is {restrict}, which hides them from all, and below it they need {}",
            names(&lacks)
        ),
        (None, _) => format!("addresses in /proc/kallsyms need {}", names(&lacks)),
    };
    Judged::no(evidence, why).lacking(lacks).cured_by(open)
}

fn server_names(access: &Access, process: Option<&ProcessAccess>) -> Judged {
    let evidence = "function names of the server";
    let lacks = missing(access, &[Capability::SysPtrace]);
    let Some(process) = process else {
        return if lacks.is_empty() {
            Judged::yes(
                evidence,
                format!("{} is effective", names(&[Capability::SysPtrace])),
            )
        } else {
            Judged::no(
                evidence,
                format!(
                    "for a server of another user, its memory map and images need {}",
                    names(&lacks)
                ),
            )
            .lacking(lacks)
        };
    };
    match (&process.maps_readable, &process.images_readable) {
        (Ok(()), Ok(())) => Judged::yes(evidence, "its memory map and images can be read"),
        (Err(refusal), _) | (Ok(()), Err(refusal)) if !refusal.is_permission() => {
            Judged::no(evidence, gone(process.pid, refusal))
        }
        (Err(refusal), _) => refused(
            access,
            process,
            evidence,
            "its memory map cannot be read, so its stacks cannot be unwound",
            refusal,
            lacks,
        ),
        (Ok(()), Err(refusal)) => refused(
            access,
            process,
            evidence,
            "its images cannot be read",
            refusal,
            lacks,
        ),
    }
}

/// Something of a process is refused for reasons of permission.
fn refused(
    access: &Access,
    process: &ProcessAccess,
    evidence: &'static str,
    what: &str,
    refusal: &Refusal,
    lacks: Vec<Capability>,
) -> Judged {
    if lacks.is_empty() {
        let yama = match access.yama_ptrace_scope {
            Some(3) => {
                "; kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot"
            }
            _ => "",
        };
        return held_back(
            access,
            evidence,
            what,
            refusal,
            &format!("process {}{yama}", process.pid),
        );
    }
    let reason = match (process.same_uid, process.dumpable, access.yama_ptrace_scope) {
        (true, false, _) => "it was started by another user and then changed to ours, so the kernel closes it to us (not if it starts as its user, as with User= of systemd)".to_owned(),
        (true, true, Some(scope)) if scope > 0 => {
            format!("kernel.yama.ptrace_scope is {scope}")
        }
        (true, true, _) => refusal.text.clone(),
        (false, _, _) => "it runs as another user".to_owned(),
    };
    Judged::no(
        evidence,
        format!("{what}: {reason}; {} would allow it", names(&lacks)),
    )
    .lacking(lacks)
}

/// The capabilities are there and it is refused nevertheless.
fn held_back(
    access: &Access,
    evidence: &'static str,
    what: &str,
    refusal: &Refusal,
    setting: &str,
) -> Judged {
    if !refusal.is_permission() {
        return Judged::no(evidence, format!("{what} does not work: {}", refusal.text));
    }
    let refused = format!("refused despite the capabilities: {what}");
    if !access.in_first_user_namespace {
        return Judged::no(
            evidence,
            format!("{refused}: they count only inside our user namespace"),
        )
        .cured_by(Some(
            "run it outside the user namespace (not possible in a rootless container)".to_owned(),
        ));
    }
    if let Some(lockdown) = access
        .lockdown
        .as_deref()
        .filter(|set| *set == "confidentiality")
    {
        return Judged::no(
            evidence,
            format!("{refused}: the kernel's lockdown is {lockdown}"),
        )
        .cured_by(Some("boot with lockdown=integrity or none".to_owned()));
    }
    if let Some(container) = &access.in_container {
        return Judged::no(
            evidence,
            format!("{refused}: the seccomp filter of the container ({container}) forbids it"),
        )
        .cured_by(Some(
            "start the container with a seccomp profile that allows bpf, perf_event_open and process_vm_readv, or --security-opt seccomp=unconfined".to_owned(),
        ));
    }
    Judged::no(evidence, format!("{refused} ({}; {setting})", refusal.text))
}

fn gone(pid: u32, refusal: &Refusal) -> String {
    format!("process {pid}: {}", refusal.text)
}

/// Which of these are not granted, in the names that this kernel knows.
fn missing(access: &Access, wanted: &[Capability]) -> Vec<Capability> {
    let mut missing: Vec<Capability> = wanted
        .iter()
        .filter(|capability| !access.capabilities.grants(**capability))
        .map(|capability| match capability {
            Capability::Bpf | Capability::Perfmon if access.kernel < OWN_CAPABILITIES_FROM => {
                Capability::SysAdmin
            }
            other => *other,
        })
        .collect();
    missing.dedup();
    missing
}

fn names(capabilities: &[Capability]) -> String {
    capabilities
        .iter()
        .map(|capability| capability.name().to_uppercase())
        .collect::<Vec<_>>()
        .join(" and ")
}

/// The command that gives us what any evidence lacks, and keeps what we have of it.
pub(super) fn grant(access: &Access, lacking: &[Capability]) -> String {
    let lacking = Capabilities::of(lacking);
    let set = Capability::ALL.into_iter().filter(|capability| {
        lacking.has(*capability)
            || (WANTED.contains(capability) && access.capabilities.has(*capability))
    });
    if access.in_container.is_some() {
        let flags: Vec<String> = set
            .map(|capability| {
                let name = capability.name().to_uppercase();
                format!("--cap-add {}", name.trim_start_matches("CAP_"))
            })
            .collect();
        return format!("start the container with {}", flags.join(" "));
    }
    if access.no_new_privs {
        let list: Vec<String> = set
            .map(|capability| capability.name().to_uppercase())
            .collect();
        return format!(
            "AmbientCapabilities={} in the service's unit (setcap does nothing here: no_new_privs is set)",
            list.join(" ")
        );
    }
    let list: Vec<&str> = set.map(Capability::name).collect();
    format!("setcap {}=ep {}", list.join(","), access.program.display())
}

fn join(first: String, second: Option<String>) -> String {
    match second {
        Some(second) if second.starts_with("or, ") => format!("{first} ({second})"),
        Some(second) => format!("{first} && {second}"),
        None => first,
    }
}
