//! `zmtop man`: the manual page, made of the definitions that the program runs by.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::written;
use crate::cli::{Cli, Exit};
use crate::columns::COLUMNS;
use crate::config::Keymap;
use crate::config::keymap::Context;
use crate::filter;

/// Writes the page.
pub(super) fn run() -> Exit {
    let mut pieces = Vec::new();
    let page = write(&mut pieces).map(|()| {
        // Every piece defines the apostrophe anew.
        let preamble = Roff::default().render();
        preamble.clone() + &String::from_utf8_lossy(&pieces).replace(&preamble, "")
    });
    written(page.and_then(|page| io::stdout().write_all(page.as_bytes())))
}

fn write(out: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    // An empty date would be left out, and the next word taken for it.
    let man = Man::new(command.clone()).date(" ").manual("User Commands");
    man.render_title(out)?;
    man.render_name_section(out)?;
    let mut page = Roff::default();
    synopsis(&mut page, &command);
    description(&mut page);
    page.control("SH", ["OPTIONS"]);
    page.text([roman(
        "The monitor's. Every command has options of its own, listed with it.",
    )]);
    page.to_writer(out)?;
    options(&man, out)?;
    Roff::default().control("SH", ["COMMANDS"]).to_writer(out)?;
    for sub in visible(&command) {
        subcommand(sub, out)?;
    }
    let mut page = Roff::default();
    filters(&mut page);
    columns(&mut page);
    keys(&mut page);
    closing(&mut page, &command);
    page.to_writer(out)
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

fn synopsis(page: &mut Roff, command: &Command) {
    page.control("SH", ["SYNOPSIS"]);
    page.text([bold("zmtop"), roman(" ["), italic("OPTIONS"), roman("]")]);
    for sub in visible(command) {
        page.control("br", []);
        let mut line = vec![bold(format!("zmtop {}", sub.get_name()))];
        if sub.get_opts().any(|arg| !arg.is_global_set()) {
            line.extend([roman(" ["), italic("OPTIONS"), roman("]")]);
        }
        for arg in sub.get_positionals() {
            let name = arg.get_value_names().and_then(<[_]>::first);
            let name = name.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
            let many = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) {
                "..."
            } else {
                ""
            };
            line.extend(if arg.is_required_set() {
                [roman(" "), italic(name), roman(many)]
            } else {
                [roman(" ["), italic(name), roman(format!("{many}]"))]
            });
        }
        let choices: Vec<_> = visible(sub).map(Command::get_name).collect();
        if !choices.is_empty() {
            line.extend([roman(" "), bold(choices.join("|"))]);
        }
        page.text(line);
    }
}

fn description(page: &mut Roff) {
    page.control("SH", ["DESCRIPTION"]);
    page.text([
        bold("zmtop"),
        roman(
            " shows what each process really costs in memory, live, and says what grows and what leaks. Without a command \
             it is a monitor that takes the whole terminal; the commands print and end. A page shared by many processes is \
             divided among them (PSS, the proportional set size), so that the sum over all processes is what they take \
             together. What is private to one process alone is its USS; RSS counts every page in full for everybody.",
        ),
    ]);
    page.control("PP", []);
    page.text([roman(
        "A dash means that a figure could not be read, never zero. As root every process can be read, otherwise one's own; \
         an ambient CAP_PERFMON (since Linux 6.15, CAP_SYS_PTRACE before) opens all of them.",
    )]);
}

/// Writes the options of a command, without the heading that they come with.
fn options(man: &Man, out: &mut Vec<u8>) -> io::Result<()> {
    let mut section = Vec::new();
    man.render_options_section(&mut section)?;
    let heading = b".SH OPTIONS\n";
    let at = section.windows(heading.len()).position(|line| line == heading);
    out.extend(section.into_iter().skip(at.map_or(0, |at| at + heading.len())));
    Ok(())
}

fn subcommand(command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    Roff::default()
        .control("SS", [command.get_bin_name().unwrap_or_else(|| command.get_name())])
        .text(sentence(command))
        .to_writer(out)?;
    let own = command.clone().mut_args(|arg| {
        let is_usual = ["help", "version"].contains(&arg.get_id().as_str());
        arg.hide(is_usual)
    });
    if own.get_arguments().any(|arg| !arg.is_hide_set()) {
        options(&Man::new(own), out)?;
    }
    let mut page = Roff::default();
    for sub in visible(command) {
        page.control("TP", []);
        page.text([bold(sub.get_name())]);
        page.text(sentence(sub));
    }
    if let Some(text) = command.get_after_help() {
        page.control("PP", []);
        page.text([roman(text.to_string())]);
    }
    page.to_writer(out)
}

