//! Settings by name, and the kinds of their values: how a value is read from TOML or a command line, and written back.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::document::{Item, Table, unknown, unknown_or};
use super::fault::shown;
use crate::columns::{self, COLUMNS, ColumnId};
use crate::filter::Filter;
use crate::group::GroupBy;
use crate::units::{Units, parse_size, parse_span, size_exact, span_exact};

/// The maximum number of bytes of a text, or of one argument of a program.
const MAX_TEXT: usize = 4096;
/// The maximum number of words of a command, including the program's name.
const MAX_WORDS: usize = 64;
/// The message for paths with `~`, which only a shell expands.
const NO_TILDE: &str = "`~` is not expanded: write the full path of the home directory";
/// The word for no grouping.
const PROCESS: &str = "process";

/// A reference to one setting in a table of settings.
pub struct SettingRef<'a> {
    /// The key in `config.toml`, without its table.
    pub name: &'static str,
    value: Box<dyn AnyValue + 'a>,
}

impl<'a> SettingRef<'a> {
    pub(super) fn new<K: ValueKind + 'a>(name: &'static str, value: &'a mut K::Value, kind: K) -> Self {
        Self {
            name,
            value: Box::new(TypedValue { value, kind }),
        }
    }

    /// Sets a value as typed on a command line. After an error the setting is unchanged.
    ///
    /// # Errors
    /// Returns the fault, safe to print.
    pub fn parse(&mut self, text: &str) -> Result<(), String> {
        self.value.parse(text)
    }

    /// Formats the value as TOML on one line.
    pub fn to_toml(&self) -> String {
        self.value.to_toml()
    }
}

/// A value of any kind.
trait AnyValue {
    fn read(&mut self, item: &Item<'_>);
    fn parse(&mut self, text: &str) -> Result<(), String>;
    fn to_toml(&self) -> String;
}

struct TypedValue<'a, K: ValueKind> {
    value: &'a mut K::Value,
    kind: K,
}

impl<K: ValueKind> AnyValue for TypedValue<'_, K> {
    fn read(&mut self, item: &Item<'_>) {
        if let Some(value) = self.kind.read(item) {
            *self.value = value;
        }
    }

    fn parse(&mut self, text: &str) -> Result<(), String> {
        *self.value = self.kind.parse(text)?;
        Ok(())
    }

    fn to_toml(&self) -> String {
        self.kind.to_toml(self.value)
    }
}

