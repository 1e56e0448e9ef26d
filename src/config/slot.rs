//! How the value of a setting is read from TOML and from the command line, and written back.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::document::{found, unknown};
use super::fault::shown;
use super::schema::Slot;
use crate::columns::{self, COLUMNS, Catalogue, ColumnId};
use crate::filter::Filter;
use crate::group::GroupBy;
use crate::units::{self, Units, span_exact};

/// What is wrong with a value, and which part of it.
pub(super) type Wrong = (Range<usize>, String);

impl Slot<'_> {
    /// What a value must be, for messages.
    pub(super) const fn expected(&self) -> &'static str {
        match self {
            Self::Span(..) => "a length of time such as \"250ms\" or \"1m\", or a number of seconds",
            Self::Number(..) => "a whole number",
            Self::Decimal(..) => "a number such as 0.5, with three decimals at most",
            Self::Size(..) => "a size such as \"24M\", or a number of bytes",
            Self::Share(..) => "a share of one core such as \"5%\", or \"off\"",
            Self::Switch(_) => "true or false",
            Self::Columns(_) => "an array of column names",
            Self::By(_) => "what to group by in quotes",
            Self::Column(_) => "a column name in quotes",
            Self::Filter(_) => "a filter in quotes",
            Self::Units(_) => "a unit's name in quotes",
            Self::Theme(_) => "a theme's name in quotes",
            Self::Choice(..) => "a word in quotes",
            Self::File(_) => "a path in quotes",
            Self::Text(_) => "words in quotes",
            Self::Program(_) => "a program and its arguments, such as [\"/usr/bin/notify-send\", \"zmtop\"]",
        }
    }

    /// Takes a value from a file; on an error the setting is as it was.
    pub(super) fn read(self, value: &Spanned<DeValue<'_>>) -> Result<(), Vec<Wrong>> {
        let span = value.span();
        let fail = |what: String| vec![(span.clone(), what)];
        let expected = format!("expected {}", self.expected());
        match (self, value.get_ref()) {
            (Self::Switch(to), DeValue::Boolean(b)) => *to = *b,
            (Self::Number(to, range), DeValue::Integer(i)) => {
                let n = i128::from_str_radix(i.as_str(), i.radix()).unwrap_or(i128::MAX);
                *to = number(n, &i.to_string(), &range).map_err(fail)?;
            }
            (Self::Span(to, range), DeValue::Integer(i)) => {
                let n = i128::from_str_radix(i.as_str(), i.radix()).unwrap_or(i128::MAX);
                *to = seconds(n as f64, &i.to_string(), &range).map_err(fail)?;
            }
            (Self::Span(to, range), DeValue::Float(x)) => {
                let n = x.as_str().parse().unwrap_or(f64::NAN);
                *to = seconds(n, x.as_str(), &range).map_err(fail)?;
            }
            (Self::Decimal(to, range), DeValue::Integer(i)) => {
                let n = i128::from_str_radix(i.as_str(), i.radix()).unwrap_or(i128::MAX);
                *to = decimal(n as f64, i.as_str(), &range).map_err(fail)?;
            }
            (Self::Decimal(to, range), DeValue::Float(x)) => {
                let n = x.as_str().parse().unwrap_or(f64::NAN);
                *to = decimal(n, x.as_str(), &range).map_err(fail)?;
            }
            (Self::Size(to, range), DeValue::Integer(i)) => {
                let n = i128::from_str_radix(i.as_str(), i.radix()).unwrap_or(i128::MAX);
                *to = size(n as f64, &i.to_string(), &range).map_err(fail)?;
            }
            (Self::Columns(_), DeValue::Array(items)) if items.len() > COLUMNS.len() => {
                let what = format!("{} columns, and there are but {}", items.len(), COLUMNS.len());
                return Err(fail(what));
            }
            (Self::Columns(to), DeValue::Array(items)) => {
                let mut columns = Vec::new();
                let mut wrong = Vec::new();
                for item in items {
                    let column = match item.get_ref() {
                        DeValue::String(s) => add_column(&mut columns, s),
                        other => Err(format!("expected a column name in quotes, found {}", found(other))),
                    };
                    wrong.extend(column.err().map(|what| (item.span(), what)));
                }
                if items.is_empty() {
                    wrong.push((span, "at least one column is needed".into()));
                }
                if !wrong.is_empty() {
                    return Err(wrong);
                }
                *to = columns;
            }
            (Self::Program(to), DeValue::Array(items)) => *to = program(items)?,
            (Self::Switch(_) | Self::Number(..) | Self::Decimal(..) | Self::Columns(_) | Self::Program(_), other) => {
                return Err(fail(format!("{expected}, found {}", found(other))));
            }
            (slot, DeValue::String(s)) => slot.parse(s).map_err(fail)?,
            (_, other) => return Err(fail(format!("{expected}, found {}", found(other)))),
        }
        Ok(())
    }

    /// Takes a value as typed on a command line; on an error the setting is as it was.
    pub fn parse(self, text: &str) -> Result<(), String> {
        let expected = self.expected();
        let misread = || format!("expected {expected}, found `{}`", shown(text));
        match self {
            Self::Span(to, range) => {
                let span = units::parse_span(text).ok_or_else(misread)?;
                *to = within(span, &format!("`{}`", shown(text)), &range, |d| span_exact(*d))?;
            }
            Self::Number(to, range) => *to = number(text.parse().map_err(|_| misread())?, text, &range)?,
            Self::Decimal(to, range) => {
                *to = decimal(text.parse().map_err(|_| misread())?, text, &range)?;
            }
            Self::Size(to, range) => {
                *to = size(units::parse_size(text).ok_or_else(misread)?, text, &range)?;
            }
            Self::Share(to, _) if text == "off" => *to = None,
            Self::Share(to, range) => {
                let percent = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
                let share = percent.filter(|p| p.is_finite()).ok_or_else(misread)?;
                let thousandths = (share * 10.0).round().clamp(0.0, f64::from(u16::MAX)) as u16;
                *to = Some(within(thousandths, &format!("`{}`", shown(text)), &range, |n| {
                    percentage(*n)
                })?);
            }
            Self::Switch(to) => *to = text.parse().map_err(|_| misread())?,
            Self::Columns(to) => {
                let mut columns = Vec::new();
                for name in text.split(',') {
                    add_column(&mut columns, name.trim())?;
                }
                *to = columns;
            }
            Self::By(to) => {
                *to = match text {
                    PROCESS => None,
                    _ => Some(by(text)?),
                }
            }
            Self::Column(to) => *to = column(text)?,
            Self::Filter(to) => {
                Filter::parse(text, &Catalogue)
                    .map_err(|e| format!("not a filter: {}", crate::text::safe(e.to_string().as_bytes())))?;
                *to = text.into();
            }
            Self::Units(to) => {
                *to = Units::from_name(text).ok_or_else(|| unknown("unit", text, Units::ALL.map(Units::name)))?;
            }
            Self::Theme(to) => {
                let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                if text.is_empty() || text.len() > 64 || !text.chars().all(good) {
                    return Err(format!(
                        "`{}` is no theme's name: 1 to 64 letters, digits, `-` and `_`",
                        shown(text)
                    ));
                }
                *to = text.into();
            }
            Self::Choice(to, words) => {
                let word = words.iter().find(|w| **w == text);
                *to = (*word.ok_or_else(|| unknown("word", text, words.iter().copied()))?).into();
            }
            Self::File(_) if text.starts_with('~') => {
                return Err("`~` is not expanded: write the home directory out".into());
            }
            Self::File(_) if text.contains('\0') => return Err("a path cannot hold a zero byte".into()),
            Self::File(to) => *to = (!text.is_empty()).then(|| PathBuf::from(text)),
            Self::Text(to) => *to = line(text)?,
            // Nothing splits words here as a shell would.
            Self::Program(to) => *to = vec![argument(text, 0)?],
        }
        Ok(())
    }

    /// The value as TOML on one line.
    pub fn to_toml(&self) -> String {
        match self {
            Self::Span(d, _) => quoted(&span_exact(**d)),
            Self::Number(n, _) => n.to_string(),
            Self::Decimal(n, _) => thousandths(**n),
            Self::Size(n, _) => quoted(&units::size_exact(**n)),
            Self::Share(share, _) => quoted(&share.map_or_else(|| "off".into(), percentage)),
            Self::Switch(b) => b.to_string(),
            Self::Columns(c) => {
                let names: Vec<_> = c.iter().map(|c| quoted(c.get().id)).collect();
                format!("[{}]", names.join(", "))
            }
            Self::By(by) => quoted(by.map_or(PROCESS, GroupBy::id)),
            Self::Column(c) => quoted(c.get().id),
            Self::Filter(s) | Self::Theme(s) | Self::Choice(s, _) | Self::Text(s) => quoted(s),
            Self::Units(u) => quoted(u.name()),
            Self::Program(words) => {
                let words: Vec<_> = words.iter().map(|w| quoted(w)).collect();
                format!("[{}]", words.join(", "))
            }
            Self::File(p) => quoted(&p.as_deref().map(|p| p.to_string_lossy()).unwrap_or_default()),
        }
    }
}

