//! The names of containers, from the files of their engines: Docker, Podman, containerd, CRI-O, Kubernetes and nerdctl.
//!
//! No engine is queried. The files may be missing, unreadable, damaged or huge, and anyone may have chosen the names in them. A
//! file that cannot be used leaves the container without names, never the reader without an answer.

pub mod records;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;

use records::{bundle, docker, log_name, pod_directory, storage};
use tree::Stamp;
pub use tree::Tree;

use crate::model::{ContainerNames, Missing, Reading};

/// A container whose names are to be found.
#[derive(Clone, Debug)]
pub struct Unnamed {
    pub id: Box<[u8]>,
    /// The unique id of its pod in Kubernetes, from the cgroup path.
    pub pod_uid: Option<Box<[u8]>>,
    /// The source of its names at the last lookup.
    pub source: Option<Source>,
}

/// The file or directory that names came from, in the state in which it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: Arc<[u8]>,
    stamp: Stamp,
}

/// The facts found about a container.
#[derive(Clone, Debug)]
pub struct Found {
    pub names: Reading<ContainerNames>,
    pub source: Option<Source>,
}

/// Finds names. Keeps the lists of many containers that it has read, while they stay unchanged.
#[derive(Debug, Default)]
pub struct Finder {
    lists: HashMap<Arc<[u8]>, List>,
}

/// Names by the id of the container, or of the pod.
type Names = Arc<HashMap<Box<[u8]>, ContainerNames>>;

#[derive(Debug)]
struct List {
    stamp: Option<Stamp>,
    names: Names,
    was_used: bool,
}

/// A file that an engine has for each container: the parts of its path before and after the id.
struct PerContainer {
    before: Vec<u8>,
    after: &'static [u8],
    parse: fn(&[u8]) -> Reading<Option<ContainerNames>>,
}

/// A list of many containers.
struct Listing {
    path: Vec<u8>,
    kind: ListKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ListKind {
    /// `containers.json` of Podman and CRI-O.
    Storage,
    /// `/var/log/containers`, whose links are named by pod, namespace, container and id.
    Logs,
    /// `/var/log/pods`, whose directories are named by namespace, pod and the pod's unique id.
    Pods,
    /// A directory of nerdctl, with a file named by each container that has its id.
    Names,
}

/// The files of the engines of one user.
#[derive(Default)]
struct Places {
    single: Vec<PerContainer>,
    lists: Vec<Listing>,
}

/// Maximum size of a file of nerdctl with the id of a container, in bytes: twice the usual length.
const MAX_ID: usize = 128;

impl Finder {
    /// Finds the names of containers of the tree's owner. Returns nothing for a container whose source is unchanged. Calls `progress`
    /// before each container.
    pub fn find(&mut self, tree: &Tree, wanted: &[Unnamed], progress: &dyn Fn()) -> Vec<(usize, Found)> {
        let mut places = None;
        let mut found = Vec::new();
        self.lists.values_mut().for_each(|list| list.was_used = false);
        for (at, container) in wanted.iter().enumerate() {
            progress();
            let source = container.source.as_ref();
            if source.is_some_and(|source| tree.stamp(&source.path).as_ref() == Ok(&source.stamp)) {
                continue;
            }
            let places = places.get_or_insert_with(|| Places::of(tree));
            found.push((at, self.find_one(tree, places, container)));
        }
        if places.is_some() {
            self.lists.retain(|_, list| list.was_used);
        }
        found
    }

