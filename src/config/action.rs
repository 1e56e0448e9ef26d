//! The actions that keys can be bound to.

use crate::text::named;

named! {
    /// An action that a key can be bound to, with its name in `keymap.toml`.
    pub enum Action {
        /// Leaves the monitor.
        Quit = "quit",
        /// Opens or closes the help.
        Help = "help",
        /// Closes the open panel or popup. On the table, ends the search or goes back.
        Cancel = "cancel",
        /// Accepts the input, or the selected entry.
        Accept = "accept",
        /// Moves one row up.
        Up = "up",
        /// Moves one row down.
        Down = "down",
        /// Moves one page up.
        PageUp = "page-up",
        /// Moves one page down.
        PageDown = "page-down",
        /// Moves to the first row.
        First = "first",
        /// Moves to the last row.
        Last = "last",
        /// Scrolls the columns to the left; in an input, moves the cursor.
        Left = "left",
        /// Scrolls the columns to the right; in an input, moves the cursor.
        Right = "right",
        /// Edits the filter.
        Filter = "filter",
        /// Removes the filter.
        ClearFilter = "clear-filter",
        /// Shows which data could be read, how old figures are and what zmtop costs.
        Diagnostics = "diagnostics",
        /// Changes the height of the graph of the machine's memory.
        Graph = "graph",
        /// Copies the pid of the selected process to the clipboard.
        CopyPid = "copy-pid",
        /// Copies the command line of the selected process to the clipboard.
        CopyCommand = "copy-command",
        /// Sorts by CPU, or by CPU time if already sorted by CPU.
        SortCpu = "sort-cpu",
        /// Searches for a command.
        Search = "search",
        /// Moves to the next match of the search.
        SearchNext = "search-next",
        /// Moves to the previous match of the search.
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
        /// Sorts by trend, or by growth if the trend is not shown.
        SortGrowth = "sort-growth",
        /// Picks a user to filter to.
        Users = "users",
        /// Lists processes and groups that grow or leak.
        Leaks = "leaks",
        /// Acknowledges the OOM kills, which are then no longer shown.
        Acknowledge = "acknowledge",
        /// Lists the alerts.
        Alerts = "alerts",
        /// Switches the tree view on or off.
        Tree = "tree",
        /// Folds or unfolds the selected subtree, or the selected equal siblings.
        Fold = "fold",
        /// Folds or unfolds every subtree.
        FoldAll = "fold-all",
        /// Folds equal siblings into one row, or lists each.
        FoldEqual = "fold-equal",
        /// Groups by the next attribute: processes, programs, users, units, containers, cgroups, families.
        NextGroups = "next-groups",
        /// Groups by the previous attribute.
        PreviousGroups = "previous-groups",
        /// Shows the processes of the selected group, or opens or closes the panel of the selected process. In the panel of a
        /// cgroup, unit or container, shows where its memory went.
        Open = "open",
        /// Opens or closes the panel of the selected process or group.
        Panel = "panel",
        /// Sets a mark. Changes are then shown relative to it.
        Mark = "mark",
        /// Removes the mark.
        Unmark = "unmark",
        /// Shows changes since the previous mark.
        PreviousMark = "previous-mark",
        /// Shows changes since the next mark.
        NextMark = "next-mark",
        /// Lengthens the time span of charts and sparklines.
        SpanLonger = "span-longer",
        /// Shortens the time span of charts and sparklines.
        SpanShorter = "span-shorter",
        /// Moves the chart's cursor one column back.
        CursorLeft = "cursor-left",
        /// Moves the chart's cursor one column forward.
        CursorRight = "cursor-right",
        /// Moves the chart's cursor ten columns back.
        CursorLeftFast = "cursor-left-fast",
        /// Moves the chart's cursor ten columns forward.
        CursorRightFast = "cursor-right-fast",
        /// Shows the processes.
        ProcessesPage = "processes",
        /// Shows what uses the memory of the machine, or of the selected cgroup, unit or container.
        MemoryPage = "memory",
        /// Shows the kernel's own memory.
        KernelPage = "kernel",
        /// Goes from the processes of a group back to the groups.
        Back = "back",
        /// Reads the mappings of the processes and sums them up.
        Mappings = "mappings",
        /// Switches to two tables side by side, by PSS and by swap, or back.
        TwoTables = "two-tables",
        /// Moves to the other of the two tables.
        OtherTable = "other-table",
        /// Follows the selected process even at the first row.
        Follow = "follow",
        /// Tags the selected row.
        Tag = "tag",
        /// Tags all rows that match the filter.
        TagAll = "tag-all",
        /// Sends a signal, after asking.
        Signal = "signal",
        /// Sets `oom_score_adj`, after asking.
        OomAdjust = "oom-adjust",
        /// Sets the niceness, after asking.
        Nice = "nice",
        /// Increases the niceness by one, after asking.
        NiceUp = "nice-up",
        /// Decreases the niceness by one, after asking.
        NiceDown = "nice-down",
        /// After asking, clears the referenced bits of the process to see which memory it touches from now on.
        HotCold = "hot-cold",
        /// Tags the selected process and all its descendants.
        TagTree = "tag-tree",
        /// Shows the environment of the selected process.
        Environment = "environment",
        /// Lists the open files of the selected process.
        OpenFiles = "open-files",
        /// Shows the memory that the allocator of the selected process holds.
        Heap = "heap",
        CallPaths = "call-paths",
        /// Removes all tags.
        UntagAll = "untag-all",
        /// Pauses or resumes sampling, or a recording.
        Pause = "pause",
        /// Shows the next snapshot of a recording.
        StepForward = "step-forward",
        /// Shows the previous snapshot of a recording.
        StepBack = "step-back",
        /// Goes to the next event of a recording.
        NextEvent = "next-event",
        /// Goes to the previous event of a recording.
        PreviousEvent = "previous-event",
        /// Plays a recording faster.
        Faster = "faster",
        /// Plays a recording slower.
        Slower = "slower",
        /// Asks for a time, and goes there: in a recording, or from the live monitor in the black box.
        Jump = "jump",
        /// Freezes the order of rows. Values are still updated.
        Freeze = "freeze",
        /// Starts a recording into a file, after asking for its name, or stops it.
        Record = "record",
        /// Takes a snapshot now.
        SampleNow = "sample-now",
        /// Changes the interval.
        Interval = "interval",
        /// Switches to the next unit.
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
        /// Saves columns, sort, grouping and filter as a view, after asking for its name.
        Save = "save",
        /// Lists the saved views.
        Views = "views",
        /// Redraws the whole screen.
        Redraw = "redraw",
        /// Suspends the monitor, as Ctrl-Z does in other programs.
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
}

impl Action {
    /// Returns true if the action changes processes, which `ui.readonly` forbids.
    pub const fn acts(self) -> bool {
        matches!(
            self,
            Self::Signal | Self::OomAdjust | Self::Nice | Self::NiceUp | Self::NiceDown | Self::HotCold
        )
    }
}
