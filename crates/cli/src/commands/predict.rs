//! `cargo raddle predict`: what a few executions say about others, made real.

use raddle_campaign::{Engine, Prediction, Vwls};

use super::test;
use crate::arguments::{EngineName, PredictCommand, VwlsKind};
use crate::exit::{Exit, Failure};

pub(super) fn run(command: PredictCommand) -> Result<Exit, Failure> {
    let prediction = Prediction {
        engine: match command.engine {
            EngineName::Asset => Engine::Asset,
            EngineName::Monitor => Engine::Monitor,
        },
        profiles: command.profiles,
        tries: command.tries,
        vwls: match command.vwls {
            VwlsKind::Needed => Vwls::Needed,
            VwlsKind::Paper => Vwls::Common,
        },
    };
    test::run_with(command.test, Some(prediction))
}
