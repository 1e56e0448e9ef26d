//! What a key can ask for.

macro_rules! actions {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// Everything a key can be bound to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in `keymap.toml`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The action of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|a| a.name() == name)
            }
        }
    };
}

actions! {
    /// Leaves the monitor.
    Quit = "quit",
    /// Opens or closes the help.
    Help = "help",
    /// Closes what is open; on the table, takes back the search, or goes back.
    Cancel = "cancel",
    /// Accepts what is open.
    Accept = "accept",
    /// One row up.
    Up = "up",
    /// One row down.
    Down = "down",
    /// One page up.
    PageUp = "page-up",
    /// One page down.
    PageDown = "page-down",
    /// The first row.
    First = "first",
    /// The last row.
    Last = "last",
    /// Scrolls the columns to the left; in an input, moves the cursor.
    Left = "left",
    /// Scrolls the columns to the right; in an input, moves the cursor.
    Right = "right",
    /// Edits the filter.
    Filter = "filter",
    /// Takes the filter away.
    ClearFilter = "clear-filter",
    /// Searches for a command.
    Search = "search",
    /// The next match of the search.
    SearchNext = "search-next",
    /// The match before.
    SearchPrevious = "search-previous",
    /// Opens the sort menu.
    SortMenu = "sort-menu",
    /// Sorts by the shown column to the left.
    SortLeft = "sort-left",
    /// Sorts by the shown column to the right.
    SortRight = "sort-right",
    /// Reverses the order.
    Reverse = "reverse",
    /// Sorts by PSS.
    SortPss = "sort-pss",
    /// Sorts by swap.
    SortSwap = "sort-swap",
    /// Sorts by trend, or by growth where that is not shown.
    SortGrowth = "sort-growth",
    /// Picks a user to filter to.
    Users = "users",
    /// Lists who grows or leaks.
    Leaks = "leaks",
    /// Lists the alerts.
    Alerts = "alerts",
    /// Tree view on and off.
    Tree = "tree",
    /// Folds or unfolds the selected subtree.
    Fold = "fold",
    /// Folds or unfolds every subtree.
    FoldAll = "fold-all",
    /// The next way to group: processes, programs, users, units, containers, cgroups.
    NextGroups = "next-groups",
    /// The way to group before.
    PreviousGroups = "previous-groups",
    /// Opens the selected group: its processes. Of a process, opens or closes its panel.
    Open = "open",
    /// Opens or closes the panel of the selected process or group.
    Panel = "panel",
    /// Marks what everything holds now; changes are shown since.
    Mark = "mark",
    /// Takes the mark away.
    Unmark = "unmark",
    /// Shows changes since the mark before.
    PreviousMark = "previous-mark",
    /// Shows changes since the next mark.
    NextMark = "next-mark",
    /// Charts and sparklines over a longer time.
    SpanLonger = "span-longer",
    /// Charts and sparklines over a shorter time.
    SpanShorter = "span-shorter",
    /// In the panel's chart: the cursor one column back.
    CursorLeft = "cursor-left",
    /// In the panel's chart: the cursor one column forth.
    CursorRight = "cursor-right",
    /// In the panel's chart: the cursor ten columns back.
    CursorLeftFast = "cursor-left-fast",
    /// In the panel's chart: the cursor ten columns forth.
    CursorRightFast = "cursor-right-fast",
    /// From the processes of a group back to the groups.
    Back = "back",
    /// Reads what the processes map, and sums it up.
    Mappings = "mappings",
    /// Two tables side by side, by PSS and by swap.
    TwoTables = "two-tables",
    /// The other of the two tables.
    OtherTable = "other-table",
    /// Follows the selected process even at the first row.
    Follow = "follow",
    /// Tags the selected row.
    Tag = "tag",
    /// Sends a signal, after asking.
    Signal = "signal",
    /// Sets `oom_score_adj`.
    OomAdjust = "oom-adjust",
    /// Sets the niceness.
    Nice = "nice",
    /// One step nicer.
    NiceUp = "nice-up",
    /// One step less nice.
    NiceDown = "nice-down",
    /// Takes all tags away.
    UntagAll = "untag-all",
    /// Stops sampling, and goes on.
    Pause = "pause",
    /// Keeps the order of rows while values go on.
    Freeze = "freeze",
    /// Takes a snapshot now.
    SampleNow = "sample-now",
    /// Changes the interval.
    Interval = "interval",
    /// The next unit.
    Units = "units",
    /// Opens the column chooser.
    Columns = "columns",
    /// In the column chooser: moves the column to the left.
    MoveUp = "move-up",
    /// In the column chooser: moves the column to the right.
    MoveDown = "move-down",
    /// In a list: switches the entry on or off.
    Toggle = "toggle",
    /// Shows or hides kernel threads.
    KernelThreads = "kernel-threads",
    /// Saves columns, sort and filter to the config.
    Save = "save",
    /// Draws the whole screen anew.
    Redraw = "redraw",
    /// Stops the monitor as Ctrl-Z does any program.
    Suspend = "suspend",
    /// In an input: deletes the character before the cursor.
    Backspace = "backspace",
    /// In an input: deletes the character under the cursor.
    Delete = "delete",
    /// In an input: deletes the word before the cursor.
    DeleteWord = "delete-word",
    /// In an input: deletes everything before the cursor.
    DeleteLine = "delete-line",
}

impl Action {
    /// Whether it changes processes: not with `ui.readonly`.
    pub const fn acts(self) -> bool {
        matches!(
            self,
            Self::Signal | Self::OomAdjust | Self::Nice | Self::NiceUp | Self::NiceDown
        )
    }
}
