//! The names of containers: from the files of each engine, from damaged files, and when they are looked up again.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zmtop::model::{Container, ContainerNames, Missing, Reading};
use zmtop::proc::containers::{Finder, Tree, Unnamed};
use zmtop::proc::files::Roots;
use zmtop::sampler::Scanner;
use zmtop::sampler::containers::{ContainerPlace, Containers, Lookup, RECHECK};

use super::{block_on, row};
use crate::support::tree::ProcTree;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const UID: &str = "88c00a72-09fa-4f0b-b2e7-185fcaff3b0d";

fn unnamed() -> Unnamed {
    Unnamed {
        id: ID.as_bytes().into(),
        pod_uid: Some(UID.as_bytes().into()),
        source: None,
    }
}

fn open(tree: &ProcTree, owner: u32) -> Tree {
    Tree::open(&Roots::new(Some(&tree.root())), owner).unwrap()
}

fn find(tree: &ProcTree, owner: u32) -> Reading<ContainerNames> {
    let mut found = Finder::default().find(&open(tree, owner), &[unnamed()], &|| ());
    found.remove(0).1.names
}

/// Gives a directory or file, and all in it, to a user, but not what its links lead to. Only root can.
fn give(path: &Path, owner: u32) {
    use std::os::unix::fs::lchown;
    if rustix::process::geteuid().is_root() {
        lchown(path, Some(owner), Some(owner)).unwrap();
    }
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), owner);
        }
    }
}

/// Returns name, pod, namespace and image.
fn texts(names: ContainerNames) -> [String; 4] {
    let text = |bytes: Option<Box<[u8]>>| String::from_utf8(bytes.unwrap_or_default().into()).unwrap();
    [
        text(Some(names.name)),
        text(names.pod),
        text(names.namespace),
        text(names.image),
    ]
}

const DOCKER: &str = r#"{"StreamConfig":{},"State":{"Pid":7,"Health":null},"ID":"x","Image":"sha256:77","Name":"/shop-web-1",
    "Config":{"Image":"nginx:1.27","Labels":{"com.docker.compose.project":"shop","com.docker.compose.service":"web"}}}"#;
const CRI_DOCKERD: &str = r#"{"Name":"/k8s_app_checkout-7d9f_shop_uid_0","Config":{"Image":"app:3","Labels":
    {"io.kubernetes.container.name":"app","io.kubernetes.pod.name":"checkout-7d9f","io.kubernetes.pod.namespace":"shop"}}}"#;
const CONTAINERD: &str = r#"{"ociVersion":"1.2.0","process":{"args":["/app"]},"annotations":{
    "io.kubernetes.cri.container-name":"app","io.kubernetes.cri.container-type":"container","io.kubernetes.cri.image-name":"app:3",
    "io.kubernetes.cri.sandbox-name":"checkout-7d9f","io.kubernetes.cri.sandbox-namespace":"shop"}}"#;
const SANDBOX: &str = r#"{"annotations":{"io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri.sandbox-name":"checkout-7d9f",
    "io.kubernetes.cri.sandbox-namespace":"shop"}}"#;
const CRIO: &str = r#"{"annotations":{"io.container.manager":"cri-o","io.kubernetes.container.name":"app","io.kubernetes.pod.name":
    "checkout-7d9f","io.kubernetes.pod.namespace":"shop","io.kubernetes.cri-o.ImageName":"app:3"}}"#;
const NERDCTL: &str = r#"{"annotations":{"nerdctl/name":"web","nerdctl/namespace":"default"}}"#;
const STORAGE: &str = r#"[{"id":"ff","names":["other"]},{"id":"ID","names":["web"],"image":"77",
    "metadata":"{\"image-name\":\"docker.io/library/nginx:1.27\",\"name\":\"web\"}","flags":{"ProcessLabel":""}}]"#;
const STORED_BY_CRIO: &str =
    r#"[{"id":"ID","names":["k8s_app_checkout-7d9f_shop_uid_0","x"],"metadata":"{\"image-name\":\"app:3\"}"}]"#;

