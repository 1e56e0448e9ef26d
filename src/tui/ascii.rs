//! The screen in ASCII alone, for terminals and locales that have nothing else.
//!
//! The frame is drawn as ever, and then each cell is put into ASCII: so no part of the screen can forget it.

use ratatui::buffer::{Buffer, Cell};

/// Replaces every cell by ASCII of the same width.
pub(super) fn to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if !cell.symbol().is_ascii() {
            replace(cell);
        }
    }
}

fn replace(cell: &mut Cell) {
    let first = cell.symbol().chars().next().unwrap_or(' ');
    cell.set_char(ascii(first));
}

/// Returns what stands for a character; a letter of a foreign name is only known to be one.
#[expect(clippy::match_same_arms, reason = "grouped by what they are")]
const fn ascii(c: char) -> char {
    match c {
        // Lines: horizontal, vertical, and all corners and crossings.
        '─' | '━' => '-',
        '┄' => '.',
        '│' | '┃' | '┊' => '|',
        '\u{2500}'..='\u{257f}' => '+',
        // Eighths of a column from the bottom, in order of height.
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '█' => '#',
        // Eighths of a column from the left.
        '▏' | '▎' | '▍' => '-',
        '▌' | '▋' | '▊' | '▉' => '=',
        // Shades: the parts of bars are told apart by them.
        '▓' => '%',
        '▒' => '=',
        '░' => '-',
        '▲' | '△' | '↑' => '^',
        '▼' | '▽' | '↓' => 'v',
        '→' | '▸' | '▶' => '>',
        '←' => '<',
        '≤' => '<',
        '≥' => '>',
        'Δ' => 'd',
        'Σ' => '=',
        '±' | '≈' => '~',
        '×' => 'x',
        '÷' => '/',
        '−' | '–' => '-',
        '·' | '…' => '.',
        '•' => '*',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        _ => '?',
    }
}
