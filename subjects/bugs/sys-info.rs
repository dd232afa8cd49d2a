//! RUSTSEC-2020-0100: the table in the C part is cleaned up by two threads.

use std::thread;

#[test]
pub fn disk_info_by_two_threads() {
    let threads = [(); 2].map(|()| thread::spawn(|| sys_info::disk_info().is_ok()));
    for thread in threads {
        let _ = thread.join().unwrap();
    }
}
