//! The names of programs that interpreters run, from their command lines.
//!
//! Only the name of a script, a module, an archive or a class is taken, never another argument: those may be secrets.

mod part;
mod table;

use std::borrow::Cow;

pub(super) use part::base;
use part::{class_name, cut, file_name, module_or_file};
use table::{Interpreter, JAVA, Letters, PYTHON, SHELL, find};

use crate::model::process::Facts;

/// An argument that tells what is run.
enum Runs<'a> {
    /// Nothing is named: it is interactive, or reads standard input.
    Nothing,
    /// The program stands in the value of this option, which is all that is told of it.
    Code(Cow<'a, [u8]>),
    /// A module or an archive, with the option before it.
    Target(Cow<'a, [u8]>, &'a [u8]),
    /// A script; of java a class.
    Script(&'a [u8]),
}

/// A process that runs an interpreter.
struct Interpreted<'a> {
    interpreter: &'static Interpreter,
    /// The interpreter's name, without the version; of python with the first digit of it.
    name: &'a [u8],
    runs: Runs<'a>,
}

/// Returns the name of a program that an interpreter runs: `python3 ingest.py`, `java -jar x.jar`, `sh -c`; `None` where
/// the process is none, is an interactive one, or wrote a title over its arguments.
pub(super) fn interpreted_name(facts: &Facts) -> Option<Vec<u8>> {
    let found = read(facts)?;
    let (option, what) = match found.runs {
        Runs::Nothing => return None,
        Runs::Code(option) => (Some(option), None),
        Runs::Target(option, target) => (Some(option), Some(module_or_file(target)?)),
        Runs::Script(class) if found.is(&JAVA) => (None, Some(class_name(class)?)),
        Runs::Script(path) => (None, Some(file_name(path)?)),
    };
    let mut name = found.name.to_vec();
    for word in option.as_deref().into_iter().chain(what) {
        name.push(b' ');
        name.extend_from_slice(cut(word));
    }
    Some(name)
}

/// Returns true for a shell that runs neither a script nor a command that it was given: somebody types into it.
pub(super) fn is_interactive_shell(facts: &Facts) -> bool {
    read(facts).is_some_and(|found| found.is(&SHELL) && matches!(found.runs, Runs::Nothing))
}

impl Interpreted<'_> {
    fn is(&self, other: &'static Interpreter) -> bool {
        std::ptr::eq(self.interpreter, other)
    }
}

/// Reads the command line of a process whose file is an interpreter. The file may be hidden, or that of all applets.
fn read(facts: &Facts) -> Option<Interpreted<'_>> {
    let file = facts.exe.as_deref().ok().map(base).filter(|file| *file != b"busybox");
    let by_file = match file {
        Some(file) => Some(find_versioned(file)?),
        None => None,
    };
    let line = facts.cmdline.as_deref().ok()?;
    let mut arguments = line.split(|b| *b == 0);
    // A login shell's begins with `-`. A title is no name of an interpreter, or has a space.
    let first = arguments.next()?;
    let first = first.strip_prefix(b"-").unwrap_or(first);
    if first.contains(&b' ') && !first.starts_with(b"/") {
        return None;
    }
    let (by_argument, called) = find_versioned(base(first))?;
    let (interpreter, name) = by_file.unwrap_or((by_argument, called));
    if !std::ptr::eq(by_argument, interpreter) {
        return None;
    }
    Some(Interpreted {
        interpreter,
        // What is called sh may be dash or bash.
        name: if std::ptr::eq(interpreter, &raw const SHELL) {
            called
        } else {
            name
        },
        runs: interpreter.what_runs(arguments),
    })
}

/// Returns the interpreter of that file name, and the name without a version; of python with the first digit of it.
fn find_versioned(file: &[u8]) -> Option<(&'static Interpreter, &[u8])> {
    let end = file.iter().rposition(|b| !b.is_ascii_digit() && *b != b'.')? + 1;
    let interpreter = find(&file[..end])?;
    let has_digit = std::ptr::eq(interpreter, &raw const PYTHON) && file.get(end).is_some_and(u8::is_ascii_digit);
    Some((interpreter, &file[..end + usize::from(has_digit)]))
}

impl Interpreter {
    /// Finds what is run among the arguments after the first.
    fn what_runs<'a>(&self, mut arguments: impl Iterator<Item = &'a [u8]>) -> Runs<'a> {
        // What java reads from a file of arguments may hold the class, so that no later argument is known to be one.
        let mut file_of_arguments = None;
        while let Some(argument) = arguments.next() {
            let has = |list: &[&str]| list.iter().any(|option| option.as_bytes() == argument);
            let next = |arguments: &mut dyn Iterator<Item = &'a [u8]>| arguments.next().unwrap_or_default();
            match argument {
                b"--" => return Runs::Script(next(&mut arguments)),
                b"" | b"-" => break,
                [b'@', ..] if std::ptr::eq(self, &raw const JAVA) => {
                    file_of_arguments.get_or_insert(argument);
                }
                [b'-', ..] => {
                    if has(self.code) {
                        return Runs::Code(argument.into());
                    } else if has(self.target) {
                        return Runs::Target(argument.into(), next(&mut arguments));
                    } else if has(self.script) {
                        return Runs::Script(next(&mut arguments));
                    } else if has(self.with_value) {
                        arguments.next();
                    } else if let Some(value) = self.script_after_equals(argument) {
                        return Runs::Script(value);
                    } else if argument[1] != b'-'
                        && let Some(runs) = self.letters.read(argument, &mut arguments)
                    {
                        return runs;
                    }
                }
                // Of a shell, options that are switched off.
                [b'+', ..] if std::ptr::eq(self, &raw const SHELL) => {
                    if let Some(runs) = self.letters.read(argument, &mut arguments) {
                        return runs;
                    }
                }
                _ if has(self.subcommands) => {}
                // A descriptor is as nameless as standard input.
                script if is_descriptor(script) => break,
                script => return file_of_arguments.map_or(Runs::Script(script), |file| Runs::Code(file.into())),
            }
        }
        file_of_arguments.map_or(Runs::Nothing, |file| Runs::Code(file.into()))
    }

    fn script_after_equals<'a>(&self, argument: &'a [u8]) -> Option<&'a [u8]> {
        let at = argument.iter().position(|b| *b == b'=')?;
        let option = &argument[..at];
        let is_script = self.script.iter().any(|known| known.as_bytes() == option);
        is_script.then(|| &argument[at + 1..])
    }
}

fn is_descriptor(path: &[u8]) -> bool {
    path == b"/dev/stdin" || path.starts_with(b"/dev/fd/") || path.starts_with(b"/proc/self/fd/")
}

impl Letters {
    /// Reads options of one letter each; `None` where they do not say what is run.
    fn read<'a>(&self, argument: &'a [u8], arguments: &mut impl Iterator<Item = &'a [u8]>) -> Option<Runs<'a>> {
        for (at, letter) in argument.iter().enumerate().skip(1) {
            let has = |letters: &[u8]| letters.contains(letter);
            let rest = &argument[at + 1..];
            if has(self.code) {
                return Some(Runs::Code(vec![b'-', *letter].into()));
            } else if has(self.input) {
                return Some(Runs::Nothing);
            } else if has(self.attached) {
                return None;
            } else if has(self.value) || has(self.target) || has(self.script) {
                let value = if rest.is_empty() {
                    arguments.next().unwrap_or_default()
                } else {
                    rest
                };
                return if has(self.target) {
                    Some(Runs::Target(vec![b'-', *letter].into(), value))
                } else {
                    has(self.script).then_some(Runs::Script(value))
                };
            }
        }
        None
    }
}
