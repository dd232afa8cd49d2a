//! `PerUserPoolDataSource` of Commons DBCP: the table of what each user may have is made when it is first needed, by whoever
//! finds that there is none. Two of them at the same time make two, and what stands in the first one is lost.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::lock;

/// Connections, some for each user.
#[derive(Default)]
pub struct PerUserPoolDataSource<const FIXED: bool> {
    per_user_most: Mutex<Option<BTreeMap<u32, u32>>>,
    connections: Mutex<BTreeMap<u32, u32>>,
    default_most: Mutex<u32>,
    default_idle: Mutex<u32>,
    default_wait: Mutex<u32>,
    auto_commit: Mutex<bool>,
    read_only: Mutex<bool>,
    isolation: Mutex<u8>,
    description: Mutex<String>,
    name: Mutex<String>,
    login_timeout: Mutex<u32>,
    validation_query: Mutex<Option<String>>,
    tests_on_borrow: Mutex<bool>,
    tests_while_idle: Mutex<bool>,
}

impl<const FIXED: bool> PerUserPoolDataSource<FIXED> {
    properties! {
        default_most, set_default_most: u32;
        default_idle, set_default_idle: u32;
        default_wait, set_default_wait: u32;
        auto_commit, set_auto_commit: bool;
        read_only, set_read_only: bool;
        isolation, set_isolation: u8;
        description, set_description: String;
        name, set_name: String;
        login_timeout, set_login_timeout: u32;
        validation_query, set_validation_query: Option<String>;
        tests_on_borrow, set_tests_on_borrow: bool;
        tests_while_idle, set_tests_while_idle: bool;
    }

    /// How many connections a user may have, if that was said.
    pub fn per_user_most(&self, user: u32) -> Option<u32> {
        lock(&self.per_user_most).as_ref()?.get(&user).copied()
    }

    /// Says how many connections a user may have.
    pub fn set_per_user_most(&self, user: u32, most: u32) {
        if FIXED {
            let mut table = lock(&self.per_user_most);
            table.get_or_insert_default().insert(user, most);
            return;
        }
        let is_missing = lock(&self.per_user_most).is_none();
        if is_missing {
            *lock(&self.per_user_most) = Some(BTreeMap::from([(user, most)]));
        } else if let Some(table) = &mut *lock(&self.per_user_most) {
            table.insert(user, most);
        }
    }

    /// Opens a connection; how many the user has then.
    pub fn connect(&self, user: u32) -> u32 {
        let mut connections = lock(&self.connections);
        let count = connections.entry(user).or_default();
        *count += 1;
        *count
    }

    /// Closes a connection, if there is one.
    pub fn disconnect(&self, user: u32) -> bool {
        let mut connections = lock(&self.connections);
        let count = connections.get_mut(&user).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    }

    /// Connections of a user.
    pub fn active_of(&self, user: u32) -> u32 {
        lock(&self.connections).get(&user).copied().unwrap_or(0)
    }

    /// Closes all connections; how many there were.
    pub fn close(&self) -> u32 {
        std::mem::take(&mut *lock(&self.connections)).values().sum()
    }
}
