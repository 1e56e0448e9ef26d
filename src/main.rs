//! The `zmtop` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    zmtop::run::main(std::env::args_os())
}
