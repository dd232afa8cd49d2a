//! A table under a lock for readers and writers: what was true under the readers' lock may be
//! false when the writers' lock is there.

use std::sync::RwLock;
use std::thread;

fn insert<const FIXED: bool>(table: &RwLock<Vec<u32>>, key: u32) {
    let is_there = table.read().unwrap().contains(&key);
    if !is_there {
        let mut table = table.write().unwrap();
        if !FIXED || !table.contains(&key) {
            table.push(key);
        }
    }
}

fn run<const FIXED: bool>() {
    let table = RwLock::new(Vec::new());
    thread::scope(|scope| {
        for keys in [[1, 2], [2, 1]] {
            let table = &table;
            scope.spawn(move || keys.map(|key| insert::<FIXED>(table, key)));
        }
    });
    assert_eq!(table.into_inner().unwrap().len(), 2);
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