const APP: [&str; 4] = ["shop/checkout-7d9f/app", "checkout-7d9f", "shop", "app:3"];
const POD_ALONE: [&str; 4] = ["shop/checkout-7d9f/0123456789ab", "checkout-7d9f", "shop", ""];
const OF_COMPOSE: [&str; 4] = ["shop-web-1", "", "shop", "nginx:1.27"];
const WEB: [&str; 4] = ["web", "", "", ""];
const STORED: [&str; 4] = ["web", "", "", "docker.io/library/nginx:1.27"];

#[expect(clippy::too_many_lines, reason = "a table of the engines")]
#[test]
fn each_engine_says_the_names_in_its_own_files() {
    let without_image = ["shop/checkout-7d9f/app", "checkout-7d9f", "shop", ""];
    for (owner, path, content, expected) in [
        (0, "var/lib/docker/containers/ID/config.v2.json", DOCKER, OF_COMPOSE),
        (0, "var/lib/docker/containers/ID/config.v2.json", CRI_DOCKERD, APP),
        (
            0,
            "var/lib/docker/165536.165536/containers/ID/config.v2.json",
            DOCKER,
            OF_COMPOSE,
        ),
        (
            0,
            "var/snap/docker/common/var-lib-docker/containers/ID/config.v2.json",
            DOCKER,
            OF_COMPOSE,
        ),
        (
            1000,
            "home/alice/.local/share/docker/containers/ID/config.v2.json",
            DOCKER,
            OF_COMPOSE,
        ),
        (
            0,
            "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
            CONTAINERD,
            APP,
        ),
        (
            0,
            "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
            CONTAINERD,
            APP,
        ),
        (
            0,
            "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
            SANDBOX,
            ["shop/checkout-7d9f/POD", "checkout-7d9f", "shop", ""],
        ),
        (
            0,
            "run/containerd/io.containerd.runtime.v2.task/own/ID/config.json",
            NERDCTL,
            WEB,
        ),
        (
            0,
            "run/containers/storage/overlay-containers/ID/userdata/config.json",
            CRIO,
            APP,
        ),
        (
            0,
            "var/lib/containers/storage/overlay-containers/containers.json",
            STORAGE,
            STORED,
        ),
        (
            0,
            "var/lib/containers/storage/vfs-containers/volatile-containers.json",
            STORAGE,
            STORED,
        ),
        (
            0,
            "var/lib/containers/storage/overlay-containers/containers.json",
            STORED_BY_CRIO,
            APP,
        ),
        (
            1000,
            "home/alice/.local/share/containers/storage/overlay-containers/containers.json",
            STORAGE,
            STORED,
        ),
        (0, "var/log/containers/checkout-7d9f_shop_app-ID.log", "", without_image),
        (
            0,
            "var/log/pods/shop_checkout-7d9f_88c00a72-09fa-4f0b-b2e7-185fcaff3b0d/app/0.log",
            "",
            POD_ALONE,
        ),
        (0, "var/lib/nerdctl/1935db59/names/default/web", "ID", WEB),
        (
            1000,
            "home/alice/.local/share/nerdctl/1935db59/names/default/web",
            "ID",
            WEB,
        ),
    ] {
        let tree = ProcTree::new();
        tree.write(
            &path.replace("ID", ID),
            content.replace("\"ID\"", &format!("{ID:?}")).replace("ID", ID),
        );
        let below = path.split('/').next().unwrap();
        give(&tree.path(below), owner);
        assert_eq!(find(&tree, owner).map(texts), Ok(expected.map(Into::into)), "{path}");
        // Another user's engine does not say it.
        assert_eq!(find(&tree, 1000 - owner), Err(Missing::OutOfView), "{path}");
    }
}

