//! The entries, by kind.

mod group;
mod mark;
mod memory;
mod process;
mod trend;

use super::{Column, Unit, Value};
use crate::text::Align;

type Get = for<'a> fn(&super::Row<'a>) -> Value<'a>;

/// A byte figure that can be summed.
const fn bytes(id: &'static str, title: &'static str, help: &'static str, value: Get) -> Column {
    Column {
        id,
        title,
        help,
        unit: Unit::Bytes,
        width: 5,
        grows: false,
        align: Align::Right,
        metric: None,
        additive: true,
        value,
    }
}

/// A figure of some other unit.
const fn figure(
    id: &'static str,
    title: &'static str,
    help: &'static str,
    unit: Unit,
    width: u16,
    value: Get,
) -> Column {
    Column {
        unit,
        width,
        additive: false,
        ..bytes(id, title, help, value)
    }
}

/// A word.
const fn word(id: &'static str, title: &'static str, help: &'static str, width: u16, value: Get) -> Column {
    Column {
        align: Align::Left,
        ..figure(id, title, help, Unit::Text, width, value)
    }
}
/// Every column there is, in the order the chooser offers them.
pub static COLUMNS: &[Column] = &ALL;

const PARTS: [&[Column]; 5] = [
    memory::COLUMNS,
    trend::COLUMNS,
    process::COLUMNS,
    group::COLUMNS,
    mark::COLUMNS,
];

const COUNT: usize = PARTS[0].len() + PARTS[1].len() + PARTS[2].len() + PARTS[3].len() + PARTS[4].len();

/// The parts one after the other.
const ALL: [Column; COUNT] = {
    let mut all = [PARTS[0][0]; COUNT];
    let (mut part, mut at, mut to) = (0, 0, 0);
    while part < PARTS.len() {
        if at == PARTS[part].len() {
            (part, at) = (part + 1, 0);
        } else {
            all[to] = PARTS[part][at];
            (at, to) = (at + 1, to + 1);
        }
    }
    all
};
