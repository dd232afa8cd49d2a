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
use crate::{Error, Target, TargetKind};

/// Number of the shared memory's descriptor in the worker: high, so that the program's own
/// descriptors have the numbers they would have without us.
const CONTROL_DESCRIPTOR: RawFd = 250;

/// A running worker. Dropping it kills its whole process group.
pub(crate) struct Worker {
    /// The memory shared with it.
    pub memory: SharedMemory,
    /// When it was started.
    pub started: Instant,
    child: Child,
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
        let memory =
            SharedMemory::create(number, target.success, carrier).map_err(Error::SharedMemory)?;
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
        let mut child = command(target, memory.descriptor())
            .stdin(stdin)
            .spawn()
            .map_err(|source| cannot_start(&target.exe, source))?;
        let capture = Capture::default();
        if let Some(stdout) = child.stdout.take() {
            capture.read(stdout);
        }
        if let Some(stderr) = child.stderr.take() {
            capture.read(stderr);
        }
        Ok(Self {
            memory,
            started: Instant::now(),
            child,
            capture,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
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

    /// Kills the process group and reaps the worker.
    pub fn kill(&mut self) {
        self.signal(libc::SIGKILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn signal(&self, signal: libc::c_int) {
        // The worker leads its own group, and is not reaped before it is killed, so the number
        // cannot have been reused.
        if let Ok(group) = libc::pid_t::try_from(self.child.id()) {
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

fn command(target: &Target, descriptor: RawFd) -> Command {
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
        command.pre_exec(move || prepare(tool, descriptor));
    }
    command
}

/// Runs in the new process, before the program.
fn prepare(tool: libc::pid_t, descriptor: RawFd) -> io::Result<()> {
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
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() != tool {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // Without it addresses differ from run to run, which the runtime copes with.
        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        if descriptor == CONTROL_DESCRIPTOR {
            check(libc::fcntl(descriptor, libc::F_SETFD, 0))
        } else {
            check(libc::dup2(descriptor, CONTROL_DESCRIPTOR))
        }
    }
}
