//! A worker says that it is done before it has sent its result, on another channel.

use std::sync::mpsc::channel;
use std::thread;

fn run<const FIXED: bool>() {
    let (results, result) = channel();
    let (dones, done) = channel();
    let worker = thread::spawn(move || {
        if FIXED {
            results.send(7).unwrap();
        }
        dones.send(()).unwrap();
        if !FIXED {
            results.send(7).unwrap();
        }
        // The receivers may be gone by now, the worker's ends are not.
        (results, dones)
    });
    done.recv().unwrap();
    assert_eq!(result.try_recv(), Ok(7));
    drop(worker.join().unwrap());
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