/// Defines a table of settings.
///
/// An entry is a field with its documentation, type and [`ValueKind`]. The key is the field's name. For a struct from
/// another module, list only the fields with their kinds.
macro_rules! settings {
    (
        $(#[$doc:meta])*
        pub struct $table:ident {
            $($(#[$field_doc:meta])* pub $field:ident: $type:ty = $kind:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $table {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $table {
            /// Returns an empty table to read a file into. Its values are not the defaults.
            pub(super) fn blank() -> Self {
                Self {
                    $($field: Default::default(),)*
                }
            }
        }

        $crate::config::setting::settings! {
            impl $table {
                $($field = $kind,)*
            }
        }
    };
    (
        impl $table:ident {
            $($field:ident = $kind:expr,)*
        }
    ) => {
        impl $crate::config::setting::SettingsTable for $table {
            fn settings(&mut self) -> Vec<$crate::config::setting::SettingRef<'_>> {
                vec![$(
                    $crate::config::setting::SettingRef::new(stringify!($field), &mut self.$field, $kind),
                )*]
            }
        }
    };
}

pub(super) use settings;

/// A table of settings, implemented by `settings!`.
pub trait SettingsTable {
    /// Returns every setting, in the order of `config/default.toml`.
    fn settings(&mut self) -> Vec<SettingRef<'_>>;
}

/// Reads the entries of a TOML table one by one. Adds a fault for each that cannot be read; `table_of` returns the table that a
/// key belongs in, if there is one.
pub(super) fn read_table(
    settings: &mut [SettingRef<'_>],
    table: &Table<'_>,
    table_of: impl Fn(&str) -> Option<&'static str>,
) {
    for (name, item) in table.entries() {
        if let Some(setting) = settings.iter_mut().find(|setting| setting.name == name) {
            setting.value.read(&item);
        } else {
            let what = match table_of(name) {
                Some(other) => format!("unknown key `{}`: it belongs in [{other}]", shown(name)),
                None => unknown("key", name, settings.iter().map(|setting| setting.name)),
            };
            table.fault_of_name(name, what);
        }
    }
}

/// A kind of setting. Implementations keep their limits in fields.
pub(super) trait ValueKind {
    type Value;

    /// Describes a valid value, for messages.
    fn expected(&self) -> &'static str;

    /// Parses a value as typed on a command line, or between the quotes of a TOML string.
    fn parse(&self, text: &str) -> Result<Self::Value, String>;

    /// Formats a value as TOML on one line.
    fn to_toml(&self, value: &Self::Value) -> String;

    /// Converts a TOML value; `None` if it has the wrong type. By default only strings are accepted.
    fn convert(&self, value: &DeValue<'_>) -> Option<Result<Self::Value, String>> {
        value.as_str().map(|text| self.parse(text))
    }

    /// Reads a TOML value. `None` if it has faults.
    fn read(&self, item: &Item<'_>) -> Option<Self::Value> {
        let converted = item.expect(self.expected(), self.convert(item.value.get_ref()))?;
        item.checked(converted)
    }

    /// Describes a text that cannot be parsed.
    fn misread(&self, text: &str) -> String {
        format!("expected {}, found `{}`", self.expected(), shown(text))
    }
}

/// Returns the value if it is within its limits. `name` is its name in the message.
fn within<T: PartialOrd, D: Display>(
    value: T,
    name: &str,
    limits: &RangeInclusive<T>,
    show: fn(&T) -> D,
) -> Result<T, String> {
    if limits.contains(&value) {
        return Ok(value);
    }
    let (min, max) = (show(limits.start()), show(limits.end()));
    Err(format!("{name} is out of range: {min} to {max}"))
}

/// Formats a TOML string. Escapes everything that a terminal could interpret.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        let mut buffer = [0; 4];
        let plain: &str = c.encode_utf8(&mut buffer);
        match c {
            '"' | '\\' => out.extend(["\\", plain]),
            _ if crate::text::safe(plain.as_bytes()) == plain => out.push(c),
            _ => out.extend(["\\U", &format!("{:08x}", u32::from(c))]),
        }
    }
    out.push('"');
    out
}

/// Formats a TOML array of strings.
fn quoted_list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.map(quoted).collect();
    format!("[{}]", words.join(", "))
}

/// A boolean.
pub(super) struct Switch;

impl ValueKind for Switch {
    type Value = bool;

    fn expected(&self) -> &'static str {
        "true or false"
    }

    fn parse(&self, text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| self.misread(text))
    }

    fn to_toml(&self, value: &bool) -> String {
        value.to_string()
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<bool, String>> {
        value.as_bool().map(Ok)
    }
}

/// A word from a fixed list.
pub(super) struct Choice(pub(super) &'static [&'static str]);

impl ValueKind for Choice {
    type Value = String;

    fn expected(&self) -> &'static str {
        "a word in quotes"
    }

    fn parse(&self, text: &str) -> Result<String, String> {
        let word = self.0.iter().find(|word| **word == text);
        word.map(|word| (*word).into())
            .ok_or_else(|| unknown("word", text, self.0.iter().copied()))
    }

    fn to_toml(&self, value: &String) -> String {
        quoted(value)
    }
}

/// A kind of setting that is a text in quotes, without limits of its own.
pub(super) struct Word<T: 'static> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
    /// Writes the text between the quotes.
    show: fn(&T) -> String,
}

impl<T> ValueKind for Word<T> {
    type Value = T;

    fn expected(&self) -> &'static str {
        self.expected
    }

    fn parse(&self, text: &str) -> Result<T, String> {
        (self.parse)(text)
    }

    fn to_toml(&self, value: &T) -> String {
        quoted(&(self.show)(value))
    }
}

/// Returns the column of that name.
pub fn column(name: &str) -> Result<ColumnId, String> {
    let ids = || COLUMNS.iter().map(|column| column.id);
    columns::find(name).ok_or_else(|| unknown_or("column", name, ids(), || columns::described_by(name)))
}

pub(super) const COLUMN: Word<ColumnId> = Word {
    expected: "a column name in quotes",
    parse: column,
    show: |column| column.get().id.into(),
};

