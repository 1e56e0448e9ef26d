//! Reads the shipped themes, and the user's over them.

use std::path::Path;

use ratatui::style::{Color, Modifier, Style};
use toml::Spanned;
use toml::de::DeValue;

use super::Theme;
use super::depth::ANSI;
use crate::config::document::{self, found, unknown};
use crate::config::fault::{ConfigError, Faults, shown};
use crate::config::file;

macro_rules! shipped {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../config/themes/", $name, ".toml"))),)*]
    };
}

/// The shipped themes by name.
pub const SHIPPED: [(&str, &str); 12] = shipped! {
    "default" "light" "mono" "colorblind" "dracula" "nord" "gruvbox" "solarized" "catppuccin" "monokai" "ansi" "ansi-light"
};

const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];

/// Returns the shipped theme of that name.
pub fn shipped(name: &str) -> Option<Theme> {
    let (_, text) = SHIPPED.iter().find(|(n, _)| *n == name)?;
    let mut faults = Faults::new(Path::new("config/themes"), text);
    let mut theme = Theme::default();
    theme.read(text, &mut faults);
    debug_assert_eq!(faults.finish(), Ok(()), "the shipped themes are sound");
    Some(theme)
}

impl Theme {
    /// Reads a file over this theme.
    ///
    /// # Errors
    /// Every fault in the bytes, with its place; `file` is the name they go by.
    pub fn parse(mut self, file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let mut faults = Faults::new(file, &text);
        self.read(&text, &mut faults);
        faults.finish().map(|()| self)
    }

    /// Loads the theme of a name: `NAME.toml` in `dir` over the shipped theme of the same name, or over the
    /// default; without such a file the shipped theme. `None` if there is neither.
    ///
    /// # Errors
    /// Every fault in the file.
    pub fn load(name: &str, dir: Option<&Path>) -> Result<Option<Self>, ConfigError> {
        let base = shipped(name);
        let Some(file) = dir.map(|d| d.join(format!("{name}.toml"))) else {
            return Ok(base);
        };
        let Some(text) = file::read(&file)? else {
            return Ok(base);
        };
        let base = base.or_else(|| shipped("default")).unwrap_or_default();
        base.parse(&file, text.into_bytes()).map(Some)
    }

    fn read(&mut self, text: &str, faults: &mut Faults<'_>) {
        for (name, value) in document::parse(text, faults) {
            if faults.full() {
                return;
            }
            let role = name.get_ref();
            match (self.role_mut(role), value.get_ref()) {
                (None, _) => {
                    let what = unknown("role", role, Self::ROLES.iter().copied());
                    faults.add(&name.span(), role, what);
                }
                (Some(style), DeValue::Table(_)) => *style = read_style(role, &value, faults),
                (Some(_), other) => {
                    let what = format!(
                        "expected a style such as {{ fg = \"#ff8800\", bold = true }}, found {}",
                        found(other)
                    );
                    faults.add(&value.span(), role, what);
                }
            }
        }
    }
}

fn read_style(role: &str, value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Style {
    let mut style = Style::new();
    let Some(table) = value.get_ref().as_table() else {
        return style;
    };
    for (name, value) in table {
        if faults.full() {
            break;
        }
        let key = format!("{role}.{}", name.get_ref());
        let modifier = MODIFIERS.iter().find(|(n, _)| n == name.get_ref());
        let read = match (&**name.get_ref(), modifier, value.get_ref()) {
            ("fg", _, v) => color(v).map(|c| style.fg = Some(c)),
            ("bg", _, v) => color(v).map(|c| style.bg = Some(c)),
            (_, Some((_, m)), DeValue::Boolean(true)) => {
                style = style.add_modifier(*m);
                Ok(())
            }
            (_, Some(_), DeValue::Boolean(false)) => Ok(()),
            (_, Some(_), other) => Err(format!("expected true or false, found {}", found(other))),
            (other, None, _) => {
                let known = ["fg", "bg"].into_iter().chain(MODIFIERS.map(|(n, _)| n));
                faults.add(&name.span(), &key, unknown("key", other, known));
                Ok(())
            }
        };
        if let Err(what) = read {
            faults.add(&value.span(), &key, what);
        }
    }
    style
}

fn color(value: &DeValue<'_>) -> Result<Color, String> {
    let read = match value {
        DeValue::Integer(i) => u8::from_str_radix(i.as_str(), i.radix()).ok().map(Color::Indexed),
        DeValue::String(s) if s == "default" => Some(Color::Reset),
        DeValue::String(s) => hex(s).or_else(|| ANSI.iter().find(|(n, ..)| n == s).map(|(_, c, _)| *c)),
        _ => None,
    };
    read.ok_or_else(|| {
        let names: Vec<_> = ANSI.iter().map(|(n, ..)| *n).collect();
        format!(
            "{} is no colour: \"#rrggbb\", 0 to 255, \"default\", or one of {}",
            shown(&found(value)),
            names.join(", ")
        )
    })
}

fn hex(text: &str) -> Option<Color> {
    let digits = text.strip_prefix('#')?;
    if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let n = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = n.to_be_bytes();
    Some(Color::Rgb(r, g, b))
}
