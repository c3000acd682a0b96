//! Places in the code that have recorded something, by their return address.
//!
//! The thread with the token looks them up at every event; the thread that writes the trace finds out what they mean.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use rustc_hash::FxHashMap;
use untorn_runtime::sync::Lock;
use untorn_schedule::{Access, AccessKind, AnnouncedEvents, CodePoint, PlanPoint, PointIndex};
use untorn_trace::MemoryOrder;

use crate::modules;

/// What happens at a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Read = 1,
    Write,
    AtomicRead,
    AtomicWrite,
    /// Both halves of an indivisible update, in this order.
    UpdateRead,
    UpdateWrite,
    Enter,
    Leave,
    /// A mutex, or the exclusive side of another lock.
    Acquire,
    Release,
    /// It is not free: the thread waits for it.
    Request,
    AcquireShared,
    ReleaseShared,
    /// A thread gives up a mutex, all of its levels, to wait for a condition; and has it again.
    Await,
    Awaited,
    /// A variable that orders threads: a semaphore, a barrier, a condition.
    SyncRead,
    SyncWrite,
    Allocate,
    Free,
    /// Bytes of a large range that have no events: their number.
    LeftOut,
    /// A block that the author has marked begins; the value is the number of its name. The innermost one ends.
    BlockBegin,
    BlockEnd,
    /// The author names memory: the number of the name, and how long it is.
    Name,
    /// A thread starts or ends, wherever; its event is a special record.
    Thread,
}

impl Kind {
    /// The kind as plans name it.
    const fn of_plan(self) -> Option<AccessKind> {
        match self {
            Self::Read | Self::AtomicRead | Self::UpdateRead => Some(AccessKind::Read),
            Self::Write | Self::AtomicWrite | Self::UpdateWrite => Some(AccessKind::Write),
            Self::Acquire | Self::AcquireShared => Some(AccessKind::Acquire),
            Self::Release | Self::ReleaseShared => Some(AccessKind::Release),
            _ => None,
        }
    }

    fn is(self, wanted: Option<AccessKind>) -> bool {
        // Threads ask once for both halves of an update, before its read.
        let whole = matches!(self, Self::UpdateRead | Self::UpdateWrite);
        match wanted {
            None => self.of_plan().is_some(),
            Some(kind) => {
                self.of_plan() == Some(kind)
                    || (whole && matches!(kind, AccessKind::Read | AccessKind::Write))
            }
        }
    }
}

/// A place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    /// The return address of the hook.
    pub(crate) pc: usize,
    pub(crate) kind: Kind,
    pub(crate) order: MemoryOrder,
}

/// A place that was found: its number, and whether threads ask there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found(u32);

const ASKS: u32 = 1 << 31;

impl Found {
    #[inline(always)]
    pub(crate) const fn asks(self) -> bool {
        self.0 & ASKS != 0
    }

    #[inline(always)]
    pub(crate) const fn number(self) -> u32 {
        self.0 & !ASKS
    }
}

/// An entry of the table. Free if the key is 0.
#[derive(Debug)]
struct Slot {
    key: AtomicUsize,
    found: AtomicU32,
}

/// The table, which only the thread with the token uses: its slots, and their number less one.
static SLOTS: AtomicUsize = AtomicUsize::new(0);
static MASK: AtomicUsize = AtomicUsize::new(0);

/// All sites, by number. Number 0 is no site.
static SITES: Lock<Vec<Site>> = Lock::new(Vec::new());

/// What a run wants to be asked about.
#[derive(Debug)]
struct Wanted {
    points: Vec<PlanPoint>,
    everything: bool,
    /// By number of the site.
    named: Option<FxHashMap<u32, Vec<PointIndex>>>,
}

static WANTED: Lock<Wanted> =
    Lock::new(Wanted { points: Vec::new(), everything: false, named: None });

const FIRST_SLOTS: usize = 1 << 12;

/// Before the run begins.
pub(crate) fn begin(points: Vec<PlanPoint>, announced: AnnouncedEvents) {
    let everything = announced == AnnouncedEvents::Everything;
    *WANTED.lock() = Wanted { points, everything, named: Some(FxHashMap::default()) };
    SITES.lock().push(Site { pc: 0, kind: Kind::Thread, order: MemoryOrder::Unknown });
    install(new_slots(FIRST_SLOTS));
}

fn new_slots(count: usize) -> &'static [Slot] {
    let slot = || Slot { key: AtomicUsize::new(0), found: AtomicU32::new(0) };
    Box::leak((0..count).map(|_| slot()).collect())
}

fn install(slots: &'static [Slot]) {
    SLOTS.store(slots.as_ptr().expose_provenance(), Relaxed);
    MASK.store(slots.len() - 1, Relaxed);
}

