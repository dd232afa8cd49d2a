//! Room beside a value for what others derive from it, so that they derive it once.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// What was derived from the value that this is a part of. It says nothing new about the value: all
/// memos are equal, and a copy starts empty.
#[derive(Default)]
pub struct Memo(RefCell<Option<Rc<dyn Any>>>);

impl Memo {
    /// What is remembered, at first nothing. There is room for one type.
    pub fn get<T: Default + 'static>(&self) -> Rc<T> {
        let known = self.0.borrow().clone();
        if let Some(known) = known.and_then(|known| known.downcast::<T>().ok()) {
            return known;
        }
        let new: Rc<T> = Rc::default();
        *self.0.borrow_mut() = Some(Rc::clone(&new) as Rc<dyn Any>);
        new
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Memo {}

impl fmt::Debug for Memo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Memo")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_was_derived_is_there_the_next_time_but_not_in_a_copy() {
        let memo = Memo::default();
        memo.get::<Cell<u32>>().set(7);
        assert_eq!(memo.get::<Cell<u32>>().get(), 7);
        assert_eq!(memo.clone().get::<Cell<u32>>().get(), 0);
        assert_eq!(memo, memo.clone());
    }
}
