//! `SharedPoolDataSource` of Commons DBCP: a connection is asked for in a pool that somebody may have closed since it was
//! looked at.

use std::sync::Mutex;

use crate::lock;

/// What connections are taken from.
#[derive(Clone, Debug)]
struct Pool {
    active: u32,
}

/// Connections that all users share.
#[derive(Default)]
pub struct SharedPoolDataSource<const FIXED: bool> {
    pool: Mutex<Option<Pool>>,
    most: Mutex<u32>,
    idle: Mutex<u32>,
    wait: Mutex<u32>,
    description: Mutex<String>,
    auto_commit: Mutex<bool>,
}

impl<const FIXED: bool> SharedPoolDataSource<FIXED> {
    properties! {
        most, set_most: u32;
        idle, set_idle: u32;
        wait, set_wait: u32;
        description, set_description: String;
        auto_commit, set_auto_commit: bool;
    }

    /// Opens the pool; whether there was none.
    pub fn open(&self) -> bool {
        let mut pool = lock(&self.pool);
        let is_new = pool.is_none();
        pool.get_or_insert(Pool { active: 0 });
        is_new
    }

    /// Closes the pool; connections that were open.
    pub fn close(&self) -> u32 {
        lock(&self.pool).take().map_or(0, |pool| pool.active)
    }

    /// Whether there is a pool.
    pub fn is_open(&self) -> bool {
        lock(&self.pool).is_some()
    }

    /// Takes a connection; how many are taken then, or nothing if there is no pool.
    pub fn connect(&self) -> Option<u32> {
        if FIXED {
            let mut pool = lock(&self.pool);
            let pool = pool.as_mut()?;
            pool.active += 1;
            return Some(pool.active);
        }
        if !self.is_open() {
            return None;
        }
        let mut pool = lock(&self.pool);
        let pool = pool.as_mut().expect("the pool is open");
        pool.active += 1;
        Some(pool.active)
    }

    /// Gives a connection back.
    pub fn disconnect(&self) -> bool {
        let mut pool = lock(&self.pool);
        let pool = pool.as_mut().filter(|pool| pool.active > 0);
        pool.map(|pool| pool.active -= 1).is_some()
    }

    /// Connections that are taken.
    pub fn active(&self) -> u32 {
        lock(&self.pool).as_ref().map_or(0, |pool| pool.active)
    }
}
