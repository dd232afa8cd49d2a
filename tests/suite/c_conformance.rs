//! One C program per primitive: what it asserts holds under every schedule.

use raddle_e2e::{Fixture, Tool, seeds};

const STRATEGIES: [&str; 2] = ["random", "pct(3)"];

fn holds(compiler: &str, source: &str) {
    let fixture = Fixture::special("c");
    // Compilers that are a few years old take C++14 if not told.
    let standard = if compiler == "cc" {
        "-std=gnu11"
    } else {
        "-std=c++17"
    };
    let arguments = ["-g", "-O1", "-pthread", "-o", "prog", source];
    let arguments = [compiler, standard].into_iter().chain(arguments);
    let ended = Tool::new(fixture.path(), arguments).run();
    assert!(ended.status.success(), "{ended:#?}");
    let executions = seeds().max(250);
    for strategy in STRATEGIES {
        let hashes = ["fiber", "os"].map(|carrier| {
            let arguments = [
                "test",
                "--seed",
                "7",
                "--executions",
                &executions.to_string(),
                "--strategy",
                strategy,
                "--carrier",
                carrier,
                "./prog",
            ];
            let run = fixture.check(&arguments, 0);
            assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
            assert!(run.summary().executions >= executions, "{run:#?}");
            run.test("./prog").hash.clone()
        });
        // How far a child process is depends on real time.
        if source != "children.c" {
            assert_eq!(hashes[0], hashes[1], "{source} {strategy}");
        }
    }
}

macro_rules! programs {
    ($($name:ident: $compiler:literal $source:literal;)*) => {
        $(#[test]
        fn $name() {
            holds($compiler, $source);
        })*
    };
}

programs! {
    atomics_of_all_types_hold: "cc" "atomics.c";
    barriers_hold: "cc" "barrier.c";
    c11_threads_hold: "cc" "c11.c";
    cancellation_holds: "cc" "cancel.c";
    children_hold: "cc" "children.c";
    clocks_hold: "cc" "clocks.c";
    conditions_hold: "cc" "condvar.c";
    descriptors_hold: "cc" "descriptors.c";
    futexes_hold: "cc" "futex.c";
    joining_holds: "cc" "join.c";
    thread_specific_data_holds: "cc" "keys.c";
    mutexes_hold: "cc" "mutex.c";
    once_holds: "cc" "once.c";
    output_goes_where_it_is_sent: "cc" "output.c";
    read_write_locks_hold: "cc" "rwlock.c";
    semaphores_hold: "cc" "semaphore.c";
    signals_hold: "cc" "signals.c";
    sockets_hold: "cc" "sockets.c";
    spin_locks_hold: "cc" "spin.c";
    timers_hold: "cc" "timers.c";
    cxx_threads_hold: "c++" "threads.cpp";
}