    fn find_one(&mut self, tree: &Tree, places: &Places, container: &Unnamed) -> Found {
        let mut why = Missing::OutOfView;
        let mut note = |reason: Missing| {
            if !matches!(reason, Missing::Gone | Missing::Unsupported) {
                why = reason;
            }
        };
        for place in &places.single {
            let path = [&place.before, &*container.id, place.after].concat();
            let read = tree.read(&path);
            let parsed = read.and_then(|(bytes, stamp)| Ok(((place.parse)(&bytes)?, stamp)));
            match parsed {
                Ok((Some(names), stamp)) => return found(names, &path, stamp),
                Ok((None, _)) => {}
                Err(reason) => note(reason),
            }
        }
        for place in &places.lists {
            let key = match place.kind {
                ListKind::Pods => container.pod_uid.as_deref(),
                _ => Some(&*container.id),
            };
            let Some(key) = key else { continue };
            match self.list(tree, place) {
                Ok((names, stamp)) => {
                    let Some(names) = names.get(key) else { continue };
                    let mut names = names.clone();
                    if place.kind == ListKind::Pods {
                        // The directory does not say which of the pod's containers this is.
                        let id = &container.id[..container.id.len().min(12)];
                        names.name = [&names.name, &b"/"[..], id].concat().into();
                    }
                    return found(names, &place.path, stamp);
                }
                Err(reason) => note(reason),
            }
        }
        Found {
            names: Err(why),
            source: None,
        }
    }

    /// Returns the containers in a list, which is read again only if it has changed.
    fn list(&mut self, tree: &Tree, place: &Listing) -> Reading<(Names, Option<Stamp>)> {
        let now = tree.stamp(&place.path)?;
        if let Some(list) = self.lists.get_mut(&*place.path)
            // Within one pass a list is read once even if it changes all the time.
            && (list.was_used || list.stamp.as_ref() == Some(&now))
        {
            list.was_used = true;
            return Ok((Arc::clone(&list.names), list.stamp.clone()));
        }
        let mut names = HashMap::new();
        let stamp = match place.kind {
            ListKind::Storage => {
                let (bytes, stamp) = tree.read(&place.path)?;
                names.extend(storage(&bytes)?.into_iter().take(tree.limits().names));
                stamp
            }
            ListKind::Logs => tree.names(&place.path, |name| names.extend(log_name(name)))?,
            ListKind::Pods => tree.names(&place.path, |name| names.extend(pod_directory(name)))?,
            ListKind::Names => {
                let mut files = Vec::new();
                let stamp = tree.names(&place.path, |name| files.push(name.to_vec()))?;
                for name in files {
                    let id = tree.read_short(&[&*place.path, b"/", &name].concat(), MAX_ID);
                    let Ok((id, _)) = id else { continue };
                    if let Some(own) = ContainerNames::plain(&name) {
                        names.insert(id.trim_ascii().into(), own);
                    }
                }
                stamp
            }
        };
        let names = Arc::new(names);
        let list = List {
            stamp: stamp.clone(),
            names: Arc::clone(&names),
            was_used: true,
        };
        self.lists.insert(place.path.as_slice().into(), list);
        Ok((names, stamp))
    }
}

fn found(names: ContainerNames, path: &[u8], stamp: Option<Stamp>) -> Found {
    let source = stamp.map(|stamp| Source {
        path: path.into(),
        stamp,
    });
    Found {
        names: Ok(names),
        source,
    }
}

impl Places {
    fn of(tree: &Tree) -> Self {
        let (owner, mut places) = (tree.owner(), Self::default());
        if owner == 0 {
            places.add_docker(tree, &docker_root(tree, b"/etc/docker/daemon.json", b"/var/lib/docker"));
            places.add_docker(tree, b"/var/snap/docker/common/var-lib-docker");
            for run in [
                &b"/run/containerd"[..],
                b"/run/k3s/containerd",
                b"/var/snap/microk8s/common/run/containerd",
            ] {
                places.add_bundles(tree, run);
            }
            places.add_storage(tree, b"/run/containers/storage");
            places.add_storage(
                tree,
                &graph_root(tree, b"/etc/containers/storage.conf", b"/var/lib/containers/storage"),
            );
            places.add_list(b"/var/log/containers", ListKind::Logs);
            places.add_list(b"/var/log/pods", ListKind::Pods);
            places.add_nerdctl(tree, b"/var/lib/nerdctl");
            return places;
        }
        let run = format!("/run/user/{owner}/containers").into_bytes();
        places.add_storage(tree, &run);
        if let Some(home) = tree.home() {
            let at = |path: &str| [&home, path.as_bytes()].concat();
            let docker = docker_root(tree, &at("/.config/docker/daemon.json"), &at("/.local/share/docker"));
            places.add_docker(tree, &docker);
            let storage = at("/.local/share/containers/storage");
            places.add_storage(
                tree,
                &graph_root(tree, &at("/.config/containers/storage.conf"), &storage),
            );
            places.add_nerdctl(tree, &at("/.local/share/nerdctl"));
        }
        places
    }

