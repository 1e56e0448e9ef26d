//! cgroup paths, units and containers.

use proptest::prelude::*;
use zmtop::model::Missing;
use zmtop::proc::cgroup::container::{owner, pod_uid};
use zmtop::proc::cgroup::{CgroupPath, parse};

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Path, unit and container, as text.
fn read(bytes: &str) -> (String, Option<String>, Option<String>) {
    let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
    let place = parse(bytes.as_bytes()).unwrap();
    let container = place.container.map(|found| match found.name {
        Some(name) => text(&name),
        None => found.id.iter().take(12).map(|b| char::from(*b)).collect(),
    });
    (text(place.path), place.unit.map(|unit| text(&unit)), container)
}

#[test]
fn the_hierarchy_that_tells_most_is_taken() {
    for (bytes, path) in [
        ("0::/init.scope\n", "/init.scope"),
        ("4:memory:/a\n", "/a"),
        ("4:cpu,memory:/a\n0::/\n", "/a"),
        ("4:memory:/\n0::/b\n", "/b"),
        ("4:memory:/\n0::/\n", "/"),
        ("4:memory:/a\n0::/b\n", "/a"),
        ("9:name=systemd:/c\n8:pids:/d\n", "/c"),
        ("0::/with:colons/and more\n", "/with:colons/and more"),
    ] {
        assert_eq!(read(bytes).0, path, "{bytes}");
    }
    for bad in ["", "\n", "0:\n", "8:pids:/d\n"] {
        assert_eq!(parse(bad.as_bytes()), Err(Missing::Malformed), "{bad}");
    }
}

#[test]
fn the_service_or_scope_below_slices_is_the_unit() {
    for (path, unit) in [
        ("/init.scope", Some("init.scope")),
        ("/system.slice/nginx.service", Some("nginx.service")),
        ("/system.slice/nginx.service/workers", Some("nginx.service")),
        ("/system.slice/nginx.service (deleted)", Some("nginx.service")),
        ("/user.slice/user-1000.slice/session-2.scope", Some("session-2.scope")),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service",
            Some("user@1000/foot.service"),
        ),
        // A user may give any name to a cgroup below its service manager.
        (
            "/user.slice/user-1000.slice/user@1000.service/user@0.service/system.slice/_ssh.service/x",
            Some("user@1000/ssh.service"),
        ),
        (
            "/user.slice/user-1000.slice/user@1000.service/init.scope (deleted)",
            Some("user@1000/init.scope"),
        ),
        (
            "/user.slice/user-1000.slice/user@1000.service",
            Some("user@1000.service"),
        ),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice",
            Some("user@1000.service"),
        ),
        (
            "/system.slice/system-getty.slice/getty@tty1.service",
            Some("getty@tty1.service"),
        ),
        ("/system.slice/dev-sda2.swap", Some("dev-sda2.swap")),
        ("/system.slice/boot.mount", Some("boot.mount")),
        ("/system.slice/cups.socket", Some("cups.socket")),
        ("/system.slice/_cpu.service", Some("cpu.service")),
        ("/user.slice/user-1000.slice", Some("user-1000.slice")),
        ("/.service", None),
        ("/my/own/group", None),
        // The owner of a cgroup that is no slice chose all names below it.
        (
            "/system.slice/app.service/system.slice/sshd.service",
            Some("app.service"),
        ),
        (
            "/machine.slice/libpod-7.scope/container/system.slice/a.service",
            Some("libpod-7.scope"),
        ),
        ("/kubepods.slice/pod/system.slice/a.service", Some("kubepods.slice")),
        ("/games/system.slice/sshd.service/x", Some("games/sshd.service")),
        (
            "/games/user.slice/user-6.slice/user@6.service/app.slice/_foot.service",
            Some("games/foot.service"),
        ),
        ("/lxc/101/ns/system.slice/a.service", Some("lxc/101/ns/a.service")),
        ("/games/x/system.slice", None),
        // Seen from inside a cgroup namespace.
        ("/../../system.slice/nginx.service", Some("nginx.service")),
        ("/", None),
    ] {
        assert_eq!(read(&format!("0::{path}\n")).1.as_deref(), unit, "{path}");
    }
    let hybrid = "9:name=systemd:/system.slice/a.service\n4:memory:/limits/big\n0::/\n";
    assert_eq!(read(hybrid).1.as_deref(), Some("a.service"));
    for memory in ["/system.slice", "/games/sshd.service"] {
        let separate = format!("9:name=systemd:/system.slice/a.service\n4:memory:{memory}\n");
        assert_eq!(read(&separate).1.as_deref(), Some("a.service"), "{memory}");
    }
}

