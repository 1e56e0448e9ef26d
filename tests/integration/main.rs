//! All of the tests, in one binary: one link step.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod act;
mod alerts;
mod arch;
mod assets;
mod cli;
mod columns;
mod config;
mod engine;
mod faults;
mod filter;
mod formats;
mod groups;
mod hard;
mod heap;
mod history;
mod kernel;
mod mapping_diff;
mod maps;
mod marks;
mod mem;
mod oneshot;
mod peers;
mod proc;
mod programs;
mod pty;
mod sampler;
mod screens;
mod sharers;
mod slab;
mod support;
mod text;
mod tree;
mod trend;
mod truth;
mod update;
