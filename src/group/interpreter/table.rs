//! The interpreters, and where in their arguments the name of what they run stands.

/// The options of an interpreter, as far as they tell where the name of what it runs stands.
pub(super) struct Interpreter {
    /// Options with a value in the next argument.
    pub(super) with_value: &'static [&'static str],
    /// Options that are followed by what is run, and are part of the name.
    pub(super) target: &'static [&'static str],
    /// Options that are followed by a script, also after `=`.
    pub(super) script: &'static [&'static str],
    /// Options whose value is the program itself, or after which no script comes.
    pub(super) code: &'static [&'static str],
    /// Words before the script.
    pub(super) subcommands: &'static [&'static str],
    /// Options of one letter, which may stand together: `-uc`.
    pub(super) letters: Letters,
}

/// The letters that take values, in the same argument or in the next one.
pub(super) struct Letters {
    pub(super) value: &'static [u8],
    pub(super) target: &'static [u8],
    pub(super) script: &'static [u8],
    pub(super) code: &'static [u8],
    /// Their values are always in the same argument.
    pub(super) attached: &'static [u8],
    /// The program comes from standard input.
    pub(super) input: &'static [u8],
}

/// Returns the interpreter that a file of this name is, the name being without a version.
pub(super) fn find(name: &[u8]) -> Option<&'static Interpreter> {
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
    with_value: &[],
    target: &[],
    script: &[],
    code: &[],
    subcommands: &[],
    letters: NO_LETTERS,
};

pub(super) static SHELL: Interpreter = Interpreter {
    with_value: &["--rcfile", "--init-file", "--init-command"],
    code: &["--command"],
    letters: Letters {
        value: b"oOC",
        code: b"c",
        input: b"s",
        ..NO_LETTERS
    },
    ..PLAIN
};

pub(super) static JAVA: Interpreter = Interpreter {
    with_value: &[
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--upgrade-module-path",
        "--add-modules",
        "--limit-modules",
        "--add-opens",
        "--add-exports",
        "--add-reads",
        "--patch-module",
        "--source",
        "-d",
        "--describe-module",
    ],
    target: &["-jar", "-m", "--module"],
    ..PLAIN
};

pub(super) static PYTHON: Interpreter = Interpreter {
    with_value: &["--check-hash-based-pycs"],
    letters: Letters {
        value: b"WX",
        target: b"m",
        code: b"c",
        ..NO_LETTERS
    },
    ..PLAIN
};

static NODE: Interpreter = Interpreter {
    with_value: &[
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "-C",
        "--conditions",
        "--env-file",
        "--env-file-if-exists",
        "--title",
        "--input-type",
        "--icu-data-dir",
        "--openssl-config",
        "--redirect-warnings",
        "--diagnostic-dir",
        "--watch-path",
    ],
    target: &["--run"],
    code: &["-e", "--eval", "-p", "--print", "-pe"],
    ..PLAIN
};

static DENO: Interpreter = Interpreter {
    with_value: &[
        "-c",
        "--config",
        "--import-map",
        "--lock",
        "-L",
        "--log-level",
        "--cert",
        "--location",
    ],
    subcommands: &["run"],
    ..PLAIN
};

static BUN: Interpreter = Interpreter {
    with_value: &["-r", "--preload", "-c", "--config", "--cwd", "--env-file"],
    code: &["-e", "--eval", "-p", "--print"],
    subcommands: &["run"],
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
    with_value: &["--define", "--php-ini", "--server", "--docroot"],
    script: &["--file", "--process-file"],
    code: &["--run", "--process-code", "--process-begin", "--process-end"],
    letters: Letters {
        value: b"dczSt",
        script: b"fF",
        code: b"rRBE",
        ..NO_LETTERS
    },
    ..PLAIN
};

static R: Interpreter = Interpreter {
    with_value: &["-g", "--gui", "-d", "--debugger"],
    script: &["-f", "--file"],
    code: &["-e", "--args"],
    ..PLAIN
};

static LUA: Interpreter = Interpreter {
    with_value: &["-e", "-l", "-j"],
    ..PLAIN
};

static DOTNET: Interpreter = Interpreter {
    with_value: &[
        "--config",
        "--additionalprobingpath",
        "--additional-deps",
        "--depsfile",
        "--runtimeconfig",
        "--fx-version",
        "--roll-forward",
    ],
    subcommands: &["exec"],
    ..PLAIN
};
