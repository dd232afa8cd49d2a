//! The tool's side of the shared memory with one worker process.
//!
//! Everything in it may be written by a program that misbehaves, so every length is checked
//! against its area before it is used, and nothing is borrowed: readers copy.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use raddle_abi::ABI_VERSION;
use raddle_abi::control::{
    CONTROL_MAGIC, CONTROL_SIZE, ConflictingSite, Control, DECISIONS_CAPACITY, DECISIONS_OFFSET,
    EVENTS_OFFSET, EVENTS_SIZE, EXPERIENCE_OFFSET, EXPERIENCE_WORDS, FINDINGS_OFFSET,
    FINDINGS_SIZE, MARKS_OFFSET, MARKS_SIZE, OUTCOMES_OFFSET, OUTCOMES_SIZE, OUTPUT_OFFSET,
    OUTPUT_SIZE, PLAN_OFFSET, PLAN_SIZE, SITES_CAPACITY, SITES_OFFSET, STACKS_OFFSET, STACKS_SIZE,
    VIEW_OFFSET, VIEW_SIZE,
};
use raddle_abi::plan::{Carrier, Decision};
use raddle_abi::record::RawEvent;

/// A shared memory, mapped here and inherited by one worker.
pub(crate) struct SharedMemory {
    file: OwnedFd,
    base: NonNull<u8>,
    constants: Constants,
    /// Number of the last plan that was sent.
    sent: u32,
}

/// Fields of the header that the worker never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constants {
    magic: u64,
    version: u32,
    target: u32,
    success: u32,
}

impl Constants {
    /// As they are in the header now.
    fn read(header: &Control) -> Self {
        // SAFETY: the references are valid; the worker may write there, so each is read once.
        unsafe {
            Self {
                magic: (&raw const header.magic).read_volatile(),
                version: (&raw const header.version).read_volatile(),
                target: (&raw const header.target).read_volatile(),
                success: (&raw const header.success).read_volatile(),
            }
        }
    }
}

