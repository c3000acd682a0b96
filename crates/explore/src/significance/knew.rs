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
/// * what the block had read before is an object, and nothing of it was used: see [`is_used`]. There was an object after
///   the other thread, too.
pub(super) fn saw_the_change(assessment: &Assessment<'_>) -> bool {
    let ([read, write], [_, intruder]) = (assessment.instance.own, assessment.instance.other);
    if !assessment.is_lost_update() || !is_object(assessment, assessment.var(write)) {
        return false;
    }
    let history = assessment.history();
    let (Some(before), Some(after)) = (object(history, read), object(history, intruder)) else {
        return false;
    };
    let is_own_operation = |look: &Section| {
        let left = look.leave.filter(|&left| left < intruder);
        let mut own = sections_around(history, write).filter(|own| own.lock == look.lock);
        left.is_some_and(|left| {
            own.any(|own| goes_by(assessment, own)) && !is_used(assessment, before, left)
        })
    };
    before != after
        && sections_around(history, read).any(is_own_operation)
        && has_parts(assessment, before)
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

/// Whether something of the object that was read came out of the critical section that ends at `left`: the thread read a
/// part of it, or, later than that, accessed a part, stored it, or found it again somewhere. What the section itself
/// changes is of no use to anybody but those who enter one.
fn is_used(assessment: &Assessment<'_>, object: Value, left: At) -> bool {
    let (history, [read, write]) = (assessment.history(), assessment.instance.own);
    between(history, read, write).any(|at| {
        let is_it = |var| is_object(assessment, var) && history.event(at).value() == Some(object);
        let is_part = |var| Some(owner(assessment, var)) == id_of(object);
        match history.event(at).op {
            Op::Read { var, .. } => is_part(var) || at > left && is_it(var),
            Op::Write { var, .. } => at > left && (is_part(var) || is_it(var)),
            _ => false,
        }
    })
}
