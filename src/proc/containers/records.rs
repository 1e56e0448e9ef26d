//! Parses what engines write about a container. Pure. Texts are cut and checked, but raw: anyone may have chosen them.

use std::collections::HashMap;

use serde::Deserialize;

use crate::model::{ContainerNames, Missing, Reading};

/// Maximum length of a name or an image, in bytes. Names of Kubernetes have at most 253.
const LONGEST: usize = 255;

impl ContainerNames {
    /// Creates names of which only the name is known; `None` if it is empty.
    pub(super) fn plain(name: &[u8]) -> Option<Self> {
        let name = name.strip_prefix(b"/").unwrap_or(name);
        let name = checked(name)?;
        Some(Self {
            name,
            ..Self::default()
        })
    }

    /// Creates the names of a container of Kubernetes.
    fn of_pod(namespace: &[u8], pod: &[u8], container: &[u8], image: Option<&str>) -> Option<Self> {
        let (namespace, pod) = (checked(namespace)?, checked(pod)?);
        let name = [&namespace, &b"/"[..], &pod, b"/", &checked(container)?].concat();
        Some(Self {
            name: name.into(),
            pod: Some(pod),
            namespace: Some(namespace),
            image: checked_text(image),
        })
    }

    /// Creates the names that labels or annotations have, as Kubernetes, Docker Compose and nerdctl set them.
    fn of_labels(labels: &Labels, image: Option<&str>) -> Option<Self> {
        let get = |keys: &[&str]| {
            let mut found = keys.iter().filter_map(|key| labels.get(*key)?.as_str());
            found.find(|text| !text.is_empty())
        };
        let image = image.or_else(|| {
            get(&[
                "io.kubernetes.cri.image-name",
                "io.kubernetes.cri-o.ImageName",
                "nerdctl/image-name",
            ])
        });
        let pod = get(&["io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"]);
        let namespace = get(&["io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"]);
        if let (Some(pod), Some(namespace)) = (pod, namespace) {
            // The container that holds the namespaces of a pod has no name of its own. cAdvisor and Docker call it so.
            let container = get(&["io.kubernetes.cri.container-name", "io.kubernetes.container.name"]);
            let container = container.unwrap_or("POD");
            return Self::of_pod(namespace.as_bytes(), pod.as_bytes(), container.as_bytes(), image);
        }
        let mut names = Self::plain(get(&["nerdctl/name"])?.as_bytes())?;
        names.namespace = checked_text(get(&[COMPOSE_PROJECT]));
        names.image = checked_text(image);
        Some(names)
    }
}

/// The label of the project of Docker Compose.
const COMPOSE_PROJECT: &str = "com.docker.compose.project";

/// Values other than texts are ignored.
type Labels = HashMap<String, serde_json::Value>;

/// Returns a text that is neither empty nor longer than allowed.
fn checked(text: &[u8]) -> Option<Box<[u8]>> {
    let text = &text[..text.len().min(LONGEST)];
    (!text.is_empty()).then(|| text.into())
}

fn checked_text(text: Option<&str>) -> Option<Box<[u8]>> {
    checked(text?.as_bytes())
}

fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Reading<T> {
    serde_json::from_slice(bytes).map_err(|_| Missing::Malformed)
}

#[derive(Deserialize)]
struct DockerContainer {
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "Config", default)]
    config: Option<DockerConfig>,
}

#[derive(Default, Deserialize)]
struct DockerConfig {
    #[serde(rename = "Image", default)]
    image: Option<String>,
    #[serde(rename = "Labels", default)]
    labels: Option<Labels>,
}

/// Parses Docker's `config.v2.json`. A container of cri-dockerd has the labels of Kubernetes.
pub fn docker(bytes: &[u8]) -> Reading<Option<ContainerNames>> {
    let container: DockerContainer = parse(bytes)?;
    let config = container.config.unwrap_or_default();
    let (labels, image) = (config.labels.unwrap_or_default(), config.image.as_deref());
    let of_labels = ContainerNames::of_labels(&labels, image).filter(|names| names.pod.is_some());
    Ok(of_labels.or_else(|| {
        let mut names = ContainerNames::plain(container.name.as_bytes())?;
        names.image = checked_text(image);
        names.namespace = checked_text(labels.get(COMPOSE_PROJECT).and_then(|project| project.as_str()));
        Some(names)
    }))
}