    /// Adds a data root of Docker. With remapped users it has another one below, named by two ids: `165536.165536`.
    fn add_docker(&mut self, tree: &Tree, root: &[u8]) {
        let mut roots = vec![root.to_vec()];
        let is_remapped = |name: &[u8]| name.contains(&b'.') && name.iter().all(|b| b.is_ascii_digit() || *b == b'.');
        roots.extend(children(tree, root, is_remapped));
        self.single.extend(roots.into_iter().map(|root| PerContainer {
            before: [&root, &b"/containers/"[..]].concat(),
            after: b"/config.v2.json",
            parse: docker,
        }));
    }

    /// Adds the bundles of containerd, which are in a directory for each of its namespaces.
    fn add_bundles(&mut self, tree: &Tree, run: &[u8]) {
        let tasks = [run, b"/io.containerd.runtime.v2.task"].concat();
        // The directory may be closed to others, and these namespaces in it open.
        let mut namespaces: Vec<_> = ["k8s.io", "default", "moby"]
            .map(|name| [&tasks, &b"/"[..], name.as_bytes()].concat())
            .into();
        namespaces.extend(children(tree, &tasks, |name| {
            !matches!(name, b"k8s.io" | b"default" | b"moby")
        }));
        self.single.extend(namespaces.into_iter().map(|namespace| PerContainer {
            before: [&namespace, &b"/"[..]].concat(),
            after: b"/config.json",
            parse: bundle,
        }));
    }

    /// Adds a directory of containers/storage, the library of Podman and CRI-O: lists and bundles, for each driver.
    fn add_storage(&mut self, tree: &Tree, root: &[u8]) {
        for driver in children(tree, root, |name| name.ends_with(b"-containers")) {
            // Podman keeps names and images in a list; CRI-O keeps them in each container's bundle.
            for file in ["/containers.json", "/volatile-containers.json"] {
                self.add_list(&[&driver, file.as_bytes()].concat(), ListKind::Storage);
            }
            self.single.push(PerContainer {
                before: [&driver, &b"/"[..]].concat(),
                after: b"/userdata/config.json",
                parse: bundle,
            });
        }
    }

    /// Adds nerdctl's directories of names: one for each socket of containerd and for each namespace.
    fn add_nerdctl(&mut self, tree: &Tree, root: &[u8]) {
        for address in children(tree, root, |_| true) {
            for namespace in children(tree, &[&address, &b"/names"[..]].concat(), |_| true) {
                self.add_list(&namespace, ListKind::Names);
            }
        }
    }

    fn add_list(&mut self, path: &[u8], kind: ListKind) {
        self.lists.push(Listing {
            path: path.into(),
            kind,
        });
    }
}

/// Returns the paths of the entries of a directory that `is_wanted`; none if it cannot be read.
fn children(tree: &Tree, directory: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    let listed = tree.names(directory, |name| {
        if paths.len() < tree.limits().places && is_wanted(name) {
            paths.push([directory, b"/", name].concat());
        }
    });
    if let Err(why) = listed {
        tracing::trace!(%why, "a directory of containers");
    }
    paths
}

/// Returns the data root of Docker that a configuration file names, else the default.
fn docker_root(tree: &Tree, config: &[u8], default: &[u8]) -> Vec<u8> {
    let named = tree
        .read(config)
        .ok()
        .and_then(|(bytes, _)| records::docker_root(&bytes));
    named.unwrap_or_else(|| default.to_vec())
}

/// Returns the root of containers/storage that a configuration file names, else the default.
fn graph_root(tree: &Tree, config: &[u8], default: &[u8]) -> Vec<u8> {
    let named = tree
        .read(config)
        .ok()
        .and_then(|(bytes, _)| records::graph_root(&bytes));
    named.unwrap_or_else(|| default.to_vec())
}
