//! `zmtop completions`: what completes the command line in a shell.

use std::io::{self, Write};

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, Command, CommandFactory};
use clap_complete::{Generator, shells};

use super::written;
use crate::cli::{Cli, Exit, GROUPS, Shell};
use crate::columns::{COLUMNS, held, mapping, slab};
use crate::config::theme;
use crate::group::GroupBy;
use crate::units::Units;

/// Writes the completions for a shell.
pub(super) fn run(shell: Shell) -> Exit {
    let mut command = with_values(Cli::command());
    command.set_bin_name("zmtop");
    command.build();
    let mut script = Vec::new();
    match shell {
        Shell::Bash => shells::Bash.generate(&command, &mut script),
        Shell::Zsh => shells::Zsh.generate(&command, &mut script),
        Shell::Fish => shells::Fish.generate(&command, &mut script),
    }
    written(io::stdout().write_all(&script))
}

/// Gives options the values that they take and their definitions do not list: the settings know them.
fn with_values(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        let values = values(&name, &arg);
        if values.is_empty() {
            arg
        } else {
            arg.value_parser(ValueParser::from(PossibleValuesParser::new(values)))
                .hide_possible_values(false)
        }
    });
    command.mut_subcommands(with_values)
}

/// Returns the values of an option of `command`.
fn values(command: &str, arg: &Arg) -> Vec<&'static str> {
    match (arg.get_id().as_str(), command) {
        ("by", "ps") => GROUPS.iter().map(|by| by.id()).collect(),
        ("by", "fleet") => GroupBy::OF_FLEET.iter().map(|by| by.id()).collect(),
        ("by", _) => GroupBy::OF_ONE_HOST.iter().map(|by| by.id()).collect(),
        ("units", _) => Units::ALL.iter().map(|units| units.name()).collect(),
        ("theme", _) => theme::SHIPPED.iter().map(|(name, _)| *name).collect(),
        ("sort", "maps") => mapping::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", "held") => held::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", "slab") => slab::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", _) => COLUMNS.iter().map(|column| column.id).collect(),
        _ => Vec::new(),
    }
}
