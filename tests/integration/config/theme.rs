//! Colours.

use std::path::Path;

use proptest::prelude::*;
use ratatui::style::{Color, Modifier, Style};
use zmtop::config::theme::{SHIPPED, shipped};
use zmtop::config::{Depth, Env, Theme};

use super::legible::{linear, rgb};
use super::{Home, lines};

const DEPTHS: [Depth; 4] = [Depth::True, Depth::Indexed256, Depth::Ansi16, Depth::None];
const BARS: [&str; 7] = [
    "bar_anon",
    "bar_file",
    "bar_shmem",
    "bar_slab",
    "bar_free",
    "bar_zram",
    "bar_disk",
];

pub(super) fn themes() -> impl Iterator<Item = (&'static str, Theme)> {
    SHIPPED.into_iter().map(|(name, _)| (name, shipped(name).unwrap()))
}

fn fg(theme: &Theme, role: &str) -> Option<Color> {
    theme.role(role).unwrap().fg
}

#[test]
fn every_shipped_theme_says_every_role_once_and_no_other() {
    for (name, text) in SHIPPED {
        let mut said: Vec<&str> = text
            .lines()
            .filter_map(|l| l.split_once(" = "))
            .map(|(r, _)| r)
            .collect();
        said.retain(|r| !r.starts_with('#'));
        assert_eq!(said, Theme::ROLES, "{name}");
        let read = Theme::default().parse(Path::new(name), text.into());
        assert_eq!(read, Ok(shipped(name).unwrap()));
    }
    assert_eq!(shipped("nonsense"), None);
}

#[test]
fn the_selection_is_seen_in_every_theme_and_depth() {
    for (name, theme) in themes() {
        for depth in DEPTHS {
            // Without colours the screen has the theme that is made for it.
            if depth == Depth::None && name != "mono" {
                continue;
            }
            let style = theme.clone().fit(depth).selected;
            let reversed = style.add_modifier.contains(Modifier::REVERSED);
            let plain = [
                None,
                Some(Color::Reset),
                Some(Color::Black),
                Some(Color::White),
                Some(Color::Gray),
            ];
            assert!(reversed || !plain.contains(&style.bg), "{name} at {depth:?}: {style:?}");
        }
    }
}

#[test]
fn the_parts_of_the_bars_differ_at_every_depth_that_has_colours() {
    for (name, theme) in themes().filter(|(n, _)| *n != "mono") {
        // With 16 colours one that was made for them is loaded in place of most.
        let made = ["ansi", "ansi-light"].contains(&name);
        let depths = [Depth::True, Depth::Indexed256, Depth::Ansi16];
        for depth in depths.into_iter().filter(|depth| made == (*depth == Depth::Ansi16)) {
            let theme = theme.clone().fit(depth);
            for (i, a) in BARS.iter().enumerate() {
                for b in &BARS[i + 1..] {
                    assert_ne!(fg(&theme, a), fg(&theme, b), "{a}, {b} in {name} at {depth:?}");
                }
            }
            assert_ne!(theme.up.fg, theme.down.fg, "{name} at {depth:?}");
        }
    }
}

#[test]
fn mono_has_no_colour() {
    let mono = shipped("mono").unwrap();
    assert_eq!(mono.clone().fit(Depth::None), mono);
    for (role, style) in Theme::ROLES.iter().map(|r| (r, mono.role(r).unwrap())) {
        assert_eq!((style.fg, style.bg), (None, None), "{role}");
    }
}

/// A colour as seen without one kind of cone: the matrices of Machado, Oliveira and Fernandes (2009) for a
/// severity of 1, on linear light.
fn seen(color: [f64; 3], m: [[f64; 3]; 3]) -> [f64; 3] {
    let c = color.map(linear);
    m.map(|row| row.iter().zip(c).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0))
}

const PROTAN: [[f64; 3]; 3] = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];
const DEUTAN: [[f64; 3]; 3] = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];

