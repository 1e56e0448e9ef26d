//! Navigation: from processes to groups and mappings and back; scans, marks, searches, and the first screen.

use std::time::SystemTime;

use jiff::Timestamp;

use crate::config::{Action, Context};
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::Marks;
use crate::model::mapping::{MappedObject, SHARED_ANON};
use crate::model::{Identity, ProcessSample};
use crate::query::{Query, RowRef, address_spaces};
use crate::sampler::mappings::{Mappings, Shared};
use crate::source::At;
use crate::text;
use crate::tui::app::{App, MappingScan, ScanProgress, Scope};
use crate::tui::event::Effect;
use crate::tui::replay::ReplayCommand;
use crate::tui::rows::{self, rebuild};
use crate::tui::widgets::from_cursor;
use crate::tui::{labels, page, panel};

/// Maximum number of objects without a name that a filter lists.
const MAX_OBJECTS: usize = 16;

/// Shows another scope and selects a row of it, or the first row.
pub(super) fn show_scope(app: &mut App, scope: Scope, select: Option<&RowKey>) {
    if app.modal.as_ref().is_some_and(|modal| modal.is_about_rows()) {
        app.modal = None;
        app.query.filter.set(&app.query.filter.good.clone());
    }
    // Mappings have a filter of their own: the filter of processes chose which to scan.
    let mut outer_row = None;
    match (&scope, app.query.outer_filter.take()) {
        (Scope::Mappings(_), None) => {
            app.query.outer_filter = Some(std::mem::take(&mut app.query.filter));
            let table = app.tables.current();
            app.query.outer_row = table.selected.clone().filter(|_| table.list.cursor > 0);
        }
        (Scope::Mappings(_), outer) => app.query.outer_filter = outer,
        (_, Some(outer)) => {
            app.query.filter = outer;
            outer_row = app.query.outer_row.take();
        }
        (_, None) => {}
    }
    let are_mappings = matches!(scope, Scope::Mappings(_));
    app.query.scope = scope;
    app.tables.keep_order(are_mappings);
    app.apply_columns();
    rebuild(app);
    app.select_row(select.or(outer_row.as_ref()));
}

/// Goes to a row: to a process with its panel, to a group among its kind, to a part of the RAM on its page.
pub(super) fn show_row(app: &mut App, key: &RowKey) {
    if let RowKey::Part(key) = key {
        return page::memory::show(app, key.id);
    }
    let snapshot = app.engine.snapshot.as_ref();
    if let Some(id) = key.process()
        && snapshot.is_none_or(|snapshot| snapshot.row(id).is_none())
    {
        return app.screen.say("that process has ended");
    }
    app.close_page();
    app.screen.panel_open = true;
    show_scope(app, Scope::by(key.group().map(|group| group.by)), Some(key));
    if let Some(fold) = app.selected_fold().map(|fold| fold.group.key.clone()) {
        // The process is in the fold.
        app.query.unfolded.insert(fold);
        rebuild(app);
        app.select_row(Some(key));
    }
    if app.tables.current().selected.as_ref() != Some(key) {
        // A filter hides it, or it is folded.
        app.query.filter.set("");
        app.query.user = None;
        if key.process().is_some() {
            app.query.folded.clear();
        }
        rebuild(app);
        app.select_row(Some(key));
        if app.tables.current().selected.as_ref() == Some(key) {
            app.screen.say("shown without the filter");
        } else {
            app.screen.panel_open = false;
            app.screen.say("it no longer has any process");
        }
    }
}

/// Shows the next grouping, or the previous one.
pub(super) fn show_next(app: &mut App, forward: bool) {
    let is_fleet = app.fleet.is_some();
    let mut scope = app.query.scope.next(forward, is_fleet);
    while is_empty(app, &scope) {
        scope = scope.next(forward, is_fleet);
    }
    show_along(app, scope);
}

/// Shows another scope. The selection moves to the row that contains the same process; at the first row it stays there.
fn show_along(app: &mut App, scope: Scope) {
    let moved = app.tables.current().list.cursor > 0;
    let select = selected_process(app)
        .filter(|_| moved)
        .and_then(|id| row_of(app, &scope, id));
    show_scope(app, scope, select.as_ref());
}

