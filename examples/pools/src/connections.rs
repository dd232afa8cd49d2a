//! A pool of connections.

use std::sync::Mutex;

use crate::FIXED;

/// A connection of the pool.
#[derive(Debug, PartialEq, Eq)]
pub struct Connection {
    /// Number of the connection.
    pub id: usize,
}

/// Connections that threads borrow.
pub struct ConnectionPool {
    idle: Mutex<Vec<Connection>>,
}

impl ConnectionPool {
    /// A pool of `size` connections.
    pub fn new(size: usize) -> Self {
        let connections = (0..size).map(|id| Connection { id });
        Self {
            idle: Mutex::new(connections.collect()),
        }
    }

    /// Connections that nobody uses.
    pub fn available(&self) -> usize {
        self.idle.lock().unwrap().len()
    }

    /// A connection, if one is idle.
    pub fn try_acquire(&self) -> Option<Connection> {
        if FIXED {
            return self.idle.lock().unwrap().pop();
        }
        if self.available() == 0 {
            return None;
        }
        let mut idle = self.idle.lock().unwrap();
        Some(idle.pop().expect("a connection is idle"))
    }

    /// Gives a connection back.
    pub fn release(&self, connection: Connection) {
        self.idle.lock().unwrap().push(connection);
    }
}
