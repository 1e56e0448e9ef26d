//! The number of colours that a terminal supports, and the nearest supported colour.

use std::ffi::OsStr;

use ratatui::style::{Color, Style};

use crate::config::Env;

/// The number of colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// No colours: only bold, dim, reverse and the like.
    None,
    /// The 16 ANSI colours, whose shades the user chooses in the terminal.
    Ansi16,
    /// The 256 colours of xterm.
    Indexed256,
    /// 24-bit colours.
    True,
}

impl Depth {
    /// Detects the depth from the environment: a non-empty `NO_COLOR`, then `COLORTERM`, then `TERM`.
    pub fn detect(env: &Env) -> Self {
        let text = |v: &Option<std::ffi::OsString>| {
            v.as_deref()
                .map(OsStr::to_string_lossy)
                .unwrap_or_default()
                .into_owned()
        };
        let (colorterm, term) = (text(&env.colorterm), text(&env.term));
        if env.no_color.as_ref().is_some_and(|v| !v.is_empty()) {
            Self::None
        } else if matches!(&*colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
            Self::True
        } else if term.contains("256color") {
            Self::Indexed256
        } else {
            Self::Ansi16
        }
    }

    /// Replaces the colours of a style by available ones. Modifiers stay.
    pub(super) fn style(self, mut style: Style) -> Style {
        style.fg = style.fg.and_then(|c| self.color(c));
        style.bg = style.bg.and_then(|c| self.color(c));
        style
    }

    /// Returns the nearest available colour; `None` if there are none.
    pub fn color(self, color: Color) -> Option<Color> {
        match (self, color) {
            (Self::None, _) => None,
            (Self::Indexed256, Color::Rgb(r, g, b)) => Some(Color::Indexed(nearest_256([r, g, b]))),
            (Self::Ansi16, Color::Rgb(r, g, b)) => Some(nearest_16([r, g, b])),
            (Self::Ansi16, Color::Indexed(i)) => Some(match ANSI.get(usize::from(i)) {
                Some((_, color, _)) => *color,
                None => nearest_16(rgb_of_256(i)),
            }),
            (Self::True | Self::Indexed256 | Self::Ansi16, c) => Some(c),
        }
    }
}

type Rgb = [u8; 3];

/// The 16 colours: the name in a theme file, the colour, and the RGB value that xterm displays.
pub(super) const ANSI: [(&str, Color, Rgb); 16] = [
    ("black", Color::Black, [0, 0, 0]),
    ("red", Color::Red, [205, 0, 0]),
    ("green", Color::Green, [0, 205, 0]),
    ("yellow", Color::Yellow, [205, 205, 0]),
    ("blue", Color::Blue, [0, 0, 238]),
    ("magenta", Color::Magenta, [205, 0, 205]),
    ("cyan", Color::Cyan, [0, 205, 205]),
    ("gray", Color::Gray, [229, 229, 229]),
    ("dark-gray", Color::DarkGray, [127, 127, 127]),
    ("light-red", Color::LightRed, [255, 0, 0]),
    ("light-green", Color::LightGreen, [0, 255, 0]),
    ("light-yellow", Color::LightYellow, [255, 255, 0]),
    ("light-blue", Color::LightBlue, [92, 92, 255]),
    ("light-magenta", Color::LightMagenta, [255, 0, 255]),
    ("light-cyan", Color::LightCyan, [0, 255, 255]),
    ("white", Color::White, [255, 255, 255]),
];

/// The levels of the 6×6×6 colour cube.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn rgb_of_256(index: u8) -> Rgb {
    match index {
        0..16 => ANSI[usize::from(index)].2,
        16..232 => {
            let i = usize::from(index - 16);
            [LEVELS[i / 36], LEVELS[i / 6 % 6], LEVELS[i % 6]]
        }
        232.. => [8 + 10 * (index - 232); 3],
    }
}

/// Returns the nearest colour of the cube and the grey ramp. Skips the first 16, because users change their shades.
fn nearest_256(rgb: Rgb) -> u8 {
    (16..=255).min_by_key(|i| distance(rgb, rgb_of_256(*i))).unwrap_or(16)
}

fn distance(a: Rgb, b: Rgb) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}

/// Returns the nearest of the 16 colours. Compares by hue if the colour has one: plain distance would turn every muted
/// colour into grey.
fn nearest_16(rgb: Rgb) -> Color {
    /// Colours of at least this saturation do not count as grey.
    const SATURATED: f64 = 0.22;
    let (hue, saturation, value) = hsv(rgb);
    if saturation < SATURATED || value < 0.12 {
        return match value {
            v if v < 0.2 => Color::Black,
            v if v < 0.62 => Color::DarkGray,
            v if v < 0.93 => Color::Gray,
            _ => Color::White,
        };
    }
    let bright = luma(rgb) > 0.66;
    match (hue as u16, bright) {
        (0..25 | 340.., false) => Color::Red,
        (0..25 | 340.., true) => Color::LightRed,
        (25..75, false) => Color::Yellow,
        (25..75, true) => Color::LightYellow,
        (75..165, false) => Color::Green,
        (75..165, true) => Color::LightGreen,
        (165..198, false) => Color::Cyan,
        (165..198, true) => Color::LightCyan,
        (198..255, false) => Color::Blue,
        (198..255, true) => Color::LightBlue,
        (255..340, false) => Color::Magenta,
        (255..340, true) => Color::LightMagenta,
    }
}

/// Returns true if the colour is known to be dark.
pub(super) fn is_dark(color: Color) -> bool {
    let rgb = match color {
        Color::Rgb(r, g, b) => [r, g, b],
        Color::Indexed(index) => rgb_of_256(index),
        named => match ANSI.iter().find(|(_, ansi, _)| *ansi == named) {
            Some((_, _, rgb)) => *rgb,
            None => return false,
        },
    };
    luma(rgb) < 0.4
}

/// Converts to HSV: hue in degrees, saturation and value from 0 to 1.
fn hsv(rgb: Rgb) -> (f64, f64, f64) {
    let [r, g, b] = rgb.map(|c| f64::from(c) / 255.0);
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let spread = most - least;
    if spread <= 0.0 {
        return (0.0, 0.0, most);
    }
    let sixth = if most <= r {
        ((g - b) / spread).rem_euclid(6.0)
    } else if most <= g {
        (b - r) / spread + 2.0
    } else {
        (r - g) / spread + 4.0
    };
    (sixth * 60.0, spread / most, most)
}

/// Returns the perceived brightness of a colour, from 0 to 1, by applying the ITU-R BT.709 weights to the gamma-encoded
/// components.
fn luma(rgb: Rgb) -> f64 {
    let [r, g, b] = rgb.map(|c| f64::from(c) / 255.0);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}
