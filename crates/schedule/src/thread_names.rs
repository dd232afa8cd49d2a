//! Recognises the threads of a stored schedule by where they were started.

use alloc::vec::Vec;
use raddle_abi::plan::ThreadAnchor;

/// Marks a recorded thread that has not been started yet.
const UNBORN: u16 = u16::MAX;

/// The threads of a schedule and those of the execution under way.
pub struct ThreadNames {
    anchors: Vec<ThreadAnchor>,
    /// The thread of this execution for each recorded number.
    actual: Vec<u16>,
    /// How often (parent, site key) has started a thread.
    spawned: Vec<(u16, u64, u32)>,
}

impl ThreadNames {
    /// The threads that `anchors` name.
    pub fn new(anchors: &[ThreadAnchor]) -> Self {
        Self {
            anchors: anchors.to_vec(),
            actual: Vec::new(),
            spawned: Vec::new(),
        }
    }

    /// Whether no thread has a name.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// An execution begins.
    pub fn begin(&mut self) {
        self.actual.clear();
        for anchor in &self.anchors {
            let recorded = usize::from(anchor.thread);
            while self.actual.len() <= recorded {
                self.actual.push(self.actual.len() as u16);
            }
        }
        for anchor in &self.anchors {
            self.actual[usize::from(anchor.thread)] = UNBORN;
        }
        self.spawned.clear();
    }

    /// `parent` has started `thread` at the site with `site_key`.
    pub fn started(&mut self, thread: usize, parent: usize, site_key: u64) {
        if self.anchors.is_empty() {
            return;
        }
        let occurrence = self.count_spawn(parent as u16, site_key);
        let anchor = self.anchors.iter().find(|anchor| {
            anchor.site_key == site_key
                && anchor.occurrence == occurrence
                && usize::from(self.actual(anchor.parent)) == parent
        });
        if let Some(&anchor) = anchor {
            self.actual[usize::from(anchor.thread)] = thread as u16;
        }
    }

    /// The thread of this execution that the schedule calls `recorded`. Threads without an
    /// anchor have the same number.
    pub fn actual(&self, recorded: u16) -> u16 {
        self.actual
            .get(usize::from(recorded))
            .copied()
            .unwrap_or(recorded)
    }

    /// Whether the thread that the schedule calls `recorded` exists.
    pub fn is_started(&self, recorded: u16) -> bool {
        self.actual(recorded) != UNBORN
    }

    /// Who starts the thread that the schedule calls `recorded`, by its name there.
    pub fn parent(&self, recorded: u16) -> Option<u16> {
        let anchor = self.anchors.iter().find(|anchor| anchor.thread == recorded);
        // A damaged schedule may have a thread that starts itself.
        anchor
            .map(|anchor| anchor.parent)
            .filter(|parent| *parent < recorded)
    }

    /// How many threads (parent, site) has started before this one.
    fn count_spawn(&mut self, parent: u16, key: u64) -> u32 {
        for (counted, counted_key, count) in &mut self.spawned {
            if *counted == parent && *counted_key == key {
                *count += 1;
                return *count - 1;
            }
        }
        self.spawned.push((parent, key, 1));
        0
    }
}
