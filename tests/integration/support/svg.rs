//! Frames of the screen as SVG pictures: one, or several one after another.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

/// Width and height of a cell in pixels: those of most monospaced fonts at 14 pixels.
const CELL: (f64, f64) = (8.4, 18.0);
/// The baseline of a line, in pixels from its top.
const BASELINE: f64 = 13.5;
/// Space around the screen.
const MARGIN: f64 = 12.0;
/// The terminal's own colours.
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d8dee9";
/// The sixteen colours of a dark terminal.
const SIXTEEN: [&str; 16] = [
    "#3b4252", "#e5686d", "#7fbf7f", "#d9a85b", "#5f9fe8", "#b48ead", "#6fb7c4", "#c8ccd4", "#6b7280", "#ff7b7b",
    "#8fd694", "#f0c674", "#7fb5ff", "#c9a6e0", "#8fd3de", "#ffffff",
];

/// The time that each scene of a moving picture stands, in seconds.
const SCENE_SECONDS: usize = 5;

/// A frame of a moving picture, and the line below it.
pub(crate) struct Scene {
    pub(crate) frame: Buffer,
    pub(crate) caption: &'static str,
}

/// Returns the picture of a frame.
pub(crate) fn svg(frame: &Buffer) -> String {
    let mut out = head(frame.area, 0.0);
    screen(&mut out, frame);
    out + "</svg>\n"
}

/// Returns a picture that shows one scene after another, over and over; only the first where nothing may move.
pub(crate) fn moving(scenes: &[Scene]) -> String {
    let area = scenes[0].frame.area;
    let mut out = head(area, 1.5 * CELL.1);
    let seconds = scenes.len() * SCENE_SECONDS;
    let _ = writeln!(
        out,
        "<style>@keyframes scene{{0%{{visibility:visible}}{:.3}%{{visibility:hidden}}}}\n\
         .scene{{visibility:hidden;animation:scene {seconds}s step-end infinite}}.scene:first-of-type{{visibility:visible}}\n\
         @media (prefers-reduced-motion){{.scene{{animation:none}}}}</style>",
        100.0 / scenes.len() as f64
    );
    for (at, scene) in scenes.iter().enumerate() {
        assert_eq!(scene.frame.area, area, "scenes of one size");
        let _ = writeln!(
            out,
            "<g class=\"scene\" style=\"animation-delay:{}s\">",
            at * SCENE_SECONDS
        );
        screen(&mut out, &scene.frame);
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\" fill=\"{}\">{}</text></g>",
            MARGIN + f64::from(area.height) * CELL.1 + CELL.1,
            SIXTEEN[11],
            escaped(scene.caption)
        );
    }
    out + "</svg>\n"
}

/// Returns the beginning of a picture of a screen with that much room below it.
fn head(area: Rect, below: f64) -> String {
    let (width, height) = (
        f64::from(area.width) * CELL.0 + 2.0 * MARGIN,
        f64::from(area.height) * CELL.1 + 2.0 * MARGIN + below,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, \
         'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    )
}

/// Draws a screen, one run of cells that look alike after another.
fn screen(out: &mut String, frame: &Buffer) {
    let area = frame.area;
    for y in 0..area.height {
        let mut x = 0;
        while x < area.width {
            let first = &frame[(x, y)];
            let is_same = |at: &u16| Look::of(&frame[(*at, y)]) == Look::of(first);
            let end = (x..area.width)
                .take_while(is_same)
                .last()
                .map_or(x + 1, |last| last + 1);
            let text: String = (x..end).map(|at| frame[(at, y)].symbol()).collect();
            run(out, (x, end, y), &text, &Look::of(first));
            x = end;
        }
    }
}

/// The colours and the font of a cell.
#[derive(PartialEq, Eq)]
struct Look {
    text: String,
    ground: Option<String>,
    font: Modifier,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let text = color(cell.fg).unwrap_or_else(|| FOREGROUND.into());
        let ground = color(cell.bg);
        let (text, ground) = if cell.modifier.contains(Modifier::REVERSED) {
            (ground.unwrap_or_else(|| BACKGROUND.into()), Some(text))
        } else {
            (text, ground)
        };
        Self {
            text,
            ground,
            font: cell.modifier - Modifier::REVERSED,
        }
    }
}

/// Draws cells that look alike: the ground, and each word at its column, whatever font there is.
fn run(out: &mut String, (start, end, y): (u16, u16, u16), text: &str, look: &Look) {
    let left = |column: u16| MARGIN + f64::from(column) * CELL.0;
    let top = MARGIN + f64::from(y) * CELL.1;
    let width = f64::from(end - start) * CELL.0;
    if let Some(ground) = &look.ground {
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{ground}\"/>",
            left(start),
            CELL.1
        );
    }
    let blank = text.chars().take_while(|c| *c == ' ').count();
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let columns = text.chars().count();
    let mut font = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::DIM, " opacity=\"0.6\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ] {
        if look.font.contains(modifier) {
            font.push_str(attribute);
        }
    }
    let escaped = escaped(text);
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
         fill=\"{}\"{font}>{escaped}</text>",
        left(start + u16::try_from(blank).unwrap()),
        top + BASELINE,
        columns as f64 * CELL.0,
        look.text,
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn color(color: Color) -> Option<String> {
    let sixteen = |at: usize| Some(SIXTEEN[at].to_owned());
    match color {
        Color::Reset => None,
        Color::Black => sixteen(0),
        Color::Red => sixteen(1),
        Color::Green => sixteen(2),
        Color::Yellow => sixteen(3),
        Color::Blue => sixteen(4),
        Color::Magenta => sixteen(5),
        Color::Cyan => sixteen(6),
        Color::Gray => sixteen(7),
        Color::DarkGray => sixteen(8),
        Color::LightRed => sixteen(9),
        Color::LightGreen => sixteen(10),
        Color::LightYellow => sixteen(11),
        Color::LightBlue => sixteen(12),
        Color::LightMagenta => sixteen(13),
        Color::LightCyan => sixteen(14),
        Color::White => sixteen(15),
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        Color::Indexed(at @ 0..=15) => sixteen(at.into()),
        // The cube of xterm, then its greys.
        Color::Indexed(at @ 16..=231) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let at = at - 16;
            let (r, g, b) = (level(at / 36), level(at / 6 % 6), level(at % 6));
            Some(format!("#{r:02x}{g:02x}{b:02x}"))
        }
        Color::Indexed(at) => {
            let grey = 8 + 10 * (at - 232);
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
    }
}
