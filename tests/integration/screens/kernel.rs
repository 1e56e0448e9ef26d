//! The page of the kernel's own memory.

use std::sync::Arc;
use std::time::Duration;

use crate::support::rows::MIB;
use crate::support::session::{Session, assert_tame, busy};

use zmtop::columns::Needs;
use zmtop::config::Action;
use zmtop::model::kernel::{
    AllocFigures, AllocSite, AllocSites, CallFigures, CallSite, Callers, SlabCache, SlabCaches, SlabFigures, Symbol,
    Trace,
};
use zmtop::model::{Missing, Snapshot};
use zmtop::tui::{Effect, Event};

macro_rules! photograph {
    ($name:literal, $session:expr) => {
        insta::with_settings!(
            { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!($name, $session.picture()); }
        )
    };
}

const HOSTILE: &str = "e\u{1b}]52;c;x\u{7}vil\u{202e}";

fn cache(name: &str, reclaimable: Option<bool>, object_size: u64, active: u64, slabs: u64) -> SlabCache {
    SlabCache {
        name: name.as_bytes().into(),
        object_size,
        objects_per_slab: 16,
        reclaimable,
        figures: SlabFigures {
            active,
            objects: slabs * 16,
            slabs,
            size: slabs << 14,
            used: active * object_size,
        },
    }
}

/// Fills in the figures of a kernel whose signal caches grow from step to step.
fn tables(snap: &mut Snapshot, step: u64) {
    let s = &mut snap.system;
    (s.slab, s.sreclaimable, s.sunreclaim) = (Ok(512 * MIB), Ok(300 * MIB), Ok(212 * MIB));
    snap.kernel.slab = Ok(Arc::new(SlabCaches {
        caches: vec![
            cache("dentry", Some(true), 192, 100_000, 6500),
            cache("ext4_inode_cache", Some(true), 1096, 150_000, 10_000),
            cache("signal_cache", Some(false), 1024, 16_000 + step * 640, 1000 + step * 40),
            cache("kmalloc-512", Some(false), 512, 9000, 700),
            cache(HOSTILE, None, 64, 1, 1),
            cache("empty", Some(false), 64, 0, 0),
        ],
        malformed: 0,
    }));
    let site = |place: &str, module: Option<&str>, function: &str, size, calls| AllocSite {
        place: place.as_bytes().into(),
        module: module.map(|module| module.as_bytes().into()),
        function: function.as_bytes().into(),
        inaccurate: false,
        figures: AllocFigures { size, calls },
    };
    snap.kernel.sites = Ok(Arc::new(AllocSites {
        sites: vec![
            site("mm/page_ext.c:270", None, "alloc_page_ext", 120 * MIB, 31_168),
            site(
                "drivers/net/veth.c:1234",
                Some("veth"),
                "veth_newlink",
                81_920 + step * MIB,
                20,
            ),
            site(&format!("{HOSTILE}.c:1"), Some(HOSTILE), HOSTILE, 4096, 1),
            site("init/main.c:1", None, "nothing", 0, 0),
        ],
        malformed: 0,
        running: true,
    }));
}

fn session(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    for step in 0..60 {
        session.tick_with(5, busy(step % 12), |snap| tables(snap, step));
    }
    session.keys("3");
    session
}

fn traced(seconds: u64) -> Arc<Callers> {
    let site = |address, name: &str, module: Option<&str>, requested, allocated, hits| CallSite {
        address: Some(address),
        symbol: (!name.is_empty()).then(|| Symbol {
            name: name.as_bytes().into(),
            module: module.map(|module| module.as_bytes().into()),
            address: address & !0xff,
        }),
        figures: CallFigures {
            hits,
            requested,
            allocated,
            ..CallFigures::default()
        },
    };
    Arc::new(Callers {
        sites: vec![
            site(
                0xffff_8111,
                "example_open",
                Some("example"),
                4104 * 200,
                8192 * 200,
                200,
            ),
            site(0xffff_8133, "example_open", Some("example"), 8 * 50, 32 * 50, 50),
            site(0xffff_9222, "__alloc_object", None, 104 * 61_204, 104 * 61_204, 61_204),
            site(0xffff_a333, HOSTILE, Some(HOSTILE), 8, 8, 1),
            site(0xffff_b444, "", None, 64, 64, 1),
        ],
        symbols: Ok(()),
        trace: Trace {
            time: Duration::from_secs(seconds),
            events: 122_608,
            lost: Some(0),
            torn: 0,
            failed: 0,
            older_frees: 0,
            unseen_frees: 0,
            unfollowed: 0,
            own: CallFigures::default(),
            cpu: Duration::from_millis(15),
            buffers: Some(2 << 20),
        },
    })
}

#[test]
fn the_caches_at_every_size() {
    photograph!("kernel-slab-80x24", session(80, 24));
    photograph!("kernel-slab-120x40", session(120, 40));
    photograph!("kernel-slab-40x16", session(40, 16));
}

#[test]
fn the_callers_and_the_sites() {
    let mut session = session(80, 24);
    session.keys("Tab").feed(Event::Traced(1, traced(5)));
    photograph!("kernel-callers-80x24", session);
    session.keys("Enter");
    assert!(
        session.line("example_open+0x11").contains("8192"),
        "{}",
        session.picture()
    );
    assert!(
        session.line("example_open+0x33").contains("32"),
        "{}",
        session.picture()
    );
    session.keys("Tab");
    photograph!("kernel-sites-80x24", session);
}