// SAFETY: the mapping belongs to this value alone; the header is accessed through atomics and
// the rest is only copied.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Creates and initialises a memory; `target` is a number of [`raddle_abi::control::target`],
    /// `success` the exit code that means success.
    pub fn create(target: u32, success: u8, carrier: Carrier) -> io::Result<Self> {
        // SAFETY: the name is NUL-terminated; the call touches nothing else.
        let fd = unsafe { libc::memfd_create(c"raddle".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just created and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        File::from(file.try_clone()?).set_len(CONTROL_SIZE as u64)?;
        // SAFETY: a new shared mapping of our own file at an address the kernel chooses.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CONTROL_SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>())
            .ok_or_else(|| io::Error::other("the kernel mapped shared memory at address 0"))?;
        let header = base.cast::<Control>().as_ptr();
        // SAFETY: the mapping is larger than the header, zeroed, and nobody else knows it yet.
        unsafe {
            (*header).magic = CONTROL_MAGIC;
            (*header).version = ABI_VERSION;
            (*header).target = target;
            (*header).success = success.into();
            (*header).carrier = AtomicU32::new(carrier as u32);
        }
        let constants = Constants {
            magic: CONTROL_MAGIC,
            version: ABI_VERSION,
            target,
            success: success.into(),
        };
        Ok(Self {
            file,
            base,
            constants,
            sent: 0,
        })
    }

    /// Whether the fields that only the tool writes are as it left them. If not, the program has
    /// overwritten the header, and no counter in it means anything.
    pub fn is_intact(&self) -> bool {
        let header = self.header();
        let done = header.done_sequence.load(Ordering::Acquire);
        Constants::read(header) == self.constants
            && header.plan_sequence.load(Ordering::Acquire) == self.sent
            && done <= self.sent
    }

    /// The descriptor that the worker inherits.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The header with all counters.
    pub fn header(&self) -> &Control {
        // SAFETY: the mapping lives as long as `self`; all fields that change are atomics.
        unsafe { self.base.cast::<Control>().as_ref() }
    }

    /// Says of which directories executions get a private view. Nothing has been started yet.
    pub fn set_view(&mut self, view: &[u8]) {
        let length = view.len().min(VIEW_SIZE - 1);
        // SAFETY: that many bytes fit, a zero stands behind them, and nobody reads them yet.
        unsafe {
            let area = self.base.as_ptr().add(VIEW_OFFSET);
            std::ptr::copy_nonoverlapping(view.as_ptr(), area, length);
        }
    }

    /// Hands a plan to the worker, which must be idle, and returns the plan's number.
    pub fn send_plan(&mut self, plan: &[u8]) -> Result<u32, PlanTooLarge> {
        if plan.len() > PLAN_SIZE {
            return Err(PlanTooLarge { bytes: plan.len() });
        }
        // SAFETY: the area has `PLAN_SIZE` bytes, and an idle worker does not read it.
        unsafe {
            let area = self.base.as_ptr().add(PLAN_OFFSET);
            std::ptr::copy_nonoverlapping(plan.as_ptr(), area, plan.len());
        }
        let header = self.header();
        for counter in [
            &header.stop,
            &header.end,
            &header.decisions,
            &header.findings,
            &header.output,
            &header.events,
            &header.stacks,
            &header.record_overflow,
            &header.diverged,
            &header.marks,
            &header.outcomes,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
        let number = self.sent.wrapping_add(1);
        header.plan_sequence.store(number, Ordering::Release);
        futex_wake(&header.plan_sequence);
        self.sent = number;
        Ok(number)
    }

    /// Says, before a plan, whether what its strategy learns is wanted, and what it is to take in
    /// for a beginning. The worker must be idle.
    pub fn give_experience(&mut self, experience: Option<&[u8]>) {
        let words = experience.map_or(0, |bytes| bytes.len() / size_of::<u64>());
        // What does not fit cannot be ours.
        let words = if words > EXPERIENCE_WORDS { 0 } else { words };
        if let Some(bytes) = experience {
            // SAFETY: that many words fit, and an idle worker does not read them.
            unsafe {
                let area = self.base.as_ptr().add(EXPERIENCE_OFFSET);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), area, words * size_of::<u64>());
            }
        }
        let header = self.header();
        let is_wanted = u32::from(experience.is_some());
        header.keeps_experience.store(is_wanted, Ordering::Relaxed);
        header.experience.store(words as u64, Ordering::Release);
    }

    /// Bytes of what the strategy has learnt; none if it has left nothing.
    pub fn experience(&self) -> Vec<u8> {
        let words = self.header().experience.load(Ordering::Acquire);
        let words = usize::try_from(words).unwrap_or(0).min(EXPERIENCE_WORDS);
        self.copy(EXPERIENCE_OFFSET, words * size_of::<u64>())
    }

    /// Whether the worker has finished the plan with this number.
    pub fn is_done(&self, plan: u32) -> bool {
        self.header().done_sequence.load(Ordering::Acquire) == plan
    }

    /// Waits until the worker finished a plan, or for `timeout`.
    pub fn wait(&self, plan: u32, timeout: Duration) -> bool {
        let done = &self.header().done_sequence;
        let seen = done.load(Ordering::Acquire);
        if seen != plan {
            futex_wait(done, seen, timeout);
        }
        self.is_done(plan)
    }

    /// Asks the worker to end the plan after the execution under way.
    pub fn stop(&self) {
        self.header().stop.store(1, Ordering::Release);
    }

    /// Bytes of all complete findings.
    pub fn findings(&self) -> Vec<u8> {
        let len = self.header().findings.load(Ordering::Acquire) as usize;
        self.copy(FINDINGS_OFFSET, len.min(FINDINGS_SIZE))
    }

    /// Bytes of the decisions of the execution under way, or of the last one.
    pub fn decisions(&self) -> Vec<u8> {
        let count = self.header().decisions.load(Ordering::Acquire) as usize;
        let count = count.min(DECISIONS_CAPACITY);
        self.copy(DECISIONS_OFFSET, count * size_of::<Decision>())
    }

    /// What the execution under way, or the last one, wrote.
    pub fn output(&self) -> Vec<u8> {
        let len = self.header().output.load(Ordering::Acquire) as usize;
        self.copy(OUTPUT_OFFSET, len.min(OUTPUT_SIZE))
    }

    /// Bytes of all complete marks.
    pub fn marks(&self) -> Vec<u8> {
        let len = self.header().marks.load(Ordering::Acquire) as usize;
        self.copy(MARKS_OFFSET, len.min(MARKS_SIZE))
    }

    /// Bytes of the sites of conflicting accesses.
    pub fn conflicts(&self) -> Vec<u8> {
        let count = self.header().sites.load(Ordering::Acquire) as usize;
        let count = count.min(SITES_CAPACITY);
        self.copy(SITES_OFFSET, count * size_of::<ConflictingSite>())
    }

    /// Bytes of the outcomes of executions.
    pub fn outcomes(&self) -> Vec<u8> {
        let len = self.header().outcomes.load(Ordering::Acquire) as usize;
        self.copy(OUTCOMES_OFFSET, len.min(OUTCOMES_SIZE))
    }

    /// Bytes of the recorded events.
    pub fn events(&self) -> Vec<u8> {
        let count = self.header().events.load(Ordering::Acquire) as usize;
        let count = count.min(EVENTS_SIZE / size_of::<RawEvent>());
        self.copy(EVENTS_OFFSET, count * size_of::<RawEvent>())
    }

    /// Bytes of the stacks that events refer to.
    pub fn stacks(&self) -> Vec<u8> {
        let len = self.header().stacks.load(Ordering::Acquire) as usize;
        self.copy(STACKS_OFFSET, len.min(STACKS_SIZE))
    }

    fn copy(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        // SAFETY: callers clamp `len` to the area at `offset`, which lies inside the mapping;
        // the bytes become initialised before the length says so.
        unsafe {
            let area = self.base.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(area, bytes.as_mut_ptr(), len);
            bytes.set_len(len);
        }
        bytes
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrowed from it outlives `self`.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), CONTROL_SIZE);
        }
    }
}