/// How each process by itself is called where it is asked what to group by.
const PROCESS: &str = "process";

fn by(name: &str) -> Result<GroupBy, String> {
    let known = GroupBy::OF_PROCESSES;
    let found = known.into_iter().find(|by| by.id() == name);
    found.ok_or_else(|| unknown("group", name, [PROCESS].into_iter().chain(known.map(GroupBy::id))))
}

/// The most arguments of a program, and the most bytes of a text or of one argument.
const MAX_ARGUMENTS: usize = 64;
const MAX_TEXT: usize = 4096;

fn line(text: &str) -> Result<String, String> {
    match text {
        "" => Err("must not be empty".into()),
        _ if text.len() > MAX_TEXT => Err(format!("is longer than {MAX_TEXT} bytes")),
        _ if text.contains(char::is_control) => Err("cannot hold control characters or line breaks".into()),
        _ => Ok(text.into()),
    }
}

/// A program's path or name, or one of its arguments.
fn argument(text: &str, at: usize) -> Result<String, String> {
    match text {
        "" if at == 0 => Err("the program's name is empty".into()),
        _ if at == 0 && text.starts_with('~') => Err("`~` is not expanded: write the home directory out".into()),
        _ if text.contains('\0') => Err("a program's words cannot hold a zero byte".into()),
        _ if text.len() > MAX_TEXT => Err(format!("is longer than {MAX_TEXT} bytes")),
        _ => Ok(text.into()),
    }
}

