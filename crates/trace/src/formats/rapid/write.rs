//! Writes STD, and counts what STD has no words for.

use std::borrow::Cow;
use std::io::Write;

use rustc_hash::FxHashMap;

use crate::event::{Access, Event, Hold, Op};
use crate::formats::unique::UniqueNames;
use crate::ids::{LabelId, LockId, SiteId, ThreadId, VarId};
use crate::source::{Lossy, Sink, TraceError};
use crate::tables::{NameTable, Tables};

/// What is written for a site that is not known.
const NO_SITE: &str = "0";

/// Writes STD text.
///
/// - A wait becomes one `rel` for each time the monitor is held, its return as many `acq`.
/// - A shared hold becomes `acq` and `rel`: two readers then seem to exclude each other.
/// - Values, access modes, notifications, branches, calls and inputs are dropped, and of a site
///   its method and class.
/// - In a name `|`, `(`, `)` and control characters become `_` and the character's number in hex
///   (`a|b` is written `a_7cb`), an empty name becomes `_`. A name that is thereby taken, or was a
///   duplicate from the start, gets `~2`, `~3` and so on appended.
/// - A label with parentheses in it is written directly after `begin` or `end`, where they are
///   allowed.
/// - A site that is not known is written `0`.
///
/// [`Sink::lossy`] counts them. The content of a file read by [`super::Reader`] is written as it
/// was, byte for byte, if its labels stand in parentheses unless they contain some, no other name
/// contains `(`, and its lines end with LF.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    names: Names,
    /// How deep a thread holds a lock, or held it before it began to wait.
    depths: FxHashMap<(ThreadId, LockId), u32>,
    lossy: Lossy,
}

#[derive(Debug)]
struct Names {
    threads: UniqueNames<ThreadId>,
    vars: UniqueNames<VarId>,
    locks: UniqueNames<LockId>,
    labels: UniqueNames<LabelId>,
    sites: NameTable<SiteId>,
}

impl<W: Write> Writer<W> {
    /// Text is written when it is this long.
    const FULL: usize = 64 * 1024;

    pub fn new(out: W) -> Self {
        let names = Names {
            threads: UniqueNames::new(legal_name),
            vars: UniqueNames::new(legal_name),
            locks: UniqueNames::new(legal_name),
            labels: UniqueNames::new(legal_label),
            sites: NameTable::default(),
        };
        let buffer = Vec::with_capacity(2 * Self::FULL);
        Self { out, buffer, names, depths: FxHashMap::default(), lossy: Lossy::default() }
    }

    fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        let Event { thread, site, op } = *event;
        self.lossy.values += u64::from(op.value().is_some());
        match op {
            Op::Read { var, access, .. } => self.access(thread, "r", var, access, site),
            Op::Write { var, access, .. } => self.access(thread, "w", var, access, site),
            Op::Acquire { lock, hold } => {
                *self.depths.entry((thread, lock)).or_default() += 1;
                self.lock(thread, "acq", lock, hold, site)
            }
            Op::Release { lock, hold } => {
                if let Some(depth) = self.depths.get_mut(&(thread, lock)) {
                    *depth = depth.saturating_sub(1);
                }
                self.lock(thread, "rel", lock, hold, site)
            }
            Op::Request { lock } => self.lock(thread, "req", lock, Hold::Exclusive, site),
            Op::Wait { lock } => self.wait(thread, "rel", lock, site),
            Op::Resume { lock } => self.wait(thread, "acq", lock, site),
            Op::Fork { child } => {
                let name = self.names.threads.get(child).ok_or_else(|| unnamed("thread", child));
                line(&mut self.buffer, &self.names, thread, &["fork(", name?, ")"], site)
            }
            Op::Join { child } => {
                let name = self.names.threads.get(child).ok_or_else(|| unnamed("thread", child));
                line(&mut self.buffer, &self.names, thread, &["join(", name?, ")"], site)
            }
            Op::Begin { label, .. } => self.block(thread, "begin", label, site),
            Op::End { label } => self.block(thread, "end", label, site),
            Op::Notify { .. } => count(&mut self.lossy.notifications),
            Op::Branch { .. } => count(&mut self.lossy.branches),
            Op::Call { .. } | Op::Return { .. } | Op::Argument { .. } => {
                count(&mut self.lossy.calls)
            }
            Op::Input { .. } => count(&mut self.lossy.inputs),
            Op::Allocate { .. } | Op::Deallocate { .. } => count(&mut self.lossy.allocations),
        }
    }

    fn access(
        &mut self,
        thread: ThreadId,
        word: &str,
        var: VarId,
        access: Access,
        site: SiteId,
    ) -> Result<(), TraceError> {
        self.lossy.accesses += u64::from(access != Access::Plain);
        let name = self.names.vars.get(var).ok_or_else(|| unnamed("variable", var))?;
        line(&mut self.buffer, &self.names, thread, &[word, "(", name, ")"], site)
    }

    fn lock(
        &mut self,
        thread: ThreadId,
        word: &str,
        lock: LockId,
        hold: Hold,
        site: SiteId,
    ) -> Result<(), TraceError> {
        self.lossy.shared_holds += u64::from(hold == Hold::Shared);
        let name = self.names.locks.get(lock).ok_or_else(|| unnamed("lock", lock))?;
        line(&mut self.buffer, &self.names, thread, &[word, "(", name, ")"], site)
    }

    /// Writes `word` once for each time the thread holds the lock. One that is not known to hold
    /// it, because the trace starts later, holds it once.
    fn wait(
        &mut self,
        thread: ThreadId,
        word: &str,
        lock: LockId,
        site: SiteId,
    ) -> Result<(), TraceError> {
        self.lossy.waits += 1;
        let depth = self.depths.get(&(thread, lock)).map_or(1, |&depth| depth.max(1));
        (0..depth).try_for_each(|_| self.lock(thread, word, lock, Hold::Exclusive, site))
    }

    fn block(
        &mut self,
        thread: ThreadId,
        word: &str,
        label: LabelId,
        site: SiteId,
    ) -> Result<(), TraceError> {
        if label == LabelId::NONE {
            return line(&mut self.buffer, &self.names, thread, &[word], site);
        }
        let name = self.names.labels.get(label).ok_or_else(|| unnamed("label", label))?;
        let bare = [word, name];
        let paren = [word, "(", name, ")"];
        let op: &[&str] = if name.contains(['(', ')']) { &bare } else { &paren };
        line(&mut self.buffer, &self.names, thread, op, site)
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn count(kind: &mut u64) -> Result<(), TraceError> {
    *kind += 1;
    Ok(())
}

fn unnamed(what: &str, id: impl Into<u32>) -> TraceError {
    TraceError::Other(format!("no name for {what} {}", id.into()))
}

fn line(
    buffer: &mut Vec<u8>,
    names: &Names,
    thread: ThreadId,
    op: &[&str],
    site: SiteId,
) -> Result<(), TraceError> {
    let thread = names.threads.get(thread).ok_or_else(|| unnamed("thread", thread))?;
    let site = if site == SiteId::NONE { Some(NO_SITE) } else { names.sites.get(site) };
    let site = site.ok_or_else(|| TraceError::Other("no text for a site".to_owned()))?;
    buffer.extend_from_slice(thread.as_bytes());
    buffer.push(b'|');
    for part in op {
        buffer.extend_from_slice(part.as_bytes());
    }
    buffer.push(b'|');
    buffer.extend_from_slice(site.as_bytes());
    buffer.push(b'\n');
    Ok(())
}

impl Names {
    fn follow(&mut self, tables: &Tables) {
        self.threads.follow(&tables.threads);
        self.vars.follow(&tables.vars);
        self.locks.follow(&tables.locks);
        self.labels.follow(&tables.labels);
        for index in self.sites.len()..tables.sites.len() {
            let text = tables.site_text(SiteId::from_index(index));
            let text = if text.is_empty() { NO_SITE.to_owned() } else { text };
            self.sites.push(&escaped(&text, |c| c == '|' || (c.is_control() && c != '\t')));
        }
    }

    fn changed(&self) -> u64 {
        self.threads.changed() + self.vars.changed() + self.locks.changed() + self.labels.changed()
    }
}

impl<W: Write> Sink for Writer<W> {
    fn write(&mut self, tables: &Tables, events: &[Event]) -> Result<(), TraceError> {
        self.names.follow(tables);
        self.lossy.names = self.names.changed();
        for event in events {
            self.event(event)?;
            if self.buffer.len() >= Self::FULL {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _tables: &Tables) -> Result<(), TraceError> {
        self.flush()?;
        Ok(self.out.flush()?)
    }

    fn lossy(&self) -> Option<&Lossy> {
        Some(&self.lossy)
    }
}

fn legal_name(name: &str) -> Cow<'_, str> {
    escaped(name, |c| matches!(c, '|' | '(' | ')') || c.is_control())
}

fn legal_label(label: &str) -> Cow<'_, str> {
    let plain = |c: char| c != '|' && !c.is_control();
    if label.starts_with('(') || label.is_empty() || !label.chars().all(plain) {
        return legal_name(label);
    }
    Cow::Borrowed(label)
}

/// `text` with every forbidden character as `_` and its number.
fn escaped(text: &str, forbidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.is_empty() {
        return Cow::Borrowed("_");
    }
    if !text.contains(&forbidden) {
        return Cow::Borrowed(text);
    }
    let mut legal = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if forbidden(c) {
            legal.push_str(&format!("_{:02x}", u32::from(c)));
        } else {
            legal.push(c);
        }
    }
    Cow::Owned(legal)
}
