//! Contrast of every role of every theme, and which theme is taken on which terminal.

use ratatui::style::{Color, Style};
use zmtop::config::theme::shipped;
use zmtop::config::{Env, Theme};

use super::Home;
use super::theme::themes;

/// The grounds that a theme is read on: its own, or those of terminals that it leaves as they are.
fn grounds(name: &str, theme: &Theme) -> Vec<[f64; 3]> {
    match (theme.text.bg, name) {
        (Some(own), _) => vec![rgb(Some(own))],
        (None, "ansi-light") => vec![[1.0; 3]],
        (None, "ansi") => vec![[0.0; 3]],
        (None, _) if theme.is_for_light() => vec![[1.0; 3], [0.957; 3]],
        (None, _) => vec![[0.0; 3], [0.118; 3]],
    }
}

#[test]
fn a_theme_that_paints_the_background_paints_popups_the_same() {
    for (name, theme) in themes() {
        assert_eq!(theme.text.bg, theme.popup.bg, "{name}");
        for role in Theme::ROLES
            .iter()
            .filter(|r| !["selected", "text", "popup"].contains(r))
        {
            assert_eq!(theme.role(role).unwrap().bg, None, "{role} in {name}");
        }
    }
    for ours in ["default", "light", "mono", "colorblind", "ansi", "ansi-light"] {
        assert_eq!(
            shipped(ours).unwrap().text,
            Style::default(),
            "{ours} leaves the ground as it is"
        );
    }
}

/// A colour; one of the 16 as xterm shows it.
pub(super) fn rgb(color: Option<Color>) -> [f64; 3] {
    let rgb = match color {
        Some(Color::Rgb(r, g, b)) => [r, g, b],
        Some(Color::Black) => [0, 0, 0],
        Some(Color::Red) => [205, 0, 0],
        Some(Color::Blue) => [0, 0, 238],
        Some(Color::Magenta) => [205, 0, 205],
        Some(Color::Cyan) => [0, 205, 205],
        Some(Color::Gray) => [229, 229, 229],
        Some(Color::LightRed) => [255, 0, 0],
        Some(Color::LightGreen) => [0, 255, 0],
        Some(Color::LightYellow) => [255, 255, 0],
        Some(Color::LightMagenta) => [255, 0, 255],
        Some(Color::LightCyan) => [0, 255, 255],
        Some(Color::White) => [255, 255, 255],
        other => panic!("the shade of {other:?} is not known"),
    };
    rgb.map(|c| f64::from(c) / 255.0)
}

pub(super) fn linear(c: f64) -> f64 {
    if c <= 0.04045 {
        c / 12.92
    } else {
        ((c + 0.055) / 1.055).powf(2.4)
    }
}

/// The contrast ratio of WCAG 2.
pub(super) fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let light = |c: [f64; 3]| {
        let [r, g, b] = c.map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn every_role_of_every_theme_is_legible() {
    for (name, theme) in themes() {
        for role in Theme::ROLES {
            // Glyphs distinguish the parts of bars, too. Of 16 colours only three can be read on white.
            if name == "ansi-light" && role.starts_with("bar_") {
                continue;
            }
            let style = theme.role(role).unwrap();
            let Some(fg) = style.fg else { continue };
            let own = style.bg.map(|bg| vec![rgb(Some(bg))]);
            for ground in own.unwrap_or_else(|| grounds(name, &theme)) {
                let have = contrast(rgb(Some(fg)), ground);
                assert!(have >= 4.5, "{role} in {name}: {have:.2}");
            }
        }
    }
}

#[test]
fn with_16_colours_shades_give_way_to_the_terminals_own() {
    let home = Home::new();
    let load = |theme: &str| {
        home.write("config.toml", format!("ui.theme = '{theme}'"));
        let env = Env {
            term: Some("xterm".into()),
            colorterm: None,
            ..home.env()
        };
        zmtop::config::Config::load(None, &env).unwrap().theme
    };
    let dark = shipped("ansi").unwrap();
    for name in ["auto", "default", "nord", "ansi"] {
        assert_eq!(load(name), dark, "{name}");
    }
    assert_eq!(load("light"), shipped("ansi-light").unwrap());
    assert_eq!(load("mono"), shipped("mono").unwrap());
    home.write("themes/nord.toml", "up = { fg = '#ff0000' }");
    assert_eq!(load("nord").up.fg, Some(Color::Red), "a file of the user's is heeded");
}

#[test]
fn the_background_is_asked_for_only_where_it_may_be_told_and_matters() {
    let home = Home::new();
    let load = |theme: &str, term: &str, colorfgbg: Option<&str>| {
        home.write("config.toml", format!("ui.theme = '{theme}'"));
        let env = Env {
            term: Some(term.into()),
            colorfgbg: colorfgbg.map(Into::into),
            ..home.env()
        };
        let config = zmtop::config::Config::load(None, &env).unwrap();
        (config.theme.is_for_light(), config.if_light.is_some())
    };
    let term = "xterm-256color";
    assert_eq!(load("auto", term, None), (false, true));
    assert_eq!(load("auto", term, Some("0;15")), (true, true));
    assert_eq!(load("auto", term, Some("0;default;7")), (true, true));
    assert_eq!(load("auto", term, Some("15;0")), (false, true));
    assert_eq!(load("auto", term, Some("nonsense")), (false, true));
    assert_eq!(load("auto", "linux", None), (false, false));
    assert_eq!(load("default", term, Some("0;15")), (false, false));
    assert_eq!(load("light", term, None), (true, false));
}