/// Returns what a command does, as a sentence.
fn sentence(command: &Command) -> [Inline; 1] {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    [roman(format!("{about}."))]
}

fn filters(page: &mut Roff) {
    page.control("SH", ["FILTERS"]);
    page.text([roman("The same in the monitor and on the command line:")]);
    for (example, what) in filter::help() {
        page.control("TP", []);
        page.text([bold(*example)]);
        page.text([roman(*what)]);
    }
}

fn columns(page: &mut Roff) {
    page.control("SH", ["COLUMNS"]);
    page.text([
        roman("The names that "),
        bold("--columns"),
        roman(", "),
        bold("--sort"),
        roman(" and filters know, and the headings:"),
    ]);
    for column in COLUMNS {
        page.control("TP", []);
        page.text([bold(column.id), roman(format!(" ({})", column.title))]);
        page.text([roman(column.help)]);
    }
}

fn keys(page: &mut Roff) {
    page.control("SH", ["KEYS"]);
    page.text([roman("In the monitor, unless keymap.toml binds them otherwise:")]);
    for (context, heading) in [
        (Context::Table, "The table"),
        (Context::List, "Menus and the help"),
        (Context::Input, "A line of text"),
    ] {
        page.control("SS", [heading]);
        for binding in Keymap::default().bindings.iter().filter(|b| b.context == context) {
            page.control("TP", []);
            let keys: Vec<_> = binding.on.iter().map(ToString::to_string).collect();
            page.text([bold(keys.join("  "))]);
            page.text([roman(&*binding.desc)]);
        }
    }
}

/// Files of the user.
const FILES: &[(&str, &str)] = &[
    (
        "~/.config/zmtop/config.toml",
        "The settings: columns, colours, intervals, alerts. zmtop config default prints the shipped ones with what each \
         means, zmtop config check names every fault.",
    ),
    (
        "~/.config/zmtop/keymap.toml",
        "Keys that do something else than in the shipped keymap.",
    ),
    ("~/.config/zmtop/themes/NAME.toml", "Themes of one's own."),
    (
        "~/.local/state/zmtop/",
        "What is kept from one start to the next: in history, the past of processes, groups and the system, without names \
         and command lines, unless history.keep is false. It may be removed at any time.",
    ),
];

/// Environment variables.
const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "XDG_CONFIG_HOME",
        "The directory of zmtop/config.toml instead of ~/.config.",
    ),
    (
        "XDG_STATE_HOME",
        "The directory of the folder zmtop of what is kept, instead of ~/.local/state.",
    ),
    (
        "ZMTOP_PROMETHEUS_TOKEN, ZMTOP_PROMETHEUS_PASSWORD",
        "The token, or the password of --user, that zmtop fleet sends.",
    ),
    ("NO_COLOR", "Set to anything: no colours."),
    ("COLORTERM", "truecolor or 24bit: the terminal has all colours."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "A locale without UTF-8 gets nothing but ASCII.",
    ),
];

/// Command lines worth knowing.
const EXAMPLES: &[(&str, &str)] = &[
    ("zmtop ps --sort swap --top 10", "Who is swapped out most."),
    ("zmtop ps user:postgres 'pss>100M'", "The large processes of a user."),
    ("zmtop ps --by command", "Sums of each program."),
    ("zmtop maps firefox", "What a process has mapped, and what it costs."),
    (
        "zmtop leaks --for 1h --check",
        "Watches for an hour; exit status 1 if something leaks.",
    ),
    (
        "zmtop fleet --prometheus http://127.0.0.1:9090 --by host",
        "All hosts that a Prometheus scrapes zmtop serve on.",
    ),
    (
        "kill $(zmtop --pick)",
        "Ends the process that is chosen in the monitor.",
    ),
];

fn closing(page: &mut Roff, command: &Command) {
    for (heading, entries) in [("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)] {
        page.control("SH", [heading]);
        listed(page, entries);
    }
    page.control("SH", ["EXIT STATUS"]);
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    page.text([roman(text)]);
    page.control("SH", ["EXAMPLES"]);
    listed(page, EXAMPLES);
    page.control("SH", ["SEE ALSO"]);
    page.text([
        bold("proc_pid_smaps"),
        roman("(5), "),
        bold("free"),
        roman("(1), "),
        bold("pmap"),
        roman("(1), "),
        bold("htop"),
        roman("(1)"),
    ]);
}

fn listed(page: &mut Roff, entries: &[(&str, &str)]) {
    for (name, what) in entries {
        page.control("TP", []);
        page.text([bold(*name)]);
        page.text([roman(*what)]);
    }
}
