//! Others who share memory with a process come, change and go.

mod estimate;
mod scenes;
mod tree;
mod world;
