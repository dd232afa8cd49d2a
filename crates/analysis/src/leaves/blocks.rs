//! Blocks that owners point to, taken apart like types; what is nobody's in particular belongs to
//! whoever holds the owner.

use super::{Layout, Layouts, MAX_ELEMENTS, Owner, Taker};
use crate::pointees::{Pointee, size_of, size_of_c};
use std::rc::Rc;

/// Elements of a block that is joined to its owner: each is a place.
const MAX_PLACES: u64 = 1 << 16;

/// The owner of a block's places that belong to whoever holds it.
pub const OUTSIDE: u32 = 0;

/// A block that an owner points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What is in it; its first owner is whoever holds it.
    pub layout: Rc<Layout>,
    /// Whether it is one of many nodes, of which none has a place of its own.
    pub is_node: bool,
    /// Whether it belongs to who points to it only if nobody else does.
    pub is_pointed: bool,
    /// Where its elements begin, how many bytes they have, and how many there are.
    pub element: (u64, u64, u64),
}

impl Layouts<'_> {
    /// A block of this size that an owner points to, so many bytes from its start; none if it cannot
    /// be told what stands where.
    pub fn block(&mut self, pointee: &Pointee, size: u64, at: u64) -> Option<Rc<Block>> {
        let key = (pointee.clone(), size, at);
        if let Some(known) = self.known.blocks.borrow().get(&key) {
            return known.clone();
        }
        let block = self.new_block(pointee, size, at).map(Rc::new);
        self.known.blocks.borrow_mut().insert(key, block.clone());
        block
    }

    fn new_block(&self, pointee: &Pointee, size: u64, at: u64) -> Option<Block> {
        let (name, stride) = match pointee {
            Pointee::Node(names) => {
                let mut sizes = names.iter().map(|name| (name, size_of(self.map, name)));
                let (name, _) = sizes.find(|(_, of_node)| *of_node == Some(size))?;
                (name, Some(size))
            }
            Pointee::Pointed(name) => (name, size_of_c(self.map, name)),
            Pointee::Value(name)
            | Pointee::Shared(name)
            | Pointee::Elements(name)
            | Pointee::Buckets(name) => (name, size_of(self.map, name)),
        };
        let stride = stride.filter(|stride| *stride > 0)?;
        let (begins, count) = match pointee {
            Pointee::Value(_) | Pointee::Shared(_) | Pointee::Node(_) if at == 0 => (0, 1),
            Pointee::Elements(_) if at == 0 => (0, size / stride),
            // A larger block may be another structure, which has this one at its beginning.
            Pointee::Pointed(_) if at == 0 && size.is_multiple_of(stride) => (0, size / stride),
            Pointee::Buckets(_) => (at % stride, at / stride),
            _ => return None,
        };
        if count == 0 || begins + count * stride > size || count > MAX_PLACES {
            return None;
        }
        let elements = |count: u64| {
            let mut taker = Taker {
                map: self.map,
                layout: Layout {
                    size,
                    owners: vec![Owner {
                        offset: 0,
                        type_name: "".into(),
                    }],
                    ..Layout::default()
                },
            };
            taker.take_elements(name, begins, stride, count, Some(OUTSIDE), 0);
            taker.finish()
        };
        // Instances of the user's types that are too many to be taken apart are found one by one.
        if count > MAX_ELEMENTS && elements(1).owners.len() > 1 {
            return None;
        }
        let layout = elements(count);
        Some(Block {
            is_node: matches!(pointee, Pointee::Node(_)),
            is_pointed: matches!(pointee, Pointee::Pointed(_)),
            element: (begins, stride, count),
            layout: Rc::new(layout),
        })
    }
}
