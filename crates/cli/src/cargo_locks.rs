//! Says which process cargo waits for. Cargo itself waits for ever for a file lock of its own, even
//! if the process that holds it is stopped.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::console::say_note;
use crate::exit::{Exit, Failure};

/// Time between two looks at the kernel's list of locks.
const PAUSE: Duration = Duration::from_millis(100);
/// Waits that are longer are reported.
const SILENT: Duration = Duration::from_secs(2);
/// How long cargo may wait for a process that is stopped.
const STOPPED: Duration = Duration::from_secs(20);

/// Does `work` while cargo, the child process `id`, runs. Reports the process that cargo waits for.
/// If that one stays stopped, ends cargo and fails.
pub(crate) fn watch<T>(id: u32, work: impl FnOnce() -> T) -> Result<T, Failure> {
    let done = AtomicBool::new(false);
    let given_up = Mutex::new(None);
    let result = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut wait = Wait::default();
            while !done.load(Ordering::Relaxed) {
                match wait.update(holder_for(id), Instant::now()) {
                    Step::Nothing => {}
                    Step::Say(sentence) => say_note(&sentence),
                    Step::GiveUp(sentence) => {
                        if let Ok(mut given_up) = given_up.lock() {
                            *given_up = Some(sentence);
                        }
                        // SAFETY: a child that waits for a lock, so that it has not ended.
                        unsafe { libc::kill(id.cast_signed(), libc::SIGTERM) };
                        return;
                    }
                }
                thread::park_timeout(PAUSE);
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        result
    });
    match given_up.into_inner().ok().flatten() {
        Some(sentence) => Err(Failure::new(Exit::Unsupported, sentence)),
        None => Ok(result),
    }
}

/// A process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holder {
    id: u32,
    name: String,
    is_stopped: bool,
}

/// The process that keeps this one waiting, if any.
fn holder_for(waiter: u32) -> Option<Holder> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let lock = lock_before(&locks, waiter)?;
    let holders = find_holders(&lock);
    let running = holders.iter().find(|holder| !holder.is_stopped);
    running.or(holders.first()).cloned()
}

/// A line of the kernel's list of locks.
#[derive(Debug, PartialEq, Eq)]
struct Lock<'a> {
    /// Process that took the lock.
    taker: u32,
    /// Numbers of device and file.
    file: &'a str,
}

impl<'a> Lock<'a> {
    /// Parses the words behind the number of a lock: `FLOCK ADVISORY WRITE 22 08:01:6 0 EOF`.
    fn parse(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        Some(Self {
            taker: words.nth(3)?.parse().ok()?,
            file: words.next()?,
        })
    }
}

/// The lock that a process waits for. Those that wait stand behind the one that is held, each with
/// an arrow.
fn lock_before(locks: &str, waiter: u32) -> Option<Lock<'_>> {
    let mut held = None;
    for line in locks.lines() {
        let mut words = line.split_whitespace().skip(1).peekable();
        let waits = words.next_if_eq(&"->").is_some();
        let lock = Lock::parse(words);
        if !waits {
            held = lock;
        } else if lock.is_some_and(|lock| lock.taker == waiter) {
            return held;
        }
    }
    None
}

/// The processes that hold a lock. The one that took it may have ended, and have left the open file
/// to others.
fn find_holders(lock: &Lock<'_>) -> Vec<Holder> {
    if let Some(holder) = read_process(lock.taker) {
        return vec![holder];
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|id| shows_lock(*id, lock))
        .filter_map(read_process)
        .collect()
}

/// Whether one of the open files of a process has a lock, by the kernel's description of each.
fn shows_lock(id: u32, lock: &Lock<'_>) -> bool {
    let files = fs::read_dir(format!("/proc/{id}/fdinfo"));
    files.into_iter().flatten().flatten().any(|file| {
        let description = fs::read_to_string(file.path()).unwrap_or_default();
        description.lines().any(|line| {
            line.strip_prefix("lock:")
                .and_then(|line| Lock::parse(line.split_whitespace().skip(1)))
                .is_some_and(|shown| shown == *lock)
        })
    })
}

