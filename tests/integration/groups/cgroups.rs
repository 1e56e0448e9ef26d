//! The cgroup that a unit or a container is.

use std::sync::Arc;
use std::time::Duration;

use zmtop::group::GroupBy;
use zmtop::model::{CgroupFigures, Container, ContainerNames, Facts, Missing, ProcessSample, Snapshot};

use super::{bytes, groups, placed};
use crate::support::rows::{MIB, process, snapshot};

/// A snapshot in which every cgroup of these paths, and each above, holds as many MiB as its path has bytes.
fn machine(rows: Vec<ProcessSample>) -> Snapshot {
    let mut snap = snapshot(Duration::ZERO, rows);
    let mut cgroups = std::collections::BTreeMap::new();
    for row in snap.rows() {
        let Ok(path) = &row.facts.cgroup else { continue };
        for end in 1..=path.len() {
            if end == path.len() || path[end] == b'/' {
                let figures = CgroupFigures {
                    current: Ok(end as u64 * MIB),
                    ..CgroupFigures::missing(Missing::Unsupported)
                };
                cgroups.insert(bytes(&path[..end]), figures);
            }
        }
    }
    snap.cgroups = Arc::new(cgroups);
    snap
}

/// Returns the length of the path that the only group of a single process is taken for.
fn taken(by: GroupBy, path: &str, name: &str) -> Option<usize> {
    let name = bytes(name);
    let sample = placed(process(1, 0, "a"), "root", path, |f: &mut Facts| match by {
        GroupBy::Unit => f.unit = Some(name),
        _ => f.container = Some(Container::named(&*name)),
    });
    let made = groups(&machine(vec![sample]), by);
    let current = made[0].cgroup?.current.unwrap();
    Some((current / MIB) as usize)
}

#[test]
fn a_unit_is_the_path_down_to_its_name() {
    let unit = |path, name| taken(GroupBy::Unit, path, name);
    assert_eq!(unit("/system.slice/ssh.service", "ssh.service"), Some(25));
    assert_eq!(unit("/system.slice/ssh.service/inner/more", "ssh.service"), Some(25));
    assert_eq!(unit("/system.slice/_cpu.service/x", "cpu.service"), Some(26));
    assert_eq!(unit("/init.scope", "init.scope"), Some(11));
    assert_eq!(unit("/a.service/b/a.service/c", "a.service"), Some(10));
    assert_eq!(unit("/lxc/7/a.service/a.service/c", "lxc/7/a.service"), Some(26));
    assert_eq!(unit("/user@7.service/ssh.service/x", "user@7/ssh.service"), Some(27));
    assert_eq!(unit("/system.slice/ssh.service (deleted)", "ssh.service"), None);
    // The name came from another hierarchy.
    assert_eq!(unit("/system.slice/openssh.service", "ssh.service"), None);
    assert_eq!(unit("/", "ssh.service"), None);
    assert_eq!(unit("", "ssh.service"), None);
}

#[test]
fn a_container_is_the_path_down_to_its_id() {
    const ID: &str = "0123456789ab";
    let container = |path: &str, name| taken(GroupBy::Container, path, name);
    let long = format!("{ID}{}", "c".repeat(52));
    let of_user = format!("user@7/{long}");
    assert_eq!(container(&format!("/docker/{long}"), ID), Some(8 + 64));
    assert_eq!(container(&format!("/docker/{long}/init"), ID), Some(8 + 64));
    assert_eq!(
        container(&format!("/system.slice/docker-{long}.scope/x"), ID),
        Some(14 + 7 + 64 + 6)
    );
    assert_eq!(container(&format!("/k.slice:cri-containerd:{long}"), ID), Some(24 + 64));
    assert_eq!(container("/lxc.payload.web/init.scope", "web"), Some(16));
    assert_eq!(container("/lxc/web/init.scope", "web"), Some(8));
    assert_eq!(
        container(&format!("/user@7.service/libpod-{long}.scope/x"), &of_user),
        Some(16 + 7 + 64 + 6)
    );
    // Twelve digits in the middle of others are another id's.
    assert_eq!(container(&format!("/docker/ff{long}"), ID), None);
    assert_eq!(container("/lxc/website", "web"), None);
}

