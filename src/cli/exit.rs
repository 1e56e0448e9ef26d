//! The program's exit codes.

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; also if the reader of the output went away.
    Done = 0,
    /// A check found something, or nothing was picked.
    Found = 1,
    /// The command line or the configuration is wrong.
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
    /// Returns the exit code for an error of writing to stdout. A closed pipe is no failure, as in `zmtop ps | head`.
    pub fn of_output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Done,
            _ => Self::Unwritten,
        }
    }
}

/// A text to print instead of running: the help, the version, or a usage error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Early {
    /// The text, for stdout if `exit` is [`Exit::Done`], otherwise for stderr; safe to print.
    pub text: String,
    /// The exit code.
    pub exit: Exit,
}
