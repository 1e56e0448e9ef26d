//! How the program ends.

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; also when who read the output went away.
    Done = 0,
    /// A check found something.
    Found = 1,
    /// What was typed or configured is wrong.
    Usage = 2,
    /// The data could not be read.
    Unread = 3,
    /// Output could not be written.
    Unwritten = 4,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// What a failure to write to stdout means: a pipe that was closed is no failure, as in `zmtop ps | head`.
    pub fn of_output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Done,
            _ => Self::Unwritten,
        }
    }
}

/// The command line asks for no more than a text: help, version, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Early {
    /// For stdout if `exit` is [`Exit::Done`], else for stderr; safe to print.
    pub text: String,
    /// How to end.
    pub exit: Exit,
}