#[test]
fn one_name_in_two_places_is_no_one_cgroup() {
    let of = |pid, path| {
        placed(process(pid, 0, "a"), "root", path, |f| {
            f.unit = Some(bytes("app.service"));
        })
    };
    let same = vec![
        of(1, "/u/app.service"),
        of(2, "/u/app.service/x"),
        of(3, "/u/app.service"),
    ];
    assert_eq!(
        groups(&machine(same), GroupBy::Unit)[0].cgroup.unwrap().current,
        Ok(14 * MIB)
    );
    let two = vec![of(1, "/u/app.service"), of(2, "/v/app.service")];
    assert!(groups(&machine(two), GroupBy::Unit)[0].cgroup.is_none());
}

#[test]
fn by_cgroup_it_is_the_path_itself_and_else_there_is_none() {
    let rows = vec![placed(process(1, 0, "a"), "root", "/a/b", |_| {}), process(2, 0, "a")];
    let snap = machine(rows.clone());
    let made = groups(&snap, GroupBy::Cgroup);
    assert_eq!(made[0].cgroup.unwrap().current, Ok(4 * MIB));
    assert_eq!(made[1].cgroup.unwrap().current, Ok(MIB));
    for by in [GroupBy::Command, GroupBy::User, GroupBy::Unit, GroupBy::Container] {
        assert!(groups(&snap, by).iter().all(|g| g.cgroup.is_none()), "{by:?}");
    }
    // A snapshot without figures of cgroups gives the groups none.
    let unasked = groups(&snapshot(Duration::ZERO, rows), GroupBy::Cgroup);
    assert!(unasked.iter().all(|g| g.cgroup.is_none()));
}

#[test]
fn the_cgroup_of_a_container_has_its_name() {
    const ID: &str = "3f4ab2c8e9d03f4ab2c8e9d03f4ab2c8e9d03f4ab2c8e9d03f4ab2c8e9d0abcd";
    let names = |name: &[u8], pod: Option<&[u8]>| ContainerNames {
        name: name.into(),
        pod: pod.map(Into::into),
        namespace: pod.map(|_| (*b"shop").into()),
        image: None,
    };
    let container = |names| Container {
        id: ID.as_bytes().into(),
        names,
    };
    let name = |container: &Container, own: &str, path: &str| {
        let name = container.name_of_cgroup(own.as_bytes(), path.as_bytes());
        name.map(|name| String::from_utf8(name.into_owned()).unwrap())
    };
    let web = container(Ok(names(b"web", None)));
    let scope = format!("/system.slice/docker-{ID}.scope");
    let inner = format!("{scope}/init/worker");
    assert_eq!(name(&web, &inner, &scope).as_deref(), Some("web"));
    assert_eq!(name(&web, &inner, &format!("{scope}/other")).as_deref(), Some("web"));
    assert_eq!(name(&web, &inner, "/system.slice"), None);
    assert_eq!(name(&web, &inner, &format!("{scope}x")), None);
    assert_eq!(name(&web, "/elsewhere", "/elsewhere"), None);
    let app = container(Ok(names(b"shop/checkout/app", Some(b"checkout"))));
    let pod = "/kubepods.slice/kubepods-pod7d9f.slice";
    let own = format!("{pod}/cri-containerd-{ID}.scope");
    assert_eq!(name(&app, &own, &own).as_deref(), Some("shop/checkout/app"));
    assert_eq!(name(&app, &own, pod).as_deref(), Some("shop/checkout"));
    assert_eq!(name(&app, &own, "/kubepods.slice"), None);
    assert_eq!(name(&container(Err(Missing::Denied)), &own, &own), None);
    let lxc = Container::named(*b"");
    assert_eq!(name(&lxc, "/a", "/a"), None);
}
