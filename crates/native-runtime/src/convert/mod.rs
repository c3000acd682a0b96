//! From raw records to events: dense ids, names, blocks.
//!
//! Ids are assigned in the order of first occurrence: the same schedule gives the same bytes.

mod activations;
mod heap;
mod locks;
mod meaning;
mod memory_words;
mod sync;
mod variables;

use std::fs::File;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use untorn_native_protocol::{Config, NativeSetup};
use untorn_runtime::buffers::{Record, special};
use untorn_runtime::{Convert, ThreadNames};
use untorn_trace::event::{Access, Event, Op};
use untorn_trace::formats::utr::{ShapeMemo, Writer};
use untorn_trace::ids::{SiteId, ThreadId};
use untorn_trace::tables::Tables;
use untorn_trace::{Coverage, RecordingSummary};

use crate::probe::Piece;
use crate::sites::{self, Kind};
use activations::Stacks;
use heap::Heap;
use locks::LockModel;
use meaning::{Meaning, Meanings};
use memory_words::Words;
use sync::SyncVars;

pub(crate) struct Converter {
    setup: NativeSetup,
    thread_names: Arc<ThreadNames>,
    tables: Tables,
    meanings: Meanings,
    words: Words,
    heap: Heap,
    stacks: Stacks,
    locks: LockModel,
    sync: SyncVars,
    /// How many variables have had a name.
    names: FxHashMap<String, u32>,
    /// Pointers by the order in which they occurred: their values mean nothing to anybody.
    pointers: FxHashMap<u64, u64>,
    /// Words of large ranges without an event.
    left_out: u64,
    /// Ends without beginnings.
    unmatched: u64,
}

impl Converter {
    pub(crate) fn new(config: &Config, thread_names: Arc<ThreadNames>) -> Self {
        let mut tables = Tables::default();
        tables.meta = config.meta.clone();
        Self {
            setup: config.setup.clone(),
            thread_names,
            tables,
            meanings: Meanings::default(),
            words: Words::default(),
            heap: Heap::default(),
            stacks: Stacks::default(),
            locks: LockModel::default(),
            sync: SyncVars::default(),
            names: FxHashMap::default(),
            pointers: FxHashMap::default(),
            left_out: 0,
            unmatched: 0,
        }
    }

    fn know_thread(&mut self, thread: ThreadId) {
        while self.tables.threads.len() <= thread.index() {
            let next = self.tables.threads.len();
            let name = self.thread_names.get(next).unwrap_or_else(|| format!("thread {next}"));
            self.tables.threads.push(&name);
            self.stacks.add_thread();
        }
    }

    /// Writes an event of a rare kind.
    fn emit(&self, out: &mut Writer<File>, thread: ThreadId, op: Op, site: SiteId) {
        let event = Event::new(thread, op, site);
        out.push(&self.tables, &event, &mut ShapeMemo::default());
    }

    fn record(&mut self, thread: ThreadId, record: &Record, out: &mut Writer<File>) {
        if record.site >= special::FIRST {
            self.special(thread, record, out);
            return;
        }
        let meaning = self.meaning(thread, record.site);
        let address = u64::from(record.object) | u64::from(record.index & 0xffff) << 32;
        let piece = Piece { address: address as usize, size: (record.index >> 16) as usize };
        match meaning.kind {
            Kind::Read => self.access(thread, record, meaning, piece, false, out),
            Kind::Write => self.access(thread, record, meaning, piece, true, out),
            Kind::AtomicRead | Kind::UpdateRead => {
                self.access(thread, record, meaning, piece, false, out);
            }
            Kind::AtomicWrite | Kind::UpdateWrite => {
                self.access(thread, record, meaning, piece, true, out);
            }
            Kind::Enter => self.enter(thread, piece.address, record.value as usize, meaning),
            Kind::Leave => self.leave(thread, piece.address, meaning, out),
            Kind::Acquire => self.acquire(thread, piece.address, meaning, out),
            Kind::Request => self.request(thread, piece.address, meaning, out),
            Kind::Release => self.release(thread, piece.address, meaning, out),
            Kind::AcquireShared => self.acquire_shared(thread, piece.address, meaning, out),
            Kind::ReleaseShared => self.release_shared(thread, piece.address, meaning, out),
            Kind::Await => self.awaits(thread, piece.address, meaning, out),
            Kind::Awaited => self.awaited(thread, piece.address, meaning, out),
            Kind::SyncRead | Kind::SyncWrite => {
                self.synchronise(thread, piece.address, meaning, out);
            }
            Kind::Allocate => self.allocated(piece.address, record.value, meaning),
            Kind::Free => self.freed(piece.address, record.value),
            Kind::BlockBegin => self.begin_marked(thread, record.value, meaning, out),
            Kind::BlockEnd => self.end_marked(thread, meaning, out),
            Kind::Name => self.name_memory(piece.address, record.value),
            Kind::LeftOut => self.left_out += record.value,
            Kind::Thread => {}
        }
    }

    fn special(&mut self, thread: ThreadId, record: &Record, out: &mut Writer<File>) {
        let child = ThreadId(record.value as u32);
        match record.site {
            special::FORK => {
                self.know_thread(child);
                self.emit(out, thread, Op::Fork { child }, SiteId::NONE);
            }
            special::JOIN => {
                self.know_thread(child);
                self.end_thread(child, out);
                self.emit(out, thread, Op::Join { child }, SiteId::NONE);
            }
            // Parts of the schedule, but no events.
            _ => {}
        }
    }

    /// How a site accesses memory.
    const fn access_of(kind: Kind) -> Access {
        match kind {
            Kind::AtomicRead | Kind::AtomicWrite => Access::Volatile,
            Kind::UpdateRead | Kind::UpdateWrite => Access::Update,
            _ => Access::Plain,
        }
    }

    fn meaning(&mut self, thread: ThreadId, site: u32) -> Meaning {
        let meaning = self.meanings.get(site).unwrap_or_else(|| {
            let found = meaning::find(&mut self.tables, &self.setup, sites::get(site));
            self.meanings.set(Meaning { number: site, ..found })
        });
        let is_activation = matches!(meaning.kind, Kind::Enter | Kind::Leave);
        if !meaning.is_transparent || is_activation || meaning.is_stream {
            return meaning;
        }
        let caller = self.stacks.0.get(thread.index()).map_or(0, activations::Stack::caller);
        if caller == 0 {
            return meaning;
        }
        self.meanings.called_from(site, caller).unwrap_or_else(|| {
            let own = (meaning, sites::get(site));
            let found = meaning::find_called(&mut self.tables, &self.setup, own, caller);
            self.meanings.set_called(caller, found)
        })
    }
}

impl Convert for Converter {
    fn tables(&mut self) -> &mut Tables {
        &mut self.tables
    }

    fn convert(&mut self, thread: ThreadId, records: &[Record], out: &mut Writer<File>) {
        self.know_thread(thread);
        for record in records {
            self.record(thread, record, out);
        }
    }

    fn finish(&mut self, summary: RecordingSummary) {
        let (functions, files) = self.meanings.counts();
        let coverage = Coverage {
            application_classes: files,
            application_methods: functions,
            unseen: crate::modules::uninstrumented(),
            ..Coverage::default()
        };
        self.tables.meta.summary = Some(RecordingSummary {
            unmatched_ends: self.unmatched,
            elements_left_out: self.left_out,
            coverage,
            plan_missing: sites::missing(),
            ..summary
        });
    }
}
