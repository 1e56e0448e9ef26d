//! `zmtop completions`, `zmtop man`, `zmtop schema`: files generated from the program's own definitions.

use std::io::{self, Write};

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, Args, Command, CommandFactory, ValueEnum};
use clap_complete::{Generator, shells};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::limits::KINDS;
use super::{Failure, alert, written};
use crate::cli::{Cli, Exit, GROUPS, UsageError};
use crate::columns::{COLUMNS, cached_file, held, limit, mapping, slab};
use crate::config::keymap::Context;
use crate::config::{Keymap, theme};
use crate::group::GroupBy;
use crate::output::{self, kernel, leaks, maps, mem, prove, table};
use crate::schema::Schema;
use crate::tui::words::WORDS;
use crate::units::Units;
use crate::{filter, record};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaArgs {
    /// Describe only this schema, such as zmtop-mem/1 or mem; the one of `zmtop ps` is ps
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Write it to ~/.local/share/bash-completion/completions/zmtop
    Bash,
    /// Write it to a file `_zmtop` in a directory of $fpath
    Zsh,
    /// Write it to ~/.config/fish/completions/zmtop.fish
    Fish,
}

/// All kinds of documents. A new report adds one line here.
const ALL: &[fn() -> Schema] = &[
    record::schema,
    record::schema_of_changes,
    table::schema,
    mem::schema,
    leaks::schema,
    maps::schema,
    output::held::schema,
    output::cache::schema,
    output::limits::schema,
    prove::schema,
    kernel::slab_schema,
    kernel::sites_schema,
    kernel::callers_schema,
    output::why::schema,
    #[cfg(feature = "code")]
    output::callers::schema,
    output::heap::schema,
    alert::payload::schema,
];

fn schema_names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|schema| schema().name)
}

pub(super) fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let all = ALL.iter().map(|schema| schema());
    let chosen: Vec<Schema> = match &args.name {
        None => all.collect(),
        Some(name) => {
            // The commands whose documents have another name.
            let name = match name.as_str() {
                "ps" => "table",
                "callers" => "call-paths",
                name => name,
            };
            let bare = |full: &'static str| full.strip_prefix("zmtop-")?.split('/').next();
            all.filter(|schema| schema.name == name || bare(schema.name) == Some(name))
                .collect()
        }
    };
    if chosen.is_empty() {
        let names: Vec<_> = schema_names().collect();
        let error = format!("there is no such schema; there are {}", names.join(", "));
        return Err(UsageError::option("NAME", error).into());
    }
    Ok(written(output::schema::write(&mut io::stdout().lock(), &chosen)))
}

pub(super) fn completions(shell: Shell) -> Exit {
    let mut command = without_hidden(with_values(Cli::command()));
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

/// Adds the values of options whose definitions do not list them, but which the settings know.
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

/// Rebuilds `callers` without its hidden options: the generators of completions list them.
fn without_hidden(command: Command) -> Command {
    if cfg!(not(feature = "code")) {
        return command;
    }
    command.mut_subcommand("callers", |sub| {
        let shown = sub.get_arguments().filter(|arg| !arg.is_hide_set()).cloned();
        Command::new("callers")
            .about(sub.get_about().cloned().unwrap_or_default())
            .args(shown)
    })
}

fn values(command: &str, arg: &Arg) -> Vec<&'static str> {
    match (arg.get_id().as_str(), command) {
        ("by", "ps") => GROUPS.iter().map(|by| by.id()).collect(),
        ("by", "fleet") => GroupBy::OF_FLEET.iter().map(|by| by.id()).collect(),
        ("by", "limits") => KINDS.iter().map(|by| by.id()).collect(),
        ("by", _) => GroupBy::OF_ONE_HOST.iter().map(|by| by.id()).collect(),
        ("units", _) => Units::ALL.iter().map(|units| units.id()).collect(),
        ("theme", _) => theme::SHIPPED.iter().map(|(name, _)| *name).collect(),
        ("name", "schema") => schema_names().collect(),
        ("sort", "maps") => mapping::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", "held") => held::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", "cache") => cached_file::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", "limits") => limit::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", "slab") => slab::COLUMNS.iter().map(|column| column.id).collect(),
        ("sort", _) => COLUMNS.iter().map(|column| column.id).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn man() -> Exit {
    let mut pieces = Vec::new();
    let page = write(&mut pieces).map(|()| {
        // Every piece defines the apostrophe again.
        let preamble = Roff::default().render();
        preamble.clone() + &String::from_utf8_lossy(&pieces).replace(&preamble, "")
    });
    written(page.and_then(|page| io::stdout().write_all(page.as_bytes())))
}

