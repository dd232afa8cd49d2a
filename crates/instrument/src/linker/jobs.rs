//! Instruments modules in child processes, several at a time.
//!
//! One child per module: if LLVM crashes or hangs on one, only that module is lost, and it is
//! compiled without hooks instead. Children are forked, so libLLVM is loaded once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::cache::{Cache, Key};
use super::error::Error;
use super::files::write_atomically;
use super::notice::Notice;
use crate::passes::{self, Assembly, Origin};

/// After this many seconds of processor time LLVM is considered to hang in a module. Real time would
/// depend on what else the machine does.
const PROCESSOR_TIME: libc::rlim_t = 900;
/// The same in real time, in case that it waits for something that never comes.
const REAL_TIME: u32 = 4 * 3600;

/// Exit code of a child that the machine refused something.
const MACHINE: i32 = 69;
/// What LLVM and the C++ library say without memory.
const NO_MEMORY: [&str; 4] = ["out of memory", "bad_alloc", "Cannot allocate", "bad alloc"];
/// Bytes of stack and of address space below which LLVM may crash for lack of them.
const ENOUGH_STACK: libc::rlim_t = 8 << 20;
const ENOUGH_SPACE: libc::rlim_t = 16 << 30;

/// A module to be instrumented.
pub(super) struct Job {
    pub(super) key: Key,
    pub(super) name: String,
    pub(super) bitcode: Vec<u8>,
    pub(super) origin: Origin,
}

/// What children need to know.
pub(super) struct Workshop<'a> {
    pub(super) cache: &'a Cache,
    pub(super) hooks: &'a [u8],
    pub(super) dump: Option<&'a Path>,
    pub(super) parallel: usize,
}

/// How a module is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Hooks,
    Plain,
}

/// A running child.
struct Child {
    job: usize,
    mode: Mode,
    messages: PathBuf,
}

