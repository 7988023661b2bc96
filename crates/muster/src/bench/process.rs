//! What the system knows of a process: processor time and resident memory; and children that end with the benchmark,
//! however that ends. Linux only, like the figures themselves.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{fs, time::Duration};

use anyhow::Context;
use nix::sys::signal::Signal;
use nix::{time::ClockId, unistd::Pid};

/// A program that is to end with the process that started it.
#[derive(Debug, clap::Args)]
pub(super) struct HeldArgs {
    /// The process that started it
    parent: i32,
    /// The program with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// A command whose process the kernel ends when this one has ended, were it by a signal that nobody can handle. Its process
/// is the program's own. To be started from a thread that lives as long as the benchmark: the kernel looks at that one.
pub(super) fn held(command: &Command) -> anyhow::Result<Command> {
    let mut held = Command::new(std::env::current_exe()?);
    held.args(["bench", "held", &std::process::id().to_string(), "--"]);
    held.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => held.env(name, value),
            None => held.env_remove(name),
        };
    }
    Ok(held)
}

/// The other side of [`held`].
pub(super) fn become_held(args: &HeldArgs) -> anyhow::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    // It may have ended before the kernel was told.
    anyhow::ensure!(nix::unistd::getppid() == Pid::from_raw(args.parent), "the benchmark has ended");
    let (program, arguments) = args.command.split_first().context("no program")?;
    Err(Command::new(program).args(arguments).exec())
        .with_context(|| format!("cannot start {}", program.display()))
}

/// A process that is being measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pid: i32,
    clock: ClockId,
}

impl Process {
    /// Fails if there is no such process.
    pub(super) fn new(pid: u32) -> anyhow::Result<Self> {
        let pid = i32::try_from(pid).context("a process id this large does not exist")?;
        let clock = nix::time::clock_getcpuclockid(Pid::from_raw(pid))
            .with_context(|| format!("process {pid} cannot be measured"))?;
        Ok(Self { pid, clock })
    }

    /// User and system time of all its threads, also of those that have ended. The kernel's own clock of the process:
    /// nanoseconds, where `/proc/PID/stat` counts in hundredths of a second.
    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        Ok(self.clock.now().with_context(|| format!("process {} has ended", self.pid))?.into())
    }

    /// The part of [`Process::cpu`] spent in the kernel, in per cent, since the process began; to the tick.
    pub(super) fn ticks(&self) -> anyhow::Result<Ticks> {
        Ok(Ticks { user: self.field(11)?, system: self.field(12)? })
    }

    /// User and system time of those children that have ended and were waited for; to the tick.
    pub(super) fn cpu_of_children(&self) -> anyhow::Result<Duration> {
        let ticks = self.field(13)? + self.field(14)?;
        let second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?.unwrap_or(100);
        Ok(Duration::from_secs_f64(ticks as f64 / second as f64))
    }

    /// A number of `/proc/PID/stat`, counted from after the name.
    fn field(&self, at: usize) -> anyhow::Result<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        // The name in the second field may hold blanks and brackets; the fields after it are plain.
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or("");
        Ok(rest.split_whitespace().nth(at).and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// Resident bytes.
    pub(super) fn resident(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("no VmRSS, has the server ended?")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib * 1024)
    }

    /// Waits until the process has nothing left to do: less than 1 % of a core for `calm` in a row.
    /// Gives up waiting, without an error, after `limit`.
    pub(super) async fn quiet(&self, calm: Duration, limit: Duration) -> anyhow::Result<()> {
        const STEP: Duration = Duration::from_millis(100);
        let mut calm_for = Duration::ZERO;
        let mut waited = Duration::ZERO;
        let mut last = self.cpu()?;
        while calm_for < calm && waited < limit {
            tokio::time::sleep(STEP).await;
            waited += STEP;
            let now = self.cpu()?;
            calm_for = if now.saturating_sub(last) < STEP / 100 { calm_for + STEP } else { Duration::ZERO };
            last = now;
        }
        Ok(())
    }
}

/// Clock ticks in user mode and in the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticks {
    user: u64,
    system: u64,
}

impl Ticks {
    /// The kernel's part of what was used since `earlier`, 0 to 1.
    pub(super) fn kernel_share_since(self, earlier: Self) -> f64 {
        let system = self.system.saturating_sub(earlier.system) as f64;
        let user = self.user.saturating_sub(earlier.user) as f64;
        if system + user == 0.0 { 0.0 } else { system / (system + user) }
    }
}

/// Processor time of the load generator itself.
pub(super) fn own_cpu() -> Duration {
    ClockId::CLOCK_PROCESS_CPUTIME_ID.now().map(Duration::from).unwrap_or_default()
}

/// Makes room for `connections` sockets, or says that this machine allows fewer.
pub(super) fn reserve_descriptors(connections: usize) -> anyhow::Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    /// Besides the connections: the runtime, the log, the measuring.
    const OWN: u64 = 64;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = connections as u64 + OWN;
    anyhow::ensure!(
        wanted <= hard,
        "{connections} connections need {wanted} open files, this process may have {hard} (ulimit -Hn): \
         use at most {} agents here, or start `muster bench` several times with fewer",
        hard.saturating_sub(OWN)
    );
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}
