//! Asks the program which values the user's functions give, so that a test that is written down has literals.

use std::collections::BTreeSet;

use raddle_trace::runner::{PlanRequest, Runner, RunnerError};

use crate::harness::SHOWN;
use crate::history::{History, is_panic};
use crate::literal::{Bytes, NOTHING, Shown};
use crate::print::Printer;
use crate::remembered::Memory;
use crate::test_case::{Call, TestCase};

impl Printer<'_> {
    /// The values of a test that the user supplies and that can be written down as literals.
    ///
    /// # Errors
    ///
    /// If the program cannot be run.
    pub fn supplied_values(
        &self,
        test: &TestCase,
        runner: &mut dyn Runner,
    ) -> Result<Shown, RunnerError> {
        let keys = self.asked(test);
        if keys.is_empty() {
            return Ok(Shown::new());
        }
        let calls = keys.iter().filter_map(|(number, byte)| {
            Some(Call {
                operation: u16::try_from(SHOWN + number).ok()?,
                bytes: vec![*byte],
            })
        });
        let shows = TestCase {
            constructor: test.constructor,
            bytes: test.bytes.clone(),
            prefix: calls.collect(),
            ..TestCase::default()
        };
        let outcome = runner.run(&PlanRequest {
            strategy: "serial".to_owned(),
            oracles: 0,
            input: shows.encode(&[]),
            marks: true,
            ..PlanRequest::default()
        })?;
        let execution = outcome.marks.first();
        let history = execution.map(|execution| History::of(&shows, execution));
        let steps = history.map(|history| history.prefix).unwrap_or_default();
        let known = keys.into_iter().zip(steps);
        let known = known.filter_map(|(key, step)| Some((key, step.result?)));
        Ok(known
            .filter(|(_, text)| !is_panic(text) && text != NOTHING)
            .collect())
    }

    /// Which values of which functions a test has.
    fn asked(&self, test: &TestCase) -> BTreeSet<(usize, u8)> {
        let constructor = &self.discovery.constructors[usize::from(test.constructor)];
        let mut bytes = Bytes::new(&test.bytes);
        // There may be two objects.
        for _ in 0..=usize::from(self.discovery.is_paired) {
            let _ = constructor.recipe.literal(&mut bytes);
        }
        let mut keys: BTreeSet<(usize, u8)> = bytes.shown.into_iter().collect();
        let calls = test.prefix.iter().chain(test.threads.iter().flatten());
        let memory = Memory::new(self, test, None);
        for (id, call) in calls.chain(&test.after).enumerate() {
            let mut bytes = self.bytes(call).0.remembering(memory.known(id));
            for step in &self.operation(call).steps {
                let _ = step.call.literal(&mut bytes);
            }
            keys.extend(bytes.shown);
        }
        keys
    }
}
