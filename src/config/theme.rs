//! Colours by role: the shipped themes, and the user's over them.

use std::path::Path;

use ratatui::style::{Color, Modifier, Style};
use toml::de::DeValue;

use super::depth::{ANSI, Depth, is_dark};
use super::document::{self, Table, found, unknown};
use super::fault::{ConfigError, Faults, shown};
use super::{Files, file};

macro_rules! roles {
    ($($(#[doc = $doc:literal])* $role:ident,)*) => {
        /// A style for each role.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Theme {
            $($(#[doc = $doc])* pub $role: Style,)*
        }

        impl Theme {
            /// The names of the roles, as in a theme's file.
            pub const ROLES: &[&str] = &[$(stringify!($role),)*];

            /// Returns the style of the role of that name.
            pub fn role(&self, name: &str) -> Option<&Style> {
                match name {
                    $(stringify!($role) => Some(&self.$role),)*
                    _ => None,
                }
            }

            pub fn role_mut(&mut self, name: &str) -> Option<&mut Style> {
                match name {
                    $(stringify!($role) => Some(&mut self.$role),)*
                    _ => None,
                }
            }
        }
    };
}

roles! {
    /// The default style, for everything without a role of its own.
    text,
    /// Labels and less important facts.
    dim,
    /// The program's name and host in the first line.
    title,
    /// Column headings.
    heading,
    /// The heading of the column sorted by.
    heading_sorted,
    /// The selected row.
    selected,
    /// Tagged rows.
    tagged,
    /// A row that matches the search.
    found,
    /// A row with a firing alert.
    alert,
    /// A key in the footer and the help.
    key,
    /// A key's action in the footer and the help.
    key_label,
    /// Bar: anonymous memory.
    bar_anon,
    /// Bar: file pages.
    bar_file,
    /// Bar: shared memory and tmpfs.
    bar_shmem,
    /// Bar: kernel slab.
    bar_slab,
    /// Bar: the rest.
    bar_free,
    /// Bar: swap in zram or zswap.
    bar_zram,
    /// Bar: swap on a disk.
    bar_disk,
    /// A change upwards.
    up,
    /// A change downwards.
    down,
    /// A limit that is nearly reached.
    danger,
    /// A process that was killed for lack of memory.
    killed,
    /// A leak.
    leak,
    /// A zero.
    zero,
    /// A figure that is unknown.
    missing,
    /// A figure that is old.
    stale,
    /// Sparklines.
    chart,
    /// The lines of the tree.
    guide,
    /// The totals row.
    totals,
    /// A notice.
    warning,
    /// An error.
    error,
    /// The frame of a popup.
    frame,
    /// The background of a popup.
    popup,
    /// A text input.
    input,
}

impl Theme {
    /// Returns true if the text colour is dark, which suits only a light background.
    pub fn is_for_light(&self) -> bool {
        self.dim.fg.or(self.title.fg).is_some_and(is_dark)
    }

    /// Converts the theme to the colours of a terminal.
    #[must_use]
    pub fn fit(mut self, depth: Depth) -> Self {
        for name in Self::ROLES {
            if let Some(style) = self.role_mut(name) {
                *style = depth.style(*style);
            }
        }
        self
    }
}

macro_rules! shipped {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../config/themes/", $name, ".toml"))),)*]
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
    let faults = Faults::new(Path::new("config/themes"), text);
    let mut theme = Theme::default();
    theme.read(text, &faults);
    debug_assert_eq!(faults.finish(), Ok(()), "the shipped themes are sound");
    Some(theme)
}

impl Theme {
    /// Reads a theme file over this theme.
    ///
    /// # Errors
    /// Every fault in the bytes, with its place. `file` is the name used in messages.
    pub fn parse(mut self, file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let faults = Faults::new(file, &text);
        self.read(&text, &faults);
        faults.finish().map(|()| self)
    }

    /// Loads a theme by name. The user's own file is read over the shipped theme of the same name, or over the default
    /// theme. Without such a file, returns the shipped theme. `None` if there is neither.
    ///
    /// # Errors
    /// Every fault in the file.
    pub(super) fn load(name: &str, own: Option<&Path>, files: &Files) -> Result<Option<Self>, ConfigError> {
        let base = shipped(name);
        let Some(file) = own else { return Ok(base) };
        let Some(text) = files.read(file)? else {
            return Ok(base);
        };
        let base = base.or_else(|| shipped("default")).unwrap_or_default();
        base.parse(file, text.into_bytes()).map(Some)
    }

    fn read(&mut self, text: &str, faults: &Faults<'_>) {
        let document = document::parse(text, faults);
        let root = Table::root(&document, faults);
        for (name, item) in root.entries() {
            let Some(role) = self.role_mut(name) else {
                root.fault_of_name(name, unknown("role", name, Self::ROLES.iter().copied()));
                continue;
            };
            if let Some(table) = item.table("a style such as { fg = \"#ff8800\", bold = true }") {
                *role = read_style(&table);
            }
        }
    }
}

fn read_style(table: &Table<'_>) -> Style {
    let mut style = Style::new();
    for (name, item) in table.entries() {
        match (name, MODIFIERS.iter().find(|(known, _)| *known == name)) {
            ("fg", _) => style.fg = item.checked(color(item.value.get_ref())),
            ("bg", _) => style.bg = item.checked(color(item.value.get_ref())),
            (_, Some((_, modifier))) => {
                if item.expect("true or false", item.value.get_ref().as_bool()) == Some(true) {
                    style = style.add_modifier(*modifier);
                }
            }
            _ => {
                let known = ["fg", "bg"].into_iter().chain(MODIFIERS.map(|(n, _)| n));
                table.fault_of_name(name, unknown("key", name, known));
            }
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
