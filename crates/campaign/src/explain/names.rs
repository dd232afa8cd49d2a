//! What traces are named with.

use std::cell::RefCell;
use std::rc::Rc;

use raddle_abi::site::SiteId;
use raddle_trace::naming::{self, Addresses, Function};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::site_table::{SiteInfo, SiteTable};

use super::locate::Locator;
use super::paths;

/// What traces are named with. Symbols are looked up on demand, which changes the locator.
pub(super) struct Names<'a> {
    locator: RefCell<&'a mut Locator>,
    map: Option<Rc<ProgramMap>>,
}

impl<'a> Names<'a> {
    /// From an executable's debug information and its map.
    pub fn new(locator: &'a mut Locator, map: Option<Rc<ProgramMap>>) -> Self {
        Self {
            locator: RefCell::new(locator),
            map,
        }
    }
}

impl Addresses for Names<'_> {
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        self.locator.borrow().sites()?.site(id)
    }

    fn static_at(&self, address: u64) -> Option<(String, u64)> {
        let locator = self.locator.borrow();
        let (path, offset) = locator.sites()?.image().static_at(address)?;
        Some((path.to_owned(), offset))
    }

    fn functions(&self, address: u64) -> Vec<Function> {
        let frames = self.locator.borrow_mut().stack(&[address]);
        let functions = frames.into_iter().map(|frame| Function {
            path: frame.place.function,
            is_std: frame.owner == paths::Owner::Std,
        });
        functions.collect()
    }

    fn variable(&self, address: u64, offset: i64) -> Option<naming::Variable> {
        let variable = self.locator.borrow_mut().variable(address, offset)?;
        Some(naming::Variable {
            name: variable.name,
            begins: variable.place.start,
            type_name: variable.type_name,
        })
    }

    fn field_path(&self, type_name: &str, offset: u64) -> String {
        path_in(self.map.as_deref(), type_name, offset)
    }
}

/// What traces are named with in a hurry.
pub(super) struct RoughNames<'a> {
    pub sites: &'a SiteTable,
    pub map: Option<Rc<ProgramMap>>,
}

impl Addresses for RoughNames<'_> {
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        self.sites.site(id)
    }

    fn static_at(&self, address: u64) -> Option<(String, u64)> {
        let (path, offset) = self.sites.image().static_at(address)?;
        Some((path.to_owned(), offset))
    }

    fn functions(&self, _address: u64) -> Vec<Function> {
        Vec::new()
    }

    fn variable(&self, _address: u64, _offset: i64) -> Option<naming::Variable> {
        None
    }

    fn field_path(&self, type_name: &str, offset: u64) -> String {
        path_in(self.map.as_deref(), type_name, offset)
    }
}

fn path_in(map: Option<&ProgramMap>, type_name: &str, offset: u64) -> String {
    map.map_or_else(String::new, |map| map.field_path(type_name, offset))
}