const NAMES: [&str; 9] = [
    "a.slice",
    "b.slice",
    "c.service",
    "d.scope",
    "e.mount",
    "user@7.service",
    "own",
    "..",
    "",
];

#[test]
fn an_owner_has_all_cgroups_below_one() {
    for (path, owned) in [
        ("/", "/"),
        ("/shop", "/shop"),
        ("/own/a/b.service", "/own"),
        ("/system.slice/web.service/sub", "/system.slice/web.service"),
        ("/user.slice", "/user.slice"),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope",
            "/user.slice/user-1000.slice",
        ),
        (
            "/user.slice/user-1000.slice/session-3.scope",
            "/user.slice/user-1000.slice",
        ),
        ("/docker", "/docker"),
        ("/docker/aa/inner/b", "/docker/aa"),
        ("/own/docker/aa", "/own"),
        ("/kubepods/burstable/podx/cc", "/kubepods/burstable/podx"),
        ("/kubepods/podx/cc", "/kubepods/podx"),
        (
            "/kubepods.slice/kubepods-podx.slice/cri-cc.scope/x",
            "/kubepods.slice/kubepods-podx.slice/cri-cc.scope",
        ),
        ("/../sibling/a", "/../sibling"),
    ] {
        let found = zmtop::model::unit::owned_path(path.as_bytes());
        assert_eq!(String::from_utf8_lossy(found), owned, "{path}");
    }
}

proptest! {
    #[test]
    fn no_owner_of_a_cgroup_chooses_the_name_of_a_unit_of_the_system(
        names in prop::collection::vec(prop::sample::select(&NAMES), 0..7),
        end in prop::sample::select(&["", " (deleted)", "/"]),
    ) {
        let path = format!("/{}{end}", names.join("/"));
        let unit = read(&format!("0::{path}\n")).1;
        let names: Vec<&str> = names.into_iter().filter(|name| !["", ".."].contains(name)).collect();
        let is_slice = |name: &&&str| ["a.slice", "b.slice"].contains(*name);
        let first = names.iter().find(|name| !is_slice(name));
        let slice = names.iter().take_while(is_slice).last();
        match unit.as_deref() {
            Some(unit) if unit.contains('/') => {
                prop_assert!(unit.starts_with("user@7/") || slice.is_none() && unit.starts_with("own/"), "{path}: {unit}");
            }
            Some(unit) => prop_assert!([first, slice].contains(&Some(&unit)), "{path}: {unit}"),
            None => prop_assert!(slice.is_none() && first.is_none_or(|first| !first.contains('.')), "{path}"),
        }
    }
}