impl Workshop<'_> {
    /// Instruments all modules, largest first, and stores them in the cache.
    pub(super) fn run(&self, mut jobs: Vec<Job>) -> Result<(), Error> {
        jobs.sort_by_key(|job| job.bitcode.len());
        let mut waiting: Vec<(usize, Mode)> =
            (0..jobs.len()).map(|index| (index, Mode::Hooks)).collect();
        let mut children: HashMap<libc::pid_t, Child> = HashMap::new();
        let mut reasons: HashMap<usize, String> = HashMap::new();
        loop {
            while children.len() < self.parallel
                && let Some((index, mode)) = waiting.pop()
            {
                let reason = reasons.get(&index).map(String::as_str);
                let (pid, child) = self.start(&jobs[index], index, mode, reason)?;
                children.insert(pid, child);
            }
            if children.is_empty() {
                return Ok(());
            }
            let (pid, status) = wait()?;
            let Some(child) = children.remove(&pid) else {
                continue;
            };
            let said = std::fs::read_to_string(&child.messages).unwrap_or_default();
            let _ = std::fs::remove_file(&child.messages);
            if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
                continue;
            }
            let reason = reason(status, &said);
            if is_machines(status, &said) {
                let module = jobs[child.job].name.clone();
                return Err(Error::Machine { module, reason });
            }
            match child.mode {
                Mode::Hooks => {
                    reasons.insert(child.job, reason);
                    waiting.push((child.job, Mode::Plain));
                }
                Mode::Plain => {
                    let module = jobs[child.job].name.clone();
                    return Err(Error::Module { module, reason });
                }
            }
        }
    }

    fn start(
        &self,
        job: &Job,
        index: usize,
        mode: Mode,
        reason: Option<&str>,
    ) -> Result<(libc::pid_t, Child), Error> {
        let object = self.cache.object(&job.key);
        let messages = object.with_extension(format!("{}.messages", std::process::id()));
        let file = File::create(&messages).map_err(|error| Error::File {
            action: "write",
            path: messages.clone(),
            error,
        })?;
        // SAFETY: this process has one thread, so the child may use everything.
        match unsafe { libc::fork() } {
            -1 => Err(Error::Fork(io::Error::last_os_error())),
            0 => self.work(job, mode, reason, &file),
            pid => Ok((
                pid,
                Child {
                    job: index,
                    mode,
                    messages,
                },
            )),
        }
    }

    /// The child: compiles one module, says on `messages` what went wrong, and ends.
    fn work(&self, job: &Job, mode: Mode, reason: Option<&str>, messages: &File) -> ! {
        let limit = libc::rlimit {
            rlim_cur: PROCESSOR_TIME,
            rlim_max: PROCESSOR_TIME,
        };
        // SAFETY: plain system calls on this process; LLVM reports fatal errors on stderr.
        let people = unsafe {
            let people = libc::dup(libc::STDERR_FILENO);
            libc::dup2(messages.as_raw_fd(), libc::STDERR_FILENO);
            libc::setrlimit(libc::RLIMIT_CPU, &raw const limit);
            libc::alarm(REAL_TIME);
            people
        };
        // Without a lock the work may be done twice, which does no harm.
        let notice = Notice::new(people);
        let lock = self
            .cache
            .lock(&job.key, &job.name, |text| notice.give(text));
        drop(notice);
        let result = match mode {
            Mode::Hooks if self.cache.object(&job.key).exists() => Ok(()),
            Mode::Hooks => self.instrument(job),
            Mode::Plain => self.compile(job, reason.unwrap_or_default()),
        };
        drop(lock);
        let code = match result {
            Ok(()) => 0,
            Err(error) => {
                let _ = writeln!(io::stderr(), "{error}");
                match error {
                    Error::File { .. } => MACHINE,
                    _ => 1,
                }
            }
        };
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(code) }
    }

    fn instrument(&self, job: &Job) -> Result<(), Error> {
        let (hooks, options) = (self.hooks, self.cache.options());
        let done = passes::instrument(
            &job.bitcode,
            &job.name,
            job.origin,
            options,
            hooks,
            self.dump,
        )?;
        self.store(&self.cache.map(&job.key), &done.map)?;
        // That of the standard library is its own.
        let assembly = done.assembly.filter(|_| job.origin != Origin::Prebuilt);
        if let Some(assembly) = assembly {
            let content: &[u8] = match assembly {
                Assembly::Atomic => Cache::ATOMIC,
                Assembly::Code => b"",
            };
            self.store(&self.cache.assembly(&job.key), content)?;
        }
        self.store(&self.cache.object(&job.key), &done.object)
    }

    fn compile(&self, job: &Job, reason: &str) -> Result<(), Error> {
        let object = passes::compile(&job.bitcode, &job.name)?;
        self.store(&self.cache.failure(&job.key), reason.as_bytes())?;
        self.store(&self.cache.object(&job.key), &object)
    }

    fn store(&self, path: &Path, content: &[u8]) -> Result<(), Error> {
        write_atomically(path, content).map_err(|error| Error::File {
            action: "write",
            path: path.to_owned(),
            error,
        })
    }
}

fn wait() -> Result<(libc::pid_t, i32), Error> {
    let mut status = 0;
    loop {
        // SAFETY: waits for a child of this process; the status is a live integer.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if pid > 0 {
            return Ok((pid, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(Error::Fork(error));
        }
    }
}

/// Whether a child failed for lack of something, so that nothing is known about the module.
fn is_machines(status: i32, said: &str) -> bool {
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == MACHINE {
        return true;
    }
    if NO_MEMORY.iter().any(|words| said.contains(words)) {
        return true;
    }
    if !libc::WIFSIGNALED(status) {
        return false;
    }
    match libc::WTERMSIG(status) {
        // Sent by the system's memory killer, or where a file may not grow.
        libc::SIGKILL | libc::SIGXFSZ => true,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGABRT => {
            is_below(libc::RLIMIT_STACK, ENOUGH_STACK)
                || is_below(libc::RLIMIT_AS, ENOUGH_SPACE)
                || is_below(libc::RLIMIT_DATA, ENOUGH_SPACE)
        }
        _ => false,
    }
}

/// Whether a limit of this process is lower than that.
fn is_below(resource: libc::__rlimit_resource_t, enough: libc::rlim_t) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the kernel writes to a live structure.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur < enough
}

/// Why a child failed: how it ended, and the first thing it said.
fn reason(status: i32, said: &str) -> String {
    let said = said
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    if libc::WIFSIGNALED(status) {
        format!("LLVM died by signal {}: {said}", libc::WTERMSIG(status))
    } else {
        said.to_owned()
    }
}
