//! Requests that are sent again if no answer comes.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::FIXED;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_millis(11);

/// Requests from one side, and answers from the other.
#[derive(Default)]
pub struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    request: Option<u32>,
    answer: Option<u32>,
    served: Vec<u32>,
}

impl Mailbox {
    /// Asks for something; asks again whenever the patience is over.
    pub fn ask(&self, request: u32) -> u32 {
        let mut state = self.state.lock().unwrap();
        loop {
            state.request = Some(request);
            self.changed.notify_all();
            state = self.changed.wait_timeout(state, PATIENCE).unwrap().0;
            if let Some(answer) = state.answer.take() {
                return answer;
            }
        }
    }

    /// Takes a request and keeps it for an answer.
    pub fn take(&self) -> u32 {
        let state = self.state.lock().unwrap();
        let empty = |state: &mut State| state.request.is_none();
        let mut state = self.changed.wait_while(state, empty).unwrap();
        let request = state.request.take().unwrap_or_default();
        if !(FIXED && state.served.contains(&request)) {
            state.served.push(request);
        }
        request
    }

    /// Answers a request. A repetition that came in the meantime is answered by this too.
    pub fn answer(&self, answer: u32) {
        let mut state = self.state.lock().unwrap();
        state.answer = Some(answer);
        if FIXED {
            state.request = None;
        }
        self.changed.notify_all();
    }

    /// How many requests were served, or wait for it.
    pub fn load(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.served.len() + usize::from(state.request.is_some())
    }
}