/// Name and state of a process, unless it has ended.
fn read_process(id: u32) -> Option<Holder> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once(" (")?;
    Some(Holder {
        id,
        name: name.to_owned(),
        is_stopped: rest.starts_with(['T', 't']),
    })
}

/// How long cargo has waited.
#[derive(Default)]
struct Wait {
    since: Option<Instant>,
    stopped_since: Option<Instant>,
    reported: Option<Holder>,
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Say(String),
    GiveUp(String),
}

impl Wait {
    fn update(&mut self, holder: Option<Holder>, now: Instant) -> Step {
        let Some(holder) = holder else {
            (self.since, self.stopped_since) = (None, None);
            return Step::Nothing;
        };
        let since = *self.since.get_or_insert(now);
        self.stopped_since = match holder.is_stopped {
            true => self.stopped_since.or(Some(now)),
            false => None,
        };
        let Holder { id, name, .. } = &holder;
        let advice = format!("continue it (`kill -CONT {id}`) or end it");
        if self
            .stopped_since
            .is_some_and(|since| now - since > STOPPED)
        {
            return Step::GiveUp(format!(
                "process {id} ({name}) holds a lock that cargo needs, and is stopped: {advice}"
            ));
        }
        if now - since < SILENT || self.reported.as_ref() == Some(&holder) {
            return Step::Nothing;
        }
        let state = match holder.is_stopped {
            true => format!(", which is stopped: {advice}"),
            false => String::new(),
        };
        let sentence = format!("cargo waits for a lock of process {id} ({name}){state}");
        self.reported = Some(holder);
        Step::Say(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_locks_is_read() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 08:01:5 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 22 08:01:6 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 33 08:01:6 0 EOF\n\
                     2:  -> FLOCK  ADVISORY  WRITE 44 08:01:6 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 55 08:01:7 0 EOF\n";
        let taker = |waiter| lock_before(locks, waiter).map(|lock| lock.taker);
        assert_eq!(taker(33), Some(22));
        assert_eq!(taker(44), Some(22));
        assert_eq!(taker(55), None);
        assert_eq!(lock_before("nonsense\n\n2: ->\n", 1), None);
    }

    #[test]
    fn a_lock_is_found_at_its_process_by_its_open_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().lock().unwrap();
        let id = std::process::id();
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let taken = locks.lines().find_map(|line| {
            let lock = Lock::parse(line.split_whitespace().skip(1))?;
            (lock.taker == id).then_some(lock)
        });
        assert!(shows_lock(id, &taken.unwrap()));
        let other = Lock {
            taker: id,
            file: "0:0:0",
        };
        assert!(!shows_lock(id, &other));
    }

    #[test]
    fn only_a_stopped_process_is_given_up() {
        let stopped = |is_stopped| {
            Some(Holder {
                id: 7,
                name: "cargo".to_owned(),
                is_stopped,
            })
        };
        let start = Instant::now();
        let mut wait = Wait::default();
        assert_eq!(wait.update(stopped(false), start), Step::Nothing);
        let later = start + SILENT;
        assert!(matches!(wait.update(stopped(false), later), Step::Say(_)));
        assert_eq!(wait.update(stopped(false), later), Step::Nothing);
        let much_later = start + STOPPED * 10;
        assert_eq!(wait.update(stopped(false), much_later), Step::Nothing);
        let said = wait.update(stopped(true), much_later);
        assert!(matches!(said, Step::Say(text) if text.contains("kill -CONT 7")));
        let end = much_later + STOPPED * 2;
        assert!(matches!(wait.update(stopped(true), end), Step::GiveUp(_)));
        assert_eq!(wait.update(None, end), Step::Nothing);
    }
}
