//! The file in YAML with users, TLS and headers of the exporter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::path::Path;
use zmtop::serve::web::WebConfig;

fuzz_target!(|text: &str| {
    match WebConfig::parse(Path::new("/web.yml"), text) {
        Ok(config) => {
            black_box((config.is_guarded(), config.guard_lost_in(&WebConfig::default())));
        }
        Err(error) => {
            black_box(error.to_string());
        }
    }
});
