//! The container of a process, and its names.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::reading::{Missing, Reading};
use crate::model::unit::without_owner;

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Container {
    /// The id in the cgroup path; if there is none, the name of the container's cgroup. For a container of a user, below that:
    /// `user@1000/3f4ab2c8e9d0…`, since the user may have chosen the id, and its names, too.
    pub id: Box<[u8]>,
    /// The names, or why they are not known.
    pub names: Reading<ContainerNames>,
}

/// The names of a container, raw: others chose them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ContainerNames {
    /// `web`; in Kubernetes, `namespace/pod/container`.
    pub name: Box<[u8]>,
    /// The pod of Kubernetes.
    pub pod: Option<Box<[u8]>>,
    /// The namespace of the pod, or the project of Docker Compose.
    pub namespace: Option<Box<[u8]>>,
    pub image: Option<Box<[u8]>>,
}

impl Container {
    /// Number of digits in the usual short form of an id.
    const SHORT: usize = 12;

    /// Creates a container with a name alone, which is its id too.
    pub fn named(name: impl Into<Box<[u8]>>) -> Arc<Self> {
        let id = name.into();
        let names = ContainerNames {
            name: id.clone(),
            ..ContainerNames::default()
        };
        Arc::new(Self { id, names: Ok(names) })
    }

    /// Creates a container as it was written: with the names that `add` completes, or without for `why` if the name is the
    /// short id.
    pub fn known(id: Box<[u8]>, name: Box<[u8]>, why: Missing, add: impl FnOnce(&mut ContainerNames)) -> Self {
        let mut known = Self { id, names: Err(why) };
        if !known.has_digits() || *name != *known.name() {
            let mut names = ContainerNames {
                name,
                ..ContainerNames::default()
            };
            add(&mut names);
            known.names = Ok(names);
        }
        known
    }

    /// Creates a container of which only its pod is known, as `namespace/pod`.
    pub fn of_pod(pod: &[u8]) -> Arc<Self> {
        let (id, at) = (pod.into(), pod.iter().position(|b| *b == b'/'));
        let (namespace, name) = at.map_or((None, pod), |at| (Some(pod[..at].into()), &pod[at + 1..]));
        let names = ContainerNames {
            name: pod.into(),
            pod: Some(name.into()),
            namespace,
            image: None,
        };
        Arc::new(Self { id, names: Ok(names) })
    }

    /// Returns the name, or the short id if the name is unknown, below the user whose container it is.
    pub fn name(&self) -> &[u8] {
        let hidden = self.id_in_path().len() - self.short_id().len();
        let unnamed = &self.id[..self.id.len() - hidden];
        self.names.as_ref().map_or(unnamed, |names| &names.name)
    }

    /// Returns the first 12 digits of the id, or the whole name of the cgroup if it is no id.
    pub fn short_id(&self) -> &[u8] {
        let id = self.id_in_path();
        if self.has_digits() { &id[..Self::SHORT] } else { id }
    }

    /// Returns the id as the cgroup path has it, without the user.
    pub fn id_in_path(&self) -> &[u8] {
        without_owner(&self.id)
    }

    /// Returns the name for the cgroup at `path`, if `own` is the path of a process in the container: the container's, if it is
    /// its cgroup or below that, and the pod's, if it is right above. `None` if it is neither, or the names are unknown.
    pub fn name_of_cgroup(&self, own: &[u8], path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let names = self.names.as_ref().ok()?;
        let id = self.id_in_path();
        let at = own.windows(id.len().max(1)).rposition(|part| part == id)?;
        let end = own[at..]
            .iter()
            .position(|b| *b == b'/')
            .map_or(own.len(), |len| at + len);
        let above = own[..at].iter().rposition(|b| *b == b'/')?;
        match path.strip_prefix(&own[..end]) {
            Some(rest) if rest.is_empty() || rest.starts_with(b"/") => Some((&*names.name).into()),
            _ if *path == own[..above] => self.pod(),
            _ => None,
        }
    }

    /// Returns true if the id is one, and not the name of a cgroup.
    fn has_digits(&self) -> bool {
        let id = self.id_in_path();
        id.len() >= Self::SHORT && id.iter().all(u8::is_ascii_hexdigit)
    }

    /// Returns `namespace/pod`, which is unique on a machine.
    pub fn pod(&self) -> Option<Cow<'_, [u8]>> {
        let names = self.names.as_ref().ok()?;
        let pod = names.pod.as_deref()?;
        Some(match &names.namespace {
            Some(namespace) => [namespace, &b"/"[..], pod].concat().into(),
            None => pod.into(),
        })
    }

    /// Returns true if the names are still being looked up.
    pub fn is_pending(&self) -> bool {
        matches!(self.names, Err(Missing::Pending))
    }
}
