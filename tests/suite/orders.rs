//! No order is lost where a strategy is not asked because nothing has happened since it was.

use raddle_e2e::Fixture;

const TESTS: usize = 4;

#[test]
fn every_order_behind_a_wake_up_or_a_start_is_found_by_strategies_that_see_threads_only() {
    let fixture = Fixture::special("orders");
    for strategy in ["random", "pct(3)"] {
        let arguments = ["test", "--strategy", strategy, "--executions", "2000"];
        let run = fixture.check(&arguments, 100);
        assert_eq!(run.findings().len(), TESTS, "{strategy}: {run:#?}");
    }
}

#[test]
fn every_order_behind_a_wake_up_or_a_start_is_found_by_those_that_see_operations() {
    let fixture = Fixture::special("orders");
    for strategy in ["pos", "exhaustive(2)"] {
        let run = fixture.check(&["test", "--strategy", strategy], 100);
        assert_eq!(run.findings().len(), TESTS, "{strategy}: {run:#?}");
    }
}
