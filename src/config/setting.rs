//! Settings by their names: each is one entry of `settings!`, beside its field.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::unknown;
use super::fault::Faults;
use super::value_kind::{ValueError, ValueKind};

/// A reference to one setting of a table.
pub struct SettingRef<'a> {
    /// The key in `config.toml`, without its table.
    pub name: &'static str,
    value: Box<dyn AnyValue + 'a>,
}

impl<'a> SettingRef<'a> {
    pub(super) fn new<K: ValueKind + 'a>(name: &'static str, value: &'a mut K::Value, kind: K) -> Self {
        Self {
            name,
            value: Box::new(TypedValue { value, kind }),
        }
    }

    /// Sets it to a value as typed on a command line; after an error it is unchanged.
    ///
    /// # Errors
    /// A description of what is wrong, safe to print.
    pub fn parse(&mut self, text: &str) -> Result<(), String> {
        self.value.parse(text)
    }

    /// Formats its value as TOML on one line.
    pub fn to_toml(&self) -> String {
        self.value.to_toml()
    }
}

/// A value of any kind.
trait AnyValue {
    fn read(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Vec<ValueError>>;
    fn parse(&mut self, text: &str) -> Result<(), String>;
    fn to_toml(&self) -> String;
}

struct TypedValue<'a, K: ValueKind> {
    value: &'a mut K::Value,
    kind: K,
}

impl<K: ValueKind> AnyValue for TypedValue<'_, K> {
    fn read(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Vec<ValueError>> {
        *self.value = self.kind.read(value)?;
        Ok(())
    }

    fn parse(&mut self, text: &str) -> Result<(), String> {
        *self.value = self.kind.parse(text)?;
        Ok(())
    }

    fn to_toml(&self) -> String {
        self.kind.to_toml(self.value)
    }
}

/// Defines a table of settings.
///
/// An entry is a field with its documentation, its type and its [`ValueKind`]; the key is the field's name. For a
/// struct of another module, list the fields with their kinds only.
macro_rules! settings {
    (
        $(#[$doc:meta])*
        pub struct $table:ident {
            $($(#[$field_doc:meta])* pub $field:ident: $type:ty = $kind:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $table {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $table {
            /// Returns a table to read a file into: nothing in it is a default.
            pub(super) fn blank() -> Self {
                Self {
                    $($field: Default::default(),)*
                }
            }
        }

        $crate::config::setting::settings! {
            impl $table {
                $($field = $kind,)*
            }
        }
    };
    (
        impl $table:ident {
            $($field:ident = $kind:expr,)*
        }
    ) => {
        impl $crate::config::setting::SettingsTable for $table {
            fn settings(&mut self) -> Vec<$crate::config::setting::SettingRef<'_>> {
                vec![$(
                    $crate::config::setting::SettingRef::new(stringify!($field), &mut self.$field, $kind),
                )*]
            }
        }
    };
}

pub(super) use settings;

/// A table of settings, made by `settings!`.
pub trait SettingsTable {
    /// Returns every setting, in the order of `config/default.toml`.
    fn settings(&mut self) -> Vec<SettingRef<'_>>;
}

/// Reads the entries of a TOML table, setting by setting, and names everything that cannot be read.
pub(super) fn read_table(name: &str, settings: &mut [SettingRef<'_>], entries: &DeTable<'_>, faults: &mut Faults<'_>) {
    for (entry, value) in entries {
        if faults.full() {
            return;
        }
        let key = format!("{name}.{}", entry.get_ref());
        let Some(setting) = settings.iter_mut().find(|setting| setting.name == *entry.get_ref()) else {
            let what = unknown("key", entry.get_ref(), settings.iter().map(|setting| setting.name));
            faults.add(&entry.span(), &key, what);
            continue;
        };
        for (span, what) in setting.value.read(value).err().into_iter().flatten() {
            faults.add(&span, &key, what);
        }
    }
}