/// Returns true if no process is in a unit, in a container or in a pod.
fn is_empty(app: &App, scope: &Scope) -> bool {
    let Some(snapshot) = &app.engine.snapshot else {
        return false;
    };
    let rows = snapshot.rows();
    let is_read = || rows.iter().any(|row| row.facts.cgroup.is_ok());
    match scope {
        Scope::Groups(GroupBy::Unit) => is_read() && rows.iter().all(|row| row.facts.unit.is_none()),
        Scope::Groups(GroupBy::Container) => is_read() && rows.iter().all(|row| row.facts.container.is_none()),
        Scope::Groups(GroupBy::Pod) => {
            let has_pod = |row: &ProcessSample| row.facts.container.as_ref().is_some_and(|own| own.pod().is_some());
            is_read() && !rows.iter().any(has_pod)
        }
        _ => false,
    }
}

/// Returns the row of a scope that contains a process.
fn row_of(app: &App, scope: &Scope, id: Identity) -> Option<RowKey> {
    let Scope::Groups(by) = *scope else {
        return Some(RowKey::Process(id));
    };
    let snapshot = app.engine.snapshot.as_ref()?;
    let sample = snapshot.row(id)?;
    let name = GroupNames::new(snapshot.rows()).name_of(sample, by).map(Into::into);
    Some(RowKey::Group(GroupKey { by, name }))
}

/// Returns the selected process, or the process of the selected group with the largest PSS.
fn selected_process(app: &App) -> Option<Identity> {
    let row = app.tables.current().selected_row()?;
    if let Some(id) = row.key.process() {
        return Some(id);
    }
    let rows = app.engine.snapshot.as_ref()?.rows();
    let members = app.group(row)?.members.iter().filter_map(|i| rows.get(*i));
    let largest = members.max_by_key(|s| s.memory().map_or(0, |m| m.pss))?;
    Some(largest.id)
}

/// Lists the processes that map what has that name, of the shared memory without a name that which this process maps. Returns
/// false, and says why, if others cannot map it.
pub(super) fn show_mappers(app: &mut App, name: &[u8], id: Option<Identity>) -> bool {
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    let is_object = name.starts_with(b"/") || name == SHARED_ANON;
    if !is_object {
        let name = text::truncate(&text::safe(name), 40);
        app.screen.say(format!(
            "{name} is neither a file nor shared memory: each process has its own"
        ));
        return false;
    }
    let snapshot = app.engine.snapshot.as_ref();
    let own = id.and_then(|id| snapshot?.mapped.get(&id)?.as_ref().ok());
    let own = own.into_iter().flat_map(|objects| objects.iter());
    let mut texts: Vec<Vec<u8>> = own
        .filter(|object| *object.name == *name)
        .map(MappedObject::text)
        .collect();
    if texts.is_empty() {
        texts.push(name.into());
    }
    let quoted = |text: &Vec<u8>| {
        let text = String::from_utf8_lossy(text).replace('\\', "\\\\").replace('"', "\\\"");
        format!("maps:\"{text}\"")
    };
    let filter: Vec<String> = texts.iter().take(MAX_OBJECTS).map(quoted).collect();
    app.screen.panel_open = false;
    let key = id.map(RowKey::Process);
    show_scope(app, Scope::Processes, key.as_ref());
    app.query.user = None;
    app.query.filter.set(&filter.join(" | "));
    rebuild(app);
    app.select_row(key.as_ref());
    true
}

