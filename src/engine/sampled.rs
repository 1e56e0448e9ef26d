//! Chooses the processes whose page faults are sampled: they show the code that keeps their memory. No user and no program has
//! all places while others wait.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::State;
use crate::history::RowHistory;
use crate::history::suspects::Suspect;
use crate::model::Identity;
use crate::trend::{Judgement, Verdict};

/// The time after which a measurement ends if a process waits that was not measured yet. Longer than a leak takes to be called.
const TURN: Duration = Duration::from_secs(20 * 60);

/// A process that is sampled, and for how long it was.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    pub id: Identity,
    pub lasted: Duration,
}

struct Candidate {
    id: Identity,
    uid: Option<u32>,
    program: Option<Arc<[u8]>>,
    is_leak: bool,
    /// `None` if it is not sampled yet.
    lasted: Option<Duration>,
}

impl Candidate {
    fn is_of_same_program(&self, other: &Self) -> bool {
        self.uid == other.uid && self.program == other.program
    }
}

impl State {
    /// Returns at most `most` processes to sample: first those that are sampled and still grow, then the worst waiting ones that are
    /// not `refused`, in turn by program and user. If all places are taken, a waiting process replaces a sampled one whose user has
    /// at least two places more. If the user is the same or has more places, it also replaces:
    /// - a process of a program with at least two places more;
    /// - one that does not leak, if the waiting one leaks;
    /// - one that was sampled for `TURN`, unless the waiting one `was_sampled`.
    pub fn to_sample(
        &self,
        own: u32,
        most: usize,
        running: &[Sampled],
        refused: impl Fn(Identity) -> bool,
        was_sampled: impl Fn(Identity) -> bool,
    ) -> Vec<Identity> {
        let verdict = |id| self.history.get(id).map(|row| row.trend().verdict);
        let grows = |one: &&Sampled| verdict(one.id).is_some_and(Verdict::is_growth);
        let running: Vec<Sampled> = running.iter().filter(grows).copied().collect();
        let candidate = |id: Identity, lasted| Candidate {
            id,
            uid: self.uid(id),
            program: self.history.command(id),
            is_leak: verdict(id) == Some(Verdict::Leaking),
            lasted,
        };
        let mut chosen: Vec<Candidate> = running.iter().map(|one| candidate(one.id, Some(one.lasted))).collect();
        chosen.truncate(most);
        let is_running = |id: Identity| running.iter().any(|one| one.id == id);
        let waiting = self.worth_sampling(own, is_running).into_iter();
        let waiting = waiting.filter(|id| !is_running(*id) && !refused(*id));
        for next in in_turn(waiting.map(|id| candidate(id, None)).collect()) {
            if chosen.len() < most {
                chosen.push(next);
                continue;
            }
            let places = |uid| chosen.iter().filter(|other| other.uid == uid).count();
            let of_program = |one: &Candidate| chosen.iter().filter(|other| other.is_of_same_program(one)).count();
            let yields = |one: &Candidate| {
                let (theirs, mine) = (places(one.uid), places(next.uid));
                let is_fair = one.uid == next.uid || theirs > mine;
                let is_repeated = of_program(one) > of_program(&next) + 1;
                let had_turn = one.lasted.is_some_and(|lasted| lasted >= TURN) && !was_sampled(next.id);
                theirs > mine + 1 || is_fair && (is_repeated || next.is_leak && !one.is_leak || had_turn)
            };
            let candidates = chosen.iter().enumerate();
            let yielding = candidates.filter(|(_, one)| one.lasted.is_some() && yields(one));
            let place = yielding.min_by_key(|(_, one)| (one.is_leak, Reverse(one.lasted)));
            if let Some((place, _)) = place {
                chosen[place] = next;
            }
        }
        chosen.into_iter().map(|one| one.id).collect()
    }

    /// Returns the processes whose page faults show the code that keeps their memory, the worst first: those that grow or leak
    /// in memory that is not reclaimable. If a program is reported instead of its processes, returns one of them: one that
    /// `is_running`, otherwise the fastest. Skips the process `own` and its children.
    fn worth_sampling(&self, own: u32, is_running: impl Fn(Identity) -> bool) -> Vec<Identity> {
        let is_other = |id: &Identity| {
            let sample = self.snapshot.as_ref().and_then(|snapshot| snapshot.row(*id));
            id.pid != own && sample.is_some_and(|sample| sample.stat.ppid != own)
        };
        let fastest = |suspect: &Suspect| {
            let members = self.history.growing();
            let members = members.filter(|(id, _)| self.history.command(*id) == suspect.command);
            let members = members.filter(|(id, _)| suspect.users.count > 1 || self.uid(*id) == suspect.uid());
            let by_slope = |row: &RowHistory| row.trend().slope;
            members.max_by(|(a, one), (b, other)| {
                let by_running = is_running(*a).cmp(&is_running(*b));
                by_running.then(by_slope(one).total_cmp(&by_slope(other)))
            })
        };
        let process = |suspect: &Suspect| match suspect.key.process() {
            None if suspect.alike > 0 => fastest(suspect).map(|(id, _)| id),
            process => process,
        };
        let grows = |suspect: &&Suspect| {
            let Judgement { verdict, metric, .. } = suspect.judgement;
            suspect.is_mapped() && verdict >= Verdict::Growing && !metric.is_reclaimable()
        };
        let suspects = self.living_suspects().filter(grows);
        suspects.filter_map(process).filter(is_other).collect()
    }

    /// Returns the uid of the process's owner: one user may have many subordinate uids.
    fn uid(&self, id: Identity) -> Option<u32> {
        self.snapshot.as_ref()?.row(id)?.facts.owner_uid().ok()
    }
}

/// Orders waiting processes in rounds: the first of each program, then the second of each, and so on. Within a round, users take turns.
fn in_turn(waiting: Vec<Candidate>) -> Vec<Candidate> {
    let (mut of_user, mut of_program) = (HashMap::new(), HashMap::new());
    let mut ranked: Vec<((u32, u32), Candidate)> = Vec::new();
    for one in waiting {
        let repeated: &mut u32 = of_program.entry((one.uid, one.program.clone())).or_default();
        let round: &mut u32 = of_user.entry((*repeated, one.uid)).or_default();
        ranked.push(((*repeated, *round), one));
        (*repeated, *round) = (*repeated + 1, *round + 1);
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, one)| one).collect()
}
