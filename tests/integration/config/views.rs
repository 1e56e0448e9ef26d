//! Files of named views.

use std::fs;
use std::path::PathBuf;

use zmtop::config::views::{View, check_name, delete, file_of, list, read};
use zmtop::config::{Settings, UiSettings, save};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("config.toml")
    }
}

fn chosen() -> UiSettings {
    let default = Settings::default().ui;
    UiSettings {
        by: Some(zmtop::group::GroupBy::User),
        sort: zmtop::columns::find("swap").unwrap(),
        filter: "user:www".into(),
        tree: true,
        ..default
    }
}

#[test]
fn a_view_is_read_as_it_was_saved_and_changes_nothing_else() {
    let folder = Folder::new();
    let mut base = Settings::default();
    let names =
        |base: &Settings| -> Vec<String> { list(&folder.config(), base).into_iter().map(|view| view.name).collect() };
    assert_eq!(names(&base), ["default"], "it needs no file");
    assert!(!list(&folder.config(), &base)[0].is_saved);
    save(&file_of(&folder.config(), "web"), &chosen()).unwrap();
    base.ui.theme = "nord".into();
    base.ui.filter = "not of the view".into();
    let expected = UiSettings {
        theme: "nord".into(),
        ..chosen()
    };
    assert_eq!(read(&folder.config(), "web", &base).unwrap(), expected);
    let all = list(&folder.config(), &base);
    assert!(
        matches!(&all[..], [_, View { name, ui: Ok(ui), .. }] if name == "web" && **ui == expected),
        "{all:?}"
    );
    // The config is the default view, the first of the list.
    save(&folder.config(), &chosen()).unwrap();
    assert_eq!(names(&base), ["default", "web"]);
    assert!(list(&folder.config(), &base).iter().all(|view| view.is_saved));
    assert_eq!(read(&folder.config(), "default", &base).unwrap(), expected);
}

#[test]
fn what_a_view_does_not_set_is_not_that_of_another_view() {
    let folder = Folder::new();
    fs::write(folder.config(), "[ui]\ntree = true\n").unwrap();
    save(&file_of(&folder.config(), "web"), &chosen()).unwrap();
    let mut base = Settings::default();
    base.ui = read(&folder.config(), "web", &base).unwrap();
    let missing = Folder::new();
    assert_eq!(
        read(&missing.config(), "default", &base).unwrap(),
        Settings::default().ui
    );
    let expected = UiSettings {
        tree: true,
        ..Settings::default().ui
    };
    assert_eq!(read(&folder.config(), "default", &base).unwrap(), expected);
}

#[test]
fn a_view_that_is_not_there_names_those_that_are() {
    let folder = Folder::new();
    let base = Settings::default();
    let error = |name| read(&folder.config(), name, &base).unwrap_err().to_string();
    assert!(
        error("web").contains("no view is saved: W in the monitor saves one"),
        "{}",
        error("web")
    );
    save(&file_of(&folder.config(), "web"), &chosen()).unwrap();
    assert!(error("wbe").contains("did you mean `web`?"), "{}", error("wbe"));
    assert!(error("../config").contains("unknown view"), "{}", error("../config"));
}

#[test]
fn a_faulty_view_is_reported_with_its_line_and_is_no_config() {
    let folder = Folder::new();
    let base = Settings::default();
    let file = file_of(&folder.config(), "web");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, "[ui]\nsort = \"nothing\"\n[[alert]]\nname = \"x\"\n").unwrap();
    let error = read(&folder.config(), "web", &base).unwrap_err().to_string();
    assert!(
        error.contains("web.toml:2") && error.contains("a view has only [ui]"),
        "{error}"
    );
    assert!(list(&folder.config(), &base)[1].ui.is_err());
}

#[test]
fn views_are_deleted_but_not_the_config() {
    let folder = Folder::new();
    for name in ["default", "web"] {
        save(&file_of(&folder.config(), name), &chosen()).unwrap();
    }
    delete(&folder.config(), "web").unwrap();
    assert!(!file_of(&folder.config(), "web").exists());
    for name in ["default", "../config", "web"] {
        assert!(delete(&folder.config(), name).is_err(), "{name}");
    }
    assert!(folder.config().exists());
}

#[test]
fn names_are_names_of_files_of_one_folder() {
    for name in ["web", "a", "Größe", "a-b_2"] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in ["", "a/b", "..", ".a", "a.b", "-a", "a b", "a\n"] {
        assert!(check_name(name).is_err(), "{name}");
    }
}
