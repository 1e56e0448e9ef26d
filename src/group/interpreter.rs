//! The names of programs that interpreters run, from their command lines.
//!
//! A name contains only the script, module, archive or class, never another argument: those may be secrets.

use std::borrow::Cow;

use crate::model::process::Facts;

/// The program that an interpreter runs.
enum Runs<'a> {
    /// None is named: it is interactive, or reads standard input.
    Nothing,
    /// The program is the value of this option. Only the option is shown.
    Code(Cow<'a, [u8]>),
    /// The option before a module or an archive, and that.
    Target(Cow<'a, [u8]>, &'a [u8]),
    /// A script; for Java, a class.
    Script(&'a [u8]),
}

/// A process that runs an interpreter.
struct Interpreted<'a> {
    interpreter: &'static Interpreter,
    /// The interpreter's name, without the version; for Python, with its first digit.
    name: &'a [u8],
    runs: Runs<'a>,
}

/// Returns the name of a program that an interpreter runs: `python3 ingest.py`, `java -jar x.jar`, `sh -c`; `None` if the
/// process is no interpreter, is interactive, or wrote a title over its arguments.
pub(super) fn interpreted_name(facts: &Facts) -> Option<Vec<u8>> {
    let found = read(facts)?;
    let (option, what) = match found.runs {
        Runs::Nothing => return None,
        Runs::Code(option) => (Some(option), None),
        Runs::Target(option, target) => (Some(option), Some(module_or_file(target)?)),
        Runs::Script(class) if found.is(&JAVA) => (None, Some(class_name(class)?)),
        Runs::Script(path) => (None, Some(script_name(path)?)),
    };
    let mut name = found.name.to_vec();
    for word in option.as_deref().into_iter().chain(what) {
        name.push(b' ');
        name.extend_from_slice(cut(word));
    }
    Some(name)
}

/// Returns true for a shell that was started without a script and without a command.
pub(super) fn is_interactive_shell(facts: &Facts) -> bool {
    read(facts).is_some_and(|found| found.is(&SHELL) && matches!(found.runs, Runs::Nothing))
}

impl Interpreted<'_> {
    fn is(&self, other: &'static Interpreter) -> bool {
        std::ptr::eq(self.interpreter, other)
    }
}

/// Reads the command line of a process whose file is an interpreter. The file may be hidden, or be shared by applets.
fn read(facts: &Facts) -> Option<Interpreted<'_>> {
    let file = facts.exe.as_deref().ok().map(base).filter(|file| *file != b"busybox");
    let by_file = match file {
        Some(file) => Some(find_versioned(file)?),
        None => None,
    };
    let line = facts.cmdline.as_deref().ok()?;
    let mut arguments = line.split(|b| *b == 0);
    // For a login shell it begins with `-`. A title is not an interpreter's name, or contains a space.
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
        // The file behind `sh` may be dash or bash.
        name: if std::ptr::eq(interpreter, &raw const SHELL) {
            called
        } else {
            name
        },
        runs: interpreter.what_runs(arguments),
    })
}

/// Returns the interpreter with this file name, and the name without a version; for Python, with its first digit.
fn find_versioned(file: &[u8]) -> Option<(&'static Interpreter, &[u8])> {
    let end = file.iter().rposition(|b| !b.is_ascii_digit() && *b != b'.')? + 1;
    let interpreter = find_interpreter(&file[..end])?;
    let has_digit = std::ptr::eq(interpreter, &raw const PYTHON) && file.get(end).is_some_and(u8::is_ascii_digit);
    Some((interpreter, &file[..end + usize::from(has_digit)]))
}

impl Interpreter {
    /// Finds the program among the arguments after the first.
    fn what_runs<'a>(&self, mut arguments: impl Iterator<Item = &'a [u8]>) -> Runs<'a> {
        // A file of arguments for Java may contain the class; then later arguments are not classes.
        let mut file_of_arguments = None;
        while let Some(argument) = arguments.next() {
            let has = |list: &str| list.split(' ').any(|option| option.as_bytes() == argument);
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
                // Shell options that are switched off.
                [b'+', ..] if std::ptr::eq(self, &raw const SHELL) => {
                    if let Some(runs) = self.letters.read(argument, &mut arguments) {
                        return runs;
                    }
                }
                _ if has(self.subcommands) => {}
                // A descriptor has no name, like standard input.
                script if is_descriptor(script) => break,
                script => return file_of_arguments.map_or(Runs::Script(script), |file| Runs::Code(file.into())),
            }
        }
        file_of_arguments.map_or(Runs::Nothing, |file| Runs::Code(file.into()))
    }

    fn script_after_equals<'a>(&self, argument: &'a [u8]) -> Option<&'a [u8]> {
        let at = argument.iter().position(|b| *b == b'=')?;
        let option = &argument[..at];
        let is_script = self.script.split(' ').any(|known| known.as_bytes() == option);
        is_script.then(|| &argument[at + 1..])
    }
}

