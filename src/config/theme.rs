//! Colours by role, and the themes that define them.

mod depth;
mod load;

pub use depth::Depth;
pub use load::{SHIPPED, shipped};
use ratatui::style::Style;

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

            /// The style of the role of that name, to be changed.
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
    /// Everything without another role.
    text,
    /// Labels and less important facts.
    dim,
    /// The program's name and host in the first line.
    title,
    /// Column headings.
    heading,
    /// The heading sorted by.
    heading_sorted,
    /// The selected row.
    selected,
    /// Tagged rows.
    tagged,
    /// A row that matches the search.
    found,
    /// A row that an alert is about.
    alert,
    /// A key in the footer and the help.
    key,
    /// The action of a key.
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
    /// Bar: swap that lies in zram or zswap.
    bar_zram,
    /// Bar: swap that lies on a disk.
    bar_disk,
    /// A change upwards.
    up,
    /// A change downwards.
    down,
    /// A limit that is reached soon.
    danger,
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
    /// A message to notice.
    warning,
    /// An error.
    error,
    /// The frame of a popup.
    frame,
    /// The inside of a popup.
    popup,
    /// A line of text being edited.
    input,
}

impl Theme {
    /// Returns true if its words are dark, which only a light background suits.
    pub fn is_for_light(&self) -> bool {
        self.dim.fg.or(self.title.fg).is_some_and(depth::is_dark)
    }

    /// Converts the theme for a terminal of that depth.
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
