//! What is advised for machines of many kinds. Pure.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::PathBuf;

use kernel::access::{
    Access, Capabilities, Capability, EvidenceAdvice, ProcessAccess, Refusal, advise,
};

const EACCES: i32 = 13;
const EPERM: i32 = 1;
const ALL: &str =
    "setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog,cap_dac_read_search=ep /opt/freezeframe";

fn refused(errno: i32) -> Result<(), Refusal> {
    Err(Refusal {
        text: "refused".to_owned(),
        errno: Some(errno),
    })
}

/// An ordinary user on a Debian of today.
fn ordinary() -> Access {
    Access {
        capabilities: Capabilities::default(),
        no_new_privs: false,
        uid: 1000,
        program: PathBuf::from("/opt/freezeframe"),
        perf_event_paranoid: Some(3),
        kptr_restrict: Some(0),
        unprivileged_bpf_disabled: Some(2),
        yama_ptrace_scope: None,
        kernel: (6, 12),
        has_btf: true,
        lockdown: None,
        in_container: None,
        in_first_user_namespace: true,
        in_first_pid_namespace: true,
        tracefs_mounted: true,
        sample_processors: refused(EACCES),
        sample_own_kernel_side: refused(EACCES),
        load_bpf: refused(EPERM),
        kernel_names_visible: false,
    }
}

/// Everything is allowed.
fn with(capabilities: &[Capability]) -> Access {
    Access {
        capabilities: Capabilities::of(capabilities),
        sample_processors: Ok(()),
        sample_own_kernel_side: Ok(()),
        load_bpf: Ok(()),
        kernel_names_visible: true,
        ..ordinary()
    }
}

const FIVE: [Capability; 5] = [
    Capability::Bpf,
    Capability::Perfmon,
    Capability::SysPtrace,
    Capability::Syslog,
    Capability::DacReadSearch,
];

/// A server of another user, of which we learn nothing.
fn foreign() -> ProcessAccess {
    ProcessAccess {
        pid: 77,
        same_uid: false,
        dumpable: true,
        other_pid_namespace: false,
        syscall_readable: refused(EACCES),
        memory_readable: refused(EPERM),
        maps_readable: refused(EACCES),
        images_readable: refused(EACCES),
        kernel_stack_readable: refused(EACCES),
        sample_kernel_side: refused(EACCES),
        sample_user_side: refused(EACCES),
    }
}

fn all_readable() -> ProcessAccess {
    ProcessAccess {
        syscall_readable: Ok(()),
        memory_readable: Ok(()),
        maps_readable: Ok(()),
        images_readable: Ok(()),
        sample_kernel_side: Ok(()),
        sample_user_side: Ok(()),
        ..foreign()
    }
}

fn line<'a>(advice: &'a [EvidenceAdvice], evidence: &str) -> &'a EvidenceAdvice {
    advice
        .iter()
        .find(|line| line.evidence == evidence)
        .unwrap_or_else(|| panic!("no line {evidence}"))
}

fn cure<'a>(advice: &'a [EvidenceAdvice], evidence: &str) -> &'a str {
    line(advice, evidence).cure.as_deref().unwrap()
}

#[test]
fn without_a_capability_one_command_cures_all() {
    for process in [None, Some(foreign())] {
        let advice = advise(&ordinary(), process.as_ref());
        for line in &advice {
            assert!(!line.available, "{line:?}");
            let cure = line.cure.as_deref().unwrap();
            assert!(cure.starts_with(ALL), "{cure}");
            assert!(line.why.contains("CAP_"), "{line:?}");
        }
        assert_eq!(
            cure(&advice, "CPU profile"),
            format!("{ALL} (or, for all users: sysctl kernel.perf_event_paranoid=0)")
        );
        assert!(
            line(&advice, "exact lock waits")
                .why
                .contains("CAP_BPF and CAP_PERFMON")
        );
    }
}

#[test]
fn with_five_capabilities_or_as_root_all_is_there() {
    let mut root = FIVE.to_vec();
    root.push(Capability::SysAdmin);
    for capabilities in [&FIVE[..], &root] {
        for process in [None, Some(all_readable())] {
            for line in advise(&with(capabilities), process.as_ref()) {
                assert!(line.available && line.cure.is_none(), "{line:?}");
            }
        }
    }
}