#[test]
fn a_configured_place_is_found() {
    let tree = ProcTree::new();
    tree.write(
        "etc/docker/daemon.json",
        r#"{"log-driver":"local","data-root":"/data/docker"}"#,
    );
    tree.write(&format!("data/docker/containers/{ID}/config.v2.json"), DOCKER);
    assert_eq!(texts(find(&tree, 0).unwrap())[0], "shop-web-1");
    let tree = ProcTree::new();
    tree.write(
        "etc/containers/storage.conf",
        "[storage]\ndriver = \"overlay\"\ngraphroot = \"/data/pods\"\n",
    );
    tree.write(
        "data/pods/overlay-containers/containers.json",
        STORAGE.replace("ID", ID),
    );
    assert_eq!(texts(find(&tree, 0).unwrap())[0], "web");
}

#[test]
fn a_damaged_file_leaves_the_container_without_names() {
    let config = format!("var/lib/docker/containers/{ID}/config.v2.json");
    let deep = format!("{{\"Name\":\"/web\",\"State\":{}", "[".repeat(100_000));
    for content in [
        &b""[..],
        b"{",
        b"null",
        &DOCKER.as_bytes()[..DOCKER.len() / 2],
        br#"{"Name":7}"#,
        b"{\"Name\":\"\xff\xfe\"}",
        deep.as_bytes(),
    ] {
        let tree = ProcTree::new();
        tree.write(&config, content);
        assert_eq!(find(&tree, 0), Err(Missing::Malformed), "{}", content.len());
    }
    // A file without a name says nothing, and the next engine is asked.
    let tree = ProcTree::new();
    for nothing in ["{}", "[]"] {
        tree.write(&config, nothing);
        assert_eq!(find(&tree, 0), Err(Missing::OutOfView));
    }
    tree.write(
        "var/lib/containers/storage/overlay-containers/containers.json",
        STORAGE.replace("ID", ID),
    );
    assert_eq!(texts(find(&tree, 0).unwrap())[0], "web");
}

#[test]
fn neither_a_huge_file_nor_a_loop_nor_a_pipe_is_read() {
    let containers = "var/lib/docker/containers";
    let tree = ProcTree::new();
    let directory = tree.path(&format!("{containers}/{ID}"));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("config.v2.json");
    File::create(&file).unwrap().set_len(1 << 30).unwrap();
    assert_eq!(find(&tree, 0), Err(Missing::Malformed));
    fs::remove_file(&file).unwrap();
    symlink("config.v2.json", &file).unwrap();
    assert!(matches!(find(&tree, 0), Err(Missing::Errno(_))));
    fs::remove_file(&file).unwrap();
    // Opening it to read would wait for a writer.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(find(&tree, 0), Err(Missing::Malformed));
}

#[test]
fn links_of_another_tree_stay_in_it() {
    let tree = ProcTree::new();
    tree.write(&format!("data/docker/containers/{ID}/config.v2.json"), DOCKER);
    fs::create_dir_all(tree.path("var/lib")).unwrap();
    symlink("/data/docker", tree.path("var/lib/docker")).unwrap();
    assert_eq!(texts(find(&tree, 0).unwrap())[0], "shop-web-1");
    // A file of this machine, which the link would lead to.
    let outside = tempfile::tempdir().unwrap();
    let directory = outside.path().join("containers").join(ID);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.v2.json"), DOCKER).unwrap();
    fs::remove_file(tree.path("var/lib/docker")).unwrap();
    symlink(outside.path(), tree.path("var/lib/docker")).unwrap();
    assert_eq!(find(&tree, 0), Err(Missing::OutOfView));
}