fn write(out: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    // An empty date would be omitted, and the next word read as the date.
    let man = Man::new(command.clone()).date(" ").manual("User Commands");
    man.render_title(out)?;
    man.render_name_section(out)?;
    let mut page = Roff::default();
    synopsis(&mut page, &command);
    description(&mut page);
    page.control("SH", ["OPTIONS"]);
    page.text([roman(
        "These are the options of the monitor. The options of each command are listed with the command.",
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
    words(&mut page);
    keys(&mut page);
    closing(&mut page, &command);
    page.to_writer(out)
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

fn synopsis(page: &mut Roff, command: &Command) {
    page.control("SH", ["SYNOPSIS"]);
    page.text([
        bold("zmtop"),
        roman(" ["),
        italic("OPTIONS"),
        roman("] ["),
        italic("FILTER"),
        roman("...]"),
    ]);
    for sub in visible(command) {
        usage(page, &format!("zmtop {}", sub.get_name()), sub);
    }
}

/// Writes the lines of a command: with its own arguments, with the names of its commands, and those of its commands that have
/// arguments.
fn usage(page: &mut Roff, path: &str, command: &Command) {
    let mut add = |rest: Vec<Inline>| {
        page.control("br", []);
        page.text([vec![bold(path)], rest].concat());
    };
    if has_arguments(command) || visible(command).next().is_none() {
        let mut line = Vec::new();
        if options_of(command).next().is_some() {
            line.extend([roman(" ["), italic("OPTIONS"), roman("]")]);
        }
        for arg in command.get_positionals() {
            let name = arg.get_value_names().and_then(<[_]>::first);
            let name = name.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string);
            let is_many = arg.get_num_args().is_some_and(|n| n.max_values() > 1);
            let many = if is_many { "..." } else { "" };
            line.extend(if arg.is_required_set() {
                [roman(" "), italic(name), roman(many)]
            } else {
                [roman(" ["), italic(name), roman(format!("{many}]"))]
            });
        }
        add(line);
    }
    let choices: Vec<_> = visible(command)
        .filter(|sub| !has_arguments(sub))
        .map(Command::get_name)
        .collect();
    if !choices.is_empty() {
        add(vec![roman(" "), bold(choices.join("|"))]);
    }
    for sub in visible(command).filter(|sub| has_arguments(sub)) {
        usage(page, &format!("{path} {}", sub.get_name()), sub);
    }
}

/// Returns the options that only this command has.
fn options_of(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_opts()
        .filter(|arg| !arg.is_global_set() && !arg.is_hide_set())
}

fn has_arguments(command: &Command) -> bool {
    command.get_positionals().next().is_some() || options_of(command).next().is_some()
}

fn description(page: &mut Roff) {
    page.control("SH", ["DESCRIPTION"]);
    page.text([
        bold("zmtop"),
        roman(
            " shows the true memory use of each process, live, and reports growth and leaks. Without a command, it is a \
             full-screen monitor of the processes that match FILTER, or of all. The commands print a report and exit. A \
             page shared by several processes is divided among them (PSS, the proportional set size), so the sum over all \
             processes is the memory that they use together. USS is the memory private to one process. RSS counts every page in full for each process that \
             maps it.",
        ),
    ]);
    page.control("PP", []);
    page.text([roman(
        "A dash means that a figure could not be read. It never means zero. Root can read every process, other users \
         only their own. An ambient CAP_PERFMON (CAP_SYS_PTRACE before Linux 6.15) gives access to all of them.",
    )]);
}

/// Writes the options of a command without their generated heading.
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
        let is_hidden = is_usual || arg.is_hide_set();
        arg.hide(is_hidden)
    });
    if own.get_arguments().any(|arg| !arg.is_hide_set()) {
        options(&Man::new(own), out)?;
    }
    let mut page = Roff::default();
    for sub in visible(command).filter(|sub| !has_arguments(sub)) {
        page.control("TP", []);
        page.text([bold(sub.get_name())]);
        page.text(sentence(sub));
    }
    if let Some(text) = command.get_after_help() {
        page.control("PP", []);
        page.text([roman(text.to_string())]);
    }
    page.to_writer(out)?;
    for sub in visible(command).filter(|sub| has_arguments(sub)) {
        subcommand(sub, out)?;
    }
    Ok(())
}

