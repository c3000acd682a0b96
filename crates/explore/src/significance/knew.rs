//! Did a block that overwrote a value know of it, though it did not read it again?
//!
//! A value is lost if a write rests on what was there before. Operations of a thread-safe object that a thread calls one
//! after the other write what the state of the object demands: the second one sees what others did in between.

use untorn_predict::{At, History, ReadFrom, Section};
use untorn_trace::{ObjectId, Op, Value, ValueKind, VarId};

use super::Assessment;

/// Whether the write went by what others had done, and not by what the block had read before:
///
/// * it is in a critical section of its own, and the read is in an earlier one of the same lock;
/// * its section read something else that another thread had changed since, in a critical section of that lock;
/// * it read the value that it wrote from somewhere;
/// * what the block had read before is an object, and nothing of it was used: see [`Look::is_used`]. There was an object after
///   the other thread, too.
pub(super) fn saw_the_change(assessment: &Assessment<'_>) -> bool {
    let Some(before) = replaced_object(assessment) else { return false };
    let ([read, write], [_, intruder]) = (assessment.instance.own, assessment.instance.other);
    let history = assessment.history();
    let is_own_operation = |section: &Section| {
        let Some(left) = section.leave.filter(|&left| left < intruder) else { return false };
        let mut own = sections_around(history, write).filter(|own| own.lock == section.lock);
        let look = Look { assessment, object: before, section, left };
        own.any(|own| goes_by(assessment, own)) && !look.is_used()
    };
    sections_around(history, read).any(is_own_operation) && has_parts(assessment, before)
}

/// The object that the block read, if another thread put another one in its place.
pub(super) fn replaced_object(assessment: &Assessment<'_>) -> Option<Value> {
    let ([read, write], [_, intruder]) = (assessment.instance.own, assessment.instance.other);
    let is_of_objects = is_object(assessment, assessment.var(write));
    let history = assessment.history();
    let [before, after] = [read, intruder].map(|at| object(history, at));
    before.filter(|_| {
        assessment.is_lost_update() && is_of_objects && after.is_some() && before != after
    })
}

fn is_object(assessment: &Assessment<'_>, var: VarId) -> bool {
    assessment.run.tables.var_facts(var).values == ValueKind::Ref
}

/// What was read or written, unless it is no object.
fn object(history: &History, at: At) -> Option<Value> {
    history.event(at).value().filter(|&value| value != Value(0))
}

fn sections_around(history: &History, at: At) -> impl Iterator<Item = &Section> {
    let thread = history.event(at).thread;
    let is_around = move |section: &&Section| {
        section.thread == thread
            && !section.shared
            && section.enter < at
            && section.leave.is_none_or(|leave| at < leave)
    };
    history.sections().iter().filter(is_around)
}

/// Whether the critical section of the write read before it what another thread had changed since the block looked, in a
/// critical section of the same lock; and the value that it wrote.
fn goes_by(assessment: &Assessment<'_>, own: &Section) -> bool {
    let (history, [read, write]) = (assessment.history(), assessment.instance.own);
    let (var, written) = (assessment.var(write), history.event(write).value());
    let is_news = |from: At| {
        let is_guarded = || sections_around(history, from).any(|other| other.lock == own.lock);
        from > read && history.event(from).thread != own.thread && is_guarded()
    };
    let (mut saw, mut found_value) = (false, false);
    for at in between(history, own.enter, write) {
        let Op::Read { var: of, .. } = history.event(at).op else { continue };
        if of != var {
            saw |= matches!(history.read_from(at), ReadFrom::Write(from) if is_news(from));
            found_value |= is_object(assessment, of) && history.event(at).value() == written;
        }
    }
    saw && found_value
}

/// The events of a thread between two of its own.
fn between(history: &History, from: At, to: At) -> impl Iterator<Item = At> {
    let after = std::iter::successors(history.next(from), |&at| history.next(at));
    after.take_while(move |&at| at < to)
}

fn owner(assessment: &Assessment<'_>, var: VarId) -> ObjectId {
    assessment.run.tables.var_facts(var).owner
}

fn id_of(object: Value) -> Option<ObjectId> {
    u32::try_from(object.0).ok().map(ObjectId)
}

/// Whether the trace has parts of an object: else nobody sees what is done with it.
fn has_parts(assessment: &Assessment<'_>, object: Value) -> bool {
    let id = id_of(object);
    let mut vars = (0..assessment.history().var_count()).map(|index| VarId(index as u32));
    id.is_some() && vars.any(|var| Some(owner(assessment, var)) == id)
}

/// The first critical section of the block, which read the object.
struct Look<'r> {
    assessment: &'r Assessment<'r>,
    object: Value,
    section: &'r Section,
    left: At,
}

impl Look<'_> {
    /// Whether something of the object came out of this section before the write: the thread read a part of it, or used
    /// it later. What the section changes is of no use to anybody but those who enter one.
    fn is_used(&self) -> bool {
        let (history, [read, write]) = (self.assessment.history(), self.assessment.instance.own);
        between(history, read, write).any(|at| match history.event(at).op {
            Op::Read { var, .. } if at < self.left => self.is_part(var),
            Op::Read { var, .. } => {
                self.is_part(var) && !self.is_found_anew(at)
                    || self.is_object_at(at, var) && self.is_kept(at)
            }
            Op::Write { var, .. } if at > self.left => {
                (self.is_part(var) || self.is_object_at(at, var)) && !self.is_found_anew(at)
            }
            _ => false,
        })
    }

    fn is_part(&self, var: VarId) -> bool {
        Some(owner(self.assessment, var)) == id_of(self.object)
    }

    /// Whether an access has the object as its value.
    fn is_object_at(&self, at: At, var: VarId) -> bool {
        let value = self.assessment.history().event(at).value();
        is_object(self.assessment, var) && value == Some(self.object)
    }

    /// Whether a read finds what this section has put there.
    fn is_kept(&self, at: At) -> bool {
        let history = self.assessment.history();
        let is_own = |from: At| {
            history.event(from).thread == self.section.thread
                && self.assessment.instance.own[0] < from
                && from < self.left
        };
        matches!(history.read_from(at), ReadFrom::Write(from) if is_own(from))
    }

    /// Whether an access is in a critical section of the lock that has found the object by itself.
    fn is_found_anew(&self, at: At) -> bool {
        let history = self.assessment.history();
        let mut sections = sections_around(history, at);
        let Some(section) = sections.find(|section| section.lock == self.section.lock) else {
            return false;
        };
        between(history, section.enter, at).any(|earlier| match history.event(earlier).op {
            Op::Read { var, .. } => self.is_object_at(earlier, var) && !self.is_kept(earlier),
            _ => false,
        })
    }
}