#[test]
fn it_is_sorted_filtered_searched_and_marked() {
    let mut session = session(120, 40);
    let first = |session: &mut Session| {
        let picture = session.picture();
        let at = picture.lines().position(|line| line.contains("CACHE")).unwrap();
        picture
            .lines()
            .nth(at + 1)
            .unwrap()
            .split_whitespace()
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(first(&mut session), "ext4_inode_cache");
    session.keys("I");
    assert_eq!(first(&mut session), "empty");
    session.keys("I s Down Enter");
    assert_eq!(first(&mut session), "signal_cache");
    // As the command has it.
    session.keys("/").types("size>60M cache").keys("Enter");
    assert!(session.picture().contains("1 of 6 caches"), "{}", session.picture());
    session.keys("\\ F3").types("KMALLOC").keys("Enter b");
    assert!(session.picture().contains("6 caches"));
    session.tick_with(5, busy(0), |snap| tables(snap, 60));
    // 40 slabs of 16 KiB each.
    assert!(
        session.line("signal_cache").contains("+640K"),
        "{}",
        session.line("signal_cache")
    );
    // Another filter has its fault pointed at, and changes nothing.
    session.keys("/").types("size>x").keys("Enter");
    assert!(session.app.modal.is_some());
    session.keys("Esc");
    // By the mouse: the heading, and the names of the views.
    let y = session
        .picture()
        .lines()
        .position(|line| line.contains("CACHE"))
        .unwrap() as u16;
    session.click(3, y).click(9, y - 1);
    assert!(session.picture().contains("HITS"), "{}", session.picture());
}

#[test]
fn each_view_is_read_while_it_is_shown_and_tracing_ends_with_its_view() {
    let mut session = session(120, 40);
    let needs = |session: &Session| *session.needs().last().unwrap();
    assert!(needs(&session).contains(Needs::SLAB) && !needs(&session).contains(Needs::SITES));
    assert!(session.effects.is_empty(), "{:?}", session.effects);
    session.keys("Tab");
    assert_eq!(session.world.traced, Some(1));
    assert!(!needs(&session).contains(Needs::SLAB));
    assert!(session.picture().contains("starting the trace"));
    session.feed(Event::Traced(1, traced(1)));
    assert!(session.picture().contains("Traced for 1.0s"), "{}", session.picture());
    session.keys("Tab");
    assert_eq!(session.world.traced, None);
    assert!(needs(&session).contains(Needs::SITES) && !needs(&session).contains(Needs::SLAB));
    // A late report of a trace that ended, and one of another, are not taken in.
    session.keys("BackTab").feed(Event::Traced(1, traced(9)));
    assert!(session.picture().contains("starting the trace"));
    session.feed(Event::Traced(2, traced(3))).keys("Z");
    assert_eq!(session.world.traced, None);
    assert!(
        session.picture().contains("paused  ·  Traced for 3.0s"),
        "{}",
        session.picture()
    );
    session.keys("Z");
    assert_eq!(session.world.traced, Some(3));
    for key in ["1", "3", "2", "3"] {
        session.keys(key);
        let is_open = session.app.pages.open() == Some(Action::KernelPage);
        assert_eq!(session.world.traced.is_some(), is_open, "{key}");
    }
    session.keys("Esc");
    assert_eq!(session.world.traced, None);
    assert!(!needs(&session).contains(Needs::SLAB));
    let asked = session
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Trace(_)));
    assert_eq!(asked.count(), 10, "{:?}", session.effects);
}

#[test]
fn many_dying_cgroups_are_noted() {
    let mut session = Session::new(120, 40);
    session.keys("3");
    for (dying, is_noted) in [(Ok(499), false), (Ok(12_345), true), (Err(Missing::Unsupported), false)] {
        session.tick_with(5, busy(0), |snap| {
            tables(snap, 0);
            snap.kernel.dying_cgroups = dying;
        });
        let picture = session.picture();
        assert_eq!(picture.contains("12345 dying cgroups"), is_noted, "{picture}");
    }
}

#[test]
fn what_is_missing_says_so_and_what_grants_it() {
    let mut session = Session::new(80, 24);
    session.keys("3");
    assert_tame(&session.frame());
    for (why, said) in [
        (Missing::Denied, "only root can read"),
        (Missing::Unsupported, "no slabinfo"),
        (Missing::TimedOut, "cannot be read"),
    ] {
        session.tick_with(5, busy(0), |snap| {
            tables(snap, 0);
            (snap.kernel.slab, snap.kernel.sites) = (Err(why), Err(Missing::Unsupported));
        });
        assert!(session.picture().contains(said), "{}", session.picture());
        assert!(session.picture().contains("Slab 512M by meminfo"));
    }
    let refused = "tracefs is not mounted; root can do it: mount -t tracefs nodev /sys/kernel/tracing";
    session.keys("Tab").feed(Event::TraceRefused(1, refused.into()));
    assert!(session.picture().contains("tracefs is not mounted"));
    session.keys("Tab");
    assert!(
        session.picture().contains("CONFIG_MEM_ALLOC_PROFILING"),
        "{}",
        session.picture()
    );
    assert!(session.picture().contains("sysctl.vm.mem_profiling=1"));
}

#[test]
fn hostile_names_and_every_size() {
    for keys in ["", "Tab", "Tab Tab"] {
        let mut session = session(80, 24);
        session.keys(keys).feed(Event::Traced(1, traced(5)));
        assert_tame(&session.frame());
        for (width, height) in Session::ODD_SIZES {
            session.feed(Event::Resize(width, height)).keys("Down Up");
            let frame = session.frame();
            assert_eq!((frame.area.width, frame.area.height), (width, height));
            assert_tame(&frame);
        }
        assert_eq!(session.feed(Event::Resize(80, 24)).picture().lines().count(), 24);
    }
}