#[derive(Deserialize)]
struct Bundle {
    #[serde(default)]
    annotations: Option<Labels>,
}

/// Parses the `config.json` of an OCI bundle, whose annotations containerd, CRI-O and nerdctl set.
pub fn bundle(bytes: &[u8]) -> Reading<Option<ContainerNames>> {
    let bundle: Bundle = parse(bytes)?;
    Ok(bundle
        .annotations
        .and_then(|annotations| ContainerNames::of_labels(&annotations, None)))
}

#[derive(Deserialize)]
struct StoredContainer {
    id: String,
    #[serde(default)]
    names: Option<Vec<String>>,
    /// A document in a text.
    #[serde(default)]
    metadata: Option<String>,
}

#[derive(Default, Deserialize)]
struct StoredMetadata {
    #[serde(rename = "image-name", default)]
    image: Option<String>,
}

/// Parses `containers.json` of containers/storage.
pub fn storage(bytes: &[u8]) -> Reading<Vec<(Box<[u8]>, ContainerNames)>> {
    let containers: Vec<StoredContainer> = parse(bytes)?;
    let named = containers.into_iter().filter_map(|container| {
        let name = container.names?.into_iter().next()?;
        let metadata: StoredMetadata = container
            .metadata
            .and_then(|text| parse(text.as_bytes()).ok())
            .unwrap_or_default();
        // CRI-O: k8s_<container>_<pod>_<namespace>_<uid>_<attempt>.
        let mut parts = name.split('_');
        let image = metadata.image.as_deref();
        let names = match (parts.next(), parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("k8s"), Some(container), Some(pod), Some(namespace), Some(_)) => {
                ContainerNames::of_pod(namespace.as_bytes(), pod.as_bytes(), container.as_bytes(), image)
            }
            _ => ContainerNames::plain(name.as_bytes()).map(|names| ContainerNames {
                image: checked_text(image),
                ..names
            }),
        };
        Some((checked(container.id.as_bytes())?, names?))
    });
    Ok(named.collect())
}

/// Parses a name in `/var/log/containers`: `<pod>_<namespace>_<container>-<id>.log`.
pub fn log_name(name: &[u8]) -> Option<(Box<[u8]>, ContainerNames)> {
    let mut parts = name.strip_suffix(b".log")?.splitn(3, |b| *b == b'_');
    let (pod, namespace, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let at = rest.iter().rposition(|b| *b == b'-')?;
    let names = ContainerNames::of_pod(namespace, pod, &rest[..at], None)?;
    Some((checked(&rest[at + 1..])?, names))
}

/// Parses a name in `/var/log/pods`: `<namespace>_<pod>_<uid>`. It names only the pod.
pub fn pod_directory(name: &[u8]) -> Option<(Box<[u8]>, ContainerNames)> {
    let mut parts = name.splitn(3, |b| *b == b'_');
    let (namespace, pod, uid) = (checked(parts.next()?)?, checked(parts.next()?)?, parts.next()?);
    let names = ContainerNames {
        name: [&namespace, &b"/"[..], &pod].concat().into(),
        pod: Some(pod),
        namespace: Some(namespace),
        image: None,
    };
    Some((checked(uid)?, names))
}

/// Returns the data root in Docker's `daemon.json`.
pub fn docker_root(bytes: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Daemon {
        #[serde(rename = "data-root", default)]
        data_root: Option<String>,
    }
    let daemon: Daemon = parse(bytes).ok()?;
    absolute(daemon.data_root?)
}

/// Returns `graphroot` in `storage.conf`.
pub fn graph_root(bytes: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Config {
        storage: Option<Storage>,
    }
    #[derive(Deserialize)]
    struct Storage {
        graphroot: Option<String>,
    }
    let config: Config = toml::from_str(std::str::from_utf8(bytes).ok()?).ok()?;
    absolute(config.storage?.graphroot?)
}

/// Returns a path that begins with a slash and has no variables.
fn absolute(path: String) -> Option<Vec<u8>> {
    (path.starts_with('/') && !path.contains('$')).then(|| path.into_bytes())
}