/// Returns the time of the chart's cursor, as it may be typed; `None` if there is no cursor.
pub(super) fn time_of_cursor(app: &App) -> Option<String> {
    let at = app.screen.chart.cursor().filter(|_| app.shows_panel())?;
    let time = app.engine.snapshot.as_ref()?.time;
    let time = Timestamp::try_from(time.checked_sub(app.engine.history.elapsed_since(at))?).ok()?;
    let local = time.to_zoned(app.screen.zone.clone());
    Some(local.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// Returns a name for a new recording in the current folder: of the host, and of this second.
pub(super) fn recording_name(app: &App) -> String {
    let snapshot = app.engine.snapshot.as_ref();
    let time = snapshot.and_then(|snapshot| Timestamp::try_from(snapshot.time).ok());
    let local = time.unwrap_or_default().to_zoned(app.screen.zone.clone());
    let host = snapshot.map_or(&[][..], |snapshot| &snapshot.host);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let host: String = host.iter().copied().filter(is_plain).take(40).map(char::from).collect();
    format!("zmtop-{host}-{}.zmrec", local.strftime("%Y%m%d-%H%M%S"))
}

/// Returns the effect that goes to a time: of the recording, or else of the black box.
///
/// # Errors
/// It is no time, safe to print.
pub(super) fn go_to(app: &App, typed: &str) -> Result<Effect, String> {
    let span = app.replay.as_ref().and_then(|replay| replay.timeline.span());
    let now = app.engine.snapshot.as_ref().map(|snapshot| snapshot.time);
    let last = span.map(|(_, last)| last).or(now).unwrap_or(SystemTime::UNIX_EPOCH);
    let time = match typed.trim() {
        "start" => span.map_or(SystemTime::UNIX_EPOCH, |(first, _)| first),
        "end" => last,
        typed => {
            let at = At::parse(typed).map_err(|error| error.to_string())?;
            at.resolve_in(last, &app.screen.zone)
        }
    };
    Ok(match app.replay {
        Some(_) => Effect::Replay(ReplayCommand::Jump(time)),
        None => Effect::Visit(time),
    })
}

/// Opens the selected group or equal siblings, or lists the processes that map the selected mapping; for a process, opens or closes the panel.
pub(super) fn open(app: &mut App) {
    if let Some(key) = app.selected_fold().map(|fold| fold.group.key.clone()) {
        return show_scope(app, Scope::Members(key), None);
    }
    if app.query.scope.lists_processes() {
        return panel::toggle(app);
    }
    if let (Scope::Mappings(_), Some(group)) = (&app.query.scope, app.selected_group()) {
        let name = group.name().to_vec();
        show_mappers(app, &name, None);
        return;
    }
    let Scope::Groups(_) = app.query.scope else { return };
    let selected = app.tables.current().selected.as_ref();
    if let Some(key) = selected.and_then(RowKey::group).cloned() {
        show_scope(app, Scope::Members(key), None);
    }
}

/// Cancels one thing: the scan, else the chart's cursor, the panel, the search, the scope, or at last the filter. Mappings and
/// groups lose their filter first.
pub(super) fn cancel(app: &mut App) -> Option<Effect> {
    if app.requests.scan.take().is_some() {
        return Some(Effect::CancelScan);
    }
    if app.shows_panel() && app.screen.chart.remove_cursor() {
        return None;
    }
    if panel::close(app) {
        return None;
    }
    if let Some(search) = app.query.search.take() {
        let shown = labels::cut(search.as_bytes(), 40);
        app.screen.say(format!("cleared: search {shown}"));
        return None;
    }
    let has_filter = !app.query.filter.text.is_empty();
    let may_clear = match app.query.scope {
        Scope::Groups(_) => has_filter || app.query.user.is_some(),
        Scope::Mappings(_) => has_filter,
        Scope::Processes | Scope::Members(_) => false,
    };
    if may_clear || is_outermost(app) {
        clear_filter(app);
    } else {
        back(app);
    }
    None
}

/// Removes the filter, and the choice of a user except from mappings, and reports which.
pub(super) fn clear_filter(app: &mut App) {
    let user = app.query.user.take_if(|_| app.query.outer_filter.is_none());
    let filter = std::mem::take(&mut app.query.filter).good;
    let user = user.map(|user| format!("user {}", text::safe_prefix(&user, 16)));
    let shown = labels::cut(filter.as_bytes(), 40);
    let filter = (!filter.is_empty()).then(|| format!("filter {shown}"));
    let cleared: Vec<String> = filter.into_iter().chain(user).collect();
    if cleared.is_empty() {
        return app.screen.say("nothing is open, and no filter applies");
    }
    app.screen.say(format!("cleared: {}", cleared.join(", ")));
    rebuild(app);
}

/// Returns true if there is no scope to go back to.
pub(super) const fn is_outermost(app: &App) -> bool {
    match app.query.scope {
        Scope::Processes => true,
        Scope::Groups(_) => app.fleet.is_some(),
        Scope::Members(_) | Scope::Mappings(_) => false,
    }
}

/// Goes back from a group's processes to the groups, from groups to all processes, and from mappings to the scope before.
pub(super) fn back(app: &mut App) {
    if is_outermost(app) {
        return;
    }
    match app.query.scope.clone() {
        Scope::Processes | Scope::Groups(_) => show_along(app, Scope::Processes),
        Scope::Members(key) if key.by == GroupBy::Siblings => {
            show_scope(app, Scope::Processes, Some(&RowKey::Group(key)));
        }
        Scope::Members(key) => show_scope(app, Scope::Groups(key.by), Some(&RowKey::Group(key))),
        Scope::Mappings(from) => show_scope(app, *from, None),
    }
}

/// Starts a scan of the mappings of all processes that pass the filter, or of those in the opened group.
pub(super) fn start_scan(app: &mut App) -> Option<Effect> {
    let snapshot = app.engine.snapshot.clone().filter(|_| app.requests.scan.is_none())?;
    let query = Query {
        filter: &app.query.process_filter().filter,
        ..rows::query(app)
    };
    let ids = address_spaces(&app.row_source(&snapshot), &query);
    app.requests.scans += 1;
    let number = app.requests.scans;
    app.requests.scan = Some(ScanProgress {
        number,
        done: 0,
        all: ids.len(),
        began: snapshot.monotonic,
    });
    Some(Effect::ScanMappings(number, ids))
}

/// Shows the mappings that a scan found.
pub(super) fn on_scan_done(app: &mut App, number: u64, found: &Mappings) {
    let Some(scan) = app.requests.scan.take_if(|scan| scan.number == number) else {
        return;
    };
    app.data.mappings = Some(MappingScan {
        groups: found.shared.iter().cloned().map(Shared::into_group).collect(),
        read: found.read,
        missing: found.missing.len(),
        at: scan.began,
    });
    if app.query.shows_mappings() {
        return rebuild(app);
    }
    let from = Box::new(app.query.scope.clone());
    show_scope(app, Scope::Mappings(from), None);
}

/// Sets a mark at the last snapshot; the first one adds the column of changes since it.
pub(super) fn set_mark(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    app.data.marks.set(&snapshot);
    if let Some(id) = app.panel_process() {
        app.data.growth.mark(id);
    }
    app.apply_columns();
    rebuild(app);
}

/// Chooses another mark, or removes one; without any, the column of changes is removed.
pub(super) fn change_mark(app: &mut App, change: impl FnOnce(&mut Marks)) {
    if app.data.marks.is_empty() {
        return app.screen.say("no mark is set");
    }
    change(&mut app.data.marks);
    app.apply_columns();
    rebuild(app);
}

/// Returns true if a row matches the lower-cased search.
pub(super) fn is_match(app: &App, row: &RowRef, search: &str) -> bool {
    if search.is_empty() {
        return false;
    }
    if let Some(fold) = app.fold(row) {
        return fold.group.members.iter().any(|at| matches_process(app, *at, search));
    }
    if let Some(key) = row.key.group() {
        return text::safe(key.label()).to_lowercase().contains(search);
    }
    matches_process(app, row.index, search)
}

fn matches_process(app: &App, at: usize, search: &str) -> bool {
    let Some(sample) = app.engine.snapshot.as_ref().and_then(|s| s.rows().get(at)) else {
        return false;
    };
    text::safe(&sample.facts.command()).to_lowercase().contains(search)
        || text::safe(&sample.facts.comm).to_lowercase().contains(search)
        || sample.id.pid.to_string() == search
}

/// Selects the next match of the search: the row `first` rows from the selection, and then every `step` rows, wrapping around.
pub(super) fn select_match(app: &mut App, first: isize, step: isize) {
    let Some(search) = app.query.search.clone() else { return };
    let is_found = if app.page().is_some() {
        app.with_page(|page, app| page.find(app, &search, (first, step)))
    } else {
        let table = app.tables.current();
        let mut places = from_cursor(table.rows.len(), table.list.cursor, first, step);
        let found = places.find(|at| is_match(app, &table.rows[*at], &search));
        if let Some(at) = found {
            let height = app.rows_shown();
            app.tables.current_mut().select_index(at, height);
            unfold_found(app, &search);
        }
        found.is_some()
    };
    if !is_found && !search.is_empty() {
        let shown = text::truncate(&text::safe(search.as_bytes()), 40);
        app.screen.say(format!("no match for {shown}"));
    }
}

/// Unfolds the selected equal siblings if some of them match and others don't, and selects the first match.
fn unfold_found(app: &mut App, search: &str) {
    let Some(fold) = app.selected_fold() else { return };
    let found = |at: &&usize| matches_process(app, **at, search);
    let members = &fold.group.members;
    let first = members.iter().find(found).copied();
    if members.iter().all(|at| found(&at)) {
        return;
    }
    let snapshot = app.engine.snapshot.as_ref();
    let Some(id) = first.and_then(|at| Some(snapshot?.rows().get(at)?.id)) else {
        return;
    };
    let key = fold.group.key.clone();
    app.query.unfolded.insert(key);
    rebuild(app);
    app.select_row(Some(&RowKey::Process(id)));
}

/// Selects the process of a pid, or the group of it, else the first row whose pid begins with the digits; says which. `unfolds`
/// shows one of equal siblings that are folded.
pub(super) fn select_pid(app: &mut App, digits: &str, unfolds: bool) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    let pid = digits.parse::<u32>().ok();
    let Some(sample) = snapshot.rows().iter().find(|sample| Some(sample.id.pid) == pid) else {
        let rows = app.tables.current().rows.iter();
        let pids = rows.map(|row| Some(row.key.process()?.pid.to_string()));
        let begun = pids
            .enumerate()
            .find(|(_, pid)| pid.as_ref().is_some_and(|pid| pid.starts_with(digits)));
        if let Some((at, _)) = begun.filter(|_| !digits.is_empty() && !unfolds) {
            let height = app.rows_shown();
            return app.tables.current_mut().select_index(at, height);
        }
        return app.screen.fail(format!("no process {digits}"));
    };
    let id = sample.id;
    let name = format!("{} {}", id.pid, text::safe_prefix(&sample.facts.comm, 15));
    if app.query.shows_tree() && !app.query.folded.is_empty() && !is_shown(app, &RowKey::Process(id)) {
        app.query.folded.clear();
        rebuild(app);
    }
    let Some(key) = row_of(app, &app.query.scope, id).filter(|key| is_shown(app, key)) else {
        let keys = [Action::KernelThreads, Action::ClearFilter].map(|action| {
            let key = app.config.keymap.shown_key(Context::Table, action);
            key.map_or_else(|| "?".into(), ToString::to_string)
        });
        let why = match (sample.stat.is_kernel_thread(), &app.query.scope) {
            (true, _) => format!("{} shows kernel threads", keys[0]),
            (_, Scope::Members(_)) => "it is not in this group".into(),
            _ => format!("the filter hides it, {} clears it", keys[1]),
        };
        return app.screen.fail(format!("{name} is not shown: {why}"));
    };
    app.select_row(Some(&key));
    if let Some(fold) = app.selected_fold().map(|fold| fold.group.key.clone()) {
        if unfolds {
            app.query.unfolded.insert(fold);
            rebuild(app);
            app.select_row(Some(&key));
        } else {
            return app.screen.say(format!("{name} is one of these: Enter shows it"));
        }
    }
    app.screen.say(name);
}

/// Returns true if a table shows the row, or a row that it is folded into.
fn is_shown(app: &App, key: &RowKey) -> bool {
    let folds = &app.rows.folds;
    let is_folded = app
        .engine
        .snapshot
        .as_ref()
        .is_some_and(|snapshot| folds.holding(key, snapshot).is_some());
    is_folded || app.tables.current().rows.iter().any(|row| row.key == *key)
}

/// Number of snapshots after which the greeting of the first start is removed.
const GREETED: u32 = 20;

/// The way the monitor is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Usual,
    /// For the first time.
    First,
    /// To choose a process with Enter, which ends the monitor.
    Pick,
}

impl App {
    /// Opens the screen. A greeting explains the first one, until the next key or for some snapshots.
    pub fn begin(&mut self, opening: Opening) {
        self.screen.picking = opening == Opening::Pick;
        if opening != Opening::First {
            return;
        }
        let what = self.query.scope.grouping().map_or("process", |by| by.id());
        let keys = [
            (Action::Filter, "filters"),
            (Action::Open, "shows details"),
            (Action::Help, "helps"),
        ];
        let keys = keys.into_iter().filter_map(|(action, does)| {
            let key = self.config.keymap.shown_key(Context::Table, action)?;
            Some(format!("{key} {does}"))
        });
        let keys = keys.collect::<Vec<_>>().join(", ");
        self.screen.say(format!("Memory by {what}, largest first: {keys}"));
        self.screen.let_go(GREETED * self.requests.interval);
    }
}