fn program(items: &[Spanned<DeValue<'_>>]) -> Result<Vec<String>, Vec<Wrong>> {
    let (mut words, mut wrong) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let word = match item.get_ref() {
            _ if at == MAX_ARGUMENTS => Err(format!("a program has at most {MAX_ARGUMENTS} words here")),
            DeValue::String(s) => argument(s, at),
            other => Err(format!("expected a word in quotes, found {}", found(other))),
        };
        match word {
            Ok(word) => words.push(word),
            Err(what) => wrong.push((item.span(), what)),
        }
        if at == MAX_ARGUMENTS {
            break;
        }
    }
    if wrong.is_empty() { Ok(words) } else { Err(wrong) }
}

/// The column of that name.
pub fn column(name: &str) -> Result<ColumnId, String> {
    columns::find(name).ok_or_else(|| unknown("column", name, COLUMNS.iter().map(|c| c.id)))
}

fn add_column(to: &mut Vec<ColumnId>, name: &str) -> Result<(), String> {
    let id = column(name)?;
    if to.contains(&id) {
        return Err(format!("column `{name}` is there twice"));
    }
    to.push(id);
    Ok(())
}

fn number(n: i128, shown_as: &str, range: &RangeInclusive<u16>) -> Result<u16, String> {
    let clamped = u16::try_from(n.clamp(0, i128::from(u16::MAX))).unwrap_or(u16::MAX);
    if i128::from(clamped) != n || !range.contains(&clamped) {
        return Err(out_of_range(
            &shown(shown_as),
            &range.start().to_string(),
            &range.end().to_string(),
        ));
    }
    Ok(clamped)
}

fn seconds(n: f64, shown_as: &str, range: &RangeInclusive<Duration>) -> Result<Duration, String> {
    let name = format!("{} s", shown(shown_as));
    let span = Duration::try_from_secs_f64(n)
        .map_err(|_| out_of_range(&name, &span_exact(*range.start()), &span_exact(*range.end())))?;
    within(span, &name, range, |d| span_exact(*d))
}

fn decimal(n: f64, shown_as: &str, range: &RangeInclusive<u16>) -> Result<u16, String> {
    let within = f64::from(*range.start())..=f64::from(*range.end());
    if !within.contains(&(n * 1000.0).round()) {
        let ends = [*range.start(), *range.end()].map(thousandths);
        return Err(out_of_range(&shown(shown_as), &ends[0], &ends[1]));
    }
    Ok((n * 1000.0).round() as u16)
}

fn size(n: f64, shown_as: &str, range: &RangeInclusive<u64>) -> Result<u64, String> {
    // What is no number at all is out of range, too.
    let bytes = if n >= 0.0 { n as u64 } else { 0 };
    within(bytes, &format!("`{}`", shown(shown_as)), range, |n| {
        units::size_exact(*n)
    })
}

fn within<T: PartialOrd>(value: T, name: &str, range: &RangeInclusive<T>, show: fn(&T) -> String) -> Result<T, String> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(out_of_range(name, &show(range.start()), &show(range.end())))
    }
}

fn out_of_range(value: &str, least: &dyn Display, most: &dyn Display) -> String {
    format!("{value} is out of range: {least} to {most}")
}

/// A TOML string in which everything that a terminal could act on is escaped.
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

/// Thousandths as TOML has a number with a fraction: `0.5`, `8.0`.
fn thousandths(n: u16) -> String {
    format!("{:?}", f64::from(n) / 1000.0)
}

/// Thousandths as percent: `5%`, `0.5%`.
fn percentage(thousandths: u16) -> String {
    format!("{}%", f64::from(thousandths) / 10.0)
}
