//! Files of a user in TOML: settings with alerts and views, keys and themes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::path::Path;
use zmtop::config::alerts;
use zmtop::config::keymap::Keymap;
use zmtop::config::settings::Settings;
use zmtop::config::theme::Theme;

fuzz_target!(|bytes: &[u8]| {
    let file = Path::new("config.toml");
    match Settings::parse(file, bytes.to_vec()) {
        Ok(mut settings) => {
            black_box(alerts::rules(&settings.alerts).len());
            for (_, entries) in settings.tables() {
                entries.iter().for_each(|entry| {
                    black_box(entry.to_toml());
                });
            }
        }
        Err(error) => {
            black_box(error.to_string());
        }
    }
    black_box(
        Keymap::parse(file, bytes.to_vec())
            .map_err(|error| error.to_string())
            .is_ok(),
    );
    black_box(
        Theme::default()
            .parse(file, bytes.to_vec())
            .map_err(|error| error.to_string())
            .is_ok(),
    );
    // A single value, as the monitor reads it.
    let text = String::from_utf8_lossy(bytes);
    if let Some((key, value)) = text.split_once('\n')
        && let Some(mut setting) = Settings::default().setting(key)
    {
        let _ = setting.parse(value);
        black_box(setting.to_toml());
    }
});
