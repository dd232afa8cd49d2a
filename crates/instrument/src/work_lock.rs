//! Locks of files that only keep work from being done twice.
//!
//! Several builds may want the same module or runtime at the same time. One that waits for
//! another says so after two seconds, and does not wait for ever: if the other is stopped, or
//! takes too long, the work is done twice, which does no harm since files appear whole.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// After this time it is said what is waited for.
const SILENT: Duration = Duration::from_secs(2);
/// How long a holder that is stopped is waited for.
const STOPPED: Duration = Duration::from_secs(3);
/// How long one is waited for that cannot be looked at, as in another container.
const UNSEEN: Duration = Duration::from_secs(60);
/// How long one is waited for that is at work.
const WORKING: Duration = Duration::from_secs(600);

/// A lock that is held, until it is dropped.
pub struct WorkLock {
    path: PathBuf,
    _file: File,
}

impl WorkLock {
    /// Takes the lock. `None` if there is none to be had: the work is to be done without. `say` gets a
    /// sentence if it takes a while; `what` names what the other one makes.
    pub fn acquire(path: &Path, what: &str, say: impl FnOnce(&str)) -> Option<Self> {
        let start = Instant::now();
        let mut say = Some(say);
        let mut stopped_since = None;
        loop {
            let mut options = File::options();
            let mut file = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .ok()?;
            match file.try_lock() {
                Ok(()) => {
                    let held = file.set_len(0).and_then(|()| {
                        let own = std::process::id().to_string();
                        file.write_all(own.as_bytes())
                    });
                    // Without a number in it, others wait longer.
                    let _ = held;
                    return Some(Self {
                        path: path.to_owned(),
                        _file: file,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
                // There are file systems without locks.
                Err(TryLockError::Error(_)) => return None,
            }
            let holder = Holder::of(&mut file);
            if start.elapsed() > SILENT
                && let Some(say) = say.take()
            {
                say(&format!(
                    "waiting for {}, which makes {what}",
                    holder.name()
                ));
            }
            let since = match holder.state {
                State::Stopped => *stopped_since.get_or_insert_with(Instant::now),
                _ => start,
            };
            let patience = match holder.state {
                State::Stopped => STOPPED,
                State::Unseen => UNSEEN,
                State::Working => WORKING,
            };
            if since.elapsed() > patience {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for WorkLock {
    fn drop(&mut self) {
        // Whoever has opened it already locks a file without a name, and does the work again.
        let _ = fs::remove_file(&self.path);
    }
}

/// The process that holds a lock.
struct Holder {
    id: Option<u32>,
    state: State,
}

enum State {
    Working,
    Stopped,
    Unseen,
}

impl Holder {
    fn of(file: &mut File) -> Self {
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        let id = read.ok().and_then(|_| text.trim().parse::<u32>().ok());
        let stat = id.and_then(|id| fs::read_to_string(format!("/proc/{id}/stat")).ok());
        // The name before the state may hold anything, but ends with the last bracket.
        let letter = stat.as_deref().and_then(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            rest.trim_start().chars().next()
        });
        let state = match letter {
            Some('T' | 't') => State::Stopped,
            Some(_) => State::Working,
            None => State::Unseen,
        };
        Self { id, state }
    }

    fn name(&self) -> String {
        let stopped = match self.state {
            State::Stopped => " (which is stopped)",
            _ => "",
        };
        match self.id {
            Some(id) => format!("the build of process {id}{stopped}"),
            None => "another build".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process that holds the lock, and stops itself then or sleeps.
    fn holder(path: &Path, then: &str) -> Child {
        let script = format!("exec 9<>\"$0\"; flock 9; echo $$ >&9; {then}");
        let child = Command::new("bash")
            .args(["-c", &script])
            .arg(path)
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell");
        let start = Instant::now();
        while !fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n')) {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "the lock is never held"
            );
            thread::sleep(PAUSE);
        }
        child
    }

    #[test]
    fn a_stopped_holder_is_named_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let mut child = holder(&path, "kill -STOP $$");
        let mut said = None;
        let start = Instant::now();
        let lock = WorkLock::acquire(&path, "x.o", |text| said = Some(text.to_owned()));
        assert!(lock.is_none());
        assert!(start.elapsed() < Duration::from_secs(30));
        let said = said.expect("a sentence");
        let expected = format!("process {} (which is stopped)", child.id());
        assert!(said.contains(&expected) && said.contains("x.o"), "{said}");
        let _ = child.kill();
        let _ = child.wait();
    }

    #[test]
    fn one_that_works_is_waited_for_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let mut child = holder(&path, "exec sleep 0.5");
        let lock = WorkLock::acquire(&path, "x.o", |_| {});
        assert!(child.try_wait().unwrap().is_some() && lock.is_some());
        assert!(path.exists());
        drop(lock);
        assert!(!path.exists());
        let other = directory.path().join("b.lock");
        let held = WorkLock::acquire(&path, "x.o", |_| {});
        assert!(WorkLock::acquire(&other, "y.o", |_| {}).is_some());
        assert!(held.is_some());
        assert!(WorkLock::acquire(&directory.path().join("none/c.lock"), "z.o", |_| {}).is_none());
    }
}
