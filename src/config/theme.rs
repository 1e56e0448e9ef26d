//! Colours by role.

use ratatui::style::Style;

/// One style a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// Everything not said otherwise.
    pub text: Style,
    /// Labels and lesser facts.
    pub dim: Style,
    /// The program's name and host in the first line.
    pub title: Style,
    /// Column headings.
    pub heading: Style,
    /// The heading sorted by.
    pub heading_sorted: Style,
    /// The selected row.
    pub selected: Style,
    /// Tagged rows.
    pub tagged: Style,
    /// A row that matches the search.
    pub found: Style,
    /// A key in the footer and the help.
    pub key: Style,
    /// What the key does.
    pub key_label: Style,
    /// Bar: anonymous memory.
    pub bar_anon: Style,
    /// Bar: file pages.
    pub bar_file: Style,
    /// Bar: shared memory and tmpfs.
    pub bar_shmem: Style,
    /// Bar: kernel slab.
    pub bar_slab: Style,
    /// Bar: what remains.
    pub bar_free: Style,
    /// Bar: swap that lies in zram or zswap.
    pub bar_zram: Style,
    /// Bar: swap that lies on a disk.
    pub bar_disk: Style,
    /// A change upwards.
    pub up: Style,
    /// A change downwards.
    pub down: Style,
    /// A zero.
    pub zero: Style,
    /// A figure that is unknown.
    pub missing: Style,
    /// A figure that is old.
    pub stale: Style,
    /// Sparklines.
    pub chart: Style,
    /// The lines of the tree.
    pub guide: Style,
    /// The totals row.
    pub totals: Style,
    /// Something to notice.
    pub warning: Style,
    /// Something wrong.
    pub error: Style,
    /// The frame of a popup.
    pub frame: Style,
    /// The inside of a popup.
    pub popup: Style,
    /// A line of text being edited.
    pub input: Style,
}
