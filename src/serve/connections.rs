//! The open connections. If there is no room for a new one, it replaces one from the address with the most connections.
//!
//! A client that opens many connections therefore only loses its own, and one from an address with few connections stays.
//! Requests under way fill at most half of the room, so that each new connection has time to send its request.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::lock;

/// The address that identifies a client. A client may use all addresses of its IPv6 network of 64 bits, and every local user
/// all addresses of the loopback: such addresses count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) if !address.is_loopback() => address.into(),
            IpAddr::V6(address) if !address.is_loopback() => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            IpAddr::V4(_) | IpAddr::V6(_) => Ipv4Addr::LOCALHOST.into(),
        })
    }
}

/// The progress of a connection. The lower it is, the sooner the connection is closed for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No request yet.
    Idle,
    /// Its password is being checked, or waits for the check.
    Unproven,
    /// It gets a response, as everybody does.
    Public,
    /// It gets a response since its password or certificate is correct. It is never closed for another.
    Known,
}

pub struct Connections {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// The number of the next connection.
    next: u64,
    /// By number, so the oldest comes first.
    all: BTreeMap<u64, Connection>,
}

struct Connection {
    address: ClientAddress,
    stage: Stage,
    #[expect(dead_code, reason = "closes the connection when dropped")]
    close: oneshot::Sender<()>,
}

/// The place of an open connection, which is free again when this is dropped.
pub struct Place {
    number: u64,
    connections: Arc<Connections>,
}

impl Connections {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            open: Mutex::default(),
        }
    }

    /// Adds a new connection; `None` if there is no room. The receiver is ready once the connection must be closed.
    pub fn admit(self: &Arc<Self>, address: ClientAddress) -> Option<(Place, oneshot::Receiver<()>)> {
        let mut open = lock(&self.open);
        if open.all.len() >= self.max && !open.close_one(Stage::Idle..=Stage::Public) {
            return None;
        }
        let number = open.next;
        open.next += 1;
        let (close, closed) = oneshot::channel();
        let stage = Stage::Idle;
        open.all.insert(number, Connection { address, stage, close });
        let connections = Arc::clone(self);
        Some((Place { number, connections }, closed))
    }

    /// Closes a connection to make room for others, if there is one that may be closed.
    pub(super) fn close_one(&self) {
        lock(&self.open).close_one(Stage::Idle..=Stage::Public);
    }
}

impl Open {
    /// Closes a connection of these stages: the oldest of the lowest stage, of the address with the most of them. Returns
    /// false if there is none.
    fn close_one(&mut self, stages: RangeInclusive<Stage>) -> bool {
        let may_close = || self.all.iter().filter(|(_, one)| stages.contains(&one.stage));
        let mut counts: HashMap<ClientAddress, usize> = HashMap::new();
        for (_, one) in may_close() {
            *counts.entry(one.address).or_default() += 1;
        }
        let most = counts.values().max();
        let of_most = may_close().filter(|(_, one)| counts.get(&one.address) == most);
        let least = of_most.min_by_key(|(_, one)| one.stage).map(|(number, _)| *number);
        least.is_some_and(|number| self.all.remove(&number).is_some())
    }
}

impl Place {
    pub fn reach(&self, stage: Stage) {
        let mut open = lock(&self.connections.open);
        if let Some(connection) = open.all.get_mut(&self.number) {
            connection.stage = stage;
        }
        let under_way = Stage::Unproven..=Stage::Public;
        let count = open.all.values().filter(|one| under_way.contains(&one.stage)).count();
        if count > self.connections.max / 2 {
            open.close_one(under_way);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.connections.open).all.remove(&self.number);
    }
}