/// The attribute that processes are grouped by. `None`, written "process", lists individual processes.
pub(super) const GROUPING: Word<Option<GroupBy>> = Word {
    expected: "what to group by in quotes",
    parse: |text| {
        let known = GroupBy::OF_ONE_HOST;
        let names = [PROCESS].into_iter().chain(known.map(GroupBy::id));
        match known.into_iter().find(|by| by.id() == text) {
            None if text != PROCESS => Err(unknown("group", text, names)),
            by => Ok(by),
        }
    },
    show: |by| by.map_or(PROCESS, GroupBy::id).into(),
};

/// A filter of processes.
pub(super) const FILTER: Word<String> = Word {
    expected: "a filter in quotes",
    parse: |text| match Filter::parse(text, &COLUMNS) {
        Ok(_) => Ok(text.into()),
        Err(e) => Err(format!("not a filter: {}", crate::text::safe(e.to_string().as_bytes()))),
    },
    show: String::clone,
};

/// The unit of byte figures.
pub(super) const UNIT: Word<Units> = Word {
    expected: "a unit's name in quotes",
    parse: |text| Units::from_id(text).ok_or_else(|| unknown("unit", text, Units::ALL.map(Units::id))),
    show: |units| units.id().into(),
};

/// The name of a theme, which becomes part of a path. Its existence is checked when it is loaded.
pub(super) const THEME_NAME: Word<String> = Word {
    expected: "a theme's name in quotes",
    parse: |text| {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if text.is_empty() || text.len() > 64 || !text.chars().all(good) {
            let name = shown(text);
            return Err(format!(
                "`{name}` is no theme's name: 1 to 64 letters, digits, `-` and `_`"
            ));
        }
        Ok(text.into())
    },
    show: String::clone,
};

/// The path of a file; empty for none.
pub(super) const FILE: Word<Option<PathBuf>> = Word {
    expected: "a path in quotes",
    parse: |text| match text {
        "" => Ok(None),
        _ if text.starts_with('~') => Err(NO_TILDE.into()),
        _ if text.contains('\0') => Err("a path cannot hold a zero byte".into()),
        _ => Ok(Some(text.into())),
    },
    show: |path| {
        path.as_deref()
            .map(|p| p.to_string_lossy().into_owned())
            .unwrap_or_default()
    },
};

/// A non-empty line of text.
pub(super) const TEXT: Word<String> = Word {
    expected: "words in quotes",
    parse: |text| match text {
        "" => Err("must not be empty".into()),
        _ if text.len() > MAX_TEXT => Err(format!("is longer than {MAX_TEXT} bytes")),
        _ if text.contains(char::is_control) => Err("cannot hold control characters or line breaks".into()),
        _ => Ok(text.into()),
    },
    show: String::clone,
};

/// A non-empty list of columns, each at most once.
pub(super) struct Columns;

impl Columns {
    /// Returns a parser that rejects repeated columns.
    fn parser() -> impl FnMut(&str) -> Result<ColumnId, String> {
        let mut seen = Vec::new();
        move |name| {
            let id = column(name)?;
            if seen.contains(&id) {
                return Err(format!("column `{name}` is listed twice"));
            }
            seen.push(id);
            Ok(id)
        }
    }
}

impl ValueKind for Columns {
    type Value = Vec<ColumnId>;

    fn expected(&self) -> &'static str {
        "an array of column names"
    }

    fn parse(&self, text: &str) -> Result<Vec<ColumnId>, String> {
        text.split(',').map(str::trim).map(Self::parser()).collect()
    }

    fn to_toml(&self, value: &Vec<ColumnId>) -> String {
        quoted_list(value.iter().map(|column| column.get().id))
    }

    fn read(&self, item: &Item<'_>) -> Option<Vec<ColumnId>> {
        let names = item.items(self.expected())?;
        match names.len() {
            0 => item.fault("at least one column is needed"),
            // Bounds the work: a file could hold very many.
            len if len > COLUMNS.len() => item.fault(format!("{len} columns, but only {} exist", COLUMNS.len())),
            _ => {
                let mut parse = Self::parser();
                return whole(names.map(|name| name.checked(parse(name.text("a column name in quotes")?))));
            }
        }
        None
    }
}

/// Returns all values if each is sound. Reads all of them in any case, for their faults.
fn whole<T>(values: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    values.collect::<Vec<_>>().into_iter().collect()
}

