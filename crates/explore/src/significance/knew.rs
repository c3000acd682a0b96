//! Did a block that overwrote a value know of it, though it did not read it again?
//!
//! A value is lost if a write rests on what was there before. Operations of a thread-safe object that a thread calls one
//! after the other write what the state of the object demands: the second one sees what others did in between.

use untorn_predict::{At, History, ReadFrom, Section};
use untorn_trace::{ObjectId, Op, Value, ValueKind, VarId};

use super::Assessment;

/// Whether the write went by what the other thread had done, and not by what the block had read before:
///
/// * it is in a critical section of its own, and so is the write of the other thread, of the same lock;
/// * this section read something else that the other thread's section had written;
/// * it read the value that it wrote from somewhere;
/// * what the block had read before is an object, and the thread did nothing with it but compare it: it neither accessed
///   a part of it, though parts of it are known, nor stored it; and there was an object after the other thread, too.
pub(super) fn saw_the_change(assessment: &Assessment<'_>) -> bool {
    let ([read, write], [_, intruder]) = (assessment.instance.own, assessment.instance.other);
    if !assessment.is_lost_update() || !is_object(assessment, assessment.var(write)) {
        return false;
    }
    let history = assessment.history();
    let (Some(before), Some(after)) = (object(history, read), object(history, intruder)) else {
        return false;
    };
    before != after
        && sections_around(history, write).filter(|own| own.enter > read).any(|own| {
            sections_around(history, intruder)
                .filter(|other| other.lock == own.lock)
                .any(|other| goes_by(assessment, own, other))
        })
        && has_parts(assessment, before)
        && !uses(assessment, before)
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

/// Whether a critical section read, before it wrote, what the other one had written to another variable, and the value
/// that it wrote.
fn goes_by(assessment: &Assessment<'_>, own: &Section, other: &Section) -> bool {
    let (history, [_, write]) = (assessment.history(), assessment.instance.own);
    let (var, written) = (assessment.var(write), history.event(write).value());
    let is_other_s = |at: At| {
        let is_inside = other.enter < at && other.leave.is_none_or(|leave| at < leave);
        is_inside && history.event(at).thread == other.thread
    };
    let (mut saw, mut found_value) = (false, false);
    for at in between(history, own.enter, write) {
        let Op::Read { var: of, .. } = history.event(at).op else { continue };
        if of != var {
            saw |= matches!(history.read_from(at), ReadFrom::Write(from) if is_other_s(from));
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

/// Whether the thread accessed a part of an object between its read and its write, or stored it.
fn uses(assessment: &Assessment<'_>, object: Value) -> bool {
    let (history, [read, write]) = (assessment.history(), assessment.instance.own);
    between(history, read, write).any(|at| match history.event(at).op {
        Op::Read { var, .. } => Some(owner(assessment, var)) == id_of(object),
        Op::Write { var, .. } => {
            Some(owner(assessment, var)) == id_of(object)
                || is_object(assessment, var) && history.event(at).value() == Some(object)
        }
        _ => false,
    })
}
