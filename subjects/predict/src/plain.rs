//! How long the twins take without any tool: what its slowdown is measured by.

use crate::*;
use std::time::Instant;

/// Runs that are timed together.
const RUNS: u32 = 30;
/// Of so many times the shortest counts: others may use the machine.
const TIMES: u32 = 20;

type Twin = (&'static str, fn());

const TWINS: [Twin; 14] = [
    ("account", account::tests::twin),
    ("array_list", array_list::tests::twin),
    ("cache4j", cache4j::tests::twin),
    ("hash_set", hash_set::tests::twin),
    ("hedc", hedc::tests::twin),
    ("jigsaw", jigsaw::tests::twin),
    ("linked_hash_set", linked_hash_set::tests::twin),
    ("linked_list", linked_list::tests::twin),
    ("moldyn", moldyn::tests::twin),
    ("montecarlo", montecarlo::tests::twin),
    ("raytracer", raytracer::tests::twin),
    ("string_buffer", string_buffer::tests::twin),
    ("tree_set", tree_set::tests::twin),
    ("weblech", weblech::tests::twin),
];

#[test]
#[ignore = "measures"]
fn plain() {
    for (name, twin) in TWINS {
        let times = (0..TIMES).map(|_| {
            let start = Instant::now();
            for _ in 0..RUNS {
                twin();
            }
            start.elapsed()
        });
        let shortest = times.min().unwrap_or_default() / RUNS;
        println!("plain {name} {}", shortest.as_nanos());
    }
}