fn sentence(command: &Command) -> [Inline; 1] {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    [roman(format!("{about}."))]
}

fn filters(page: &mut Roff) {
    page.control("SH", ["FILTERS"]);
    page.text([roman("Filters are the same in the monitor and on the command line:")]);
    listed(page, filter::help());
}

fn words(page: &mut Roff) {
    page.control("SH", ["SCREEN"]);
    page.text([roman("The words, signs and units around the table of the monitor:")]);
    listed(page, &WORDS);
}

fn columns(page: &mut Roff) {
    page.control("SH", ["COLUMNS"]);
    page.text([
        roman("The names of columns for "),
        bold("--columns"),
        roman(", "),
        bold("--sort"),
        roman(" and filters. The headings are in parentheses:"),
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
        (Context::Replay, "A replay, in addition to the keys of the table"),
        (Context::List, "Menus and the help"),
        (Context::Input, "Text inputs"),
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

const FILES: &[(&str, &str)] = &[
    (
        "~/.config/zmtop/config.toml",
        "The settings: columns, colours, intervals, alerts. zmtop config default prints and explains the defaults. \
         zmtop config check reports every error.",
    ),
    (
        "~/.config/zmtop/keymap.toml",
        "Key bindings that differ from the default keymap.",
    ),
    ("~/.config/zmtop/themes/NAME.toml", "Your own themes."),
    (
        "~/.local/state/zmtop/",
        "Data kept between runs. blackbox/ has the recordings of the black box, unless record.black_box is \
         false. The file blackbox/history has the history of processes, groups and the system, unless history.keep is \
         false. You may remove all of it while zmtop does not run.",
    ),
    (
        "/dev/kmsg",
        "The kernel's log, which names the victims of OOM kills. Without access (kernel.dmesg_restrict), the counters \
         of cgroups show in which cgroup a process was killed. They identify the process only if no other process of \
         this cgroup ended at that time.",
    ),
    (
        "/sys/kernel/tracing",
        "The tracepoint signal_generate shows which processes earlyoom, systemd-oomd, nohang, oomd, bustd and lmkd \
         kill while zmtop runs. This needs root; page 2 shows if access is denied. Evictions by the kubelet are not \
         shown, because they look like any other stop of a pod.",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "HOME",
        "The directory of .config and .local/state. If it does not exist, nothing is created below it. Settings files that \
         only another user may read are skipped. Both cases are reported.",
    ),
    (
        "XDG_CONFIG_HOME",
        "The directory of zmtop/config.toml instead of ~/.config.",
    ),
    (
        "XDG_STATE_HOME",
        "The parent directory of the folder zmtop with the data kept between runs, instead of ~/.local/state.",
    ),
    (
        "ZMTOP_PROMETHEUS_TOKEN, ZMTOP_PROMETHEUS_PASSWORD",
        "The token that zmtop fleet sends, and the password of --user.",
    ),
    ("NO_COLOR", "If set to any value, zmtop uses no colours."),
    ("COLORTERM", "truecolor or 24bit: the terminal supports all colours."),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "In a locale without UTF-8, zmtop prints only ASCII.",
    ),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("zmtop ps --sort swap --top 10", "The processes with the most swap."),
    ("zmtop ps user:postgres 'pss>100M'", "The large processes of a user."),
    ("zmtop ps --by command", "The sum of each program."),
    ("zmtop maps firefox", "The mappings of a process, with their memory."),
    (
        "zmtop leaks --for 1h --check",
        "Watches for an hour; exit status 1 if something leaks.",
    ),
    (
        "zmtop fleet --prometheus http://127.0.0.1:9090 --by host",
        "All hosts whose zmtop serve is scraped by this Prometheus.",
    ),
    ("kill $(zmtop --pick)", "Ends the process that you pick in the monitor."),
];

fn closing(page: &mut Roff, command: &Command) {
    for (heading, entries) in [("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)] {
        page.control("SH", [heading]);
        listed(page, entries);
    }
    page.control("SH", ["EXIT STATUS"]);
    // The paragraph before it is part of the description.
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    page.text([roman(text.split("\n\n").last().unwrap_or_default())]);
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