/// A plan that does not fit into its area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the plan has {bytes} bytes, more than fit")]
pub(crate) struct PlanTooLarge {
    /// Size of the plan.
    pub bytes: usize,
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: wakes waiters on a valid word; shared (not private) because the other process waits.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}

fn futex_wait(word: &AtomicU32, seen: u32, timeout: Duration) {
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos() as libc::c_long,
    };
    // SAFETY: waits on a valid word with a valid timeout; any return is fine, callers re-check.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            seen,
            &raw const timeout,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_beyond_their_areas_are_clamped() {
        let memory = SharedMemory::create(0, 0, Carrier::Auto).unwrap();
        let header = memory.header();
        for counter in [&header.findings, &header.output, &header.decisions] {
            counter.store(u32::MAX, Ordering::Relaxed);
        }
        assert_eq!(memory.findings().len(), FINDINGS_SIZE);
        assert_eq!(memory.output().len(), OUTPUT_SIZE);
        assert_eq!(
            memory.decisions().len() / size_of::<Decision>(),
            DECISIONS_CAPACITY
        );
    }

    #[test]
    fn an_overwritten_header_is_noticed() {
        let header_bytes = size_of::<Control>();
        for (from, len) in [(0, header_bytes), (0, 16), (16, header_bytes - 16), (12, 8)] {
            for byte in [0u8, 0xff] {
                let mut memory = SharedMemory::create(1, 0, Carrier::Auto).unwrap();
                memory.send_plan(&[1]).unwrap();
                assert!(memory.is_intact());
                // SAFETY: the header's own bytes; nothing else uses this memory.
                unsafe { memory.base.as_ptr().add(from).write_bytes(byte, len) };
                assert!(!memory.is_intact(), "{byte} at {from}");
            }
        }
    }

    #[test]
    fn experience_comes_back_unless_it_cannot_be_ours() {
        let mut memory = SharedMemory::create(0, 0, Carrier::Auto).unwrap();
        memory.give_experience(Some(&[7; 24]));
        assert_eq!(memory.experience(), [7; 24]);
        memory.give_experience(None);
        assert!(memory.experience().is_empty());
        memory
            .header()
            .experience
            .store(u64::MAX, Ordering::Relaxed);
        let most = EXPERIENCE_WORDS * size_of::<u64>();
        assert_eq!(memory.experience().len(), most);
        memory.give_experience(Some(&vec![0; most + 8]));
        assert!(memory.experience().is_empty());
    }

    #[test]
    fn a_plan_is_numbered_and_waited_for() {
        let mut memory = SharedMemory::create(0, 0, Carrier::Auto).unwrap();
        let number = memory.send_plan(&[1, 2, 3]).unwrap();
        assert_eq!(number, 1);
        assert!(!memory.wait(number, Duration::from_millis(1)));
        memory.header().done_sequence.store(1, Ordering::Release);
        assert!(memory.wait(number, Duration::from_secs(10)));
        assert!(memory.send_plan(&vec![0; PLAN_SIZE + 1]).is_err());
    }
}
