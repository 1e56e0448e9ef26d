//! A figure as a bar.

/// Eighths of a character, from one to seven.
const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// `share` (0 to 1) of `width` columns, to an eighth of one. What is more than nothing is seen. In `ascii`,
/// whole `#`.
pub fn bar(share: f64, width: usize, ascii: bool) -> String {
    if share.is_nan() || share <= 0.0 || width == 0 {
        return String::new();
    }
    let share = share.min(1.0);
    if ascii {
        return "#".repeat(((share * width as f64).round() as usize).max(1));
    }
    let eighths = ((share * width as f64 * 8.0).round() as usize).max(1);
    let mut text = "█".repeat(eighths / 8);
    text.extend(PARTS.get((eighths % 8).wrapping_sub(1)));
    text
}