#[test]
fn a_user_leads_root_to_no_file_of_another_and_to_no_device() {
    let tree = ProcTree::new();
    let containers = "home/alice/.local/share/docker/containers";
    let secret = tree.path("root/config.v2.json");
    tree.write("root/config.v2.json", DOCKER);
    let directory = tree.path(&format!("{containers}/{ID}"));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("config.v2.json");
    symlink("/root/config.v2.json", &file).unwrap();
    give(&tree.path("home"), 1000);
    let is_root = rustix::process::geteuid().is_root();
    let found = find(&tree, 1000);
    assert_eq!(found.is_err(), is_root, "{found:?}");
    give(&secret, 1000);
    assert_eq!(texts(find(&tree, 1000).unwrap())[0], "shop-web-1");
    // The configured place is another user's.
    fs::remove_file(&file).unwrap();
    tree.write(
        "home/alice/.config/docker/daemon.json",
        r#"{"data-root":"/root/docker"}"#,
    );
    tree.write(&format!("root/docker/containers/{ID}/config.v2.json"), DOCKER);
    give(&tree.path("home"), 1000);
    assert_eq!(find(&tree, 1000).is_err(), is_root);
    // A terminal is not opened: each open of `/dev/ptmx` would make one.
    fs::remove_dir_all(tree.path("home/alice/.config")).unwrap();
    let device = rustix::fs::makedev(5, 2);
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    if rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::CharacterDevice,
        mode,
        device,
    )
    .is_ok()
    {
        let count = || fs::read_to_string("/proc/sys/kernel/pty/nr").unwrap();
        let before = count();
        assert_eq!(find(&tree, 1000), Err(Missing::Malformed));
        assert_eq!(count(), before);
    }
}