fn is_descriptor(path: &[u8]) -> bool {
    path == b"/dev/stdin" || path.starts_with(b"/dev/fd/") || path.starts_with(b"/proc/self/fd/")
}

impl Letters {
    /// Reads one-letter options; `None` if they do not name the program.
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

/// Maximum length of each part of a name, in bytes: anyone can choose it.
const MAX_PART: usize = 64;

/// Returns the last part of a path.
pub(super) fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or_default()
}

/// Returns the last part of a script's path, with the directory if the name is meaningless, such as `index.js`.
fn script_name(path: &[u8]) -> Option<&[u8]> {
    let mut path = path;
    // The query of a URL may be a secret.
    if path.windows(3).any(|part| part == b"://") {
        path = path.split(|b| matches!(b, b'?' | b'#')).next()?;
    }
    while let Some(shorter) = path.strip_suffix(b"/") {
        path = shorter;
    }
    last_part(path, b'/')
}

/// Returns the last part of a class's name, as jps shows it.
fn class_name(class: &[u8]) -> Option<&[u8]> {
    let is_class = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$' | b'/') || !b.is_ascii();
    if class.ends_with(b".java") {
        return script_name(class);
    }
    let name = class.iter().all(is_class).then_some(class)?;
    last_part(name, if name.contains(&b'/') { b'/' } else { b'.' })
}

/// Returns a module's whole name, or the last part of an archive's path.
fn module_or_file(target: &[u8]) -> Option<&[u8]> {
    if target.ends_with(b".jar") {
        return script_name(target);
    }
    // For Java, a class may follow the module.
    target.split(|b| *b == b'/').next().filter(|module| !module.is_empty())
}

/// Returns the last part of a name, with the part before if it is a mere convention.
fn last_part(name: &[u8], separator: u8) -> Option<&[u8]> {
    const CONVENTIONS: [&[u8]; 3] = [b"__main__", b"index", b"main"];
    let at = name.iter().rposition(|b| *b == separator).map_or(0, |at| at + 1);
    let last = &name[at..];
    let stem = last.split(|b| *b == b'.').next()?;
    let is_convention = CONVENTIONS.iter().any(|usual| usual.eq_ignore_ascii_case(stem));
    let before = at.checked_sub(1).filter(|_| is_convention);
    let begin = before.map_or(at, |end| {
        let from = name[..end].iter().rposition(|b| *b == separator).map_or(0, |at| at + 1);
        let says_nothing = matches!(&name[from..end], b"" | b"." | b"..");
        if says_nothing || name.len() - from > MAX_PART {
            at
        } else {
            from
        }
    });
    Some(&name[begin..]).filter(|part| !part.is_empty())
}

/// Cuts a long part of a name between characters.
fn cut(part: &[u8]) -> &[u8] {
    let Some(next) = part.get(MAX_PART) else { return part };
    let mut end = MAX_PART;
    if next & 0xc0 == 0x80 {
        // At most three bytes of a character come before its last.
        let begin = (MAX_PART - 3..MAX_PART).rev().find(|at| part[*at] & 0xc0 != 0x80);
        end = begin.unwrap_or(MAX_PART);
    }
    &part[..end]
}

/// The options of an interpreter that are needed to find the program it runs, separated by spaces.
struct Interpreter {
    /// Options with a value in the next argument.
    with_value: &'static str,
    /// Options before the program, which are part of the name.
    target: &'static str,
    /// Options before a script, also with `=`.
    script: &'static str,
    /// Options whose value is the program itself, or that no script follows.
    code: &'static str,
    /// Words before the script.
    subcommands: &'static str,
    /// One-letter options, which can be combined: `-uc`.
    letters: Letters,
}

