//! `zmtop fleet`: snapshots of a Prometheus's answers, and the monitor over a server that answers well or badly.

mod faults;
mod real;
mod server;
mod source;
mod tls;
