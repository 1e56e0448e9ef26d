//! `zmtop serve`: what is exported, how requests are answered, and what Prometheus makes of it.

mod access;
mod connections;
mod crowd;
mod dashboard;
mod exported;
mod families;
mod hosts;
mod prometheus;
mod push;
mod requests;
mod rules;
mod server;
mod text;
mod tls;
mod unit;
mod web;
