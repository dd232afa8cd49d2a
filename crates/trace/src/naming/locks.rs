//! Names of locks: which fields of which type lead to them.

use super::Naming;
use crate::event::{Action, Location, LockName, TypeIndex};

impl Naming<'_> {
    /// An instance of a type is here.
    pub(super) fn instance_of(&mut self, location: Location, type_index: TypeIndex) -> Action {
        let types = self.instances.entry(location.object).or_default();
        types.insert((location.offset, type_index));
        Action::Typed {
            location,
            type_index,
        }
    }

    /// Names the locks that were used, after the last event: a type may have been seen later than
    /// the lock in it.
    pub(super) fn name_locks(&mut self) {
        let locks = std::mem::take(&mut self.locks);
        let names = locks.into_iter().filter_map(|lock| self.lock_name(lock));
        self.trace.locks = names.collect();
    }

    /// The longest path is that of the outermost type.
    fn lock_name(&self, location: Location) -> Option<LockName> {
        let around = self.instances.get(&location.object)?;
        let around = around.iter().filter_map(|&(start, type_index)| {
            let offset = location.offset.checked_sub(start)?;
            let type_name = self.trace.types.get(type_index.0 as usize)?;
            let path = self.addresses.field_path(type_name, offset);
            (!path.is_empty()).then_some(LockName {
                location,
                type_index,
                path,
            })
        });
        around.max_by_key(|name| name.path.split('.').count())
    }
}