#[test]
fn the_files_of_a_user_need_little_memory() {
    let tree = ProcTree::new();
    // Files of nerdctl that are large instead of an id, and more containers in a list than one user may have.
    let names = "home/alice/.local/share/nerdctl/1935db59/names/default";
    tree.write(&format!("{names}/web"), "x".repeat(100_000));
    let list: Vec<String> = (0..2000).map(|n| format!(r#"{{"id":"{n}","names":["a"]}}"#)).collect();
    let own = format!(r#"{{"id":"{ID}","names":["late"]}}"#);
    let stored = "home/alice/.local/share/containers/storage/overlay-containers/containers.json";
    tree.write(stored, format!("[{},{own}]", list.join(",")));
    give(&tree.path("home"), 1000);
    assert_eq!(find(&tree, 1000), Err(Missing::OutOfView));
    tree.write(stored, format!("[{own},{}]", list.join(",")));
    give(&tree.path("home"), 1000);
    assert_eq!(texts(find(&tree, 1000).unwrap())[0], "late");
    tree.write(stored, format!("[{own}{}]", " ".repeat(1 << 20)));
    give(&tree.path("home"), 1000);
    assert_eq!(find(&tree, 1000), Err(Missing::Malformed));
}

#[test]
fn a_name_of_any_bytes_is_kept_and_a_long_one_is_cut() {
    let tree = ProcTree::new();
    let name = format!("\\u001b[2J\\u202e{}", "x".repeat(1000));
    let config = format!("var/lib/docker/containers/{ID}/config.v2.json");
    tree.write(&config, format!("{{\"Name\":\"{name}\"}}"));
    let names = find(&tree, 0).unwrap();
    assert!(names.name.starts_with("\u{1b}[2J\u{202e}xx".as_bytes()));
    assert_eq!(names.name.len(), 255);
    assert_eq!((names.pod, names.image), (None, None));
}

fn age(path: &Path, age: Duration) {
    let file = File::open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn an_unchanged_file_is_not_read_again_and_a_changed_one_is() {
    let tree = ProcTree::new();
    let list = "var/lib/containers/storage/overlay-containers/containers.json";
    tree.write(list, STORAGE.replace("ID", ID));
    let (opened, mut finder) = (open(&tree, 0), Finder::default());
    let mut wanted = unnamed();
    let mut look = |wanted: &Unnamed| finder.find(&opened, std::slice::from_ref(wanted), &|| ()).pop();
    // The next change could leave it with the same time, so it is read again.
    let (_, found) = look(&wanted).unwrap();
    assert!(found.names.is_ok() && found.source.is_none());
    age(&tree.path(list), Duration::from_secs(60));
    let (_, found) = look(&wanted).unwrap();
    wanted.source = found.source;
    assert!(wanted.source.is_some());
    assert!(look(&wanted).is_none());
    tree.write(list, STORAGE.replace("ID", ID).replace("web", "shop"));
    let (_, found) = look(&wanted).unwrap();
    assert_eq!(texts(found.names.unwrap())[0], "shop");
    fs::remove_file(tree.path(list)).unwrap();
    assert_eq!(look(&wanted).unwrap().1.names, Err(Missing::OutOfView));
}

fn place(id: &str, owner: u32) -> ContainerPlace {
    ContainerPlace {
        id: id.as_bytes().into(),
        name: None,
        owner,
        pod_uid: None,
    }
}

fn named(name: &str) -> zmtop::proc::containers::Found {
    zmtop::proc::containers::Found {
        names: Container::named(name.as_bytes()).names.clone(),
        source: None,
    }
}

fn unknown() -> zmtop::proc::containers::Found {
    zmtop::proc::containers::Found {
        names: Err(Missing::OutOfView),
        source: None,
    }
}

fn only(lookups: Vec<Lookup>) -> Lookup {
    let [lookup] = <[Lookup; 1]>::try_from(lookups).unwrap_or_else(|all| panic!("{} lookups", all.len()));
    lookup
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn one_lookup_at_a_time_serves_all_containers_of_a_user() {
    let (mut containers, now) = (Containers::default(), SECOND * 50);
    let held: Vec<_> = [("a1", 0), ("a2", 0), ("b1", 1000)]
        .map(|(id, owner)| containers.at(place(id, owner), now))
        .into();
    assert!(held.iter().all(|container| container.is_pending()));
    let mut lookups = containers.lookups(now);
    lookups.sort_by_key(|lookup| lookup.owner);
    assert_eq!(
        lookups.iter().map(|lookup| lookup.wanted.len()).collect::<Vec<_>>(),
        [2, 1]
    );
    // While both are in progress, a new container waits. The one of user 1000 never returns.
    let late = containers.at(place("a3", 0), now);
    assert!(containers.lookups(now + SECOND * 100).is_empty());
    let system = lookups.remove(0);
    let changed = containers.found(system, Ok(vec![(0, named("web")), (1, named("db"))]), now);
    assert_eq!(changed.len(), 2);
    assert_eq!(only(containers.lookups(now)).wanted[0].id, late.id);
    assert_eq!(containers.time_out(|owner| owner == 1000).len(), 1);
    assert!(containers.time_out(|owner| owner == 1000).is_empty());
}

#[test]
fn unknown_names_are_looked_up_again_soon_and_later_rarely() {
    let (mut containers, mut now) = (Containers::default(), SECOND * 50);
    let began = now;
    let mut held = containers.at(place(ID, 0), now);
    let mut asked = Vec::new();
    while now < began + SECOND * 600 {
        for lookup in containers.lookups(now) {
            asked.push(now.saturating_sub(began).as_secs());
            for news in containers.found(lookup, Ok(vec![(0, unknown())]), now) {
                held = news;
            }
        }
        now += SECOND;
    }
    assert_eq!(asked[..4], [0, 2, 4, 6]);
    assert!(asked.len() < 30, "{asked:?}");
    assert!(asked.windows(2).all(|pair| pair[1] - pair[0] <= 60), "{asked:?}");
    assert_eq!(
        (held.name(), &held.names),
        (&b"0123456789ab"[..], &Err(Missing::OutOfView))
    );
}

#[test]
fn known_names_are_checked_and_outlive_their_file() {
    let (mut containers, now) = (Containers::default(), SECOND * 50);
    let _pending = containers.at(place(ID, 0), now);
    let lookup = only(containers.lookups(now));
    let held = containers.found(lookup, Ok(vec![(0, named("web"))]), now);
    assert!(containers.lookups(now + SECOND).is_empty());
    // Unchanged, then renamed, then removed while its last process ends.
    let lookup = only(containers.lookups(now + RECHECK));
    assert!(containers.found(lookup, Ok(Vec::new()), now + RECHECK).is_empty());
    let lookup = only(containers.lookups(now + RECHECK * 2));
    let renamed = containers.found(lookup, Ok(vec![(0, named("shop"))]), now + RECHECK * 2);
    assert_eq!((held[0].name(), renamed[0].name()), (&b"web"[..], &b"shop"[..]));
    let lookup = only(containers.lookups(now + RECHECK * 3));
    assert!(
        containers
            .found(lookup, Ok(vec![(0, unknown())]), now + RECHECK * 3)
            .is_empty()
    );
    assert_eq!(containers.at(place(ID, 0), now).name(), b"shop");
    // Nobody is in it any more.
    drop((held, renamed));
    assert!(containers.lookups(now + RECHECK * 10).is_empty());
}

#[test]
fn a_container_of_a_user_is_no_other_by_the_same_id_and_name() {
    let (mut containers, now) = (Containers::default(), SECOND * 50);
    // The user's is seen first.
    let theirs = containers.at(place(ID, 1000), now);
    let ours = containers.at(place(ID, 0), now);
    assert_eq!(
        (theirs.name(), ours.name()),
        (&b"user@1000/0123456789ab"[..], &b"0123456789ab"[..])
    );
    assert_eq!(theirs.short_id(), ours.short_id());
    assert_eq!(theirs.id_in_path(), ID.as_bytes());
    for lookup in containers.lookups(now) {
        assert_eq!(*lookup.wanted[0].id, *ID.as_bytes());
        assert_eq!(containers.found(lookup, Ok(vec![(0, named("web"))]), now).len(), 1);
    }
    let named = |owner, containers: &mut Containers| containers.at(place(ID, owner), now).name().to_vec();
    assert_eq!(named(1000, &mut containers), b"user@1000/web");
    assert_eq!(named(0, &mut containers), b"web");
    let mut flatpak = place("app-flatpak-org.a-1.scope", 1000);
    flatpak.name = Some((*b"org.a").into());
    assert_eq!(containers.at(flatpak, now).name(), b"user@1000/org.a");
}

#[test]
fn containers_that_come_and_go_are_forgotten() {
    let mut containers = Containers::default();
    let held: Vec<_> = (0..10)
        .map(|n| containers.at(place(&format!("k{n}"), 0), SECOND))
        .collect();
    for n in 0..10_000 {
        let mut named = place(&format!("snap.{n}"), 0);
        named.name = Some((*b"firefox").into());
        assert_eq!(containers.at(named, SECOND).name(), b"firefox");
    }
    assert!(containers.len() < 200, "{}", containers.len());
    assert!(held.iter().all(|one| Arc::ptr_eq(
        one,
        &containers.at(place(std::str::from_utf8(&one.id).unwrap(), 0), SECOND)
    )));
}

#[test]
fn processes_have_the_names_in_the_first_snapshot() {
    let tree = ProcTree::new();
    tree.write(&format!("var/lib/docker/containers/{ID}/config.v2.json"), DOCKER);
    let other = ID.replace('0', "f");
    for pid in 1..=40 {
        tree.process(pid)
            .cgroup(format!("0::/system.slice/docker-{ID}.scope\n"))
            .write();
    }
    tree.process(50).cgroup(format!("0::/docker/{other}\n")).write();
    tree.process(60)
        .cgroup("0::/machine.slice/machine-deb\\x2dtest.scope/payload\n")
        .write();
    let mut scanner = Scanner::new(&tree.options());
    let first = block_on(scanner.full());
    let container = |pid| row(&first, pid).facts.container.clone().unwrap();
    for pid in 1..=40 {
        assert_eq!(container(pid).name(), b"shop-web-1");
    }
    assert_eq!(
        (container(50).name(), container(50).short_id()),
        (&b"f123456789ab"[..], &b"f123456789ab"[..])
    );
    assert_eq!(container(60).name(), b"deb-test");
    // The name is written after the start of the container, and is seen within seconds.
    let written = DOCKER.replace("shop-web-1", "shop-db-1");
    tree.write(&format!("var/lib/docker/containers/{other}/config.v2.json"), written);
    std::thread::sleep(Duration::from_millis(2100));
    let later = block_on(scanner.full());
    assert_eq!(row(&later, 50).facts.container.as_ref().unwrap().name(), b"shop-db-1");
}

#[test]
fn tables_filters_and_groups_use_the_names() {
    let tree = ProcTree::new();
    let other = ID.replace('0', "f");
    tree.write(&format!("var/log/containers/checkout-7d9f_shop_app-{ID}.log"), "");
    for (pid, id, comm) in [(10, ID, "app"), (11, ID, "worker"), (12, &*other, "else")] {
        let cgroup = format!("0::/kubepods.slice/kubepods-pod7.slice/crio-{id}.scope\n");
        tree.process(pid).comm(comm).cgroup(&cgroup).pss_kb(100).write();
    }
    tree.process(20)
        .comm("host")
        .cgroup("0::/init.scope\n")
        .pss_kb(100)
        .write();
    let pids = |filter: &str| {
        let (code, out, err) = tree.zmtop(&format!("ps --columns pid --no-header {filter}"));
        assert_eq!(code, Some(0), "{err}");
        let mut pids: Vec<u32> = out.lines().filter_map(|line| line.trim().parse().ok()).collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(pids("container:checkout"), [10, 11]);
    assert_eq!(pids("container:0123"), [10, 11]);
    assert_eq!(pids(&format!("container:{ID}")), [10, 11]);
    assert_eq!(pids("container:f123"), [12]);
    // Not in the middle of an id, and no shorter start.
    assert_eq!(pids("container:4567"), [12], "the name of the other is its id");
    assert_eq!(pids("container:012"), [0; 0]);
    assert_eq!(pids("pod:checkout"), [10, 11]);
    assert_eq!(pids("namespace:shop"), [10, 11]);
    assert_eq!(pids("container_id:cdef"), [10, 11, 12]);
    // Of the container without names nothing is known.
    assert_eq!(pids("!namespace:shop"), [20]);
    let (_, out, _) = tree.zmtop("ps --by pod --columns count,pod --no-header");
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["2", "shop/checkout-7d9f"]), "{out}");
    assert!(rows.contains(&vec!["2", "(none)"]), "{out}");
    let (_, out, _) = tree.zmtop("ps --by container --columns count,container --no-header");
    assert!(
        out.contains("shop/checkout-7d9f/app") && out.contains("f123456789ab"),
        "{out}"
    );
    let (_, out, _) = tree.zmtop("ps --columns pid,container_id,pod,namespace,image --format json");
    for part in [
        "\"container_id\":\"0123456789ab\"",
        "\"namespace\":\"shop\"",
        "\"pod\":\"checkout-7d9f\"",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn a_file_system_that_a_user_serves_keeps_no_reader_waiting() {
    const OWNER: u32 = 54_321;
    let containers = Path::new("/run/user/54321/containers");
    if std::env::var_os("ZMTOP_TEST_FUSE").is_some() {
        let find = || {
            let tree = Tree::open(&Roots::new(None), OWNER).unwrap();
            let mut found = Finder::default().find(&tree, &[unnamed()], &|| ());
            found.remove(0).1.names
        };
        // Nothing answers behind the mount.
        assert_eq!(find(), Err(Missing::OutOfView));
        rustix::mount::unmount(containers, rustix::mount::UnmountFlags::DETACH).unwrap();
        fs::write(
            containers.join("overlay-containers/containers.json"),
            STORAGE.replace("ID", ID),
        )
        .unwrap();
        give(containers, OWNER);
        assert_eq!(find().map(texts), Ok(STORED.map(Into::into)));
        return;
    }
    let script = r#"
        { [ -d /run/user ] || mkdir /run/user; } && mount -t tmpfs none /run/user || exit 97
        mkdir -p "$1/overlay-containers" || exit 97
        (: <>/dev/fuse) 2> /dev/null || exit 97
        exec 3<>/dev/fuse
        mount -i -t fuse -o fd=3,rootmode=40000,user_id=54321,group_id=54321,allow_other none "$1" || exit 97
        exec timeout 120 "$2" --exact sampler::containers::a_file_system_that_a_user_serves_keeps_no_reader_waiting
    "#;
    let run = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .args([containers, &std::env::current_exe().unwrap()])
        .env("ZMTOP_TEST_FUSE", "1")
        .status();
    match run {
        Ok(run) if rustix::process::geteuid().is_root() && run.code() != Some(97) => assert!(run.success(), "{run}"),
        _ => {}
    }
}
