//! One worker process: the program under test with the shared memory attached.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use raddle_abi::plan::Carrier;
use raddle_abi::{control, env};

use crate::capture::Capture;
use crate::control::SharedMemory;
use crate::guardian::{self, SharedNumber};
use crate::{Error, Target, TargetKind, view};

/// Number of the shared memory's descriptor in the worker: high, so that the program's own
/// descriptors have the numbers they would have without us.
const CONTROL_DESCRIPTOR: RawFd = 250;

/// How long a worker that was killed may take to be gone with everything that it started.
const END_GRACE: Duration = Duration::from_secs(5);

/// A running worker. Dropping it ends it, and every process that it has started.
pub(crate) struct Worker {
    /// The memory shared with it.
    pub memory: SharedMemory,
    /// When it was started.
    pub started: Instant,
    /// Its process id.
    pid: u32,
    /// The guardian above it, which ends as it does.
    guardian: Child,
    capture: Capture,
}

impl Worker {
    /// Starts a worker on `target`. The thread that started it has to outlive it: the kernel
    /// kills the worker when that thread ends, so that no death of ours leaves orphans.
    pub fn start(target: &Target, carrier: Carrier) -> Result<Self, Error> {
        let number = match target.kind {
            TargetKind::Test => control::target::TEST,
            TargetKind::Main => control::target::MAIN,
            TargetKind::Program => control::target::PROGRAM,
        };
        let mut memory =
            SharedMemory::create(number, target.success, carrier).map_err(Error::SharedMemory)?;
        memory.set_view(&view::encode(target));
        let cannot_start = |path: &Path, source| Error::Start {
            path: path.to_owned(),
            source,
        };
        let stdin = match &target.stdin {
            Some(path) => File::open(path)
                .map_err(|source| cannot_start(path, source))?
                .into(),
            None => Stdio::null(),
        };
        let pid = SharedNumber::create().map_err(Error::SharedMemory)?;
        let spawned = command(target, memory.descriptor(), pid)
            .stdin(stdin)
            .spawn();
        let pid = pid.release();
        let mut guardian = spawned.map_err(|source| cannot_start(&target.exe, source))?;
        let capture = Capture::default();
        if let Some(stdout) = guardian.stdout.take() {
            capture.read(stdout);
        }
        if let Some(stderr) = guardian.stderr.take() {
            capture.read(stderr);
        }
        Ok(Self {
            memory,
            started: Instant::now(),
            pid,
            guardian,
            capture,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.guardian.try_wait().ok().flatten()
    }

    /// What it printed outside of executions (its end), once it has ended. Gives the readers
    /// a moment to catch up.
    pub fn last_words(&self) -> String {
        std::thread::sleep(Duration::from_millis(20));
        self.capture.text()
    }

    /// Lets the process group do nothing until [`Self::go_on`].
    pub fn pause(&mut self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets the process group go on, as if it began now.
    pub fn go_on(&mut self) {
        self.started = Instant::now();
        self.signal(libc::SIGCONT);
    }

    /// Kills the process group. The guardian ends what has left it.
    pub fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        let start = Instant::now();
        while self.exited().is_none() && start.elapsed() < END_GRACE {
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
    }

    fn signal(&mut self, signal: libc::c_int) {
        // The worker leads its own group, and its guardian, which is not gone yet, reaps it as
        // the last thing it does: the number cannot have been reused.
        if self.exited().is_none()
            && let Ok(group) = libc::pid_t::try_from(self.pid)
            && group > 1
        {
            // SAFETY: sends a signal to the group that we created.
            unsafe {
                libc::kill(-group, signal);
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(target: &Target, descriptor: RawFd, pid: SharedNumber) -> Command {
    let mut command = Command::new(&target.exe);
    match target.kind {
        TargetKind::Test => {
            command
                .arg(&target.name)
                .args(["--exact", "--test-threads=1", "--nocapture"]);
            if target.ignored {
                command.arg("--include-ignored");
            }
        }
        TargetKind::Main | TargetKind::Program => {
            command.args(&target.args);
        }
    }
    command
        .current_dir(&target.cwd)
        .envs(target.env.iter().map(|(name, value)| (name, value)))
        // Panics are many and expected, and findings carry stacks of their own.
        .env("RUST_BACKTRACE", "0")
        .env(env::RADDLE, "1")
        .env(env::CONTROL, CONTROL_DESCRIPTOR.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // SAFETY: getpid has no preconditions.
    let tool = unsafe { libc::getpid() };
    // SAFETY: the closure makes system calls only; it does not allocate or take locks.
    unsafe {
        command.pre_exec(move || prepare(tool, descriptor, pid));
    }
    command
}

/// Runs in the new process, before the program.
fn prepare(tool: libc::pid_t, descriptor: RawFd, pid: SharedNumber) -> io::Result<()> {
    let check = |result: libc::c_int| {
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    };
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: plain system calls on this process and on descriptors that it owns.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        // The tool ignores it; what the program does about it is the program's.
        libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
        guardian::put_above(tool, pid)?;
        // What one execution leaves running is ended before the next one.
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1))?;
        // Without it addresses differ from run to run, which the runtime copes with.
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        if descriptor == CONTROL_DESCRIPTOR {
            check(libc::fcntl(descriptor, libc::F_SETFD, 0))
        } else {
            check(libc::dup2(descriptor, CONTROL_DESCRIPTOR))
        }
    }
}
