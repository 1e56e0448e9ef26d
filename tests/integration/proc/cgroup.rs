//! cgroup paths, units and containers.

use zmtop::model::Missing;
use zmtop::proc::cgroup::{CgroupPath, parse};

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Path, unit and container, as text.
fn read(bytes: &str) -> (String, Option<String>, Option<String>) {
    let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
    let place = parse(bytes.as_bytes()).unwrap();
    (text(place.path), place.unit.map(text), place.container.map(text))
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
fn the_innermost_service_or_scope_is_the_unit() {
    for (path, unit) in [
        ("/init.scope", Some("init.scope")),
        ("/system.slice/nginx.service", Some("nginx.service")),
        ("/system.slice/nginx.service/workers", Some("nginx.service")),
        ("/system.slice/nginx.service (deleted)", Some("nginx.service")),
        ("/user.slice/user-1000.slice/session-2.scope", Some("session-2.scope")),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service",
            Some("foot.service"),
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
        ("/", None),
    ] {
        assert_eq!(read(&format!("0::{path}\n")).1.as_deref(), unit, "{path}");
    }
    let hybrid = "9:name=systemd:/system.slice/a.service\n4:memory:/limits/big\n0::/\n";
    assert_eq!(read(hybrid).1.as_deref(), Some("a.service"));
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
fn a_name_of_any_bytes_passes_raw() {
    let bytes = b"0::/a\xff\x1b[2J/\xe2\x80\xae.service\n";
    let place = parse(bytes).unwrap();
    let expected = CgroupPath {
        path: b"/a\xff\x1b[2J/\xe2\x80\xae.service",
        unit: Some(b"\xe2\x80\xae.service"),
        container: None,
    };
    assert_eq!(place, expected);
}