#[test]
fn what_is_there_is_kept_by_the_command() {
    let access = Access {
        load_bpf: refused(EPERM),
        kernel_names_visible: false,
        ..with(&[
            Capability::Perfmon,
            Capability::SysAdmin,
            Capability::Syslog,
        ])
    };
    // CAP_SYS_ADMIN does for BPF, so that it is no lack of a capability.
    let advice = advise(&access, None);
    assert_eq!(
        cure(&advice, "thread stacks by /proc"),
        "setcap cap_perfmon,cap_sys_ptrace,cap_syslog,cap_dac_read_search=ep /opt/freezeframe"
    );
    assert!(line(&advice, "exact lock waits").why.contains("despite"));
}

#[test]
fn in_a_container_flags_are_advised() {
    let access = Access {
        in_container: Some("docker".to_owned()),
        ..ordinary()
    };
    let advice = advise(&access, None);
    assert_eq!(
        cure(&advice, "thread stacks by BPF"),
        "start the container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add SYSLOG --cap-add DAC_READ_SEARCH"
    );
    // With the capabilities, what still refuses is the runtime's filter.
    let filtered = Access {
        in_container: Some("docker".to_owned()),
        sample_processors: refused(EPERM),
        load_bpf: refused(EPERM),
        ..with(&FIVE)
    };
    let advice = advise(&filtered, Some(&all_readable()));
    for evidence in ["thread stacks by BPF", "CPU profile"] {
        assert!(line(&advice, evidence).why.contains("seccomp"));
        assert!(cure(&advice, evidence).contains("seccomp"));
    }
    let rootless = Access {
        in_first_user_namespace: false,
        ..filtered
    };
    let advice = advise(&rootless, None);
    assert!(
        line(&advice, "exact lock waits")
            .why
            .contains("user namespace")
    );
}

#[test]
fn where_file_capabilities_do_not_count_ambient_ones_are_advised() {
    let access = Access {
        no_new_privs: true,
        ..ordinary()
    };
    let advice = advise(&access, None);
    let cure = cure(&advice, "kernel names");
    assert!(cure.starts_with("AmbientCapabilities=CAP_BPF CAP_PERFMON CAP_SYS_PTRACE"));
}

#[test]
fn paranoid_four_in_spite_of_the_capability() {
    let access = Access {
        perf_event_paranoid: Some(4),
        sample_processors: refused(EACCES),
        sample_own_kernel_side: refused(EACCES),
        ..with(&FIVE)
    };
    let advice = advise(&access, None);
    for evidence in ["CPU profile", "CPU profile, kernel side"] {
        assert!(line(&advice, evidence).why.contains("paranoid is 4"));
        assert_eq!(
            cure(&advice, evidence),
            "sysctl kernel.perf_event_paranoid=2"
        );
    }
    assert!(line(&advice, "exact lock waits").available);
}

#[test]
fn an_old_kernel_has_no_such_capabilities_and_no_iterator() {
    let access = Access {
        kernel: (5, 4),
        has_btf: false,
        ..ordinary()
    };
    let advice = advise(&access, None);
    let stacks = line(&advice, "thread stacks by BPF");
    assert!(
        stacks.why.contains("5.18") && stacks.why.contains("5.4"),
        "{stacks:?}"
    );
    assert_eq!(stacks.cure, None);
    assert!(line(&advice, "CPU profile").why.contains("CAP_SYS_ADMIN"));
    assert!(cure(&advice, "CPU profile").starts_with(
        "setcap cap_sys_ptrace,cap_syslog,cap_dac_read_search,cap_sys_admin=ep /opt/freezeframe"
    ));
    assert!(advice.iter().all(|line| !line.why.contains("CAP_BPF")));
}

