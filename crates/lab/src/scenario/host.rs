//! What a scenario changes on the host: each change is a lease, back in place whatever becomes of us.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use cli::output;
use kernel::procfs::cgroup;
use kernel::procfs::meminfo::{self, Amount};
use kernel::roots::ProcRoot;
use lab::host::{self, DIRECTORY, HostChange, HostLease};
use rustix::io::Errno;
use testbed::{FREE_MIB_MIN, PrivateServer, Scenario, Step, Victim};

use super::work::Work;

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage";

/// By so many bytes less is tried where a file system has less room than it says.
const FILL_STEP: u64 = 256 << 10;

/// What `freezeframe fix` sets: in between, and no reason to leave ours.
const REMEDY: &str = "never";

/// The kernel's own default, microseconds.
const PERIOD_US: u32 = 100_000;

/// A quota that is smaller the kernel does not take (kernel/sched/core.c, `min_cfs_quota_period`), microseconds.
const QUOTA_US_MIN: f64 = 1000.0;

/// The longest period that it takes, for less than a hundredth of a processor, microseconds.
const PERIOD_US_MAX: u32 = 1_000_000;

/// Control groups made by this process: several servers of it may have theirs.
static GROUPS: AtomicU64 = AtomicU64::new(0);

/// A server needs more than a small file system.
const DISK_MIB_MIN: u64 = 256;

/// The lease of a run.
pub(crate) struct Host {
    lease: RefCell<HostLease>,
    /// The server's control group, by controller.
    groups: RefCell<Vec<(&'static str, PathBuf)>>,
    /// The server's process.
    server: Cell<Option<u32>>,
    /// Where its own disk is mounted.
    disk: Option<PathBuf>,
    /// Where the disk is mounted that several servers are swapped to.
    swap_disk: Option<PathBuf>,
}

/// A disk with a swap that is in use, for several servers.
pub(crate) struct SwapDisk {
    lease: HostLease,
    /// Where it is mounted.
    pub(crate) path: PathBuf,
}

impl SwapDisk {
    /// Makes it in a directory, until it is ended, and for so long at the most.
    pub(crate) fn make(directory: &Path, mib: u64, longest: Duration) -> Result<Self> {
        let mut lease = begin_lease(longest)?;
        let path = mount_disk(&mut lease, directory, mib + DISK_MIB_MIN)?;
        let swap = path.join("swap");
        make_swap(&swap, mib)?;
        lease.make(HostChange::Swap { path: swap })?;
        Ok(Self { lease, path })
    }