#[test]
fn containers_are_known_by_their_paths() {
    let id = Some("0123456789ab");
    for (path, container) in [
        (format!("/system.slice/docker-{ID}.scope"), id),
        (format!("/docker/{ID}"), id),
        (format!("/docker/{ID}/system.slice/a.service"), id),
        (format!("/machine.slice/libpod-{ID}.scope/container"), id),
        (
            format!("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope"),
            id,
        ),
        (
            format!("/kubepods.slice/kubepods-pod7.slice/cri-containerd-{ID}.scope"),
            id,
        ),
        (format!("/kubepods.slice/kubepods-pod7.slice/crio-{ID}.scope"), id),
        (format!("/kubepods/burstable/pod7/{ID}"), id),
        (format!("/system.slice/kubepods-pod7.slice:cri-containerd:{ID}"), id),
        (format!("/ecs/task/{ID}"), id),
        ("/docker/0123456789ab".into(), id),
        ("/lxc/web/init.scope".into(), Some("web")),
        ("/lxc.payload.web/init.scope".into(), Some("web")),
        ("/lxc.payload/web".into(), Some("web")),
        ("/lxc.payload.".into(), None),
        (format!("/system.slice/nerdctl-{ID}.scope"), id),
        (format!("/system.slice/web.service/libpod-payload-{ID}"), id),
        (
            r"/machine.slice/machine-deb\x2dtest.scope/payload".into(),
            Some("deb-test"),
        ),
        (r"/machine.slice/machine-a\x2.scope".into(), Some(r"a\x2")),
        (
            r"/machine.slice/systemd-nspawn@deb\x2dtest.service/payload/init.scope".into(),
            Some("deb-test"),
        ),
        ("/machine.slice/machine-.scope".into(), None),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.mozilla.firefox-1234.scope".into(),
            Some("org.mozilla.firefox"),
        ),
        ("/user.slice/app-flatpak-x.scope".into(), None),
        ("/user.slice/snap.firefox.firefox-0f1e.scope".into(), Some("firefox")),
        ("/system.slice/snap.lxd.daemon.service".into(), Some("lxd")),
        ("/system.slice/snap.scope".into(), None),
        (
            "/nomad.slice/share.slice/88c00a72-09fa-4f0b-b2e7-185fcaff3b0d.api.scope".into(),
            Some("api"),
        ),
        ("/nomad/é8c00a72-09fa-4f0b-b2e7-185fcaff3b0d.api".into(), None),
        ("/garden/7ef4-b1".into(), Some("7ef4-b1")),
        (format!("/machine.slice/libpod-conmon-{ID}.scope"), None),
        ("/docker/buildkit".into(), None),
        ("/docker/0123".into(), None),
        ("/process_api/2c32e2a756e041e8871a30d6c086948d".into(), None),
        ("/system.slice/docker.service".into(), None),
        (format!("/system.slice/docker-{}.scope", ID.to_uppercase()), None),
    ] {
        assert_eq!(read(&format!("0::{path}\n")).2.as_deref(), container, "{path}");
    }
}

#[test]
fn the_path_says_the_owner_and_the_pod() {
    let pod = |path: &str| pod_uid(path.as_bytes()).map(|uid| String::from_utf8(uid).unwrap());
    let uid = Some("88c00a72-09fa-4f0b-b2e7-185fcaff3b0d".to_owned());
    let below = "88c00a72_09fa_4f0b_b2e7_185fcaff3b0d.slice/cri-containerd-0123456789ab.scope";
    for start in [
        "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod",
        "/kubepods.slice/kubepods-pod",
        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod",
    ] {
        assert_eq!(pod(&format!("{start}{below}")), uid, "{start}");
    }
    assert_eq!(
        pod("/kubepods/burstable/pod88c00a72-09fa-4f0b-b2e7-185fcaff3b0d/0123456789ab"),
        uid
    );
    for path in [
        "/kubepods.slice/kubepods-podx.slice",
        "/machine.slice/libpod-0123456789ab.scope",
        "/podcafecafe",
        "/",
    ] {
        assert_eq!(pod(path), None, "{path}");
    }
    assert_eq!(
        owner(b"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0123.scope"),
        1000
    );
    assert_eq!(
        owner(b"/user.slice/user-1000.slice/user@1000.service/user-0.slice/user-7.slice/docker-0123.scope"),
        1000
    );
    assert_eq!(
        owner(b"/../../user.slice/user-1000.slice/user@1000.service/libpod-0123.scope"),
        1000
    );
    for path in [
        "/machine.slice/libpod-0123.scope",
        "/user.slice/user-x.slice",
        "/user.slice/user-99999999999.slice",
        "/games/user.slice/user-6.slice/libpod-0123.scope",
    ] {
        assert_eq!(owner(path.as_bytes()), 0, "{path}");
    }
}

#[test]
fn a_name_of_any_bytes_passes_raw() {
    let bytes = b"0::/a\xff\x1b[2J/\xe2\x80\xae.service\n";
    let place = parse(bytes).unwrap();
    let expected = CgroupPath {
        path: b"/a\xff\x1b[2J/\xe2\x80\xae.service",
        unit: Some(b"a\xff\x1b[2J/\xe2\x80\xae.service".into()),
        container: None,
    };
    assert_eq!(place, expected);
}
