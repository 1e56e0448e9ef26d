//! The world that effects reach in the tests. It performs them as the real loop does, and answers with events: at
//! once nothing, as real threads and disks take their time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use zmtop::act::{ActError, Command, ProcessAction, Reply, RequestId, Tunable, TunableValues};
use zmtop::config::UiSettings;
use zmtop::config::views::View;
use zmtop::history::mappings::Look;
use zmtop::model::mapping::Mapping;
use zmtop::model::{Identity, Missing};
use zmtop::sampler::mappings::{Mappings, Shared};
use zmtop::tui::event::Inspect;
use zmtop::tui::{Effect, Event};

/// A config file, processes that heed signals, and their mappings.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// The mappings of processes, by pid; any other process is gone.
    pub(crate) mappings: BTreeMap<u32, Vec<Mapping>>,
    /// The processes that cannot be acted on, by pid; any other can.
    pub(crate) refusals: BTreeMap<u32, ActError>,
    /// The values of processes that were set, by pid; any other's is 0.
    pub(crate) tunables: BTreeMap<(u32, &'static str), i32>,
    /// The saved views.
    pub(crate) views: Vec<(String, Box<UiSettings>)>,
    /// The process whose mappings are read again and again.
    inspected: Option<Inspect>,
    /// The processes whose hot and cold memory is looked at.
    pub(crate) looks: Vec<Look>,
    /// The number of the trace of the kernel's callers that goes on.
    pub(crate) traced: Option<u64>,
    /// The process whose code is measured.
    pub(crate) measured: Option<(u64, Identity)>,
    pinned: BTreeMap<RequestId, Vec<Identity>>,
    answers: VecDeque<Event>,
}

impl World {
    /// Performs an effect that does not concern the loop itself.
    pub(crate) fn perform(&mut self, effect: &Effect) {
        match effect {
            // The clipboard is the terminal's; a test answers what files are cached.
            Effect::Quit
            | Effect::Pick(_)
            | Effect::Suspend
            | Effect::Redraw
            | Effect::NotifyBy(_)
            | Effect::Copy(_)
            | Effect::ReadCache(..)
            | Effect::Record(_)
            | Effect::Replay(_)
            | Effect::Visit(_) => {}
            Effect::ScanMappings(number, ids) => {
                self.answers.push_back(Event::ScanProgress(*number, ids.len() / 2));
                let found = Arc::new(self.read(ids));
                self.answers.push_back(Event::ScanDone(*number, found));
            }
            Effect::CancelScan => self
                .answers
                .retain(|event| !matches!(event, Event::ScanProgress(..) | Event::ScanDone(..))),
            Effect::Inspect(inspect) => self.inspected = *inspect,
            Effect::Trace(number) => self.traced = *number,
            Effect::Look(looks) => self.looks.clone_from(looks),
            Effect::Act(command) => self.act(command),
            Effect::Save(name, settings) => {
                self.views.retain(|(other, _)| other != name);
                self.views.push((name.clone(), settings.clone()));
                let file = if name == "default" { "config" } else { name };
                self.answers.push_back(Event::Done(format!("saved to /{file}.toml")));
            }
            Effect::ReadViews => {
                let view = |(name, ui): &(String, Box<UiSettings>)| View {
                    name: name.clone(),
                    is_saved: true,
                    ui: Ok(ui.clone()),
                };
                self.answers
                    .push_back(Event::Views(self.views.iter().map(view).collect()));
            }
            Effect::DeleteView(name) => {
                self.views.retain(|(other, _)| other != name);
                self.answers.push_back(Event::Done(format!("view {name} deleted")));
            }
            Effect::Measure(of) => self.measured = *of,
            Effect::Ask(inquiry, id) => {
                let found = vec![
                    (b"API_TOKEN"[..].into(), b"***"[..].into()),
                    (b"HOME"[..].into(), b"/root"[..].into()),
                ];
                self.answers.push_back(Event::Answered(*inquiry, *id, Ok(found)));
            }
        }
    }

    /// Returns the answers that came meanwhile; a process that is inspected is read once more.
    pub(crate) fn answers(&mut self) -> Vec<Event> {
        if let Some(Inspect { id, .. }) = self.inspected {
            let read = self.mappings.get(&id.pid).cloned().ok_or(Missing::Gone);
            self.answers.push_back(Event::Inspected(id, Arc::new(read)));
        }
        self.answers.drain(..).collect()
    }

    fn read(&self, ids: &[Identity]) -> Mappings {
        let mut found = Mappings::default();
        for (place, id) in ids.iter().enumerate() {
            let Some(mappings) = self.mappings.get(&id.pid) else {
                found.missing.push((place, Missing::Gone));
                continue;
            };
            found.read += 1;
            found.shared.extend(mappings.iter().map(|mapping| Shared {
                mapping: mapping.clone(),
                members: [place].into(),
            }));
        }
        found
    }

    fn act(&mut self, command: &Command) {
        let reply = match command {
            Command::Pin(request, ids) => {
                self.pinned.insert(*request, ids.clone());
                Reply::Pinned(*request, ids.iter().map(|id| self.pin(*id)).collect())
            }
            Command::Perform(request, action) => {
                let ids = self.pinned.get(request).cloned().unwrap_or_default();
                let results = ids.iter().map(|id| self.perform_on(*id, *action)).collect();
                Reply::Performed(*request, *action, results)
            }
            Command::Release(request) => {
                self.pinned.remove(request);
                return;
            }
        };
        let performed = match &reply {
            Reply::Performed(request, ProcessAction::Signal(signal), results) => Some(Reply::Outcome {
                request: *request,
                signal: *signal,
                exited: results.iter().filter(|result| result.is_ok()).count(),
                running: 0,
            }),
            _ => None,
        };
        self.answers.push_back(Event::Act(reply));
        self.answers.extend(performed.map(Event::Act));
    }

    fn pin(&self, id: Identity) -> Result<TunableValues, ActError> {
        let values = TunableValues::new(|tunable| Ok(self.tunable(id.pid, tunable)));
        self.refusals.get(&id.pid).map_or(Ok(values), |refusal| Err(*refusal))
    }

    fn perform_on(&mut self, id: Identity, action: ProcessAction) -> Result<i32, ActError> {
        self.pin(id)?;
        let (tunable, value) = match action {
            ProcessAction::Signal(signal) => return Ok(signal.as_raw()),
            ProcessAction::ClearReferenced => return Ok(0),
            ProcessAction::Set(tunable, value) => (tunable, value),
            ProcessAction::Step(tunable, step) => (tunable, self.tunable(id.pid, tunable) + step),
        };
        self.tunables.insert((id.pid, name(tunable)), value);
        Ok(value)
    }

    fn tunable(&self, pid: u32, tunable: Tunable) -> i32 {
        self.tunables.get(&(pid, name(tunable))).copied().unwrap_or(0)
    }
}

const fn name(tunable: Tunable) -> &'static str {
    match tunable {
        Tunable::OomScoreAdj => "oom_score_adj",
        Tunable::Nice => "nice",
    }
}