fn slots() -> &'static [Slot] {
    let address = SLOTS.load(Relaxed);
    if address == 0 {
        return &[];
    }
    // SAFETY: the slots that were installed live for ever, and there is one more of them than the mask says.
    unsafe { std::slice::from_raw_parts(address as *const Slot, MASK.load(Relaxed) + 1) }
}

/// Code addresses have 47 bits.
const KIND_BIT: u32 = 48;
const ORDER_BIT: u32 = 56;

/// The place with this return address. Only for the thread that has the token.
#[inline(always)]
pub(crate) fn find(pc: usize, kind: Kind) -> Found {
    find_ordered(pc, kind, MemoryOrder::Unknown)
}

#[inline(always)]
pub(crate) fn find_ordered(pc: usize, kind: Kind, order: MemoryOrder) -> Found {
    let key = pc | (kind as usize) << KIND_BIT | (order as usize) << ORDER_BIT;
    let (slots, mask) = (SLOTS.load(Relaxed) as *const Slot, MASK.load(Relaxed));
    let at = hash(key) & mask;
    // SAFETY: the thread has the token, so a table was installed; the place is within it.
    let slot = unsafe { &*slots.add(at) };
    if slot.key.load(Relaxed) == key {
        return Found(slot.found.load(Relaxed));
    }
    search(key, Site { pc, kind, order })
}

#[inline(always)]
const fn hash(key: usize) -> usize {
    (key ^ key >> 17).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

#[inline(never)]
fn search(key: usize, site: Site) -> Found {
    let all = slots();
    let mut at = hash(key) & (all.len() - 1);
    loop {
        match all[at].key.load(Relaxed) {
            found if found == key => return Found(all[at].found.load(Relaxed)),
            0 => return add(key, at, site),
            _ => at = (at + 1) & (all.len() - 1),
        }
    }
}

#[cold]
fn add(key: usize, at: usize, site: Site) -> Found {
    let inside = crate::inside::Inside::enter();
    let mut sites = SITES.lock();
    let number = sites.len() as u32;
    sites.push(site);
    drop(sites);
    let found = Found(if is_asked(number, site) { number | ASKS } else { number });
    let all = slots();
    all[at].found.store(found.0, Relaxed);
    all[at].key.store(key, Relaxed);
    if number as usize * 2 > all.len() {
        grow(all);
    }
    drop(inside);
    found
}

fn grow(old: &[Slot]) {
    let new = new_slots(old.len() * 2);
    for slot in old.iter().filter(|slot| slot.key.load(Relaxed) != 0) {
        let key = slot.key.load(Relaxed);
        let mut at = hash(key) & (new.len() - 1);
        while new[at].key.load(Relaxed) != 0 {
            at = (at + 1) & (new.len() - 1);
        }
        new[at].found.store(slot.found.load(Relaxed), Relaxed);
        new[at].key.store(key, Relaxed);
    }
    install(new);
}

/// Whether threads ask at this place; remembers for what.
fn is_asked(number: u32, site: Site) -> bool {
    let mut wanted = WANTED.lock();
    let place = modules::place_of(site.pc);
    let is_at = |point: &&PlanPoint| {
        let CodePoint::ModuleOffset { module, offset } = &point.code_point else { return false };
        let is_there = |(name, own): &(&str, u64)| module == name && offset == own;
        place.as_ref().is_some_and(is_there) && site.kind.is(point.kind)
    };
    let points = wanted.points.iter().enumerate().filter(|(_, point)| is_at(point));
    let named: Vec<_> = points.map(|(index, _)| PointIndex(index as u32)).collect();
    let asks = !named.is_empty()
        || (wanted.everything
            && matches!(
                site.kind.of_plan(),
                Some(AccessKind::Read | AccessKind::Write | AccessKind::Acquire)
            ));
    if asks && let Some(all) = &mut wanted.named {
        all.insert(number, named);
    }
    asks
}

/// What the scheduler is to know of the event that a thread asks for.
pub(crate) fn asked(
    found: Found,
    address: usize,
    write: bool,
) -> (Vec<PointIndex>, Option<Access>) {
    let wanted = WANTED.lock();
    let marks = wanted.named.as_ref().and_then(|all| all.get(&found.number())).cloned();
    // The same memory, the same number; two places may share one.
    let what = ((address >> 3) ^ (address >> 35)) as u32;
    let access = wanted.everything.then_some(Access { what, write });
    (marks.unwrap_or_default(), access)
}

/// The site with this number. For the thread that writes the trace.
pub(crate) fn get(number: u32) -> Option<Site> {
    SITES.lock().get(number as usize).copied()
}

/// Planned places that no thread came to.
pub(crate) fn missing() -> Vec<String> {
    let wanted = WANTED.lock();
    let seen = |index: usize| {
        let mut all = wanted.named.iter().flat_map(FxHashMap::values).flatten();
        all.any(|site| site.0 as usize == index)
    };
    let points = wanted.points.iter().enumerate();
    points.filter(|(index, _)| !seen(*index)).map(|(_, point)| point.to_string()).collect()
}