/// A program and its arguments; empty for none.
pub(super) struct Program;

impl Program {
    /// Parses the program's name or path (index 0) or one of its arguments.
    fn parse_word(at: usize, text: &str) -> Result<String, String> {
        match text {
            "" if at == 0 => Err("the program's name is empty".into()),
            _ if at == 0 && text.starts_with('~') => Err(NO_TILDE.into()),
            _ if text.contains('\0') => Err("a program's words cannot hold a zero byte".into()),
            _ if text.len() > MAX_TEXT => Err(format!("is longer than {MAX_TEXT} bytes")),
            _ => Ok(text.into()),
        }
    }
}

impl ValueKind for Program {
    type Value = Vec<String>;

    fn expected(&self) -> &'static str {
        "a program and its arguments, such as [\"/usr/bin/notify-send\", \"zmtop\"]"
    }

    fn parse(&self, text: &str) -> Result<Vec<String>, String> {
        // The text is not split into words as a shell would do.
        Ok(vec![Self::parse_word(0, text)?])
    }

    fn to_toml(&self, value: &Vec<String>) -> String {
        quoted_list(value.iter().map(String::as_str))
    }

    fn read(&self, item: &Item<'_>) -> Option<Vec<String>> {
        let words = item.items(self.expected())?.take(MAX_WORDS + 1).enumerate();
        whole(words.map(|(at, word)| {
            if at == MAX_WORDS {
                word.fault(format!("a program has at most {MAX_WORDS} words here"));
                return None;
            }
            word.checked(Self::parse_word(at, word.text("a word in quotes")?))
        }))
    }
}

/// Returns a TOML integer as a number and as it is written in the file.
fn integer(value: &DeValue<'_>) -> Option<(f64, String)> {
    let integer = value.as_integer()?;
    // An integer too large to parse is beyond every limit.
    let n = i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX);
    Some((n as f64, integer.to_string()))
}

/// Returns a TOML integer or float as a number and as it is written in the file.
fn number(value: &DeValue<'_>) -> Option<(f64, String)> {
    integer(value).or_else(|| {
        let text = value.as_float()?.as_str();
        Some((text.parse().unwrap_or(f64::NAN), text.to_owned()))
    })
}

/// A whole number.
pub(super) struct Number(pub(super) RangeInclusive<u16>);

impl Number {
    fn checked(&self, n: f64, written: &str) -> Result<u16, String> {
        let limits = f64::from(*self.0.start())..=f64::from(*self.0.end());
        within(n, &shown(written), &limits, |n| *n).map(|n| n as u16)
    }
}

impl ValueKind for Number {
    type Value = u16;

    fn expected(&self) -> &'static str {
        "a whole number"
    }

    fn parse(&self, text: &str) -> Result<u16, String> {
        let n: i128 = text.parse().map_err(|_| self.misread(text))?;
        self.checked(n as f64, text)
    }

    fn to_toml(&self, value: &u16) -> String {
        value.to_string()
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<u16, String>> {
        let (n, written) = integer(value)?;
        Some(self.checked(n, &written))
    }
}

/// A value of `oom_score_adj`; `None` for "inherit".
pub(super) struct OomScoreAdj(pub(super) RangeInclusive<i16>);

impl OomScoreAdj {
    const INHERIT: &'static str = "inherit";

    fn checked(&self, n: f64, written: &str) -> Result<Option<i16>, String> {
        let limits = f64::from(*self.0.start())..=f64::from(*self.0.end());
        within(n, &shown(written), &limits, |n| *n).map(|n| Some(n as i16))
    }
}

impl ValueKind for OomScoreAdj {
    type Value = Option<i16>;

    fn expected(&self) -> &'static str {
        "a whole number, or \"inherit\""
    }

    fn parse(&self, text: &str) -> Result<Option<i16>, String> {
        if text == Self::INHERIT {
            return Ok(None);
        }
        let n: i128 = text.parse().map_err(|_| self.misread(text))?;
        self.checked(n as f64, text)
    }

    fn to_toml(&self, value: &Option<i16>) -> String {
        value.map_or_else(|| quoted(Self::INHERIT), |n| n.to_string())
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<Option<i16>, String>> {
        if let DeValue::String(text) = value {
            return Some(self.parse(text));
        }
        let (n, written) = integer(value)?;
        Some(self.checked(n, &written))
    }
}

