//! The histogram and the budget.

use std::thread;

use pools::{Budget, Histogram};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn every_value_is_counted(values in prop::collection::vec(any::<u8>(), 2..6)) {
        let histogram = Histogram::default();
        let (one, other) = values.split_at(values.len() / 2);
        thread::scope(|scope| {
            for half in [one, other] {
                let histogram = &histogram;
                scope.spawn(move || half.iter().for_each(|value| histogram.record(*value)));
            }
        });
        prop_assert_eq!(histogram.total(), values.len() as u64);
    }
}

#[test]
fn a_budget_is_looked_at_while_it_is_spent() {
    let budget = Budget::new(10);
    thread::scope(|scope| {
        scope.spawn(|| assert!(budget.spend(4)));
        scope.spawn(|| assert!(budget.status().0 <= 10));
    });
    assert_eq!(budget.status(), (6, 4));
}
