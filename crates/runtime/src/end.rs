//! How executions end.

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The start of executions was reached.
    Started,
    /// The test function returned and passed.
    Passed,
    /// The program exited with this code.
    Exit(u32),
    /// A finding ended it.
    Abandoned,
    /// It was too long.
    Cut,
    /// Nobody wants to know what could follow.
    Known,
    /// It asked for a system call whose effect a snapshot cannot undo.
    NeedsFork,
    /// It starts a thread behind the runtime's back, which takes OS threads as carriers.
    NeedsCarrier,
    /// It started more threads than there are donors.
    MoreDonors,
    /// What it showed about stacks is needed from its start.
    Again,
    /// The program crashed: nothing in this process can be trusted any more.
    Crashed,
}

impl End {
    /// Whether the program ended as it should, where `success` is the exit code that says so.
    pub fn is_success(self, success: u32) -> bool {
        self == End::Passed || self == End::Exit(success)
    }

    /// As a number, for the memory shared with forked children. Never 0.
    pub fn encode(self) -> u64 {
        match self {
            End::Started => 1,
            End::Passed => 2,
            End::Abandoned => 3,
            End::Cut => 4,
            End::NeedsFork => 5,
            End::MoreDonors => 6,
            End::Crashed => 7,
            End::Again => 8,
            End::NeedsCarrier => 9,
            End::Known => 10,
            End::Exit(code) => 1 << 32 | u64::from(code),
        }
    }

    /// The end with this number.
    pub fn decode(number: u64) -> Self {
        match number {
            1 => End::Started,
            2 => End::Passed,
            3 => End::Abandoned,
            4 => End::Cut,
            5 => End::NeedsFork,
            6 => End::MoreDonors,
            8 => End::Again,
            9 => End::NeedsCarrier,
            10 => End::Known,
            number if number >> 32 == 1 => End::Exit(number as u32),
            _ => End::Crashed,
        }
    }
}