/// A number with at most three decimals.
pub(super) struct Decimal(pub(super) RangeInclusive<f64>);

impl Decimal {
    fn checked(&self, n: f64, written: &str) -> Result<f64, String> {
        let rounded = (n * 1000.0).round() / 1000.0;
        within(rounded, &shown(written), &self.0, |n| format!("{n:?}"))
    }
}

impl ValueKind for Decimal {
    type Value = f64;

    fn expected(&self) -> &'static str {
        "a number such as 0.5, with three decimals at most"
    }

    fn parse(&self, text: &str) -> Result<f64, String> {
        self.checked(text.parse().map_err(|_| self.misread(text))?, text)
    }

    fn to_toml(&self, value: &f64) -> String {
        // The debug format always has a decimal point, which makes it a float in TOML.
        format!("{value:?}")
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<f64, String>> {
        let (n, written) = number(value)?;
        Some(self.checked(n, &written))
    }
}

/// A duration. A bare number is in seconds.
pub(super) struct Span(pub(super) RangeInclusive<Duration>);

impl ValueKind for Span {
    type Value = Duration;

    fn expected(&self) -> &'static str {
        "a duration such as \"250ms\" or \"1m\", or a number of seconds"
    }

    fn parse(&self, text: &str) -> Result<Duration, String> {
        let span = parse_span(text).ok_or_else(|| self.misread(text))?;
        within(span, &format!("`{}`", shown(text)), &self.0, |d| span_exact(*d))
    }

    fn to_toml(&self, value: &Duration) -> String {
        quoted(&span_exact(*value))
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<Duration, String>> {
        if let DeValue::String(text) = value {
            return Some(self.parse(text));
        }
        let (seconds, written) = number(value)?;
        let name = format!("{} s", shown(&written));
        let limits = self.0.start().as_secs_f64()..=self.0.end().as_secs_f64();
        let checked = within(seconds, &name, &limits, |s| span_exact(Duration::from_secs_f64(*s)));
        Some(checked.map(Duration::from_secs_f64))
    }
}

/// A number of bytes.
pub(super) struct Size(pub(super) RangeInclusive<u64>);

impl Size {
    fn checked(&self, bytes: f64, written: &str) -> Result<u64, String> {
        // A negative number becomes 0, which is rejected like any other value that is too small.
        within(bytes as u64, &format!("`{}`", shown(written)), &self.0, |n| {
            size_exact(*n)
        })
    }
}

impl ValueKind for Size {
    type Value = u64;

    fn expected(&self) -> &'static str {
        "a size such as \"24M\", or a number of bytes"
    }

    fn parse(&self, text: &str) -> Result<u64, String> {
        self.checked(parse_size(text).ok_or_else(|| self.misread(text))?, text)
    }

    fn to_toml(&self, value: &u64) -> String {
        quoted(&size_exact(*value))
    }

    fn convert(&self, value: &DeValue<'_>) -> Option<Result<u64, String>> {
        if let DeValue::String(text) = value {
            return Some(self.parse(text));
        }
        let (n, written) = integer(value)?;
        Some(self.checked(n, &written))
    }
}

/// A share of one core, in thousandths; `None` for "off".
pub(super) struct Share(pub(super) RangeInclusive<u16>);

/// Formats thousandths as percent: `5%`, `0.5%`.
fn percentage(thousandths: u16) -> String {
    format!("{}%", f64::from(thousandths) / 10.0)
}

impl ValueKind for Share {
    type Value = Option<u16>;

    fn expected(&self) -> &'static str {
        "a share of one core such as \"5%\", or \"off\""
    }

    fn parse(&self, text: &str) -> Result<Option<u16>, String> {
        if text == "off" {
            return Ok(None);
        }
        let percent = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
        let percent = percent.filter(|p| p.is_finite()).ok_or_else(|| self.misread(text))?;
        let thousandths = (percent * 10.0).round() as u16;
        within(thousandths, &format!("`{}`", shown(text)), &self.0, |n| percentage(*n)).map(Some)
    }

    fn to_toml(&self, value: &Option<u16>) -> String {
        quoted(&value.map_or_else(|| "off".into(), percentage))
    }
}