    /// Swapped memory comes back, and the disk is gone.
    pub(crate) fn end(self) -> Result<()> {
        Ok(self.lease.end()?)
    }
}

/// Puts back what a killed run left, and begins a lease.
pub(crate) fn begin_lease(longest: Duration) -> Result<HostLease> {
    let program = std::env::current_exe()?;
    host::give_back_left(&program, Path::new(DIRECTORY), output::note)?;
    let lease = HostLease::begin(&program, Path::new(DIRECTORY), longest, output::note)?;
    Ok(lease)
}

/// A new file system in a directory, mounted.
fn mount_disk(lease: &mut HostLease, directory: &Path, mib: u64) -> Result<PathBuf> {
    let image = directory.join("disk.image");
    make_disk(&image, mib.max(DISK_MIB_MIN))?;
    let path = directory.join("disk");
    lease.make(HostChange::Mount {
        path: path.clone(),
        image,
    })?;
    Ok(path)
}

/// A step that was taken.
pub(crate) enum OnHost {
    /// Changes that are put back by their numbers.
    Changes(Vec<u64>),
    /// A limit that is lifted: file and value.
    Limit(PathBuf, String),
    /// Limits that are as they were again, in this order.
    Limits(Vec<(PathBuf, String)>),
    /// A program that ends, and then a change that is put back, if one was made for it.
    Swap(Victim, Option<u64>),
    /// A program that ends, and with it what it does.
    Program(Victim),
    Ballast(PathBuf),
    Work(Work),
}

/// `freezeframe host-watchdog`.
pub(crate) fn watchdog() -> Result<ExitCode> {
    host::watch(output::note).map_err(|error| anyhow!("host-watchdog: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Why this machine cannot do what a scenario does to its host, if so.
pub(crate) fn can_run(scenario: &Scenario) -> Result<()> {
    if scenario.memory_mib > 0 {
        let (free, needs) = (available_mib()?, scenario.memory_mib + FREE_MIB_MIN);
        ensure!(
            free >= needs,
            "{free} MiB of memory are available; it needs {needs} MiB"
        );
    }
    if scenario.own_disk_mib.is_none() && scenario.host_steps().next().is_none() {
        return Ok(());
    }
    ensure!(
        rustix::process::geteuid().is_root(),
        "only root may change the host"
    );
    if scenario.own_disk_mib.is_some() {
        for program in ["mkfs.ext4", "mount"] {
            ensure!(is_installed(program), "{program} is not installed");
        }
        ensure!(
            Path::new("/dev/loop-control").exists(),
            "this kernel has no loop devices"
        );
    }
    for step in scenario.host_steps() {
        match step {
            Step::HugePages { .. } => ensure!(
                Path::new(HUGE_PAGES).join("enabled").exists(),
                "this kernel has no transparent huge pages"
            ),
            Step::Fragment { keep_free_mib, .. } => {
                let free = available_mib()?;
                ensure!(
                    free > keep_free_mib + 1024,
                    "{free} MiB of memory are available; it needs 1 GiB more than the {keep_free_mib} MiB that stay free"
                );
            }
            Step::Swap { .. } => {
                for program in ["mkswap", "swapon", "swapoff"] {
                    ensure!(is_installed(program), "{program} is not installed");
                }
                ensure!(
                    Path::new("/proc/swaps").exists(),
                    "this kernel does not swap"
                );
            }
            _ => {}
        }
        if let Some(controller) = controller(step) {
            group_above(std::process::id(), controller)?;
        }
    }
    Ok(())
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .any(|directory| directory.join(program).is_file())
}

fn available_mib() -> Result<u64> {
    let info = meminfo::read(&ProcRoot::default())?;
    meminfo::pairs(&info)
        .find_map(|pair| match pair {
            ("MemAvailable", Amount::Kib(kib)) => Some(kib >> 10),
            _ => None,
        })
        .context("/proc/meminfo does not show the available memory")
}

/// The controller that a step's limit belongs to.
fn controller(step: &Step) -> Option<&'static str> {
    match step {
        Step::CpuQuota { .. } => Some("cpu"),
        Step::MemoryLimit { .. } | Step::Swap { .. } => Some("memory"),
        Step::ThreadLimit { .. } => Some("pids"),
        Step::WriteLimit { .. } | Step::ReadLimit { .. } => Some("blkio"),
        _ => None,
    }
}

/// The directory of the control group that a process is in.
fn group_above(pid: u32, controller: &str) -> Result<PathBuf> {
    let groups = cgroup::read(Path::new(&format!("/proc/{pid}/cgroup")))?;
    let mounts = cgroup::read_mountinfo(Path::new("/proc/self/mountinfo"))?;
    cgroup::v1_directory(&groups, &mounts, controller).with_context(|| {
        format!(
            "the controller {controller} is not in a version 1 hierarchy of control groups here"
        )
    })
}

impl Host {
    /// Puts back what a killed run left, and makes the file system that the server is to be on.
    pub(super) fn begin(acts: &[Scenario], scratch: &Path, longest: Duration) -> Result<Self> {
        acts.iter().try_for_each(can_run)?;
        let mut lease = begin_lease(longest)?;
        let disk = acts.iter().filter_map(|act| act.own_disk_mib).max();
        let disk = disk
            .map(|mib| mount_disk(&mut lease, scratch, mib))
            .transpose()?;
        Ok(Self {
            lease: RefCell::new(lease),
            groups: RefCell::new(Vec::new()),
            server: Cell::new(None),
            disk,
            swap_disk: acts.iter().find_map(|act| act.swap_disk.clone()),
        })
    }

    /// The directory that the server is to be made in, where it matters.
    pub(super) fn disk(&self) -> Option<PathBuf> {
        self.disk.clone()
    }

    /// Makes the control groups that are limited later and puts the server there: from the beginning, so that
    /// what they count before is known.
    pub(super) fn group(&self, acts: &[Scenario], server: &PrivateServer) -> Result<()> {
        for controller in acts
            .iter()
            .flat_map(Scenario::host_steps)
            .filter_map(controller)
        {
            if self.has_group(controller) {
                continue;
            }
            let above = group_above(std::process::id(), controller)?;
            let number = GROUPS.fetch_add(1, Ordering::Relaxed);
            let name = format!("freezeframe-lab-{}-{number}", std::process::id());
            let path = above.join(name);
            let change = HostChange::ControlGroup { path: path.clone() };
            self.lease.borrow_mut().make(change)?;
            self.groups.borrow_mut().push((controller, path));
        }
        self.enter_groups(server)
    }

    fn has_group(&self, controller: &str) -> bool {
        self.groups.borrow().iter().any(|(of, _)| *of == controller)
    }

    /// Puts the server into its control groups: one that was started anew is in those of the lab.
    pub(super) fn enter_groups(&self, server: &PrivateServer) -> Result<()> {
        let pid = server.pid().context("the server has ended")?;
        self.server.set(Some(pid));
        for (_, path) in self.groups.borrow().iter() {
            write(&path.join("cgroup.procs"), &pid.to_string())?;
        }
        Ok(())
    }

    /// Fixes of the run go back first, should it be killed.
    pub(super) fn add_fixes(&self, dir: &Path) -> Result<()> {
        let dir = dir.to_owned();
        self.lease.borrow_mut().make(HostChange::Fixes { dir })?;
        Ok(())
    }

    /// Does one step.
    pub(super) fn take(&self, step: &Step, scratch: &Path) -> Result<OnHost> {
        Ok(match step {
            Step::HugePages { enabled, defrag } => {
                let mut numbers = Vec::new();
                for (name, value) in [("enabled", enabled), ("defrag", defrag)] {
                    let path = Path::new(HUGE_PAGES).join(name);
                    let change = HostChange::setting(&path, value, &[REMEDY])
                        .map_err(|why| anyhow!("{}: {why}", path.display()))?;
                    if let Some(change) = change {
                        numbers.push(self.lease.borrow_mut().make(change)?);
                    }
                }
                OnHost::Changes(numbers)
            }
            Step::Fragment {
                keep_free_mib,
                holes_mib,
            } => {
                ensure!(
                    *keep_free_mib >= FREE_MIB_MIN,
                    "too little memory stays free"
                );
                let program = testbed::build_victim("fragmenter", scratch)?;
                let arguments = [keep_free_mib.to_string(), holes_mib.to_string()];
                let arguments = arguments.each_ref().map(String::as_str);
                OnHost::Program(Victim::start(&program, &arguments, &[])?)
            }
            Step::CpuQuota { cpus } => {
                let cpus = cpus.clamp(0.001, 1024.0);
                let period = match f64::from(PERIOD_US) * cpus < QUOTA_US_MIN {
                    true => PERIOD_US_MAX,
                    false => PERIOD_US,
                };
                let quota = (f64::from(period) * cpus).round() as i64;
                let files = ["cpu.cfs_quota_us", "cpu.cfs_period_us"];
                let files: Vec<PathBuf> = files
                    .iter()
                    .map(|name| self.file("cpu", name))
                    .collect::<Result<_>>()?;
                let before = files.iter().map(|file| {
                    let text = std::fs::read_to_string(file);
                    let text = text.with_context(|| file.display().to_string())?;
                    Ok((file.clone(), text.trim().to_owned()))
                });
                let before = before.collect::<Result<_>>()?;
                for (file, value) in files.iter().zip([quota, i64::from(period)]).rev() {
                    write(file, &value.to_string())?;
                }
                OnHost::Limits(before)
            }
            Step::MemoryLimit { mib, waits } => {
                if *waits {
                    write(&self.file("memory", "memory.oom_control")?, "1")?;
                }
                let stat = self.file("memory", "memory.stat")?;
                let text =
                    std::fs::read_to_string(&stat).with_context(|| stat.display().to_string())?;
                let own: u64 = text
                    .lines()
                    .find_map(|line| line.strip_prefix("rss "))
                    .and_then(|bytes| bytes.trim().parse().ok())
                    .with_context(|| format!("{}: no rss", stat.display()))?;
                let file = self.file("memory", "memory.limit_in_bytes")?;
                write(&file, &own.saturating_add(mib << 20).to_string())?;
                OnHost::Limit(file, "-1".to_owned())
            }
            Step::ThreadLimit { more } => {
                let current = self.file("pids", "pids.current")?;
                let text = std::fs::read_to_string(&current)
                    .with_context(|| current.display().to_string())?;
                let now: u64 = text
                    .trim()
                    .parse()
                    .with_context(|| current.display().to_string())?;
                let file = self.file("pids", "pids.max")?;
                write(&file, &now.saturating_add(*more).to_string())?;
                OnHost::Limit(file, "max".to_owned())
            }
            Step::WriteLimit { per_second } => {
                self.disk_limit("blkio.throttle.write_iops_device", *per_second)?
            }
            Step::ReadLimit { per_second } => {
                self.disk_limit("blkio.throttle.read_iops_device", *per_second)?
            }
            Step::Copy { mib } => OnHost::Work(Work::copy(&self.own_disk()?.join("copy"), *mib)?),
            Step::ReadMaps { readers } => OnHost::Work(Work::read_maps(self.server()?, *readers)?),
            Step::Swap { mib } => {
                let program = testbed::build_victim("pager", scratch)?;
                let number = match self.swap_disk {
                    Some(_) => None,
                    None => Some(self.swap_on(scratch, *mib)?),
                };
                let pid = self.server()?.to_string();
                let empty = self.file("memory", "memory.force_empty")?;
                let empty = empty
                    .to_str()
                    .context("the control group's name is not text")?;
                OnHost::Swap(Victim::start(&program, &[&pid, empty], &[])?, number)
            }
            Step::FillDisk { leave_mib } => {
                let ballast = self.own_disk()?.join("ballast");
                fill(&ballast, *leave_mib)?;
                OnHost::Ballast(ballast)
            }
            Step::Load(_)
            | Step::Session { .. }
            | Step::Idle { .. }
            | Step::Pause
            | Step::PauseReplica
            | Step::Source { .. }
            | Step::CausalReads { .. }
            | Step::SlowSync { .. }
            | Step::SlowNames { .. } => bail!("this step does not change the host"),
        })
    }

    /// Swaps to a new file: on the disk of its own, which may be slow, where there is one.
    fn swap_on(&self, scratch: &Path, mib: u64) -> Result<u64> {
        let path = self.disk.as_deref().unwrap_or(scratch).join("swap");
        make_swap(&path, mib)?;
        Ok(self.lease.borrow_mut().make(HostChange::Swap { path })?)
    }

    /// Limits what the server may do with its own disk, or with the one that it is swapped to.
    fn disk_limit(&self, file: &str, per_second: u32) -> Result<OnHost> {
        let device = match &self.swap_disk {
            Some(path) => device(path)?,
            None => device(self.own_disk()?)?,
        };
        let file = self.file("blkio", file)?;
        write(&file, &format!("{device} {per_second}"))?;
        Ok(OnHost::Limit(file, format!("{device} 0")))
    }

    fn server(&self) -> Result<u32> {
        self.server.get().context("the server has not started")
    }

    fn own_disk(&self) -> Result<&Path> {
        self.disk
            .as_deref()
            .context("the server has no disk of its own")
    }

    /// Takes a step back.
    pub(super) fn undo(&self, taken: OnHost) -> Result<()> {
        match taken {
            OnHost::Changes(numbers) => {
                for number in numbers.into_iter().rev() {
                    self.lease.borrow_mut().put_back(number)?;
                }
                Ok(())
            }
            OnHost::Limit(file, value) => write(&file, &value),
            OnHost::Limits(limits) => limits
                .iter()
                .try_for_each(|(file, value)| write(file, value)),
            OnHost::Swap(pager, number) => {
                pager.end()?;
                let mut lease = self.lease.borrow_mut();
                Ok(number.map_or(Ok(()), |number| lease.put_back(number))?)
            }
            OnHost::Program(program) => {
                program.end()?;
                Ok(())
            }
            OnHost::Ballast(path) => {
                std::fs::remove_file(&path).with_context(|| path.display().to_string())
            }
            OnHost::Work(work) => work.end(),
        }
    }

    /// Everything back. The server must have ended, or its disk stays in use.
    pub(super) fn end(self) -> Result<()> {
        Ok(self.lease.into_inner().end()?)
    }

    fn file(&self, controller: &str, name: &str) -> Result<PathBuf> {
        let groups = self.groups.borrow();
        let (_, directory) = groups
            .iter()
            .find(|(of, _)| *of == controller)
            .with_context(|| format!("the server has no control group of {controller}"))?;
        Ok(directory.join(name))
    }
}

fn write(path: &Path, value: &str) -> Result<()> {
    std::fs::write(path, value).with_context(|| format!("{}: {value}", path.display()))
}

/// A file with an empty ext4 in it, as large as it is filled.
fn make_disk(image: &Path, mib: u64) -> Result<()> {
    File::create(image)
        .and_then(|file| file.set_len(mib << 20))
        .with_context(|| image.display().to_string())?;
    // Without the blocks that are reserved for root, which the server may run as.
    make("mkfs.ext4", &["-q", "-F", "-m", "0"], image)
}

/// Has a program make something of a file.
fn make(program: &str, options: &[&str], file: &Path) -> Result<()> {
    let output = Command::new(program)
        .args(options)
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .context(program.to_owned())?;
    ensure!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// A file that can be swapped to: all its blocks are there.
fn make_swap(path: &Path, mib: u64) -> Result<()> {
    // That of a step before, which is not in use any more.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| path.display().to_string());
        }
        _ => {}
    }
    let file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| path.display().to_string())?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, mib << 20)
        .with_context(|| path.display().to_string())?;
    make("mkswap", &["-q"], path)
}

/// The block device of a directory, as `MAJOR:MINOR`.
fn device(directory: &Path) -> Result<String> {
    let stat = rustix::fs::stat(directory).with_context(|| directory.display().to_string())?;
    Ok(format!(
        "{}:{}",
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev)
    ))
}

/// Takes the room of a file system but for some. What holds the ballast's own extents is not there for it.
fn fill(ballast: &Path, leave_mib: u64) -> Result<()> {
    let file = File::create(ballast).with_context(|| ballast.display().to_string())?;
    let room = rustix::fs::fstatvfs(&file)?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let mut bytes = free.saturating_sub(leave_mib << 20);
    while bytes > 0 {
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Err(Errno::NOSPC) => bytes = bytes.saturating_sub(FILL_STEP),
            done => return done.with_context(|| ballast.display().to_string()),
        }
    }
    Ok(())
}