#[test]
fn a_server_of_our_own_user_without_a_capability() {
    let own = ProcessAccess {
        same_uid: true,
        sample_kernel_side: refused(EACCES),
        ..all_readable()
    };
    let advice = advise(&ordinary(), Some(&own));
    for (evidence, available) in [
        ("thread stacks by /proc", true),
        ("function names of the server", true),
        ("CPU profile of the server", true),
        ("CPU profile, kernel side", false),
        ("thread stacks by BPF", false),
    ] {
        assert_eq!(line(&advice, evidence).available, available, "{evidence}");
    }
    // It asks for no more than is missing.
    assert_eq!(
        cure(&advice, "kernel names"),
        "setcap cap_bpf,cap_perfmon,cap_syslog=ep /opt/freezeframe"
    );

    let closed = ProcessAccess {
        same_uid: true,
        dumpable: false,
        ..foreign()
    };
    let advice = advise(&ordinary(), Some(&closed));
    assert!(
        line(&advice, "thread stacks by /proc")
            .why
            .contains("started by another")
    );

    let guarded = ProcessAccess {
        same_uid: true,
        memory_readable: refused(EPERM),
        ..all_readable()
    };
    let yama = Access {
        yama_ptrace_scope: Some(1),
        ..ordinary()
    };
    let advice = advise(&yama, Some(&guarded));
    let stacks = line(&advice, "thread stacks by /proc");
    assert!(stacks.why.contains("yama.ptrace_scope is 1"), "{stacks:?}");
}

#[test]
fn hidden_kernel_names() {
    let hidden = Access {
        kptr_restrict: Some(2),
        kernel_names_visible: false,
        ..with(&FIVE)
    };
    assert_eq!(
        cure(&advise(&hidden, None), "kernel names"),
        "sysctl kernel.kptr_restrict=1"
    );
    let both = Access {
        kptr_restrict: Some(2),
        ..ordinary()
    };
    assert_eq!(
        cure(&advise(&both, None), "kernel names"),
        format!("{ALL} && sysctl kernel.kptr_restrict=1")
    );
}

#[test]
fn a_kernel_without_types_or_perf_events() {
    let access = Access {
        has_btf: false,
        perf_event_paranoid: None,
        sample_processors: refused(38),
        sample_own_kernel_side: refused(38),
        ..with(&FIVE)
    };
    let advice = advise(&access, None);
    for evidence in ["exact lock waits", "CPU profile"] {
        let line = line(&advice, evidence);
        assert!(!line.available && line.cure.is_none());
        assert!(line.why.contains("CONFIG_"), "{line:?}");
    }
}

#[test]
fn lockdown_is_named() {
    let access = Access {
        lockdown: Some("confidentiality".to_owned()),
        load_bpf: refused(EPERM),
        ..with(&FIVE)
    };
    let advice = advise(&access, None);
    assert!(line(&advice, "exact lock waits").why.contains("lockdown"));
}

#[test]
fn the_effective_set_is_read_from_status() {
    let status = b"Name:\tx\nCapInh:\t0000000000000000\nCapEff:\t000000c000200004\n";
    let set = Capabilities::parse_effective(status).unwrap();
    for (capability, there) in [
        (Capability::Bpf, true),
        (Capability::Perfmon, true),
        (Capability::SysAdmin, true),
        (Capability::DacReadSearch, true),
        (Capability::SysPtrace, false),
        (Capability::Syslog, false),
    ] {
        assert_eq!(set.has(capability), there, "{capability:?}");
    }
    assert!(Capabilities::of(&[Capability::SysAdmin]).grants(Capability::Bpf));
    assert!(!Capabilities::of(&[Capability::SysAdmin]).grants(Capability::Syslog));
    assert_eq!(Capabilities::parse_effective(b"CapEff:\tzz\n"), None);
    assert_eq!(Capabilities::parse_effective(b""), None);
}

#[test]
fn a_sidecar_has_stacks_and_no_exact_lock_waits() {
    let access = Access {
        in_container: Some("kubernetes".to_owned()),
        in_first_pid_namespace: false,
        ..with(&FIVE)
    };
    let advice = advise(&access, None);
    let waits = line(&advice, "exact lock waits");
    assert!(
        !waits.available && waits.why.contains("pid namespace"),
        "{waits:?}"
    );
    assert!(line(&advice, "thread stacks by BPF").available);
}
