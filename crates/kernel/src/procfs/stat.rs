//! `/proc/stat`: CPU time and scheduler counters of the host (fs/proc/stat.c, `show_stat`; proc_stat(5)).

use super::text::{fields, lines, number};
use crate::read::{self, ReadError};
use crate::roots::ProcRoot;

/// The `intr` line has a number for every interrupt of the host: hundreds of kilobytes on the largest.
const STAT_BYTES_MAX: usize = 4 << 20;

/// Time since boot that one CPU (or all together) spent in each state, in ticks of [`crate::clock::hertz`].
/// `guest` and `guest_nice` are already part of `user` and `nice` (kernel/sched/cputime.c, `account_guest_time`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Running normal processes.
    pub user: u64,
    /// Running niced processes.
    pub nice: u64,
    /// Running the kernel for processes.
    pub system: u64,
    /// Idle, with no I/O outstanding.
    pub idle: u64,
    /// Idle, with I/O outstanding of a task that last ran here. Not reliable: may even decrease (proc_stat(5)).
    pub iowait: u64,
    /// Serving interrupts.
    pub irq: u64,
    /// Serving soft interrupts.
    pub softirq: u64,
    /// Ready to run, but the hypervisor ran somebody else; kernel 2.6.11.
    pub steal: Option<u64>,
    /// Running a virtual machine; kernel 2.6.24.
    pub guest: Option<u64>,
    /// Running a niced virtual machine; kernel 2.6.33.
    pub guest_nice: Option<u64>,
}

/// What `/proc/stat` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stat {
    /// All CPUs together.
    pub total: Option<CpuTicks>,
    /// Each CPU that is online, with its number.
    pub cpus: Vec<(u32, CpuTicks)>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Processes and threads started since boot.
    pub forks: Option<u64>,
    /// Threads that run or are ready to run now.
    pub procs_running: Option<u64>,
    /// Threads that wait in uninterruptible sleep for I/O now (`nr_iowait`).
    pub procs_blocked: Option<u64>,
    /// Boot time in seconds since 1970.
    pub boot_time_s: Option<u64>,
}

/// Parses `/proc/stat`.
pub fn parse(bytes: &[u8]) -> Stat {
    let mut stat = Stat::default();
    for line in lines(bytes) {
        let mut rest = fields(line);
        let Some(name) = rest.next() else { continue };
        match name {
            b"cpu" => stat.total = cpu_ticks(rest),
            b"ctxt" => stat.context_switches = rest.next().and_then(number),
            b"processes" => stat.forks = rest.next().and_then(number),
            b"procs_running" => stat.procs_running = rest.next().and_then(number),
            b"procs_blocked" => stat.procs_blocked = rest.next().and_then(number),
            b"btime" => stat.boot_time_s = rest.next().and_then(number),
            _ => {
                let cpu = name.strip_prefix(b"cpu").and_then(number::<u32>);
                if let Some((cpu, ticks)) = cpu.zip(cpu_ticks(rest)) {
                    stat.cpus.push((cpu, ticks));
                }
            }
        }
    }
    stat
}

fn cpu_ticks<'a>(mut rest: impl Iterator<Item = &'a [u8]>) -> Option<CpuTicks> {
    let mut next = || rest.next().and_then(number);
    Some(CpuTicks {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next(),
        guest: next(),
        guest_nice: next(),
    })
}

/// Reads `/proc/stat`.
pub fn read(proc: &ProcRoot) -> Result<Stat, ReadError> {
    Ok(parse(&read::whole(&proc.file("stat"), STAT_BYTES_MAX)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_6_18() {
        let stat = parse(include_bytes!("../../tests/fixtures/stat-6.18"));
        let total = stat.total.unwrap();
        assert_eq!(
            (total.user, total.system, total.idle),
            (4117, 2920, 102_981)
        );
        assert_eq!((total.steal, total.guest_nice), (Some(1094), Some(0)));
        assert_eq!(stat.cpus.len(), 2);
        assert_eq!(stat.cpus[1].0, 1);
        assert_eq!(stat.cpus[1].1.iowait, 600);
        assert_eq!(stat.context_switches, Some(389_442));
        assert_eq!(stat.forks, Some(4466));
        assert_eq!((stat.procs_running, stat.procs_blocked), (Some(6), Some(0)));
        assert_eq!(stat.boot_time_s, Some(1_795_217_371));
    }

    #[test]
    fn kernel_2_6_18_has_no_guest_time() {
        let stat = parse(b"cpu  10 20 30 40 50 60 70 80\ncpu0 1 2 3 4 5 6 7 8\nctxt 9\n");
        let total = stat.total.unwrap();
        assert_eq!(
            (total.softirq, total.steal, total.guest),
            (70, Some(80), None)
        );
        assert_eq!(stat.procs_running, None);
    }

    #[test]
    fn a_line_that_is_cut_is_absent() {
        let stat = parse(b"cpu 1 2 3\ncpufreq 1 2 3 4 5 6 7 8\nctxt\n");
        assert_eq!(stat, Stat::default());
    }
}