/// Returns the distance of two colours of linear light in CIE L*a*b* with D65. A distance of about 2 is just visible.
fn apart(one: [f64; 3], other: [f64; 3]) -> f64 {
    let lab = |[r, g, b]: [f64; 3]| {
        let root = |t: f64| {
            if t > 0.008_856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        };
        let x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.950_47);
        let y = root(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    };
    let (one, other) = (lab(one), lab(other));
    one.iter().zip(other).map(|(p, q)| (p - q).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn colorblind_keeps_apart_what_must_be_told_apart() {
    let theme = shipped("colorblind").unwrap();
    let mut pairs = vec![("up", "down"), ("warning", "error")];
    for (i, a) in BARS.iter().enumerate() {
        pairs.extend(BARS[i + 1..].iter().map(|b| (*a, *b)));
    }
    for (kind, matrix) in [("protan", PROTAN), ("deutan", DEUTAN)] {
        for (a, b) in &pairs {
            let [one, other] = [a, b].map(|r| seen(rgb(fg(&theme, r)), matrix));
            let have = apart(one, other);
            assert!(have >= 15.0, "{a}, {b} for {kind}: {have:.1}");
        }
    }
}

#[test]
fn a_users_theme_lies_over_the_default() {
    let home = Home::new();
    home.write("config.toml", "ui.theme = 'mine'");
    home.write(
        "themes/mine.toml",
        "up = { fg = 208, bold = true, dim = false }\ndown = { fg = 'light-blue', bg = '#010203', reverse = true }\n\
         zero = { fg = 'default', italic = true, underline = true }\n",
    );
    let theme = home.load().unwrap().theme;
    let mut expected = shipped("default").unwrap();
    expected.up = Style::new().fg(Color::Indexed(208)).add_modifier(Modifier::BOLD);
    let down = Style::new().fg(Color::LightBlue).bg(Color::Rgb(1, 2, 3));
    expected.down = down.add_modifier(Modifier::REVERSED);
    expected.zero = Style::new()
        .fg(Color::Reset)
        .add_modifier(Modifier::ITALIC | Modifier::UNDERLINED);
    assert_eq!(theme, expected);
}

#[test]
fn a_users_file_of_a_shipped_name_lies_over_that_one() {
    let home = Home::new();
    home.write("config.toml", "ui.theme = 'light'");
    home.write("themes/light.toml", "up = {}");
    let mut expected = shipped("light").unwrap();
    expected.up = Style::new();
    assert_eq!(home.load().unwrap().theme, expected);
}

#[test]
fn every_fault_of_a_theme_is_named() {
    let home = Home::new();
    home.write("config.toml", "ui.theme = 'mine'");
    home.write(
        "themes/mine.toml",
        "upp = {}\nup = { fg = '#12345', bg = 256, bld = true }\ndown = 'red'\nzero = { fg = 'rde', bold = 1 }\n",
    );
    let expected = [
        "themes/mine.toml:1:1: upp: unknown role `upp`; did you mean `up`?",
        "themes/mine.toml:2:13: up.fg: \"#12345\" is no colour: \"#rrggbb\", 0 to 255, \"default\", or one of black,",
        "themes/mine.toml:2:28: up.bg: 256 is no colour",
        "themes/mine.toml:2:33: up.bld: unknown key `bld`; did you mean `bold`?",
        "themes/mine.toml:3:8: down: expected a style such as { fg = \"#ff8800\", bold = true }, found \"red\"",
        "themes/mine.toml:4:15: zero.fg: \"rde\" is no colour",
        "themes/mine.toml:4:29: zero.bold: expected true or false, found 1",
    ];
    let faults = home.faults();
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
}

#[test]
fn a_themes_name_leads_nowhere_else() {
    let home = Home::new();
    for name in ["../default", "/etc/passwd", "", "a.b", "a b"] {
        home.write("config.toml", format!("ui.theme = '{name}'"));
        let faults = home.faults();
        assert!(faults[0].contains("is no theme's name"), "{faults:?}");
    }
}

#[test]
fn the_depth_follows_the_environment() {
    let rows: [(&[&str; 3], Depth); 12] = [
        (&["", "", "xterm"], Depth::Ansi16),
        (&["", "", ""], Depth::Ansi16),
        (&["", "", "xterm-256color"], Depth::Indexed256),
        (&["", "", "tmux-256color"], Depth::Indexed256),
        (&["", "truecolor", "xterm-256color"], Depth::True),
        (&["", "24bit", "xterm"], Depth::True),
        (&["", "yes", "xterm"], Depth::Ansi16),
        (&["", "", "xterm-direct"], Depth::True),
        (&["", "", "linux"], Depth::Ansi16),
        (&["1", "truecolor", "xterm-256color"], Depth::None),
        (&["0", "", "xterm"], Depth::None),
        (&["", "", "screen"], Depth::Ansi16),
    ];
    for ([no_color, colorterm, term], expected) in rows {
        let env = Env {
            no_color: Some(no_color.into()),
            colorterm: Some(colorterm.into()),
            term: Some(term.into()),
            ..Env::default()
        };
        assert_eq!(Depth::detect(&env), expected, "{env:?}");
    }
    assert_eq!(Depth::detect(&Env::default()), Depth::Ansi16);
}

#[test]
fn no_color_brings_the_theme_that_does_without() {
    let home = Home::new();
    home.write("config.toml", "ui.theme = 'light'");
    let load = |no_color: &str| {
        let env = Env {
            no_color: Some(no_color.into()),
            ..home.env()
        };
        zmtop::config::Config::load(None, &env).unwrap().theme
    };
    assert_eq!(load("1"), shipped("mono").unwrap());
    assert_eq!(load(""), shipped("light").unwrap());
    home.write("themes/mono.toml", "up = { fg = 'red', bold = true }");
    assert_eq!(load("1").up, Style::new().add_modifier(Modifier::BOLD));
}

#[test]
fn colours_become_the_nearest_of_256() {
    for ((r, g, b), index) in [
        ((0, 0, 0), 16),
        ((255, 255, 255), 231),
        ((255, 0, 0), 196),
        ((0, 255, 0), 46),
        ((0, 0, 255), 21),
        ((95, 135, 175), 67),
        ((128, 128, 128), 244),
        ((8, 8, 8), 232),
        ((238, 238, 238), 255),
        ((255, 136, 0), 208),
        ((100, 130, 170), 67),
    ] {
        let color = Depth::Indexed256.color(Color::Rgb(r, g, b));
        assert_eq!(color, Some(Color::Indexed(index)), "{r} {g} {b}");
    }
}

#[test]
fn colours_become_the_nearest_of_16() {
    for ((r, g, b), expected) in [
        ((0, 0, 0), Color::Black),
        ((255, 255, 255), Color::White),
        ((192, 192, 192), Color::Gray),
        ((100, 100, 100), Color::DarkGray),
        ((200, 0, 0), Color::Red),
        ((0, 128, 0), Color::Green),
        ((180, 130, 0), Color::Yellow),
        ((255, 255, 80), Color::LightYellow),
        ((0, 0, 200), Color::Blue),
        ((38, 86, 140), Color::Blue),
        ((150, 200, 255), Color::LightBlue),
        ((160, 32, 200), Color::Magenta),
        ((0, 150, 160), Color::Cyan),
        ((255, 160, 150), Color::LightRed),
        ((255, 40, 60), Color::Red),
    ] {
        assert_eq!(Depth::Ansi16.color(Color::Rgb(r, g, b)), Some(expected), "{r} {g} {b}");
    }
    for (from, to) in [
        (Color::Indexed(4), Color::Blue),
        (Color::Indexed(15), Color::White),
        (Color::Indexed(196), Color::Red),
        (Color::Indexed(232), Color::Black),
        (Color::Indexed(255), Color::White),
        (Color::Cyan, Color::Cyan),
        (Color::Reset, Color::Reset),
    ] {
        assert_eq!(Depth::Ansi16.color(from), Some(to), "{from:?}");
    }
    assert_eq!(Depth::None.color(Color::Red), None);
    assert_eq!(Depth::True.color(Color::Rgb(1, 2, 3)), Some(Color::Rgb(1, 2, 3)));
}

proptest! {
    #[test]
    fn no_colour_is_left_that_a_terminal_lacks(r: u8, g: u8, b: u8) {
        let color = Color::Rgb(r, g, b);
        prop_assert!(matches!(Depth::Indexed256.color(color), Some(Color::Indexed(16..))));
        let small = Depth::Ansi16.color(color);
        prop_assert!(!matches!(small, None | Some(Color::Rgb(..) | Color::Indexed(_) | Color::Reset)));
    }

    #[test]
    fn no_theme_panics(bytes: Vec<u8>) {
        if let Err(e) = Theme::default().parse(Path::new("t"), bytes) {
            prop_assert!(!lines(&e, Path::new("")).is_empty());
        }
    }
}