/// One-letter options that have values, in the same argument or in the next one.
struct Letters {
    value: &'static [u8],
    target: &'static [u8],
    script: &'static [u8],
    code: &'static [u8],
    /// Their values are always in the same argument.
    attached: &'static [u8],
    /// The program comes from standard input.
    input: &'static [u8],
}

fn find_interpreter(name: &[u8]) -> Option<&'static Interpreter> {
    Some(match name {
        b"sh" | b"bash" | b"dash" | b"zsh" | b"ksh" | b"mksh" | b"ash" | b"rbash" | b"fish" => &SHELL,
        b"java" => &JAVA,
        b"python" | b"pypy" => &PYTHON,
        b"node" | b"nodejs" => &NODE,
        b"deno" => &DENO,
        b"bun" => &BUN,
        b"ruby" => &RUBY,
        b"perl" => &PERL,
        b"php" => &PHP,
        b"R" => &R,
        b"lua" | b"luajit" => &LUA,
        b"mono" | b"dotnet" => &DOTNET,
        _ => return None,
    })
}

const NO_LETTERS: Letters = Letters {
    value: b"",
    target: b"",
    script: b"",
    code: b"",
    attached: b"",
    input: b"",
};

const PLAIN: Interpreter = Interpreter {
    with_value: "",
    target: "",
    script: "",
    code: "",
    subcommands: "",
    letters: NO_LETTERS,
};

static SHELL: Interpreter = Interpreter {
    with_value: "--rcfile --init-file --init-command",
    code: "--command",
    letters: Letters {
        value: b"oOC",
        code: b"c",
        input: b"s",
        ..NO_LETTERS
    },
    ..PLAIN
};

static JAVA: Interpreter = Interpreter {
    with_value: "-cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules --limit-modules \
                 --add-opens --add-exports --add-reads --patch-module --source -d --describe-module",
    target: "-jar -m --module",
    ..PLAIN
};

static PYTHON: Interpreter = Interpreter {
    with_value: "--check-hash-based-pycs",
    letters: Letters {
        value: b"WX",
        target: b"m",
        code: b"c",
        ..NO_LETTERS
    },
    ..PLAIN
};

static NODE: Interpreter = Interpreter {
    with_value: "-r --require --import --loader --experimental-loader -C --conditions --env-file --env-file-if-exists \
                 --title --input-type --icu-data-dir --openssl-config --redirect-warnings --diagnostic-dir \
                 --watch-path",
    target: "--run",
    code: "-e --eval -p --print -pe",
    ..PLAIN
};

static DENO: Interpreter = Interpreter {
    with_value: "-c --config --import-map --lock -L --log-level --cert --location",
    subcommands: "run",
    ..PLAIN
};

static BUN: Interpreter = Interpreter {
    with_value: "-r --preload -c --config --cwd --env-file",
    code: "-e --eval -p --print",
    subcommands: "run",
    ..PLAIN
};

static RUBY: Interpreter = Interpreter {
    letters: Letters {
        value: b"IrCE",
        code: b"e",
        attached: b"xFKiTW",
        ..NO_LETTERS
    },
    ..PLAIN
};

static PERL: Interpreter = Interpreter {
    letters: Letters {
        value: b"I",
        code: b"eE",
        attached: b"mMxiFDdV",
        ..NO_LETTERS
    },
    ..PLAIN
};

static PHP: Interpreter = Interpreter {
    with_value: "--define --php-ini --server --docroot",
    script: "--file --process-file",
    code: "--run --process-code --process-begin --process-end",
    letters: Letters {
        value: b"dczSt",
        script: b"fF",
        code: b"rRBE",
        ..NO_LETTERS
    },
    ..PLAIN
};

static R: Interpreter = Interpreter {
    with_value: "-g --gui -d --debugger",
    script: "-f --file",
    code: "-e --args",
    ..PLAIN
};

static LUA: Interpreter = Interpreter {
    with_value: "-e -l -j",
    ..PLAIN
};

static DOTNET: Interpreter = Interpreter {
    with_value: "--config --additionalprobingpath --additional-deps --depsfile --runtimeconfig --fx-version \
                 --roll-forward",
    subcommands: "exec",
    ..PLAIN
};
