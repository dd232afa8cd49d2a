//! `cargo raddle predict`: what a few executions say about others, made real.

use raddle_campaign::{Prediction, Vwls};

use super::test;
use crate::arguments::{PredictCommand, VwlsKind};
use crate::exit::{Exit, Failure};

pub(super) fn run(command: PredictCommand) -> Result<Exit, Failure> {
    let prediction = Prediction {
        engine: command.engine,
        profiles: command.profiles,
        tries: command.tries,
        all_tries: command.all_tries,
        vwls: match command.vwls {
            VwlsKind::Needed => Vwls::Needed,
            VwlsKind::Paper => Vwls::Common,
            VwlsKind::None => Vwls::None,
        },
        is_strict: command.strict,
    };
    test::run_with(command.test, Some(prediction))
}
