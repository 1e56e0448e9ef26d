//! Applies a config that was read again while the monitor runs.

use crate::alert::Rule;
use crate::config::{Config, Settings, alerts};
use crate::tui::app::{App, Screen};
use crate::tui::event::Effect;

/// The settings that are applied at once. Others are named: they apply from the next start.
const APPLIED: [&str; 4] = ["ui.columns", "ui.group_columns", "ui.theme", "ui.charset"];

/// Applies the settings that can change while zmtop runs, and reports the changes. A faulty config changes nothing.
pub(super) fn on_config(app: &mut App, read: Result<Box<Config>, String>) -> Vec<Effect> {
    let new = match read {
        Ok(new) => *new,
        Err(why) => {
            // The reason comes first, as a line has little room.
            let stays = "the previous config stays in force (zmtop config check lists all errors)";
            app.screen.fail(format!("{why}; {stays}"));
            app.config_fault = Some(why);
            return Vec::new();
        }
    };
    let was_faulty = app.config_fault.take().is_some();
    let mut later = changed(app, &new.settings);
    let mut said = Vec::new();
    let mut effects = Vec::new();
    let old = &mut app.config;
    if old.keymap != new.keymap {
        old.keymap = new.keymap;
        said.push("keys".to_owned());
    }
    let (ui, new_ui) = (&mut old.settings.ui, new.settings.ui);
    if old.theme != new.theme || old.ascii != new.ascii {
        (old.theme, old.if_light, old.ascii) = (new.theme, new.if_light, new.ascii);
        (ui.theme, ui.charset) = (new_ui.theme, new_ui.charset);
        said.push("theme".to_owned());
    }
    let shown = (&mut app.tables.columns, &mut app.tables.group_columns);
    let mut has_columns = false;
    for (shown, (was, is)) in [
        (shown.0, (&mut ui.columns, new_ui.columns)),
        (shown.1, (&mut ui.group_columns, new_ui.group_columns)),
    ] {
        if *was != is {
            has_columns |= *shown != is;
            shown.clone_from(&is);
            *was = is;
        }
    }
    if has_columns {
        said.push("columns".to_owned());
    }
    let has_alerts = old.settings.alerts != new.settings.alerts;
    if has_alerts && app.replay.as_ref().is_some_and(|replay| replay.is_visit) {
        // The live monitor goes on by its rules.
        later.push("alert".into());
    } else if has_alerts {
        let was = std::mem::replace(&mut old.settings.alerts, new.settings.alerts);
        let is = &old.settings.alerts;
        let rules: Vec<Rule> = alerts::rules(is);
        app.engine
            .alerts
            .replace(rules, |at| was.iter().position(|rule| Some(rule) == is.get(at)));
        let numbers = app.engine.alerts.rules().map(|rule| rule.number);
        effects.push(Effect::NotifyBy(numbers.zip(is.iter().cloned()).collect()));
        said.push(match old.settings.replaced_alerts().len() {
            0 => "alerts".into(),
            off => format!("alerts (replace {off} shipped ones)"),
        });
    }
    app.apply_columns();
    let mut text = format!("config reloaded: {}", said.join(", "));
    if said.is_empty() {
        text = "config reloaded".into();
    }
    if !later.is_empty() {
        text = format!("{text}; takes effect after a restart: {}", later.join(", "));
    }
    let faults: Vec<String> = new.unread.into_iter().chain(new.warnings).collect();
    if !faults.is_empty() {
        app.screen.fail(format!("{text}; {}", faults.join("; ")));
    } else if was_faulty || !(said.is_empty() && later.is_empty()) {
        // Nothing is said of what W itself has saved.
        app.screen.say(text);
        app.screen.let_go(Screen::NEWS);
    }
    effects
}

/// Returns the keys of the settings that differ from those in force, except those that are applied at once.
fn changed(app: &App, new: &Settings) -> Vec<String> {
    let mut now = app.config.settings.clone();
    let mut shown = Settings {
        ui: app.saved(),
        ..now.clone()
    };
    let mut new = new.clone();
    let (now, shown, new) = (values(&mut now), values(&mut shown), values(&mut new));
    let all = now.into_iter().zip(shown).zip(new);
    let is_new = all.filter(|(((_, now), (_, shown)), (_, new))| new != now && new != shown);
    let keys = is_new.map(|(_, (key, _))| key);
    keys.filter(|key| !APPLIED.contains(&&**key)).collect()
}

/// Returns all settings but the alerts: their keys and their values as TOML.
fn values(settings: &mut Settings) -> Vec<(String, String)> {
    let tables = settings.tables().into_iter();
    let values = tables.flat_map(|(table, settings)| {
        let value = move |setting: crate::config::setting::SettingRef<'_>| {
            (format!("{table}.{}", setting.name), setting.to_toml())
        };
        settings.into_iter().map(value).collect::<Vec<_>>()
    });
    values.collect()
}
