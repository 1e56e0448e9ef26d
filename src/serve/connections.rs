//! The open connections. If there is no room for a new one, it replaces one from the address with the most connections.
//!
//! A client that opens many connections therefore only loses its own, and one from an address with few connections stays.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::lock;

/// The address that identifies a client. In IPv6 it is the network of 64 bits, since a client may use all its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// The progress of a connection. The lower it is, the sooner the connection is closed for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// No request yet.
    Idle,
    /// Its password is being checked, or waits for the check.
    Unproven,
    /// It gets a response, as everybody does.
    Public,
    /// It gets a response since its password or certificate is correct. It is never closed for another.
    Known,
}

#[derive(Debug)]
pub(super) struct Connections {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of the next connection.
    next: u64,
    /// By number, so the oldest comes first.
    all: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    address: ClientAddress,
    stage: Stage,
    /// Closes the connection when dropped.
    _close: oneshot::Sender<()>,
}

/// The place of an open connection, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    connections: Arc<Connections>,
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            open: Mutex::default(),
        }
    }

    /// Adds a new connection; `None` if there is no room. The receiver is ready once the connection must be closed.
    pub(super) fn admit(self: &Arc<Self>, address: ClientAddress) -> Option<(Place, oneshot::Receiver<()>)> {
        let mut open = lock(&self.open);
        if open.all.len() >= self.max {
            let least = open.least()?;
            open.all.remove(&least);
        }
        let number = open.next;
        open.next += 1;
        let (close, closed) = oneshot::channel();
        let connection = Connection {
            address,
            stage: Stage::Idle,
            _close: close,
        };
        open.all.insert(number, connection);
        let place = Place {
            number,
            connections: Arc::clone(self),
        };
        Some((place, closed))
    }
}

impl Open {
    /// Returns the number of the connection to close for another: the oldest of the lowest stage, of the address with the most
    /// connections. `None` if all are known.
    fn least(&self) -> Option<u64> {
        let may_close = || self.all.iter().filter(|(_, one)| one.stage < Stage::Known);
        let mut counts: HashMap<ClientAddress, usize> = HashMap::new();
        for (_, one) in may_close() {
            *counts.entry(one.address).or_default() += 1;
        }
        let most = counts.values().max()?;
        let of_most = may_close().filter(|(_, one)| counts.get(&one.address) == Some(most));
        of_most.min_by_key(|(_, one)| one.stage).map(|(number, _)| *number)
    }
}

impl Place {
    pub(super) fn reach(&self, stage: Stage) {
        if let Some(connection) = lock(&self.connections.open).all.get_mut(&self.number) {
            connection.stage = stage;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.connections.open).all.remove(&self.number);
    }
}
