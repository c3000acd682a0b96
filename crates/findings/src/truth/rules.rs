//! Each claim by its definition.

use untorn_report::claim::{AccessFact, Claim};

use super::record::{Access, Record};
use super::serial;

type Checked = Result<(), String>;

fn require(condition: bool, why: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(why()) }
}

/// The variables that a claim is about. Those of a serial order are found by position.
pub fn variables(claim: &Claim) -> Vec<&str> {
    match claim {
        Claim::HadBefore { variable, .. }
        | Claim::HasNow { variable, .. }
        | Claim::NotWritten { variable, .. } => vec![variable],
        _ => facts(claim).into_iter().map(|fact| fact.variable.as_str()).collect(),
    }
}

/// The latest position that a claim is about.
pub fn last_position(claim: &Claim) -> u64 {
    let of_facts = facts(claim).into_iter().map(|fact| fact.at).max().unwrap_or(0);
    match claim {
        Claim::KnowsOnly { until, .. } | Claim::NotWritten { until, .. } => of_facts.max(*until),
        Claim::HadBefore { at, .. }
        | Claim::HasNow { at, .. }
        | Claim::Boundary { at, .. }
        | Claim::Inside { at, .. } => *at,
        Claim::Serial { parts, .. } => parts.iter().flatten().copied().max().unwrap_or(0),
        _ => of_facts,
    }
}

/// The accesses that a claim names.
pub fn facts(claim: &Claim) -> Vec<&AccessFact> {
    match claim {
        Claim::Access(fact) | Claim::NeverRead { gone: fact } => vec![fact],
        Claim::Ordered(first, second) => vec![first, second],
        Claim::Between { first, between, last } => vec![first, between, last],
        Claim::KnowsOnly { known, .. } => vec![known],
        Claim::Overwritten { gone, by } | Claim::Lost { gone, by } => vec![gone, by],
        Claim::StaleCheck { saw, changed, now, acted } => vec![saw, changed, now, acted],
        Claim::ReadFrom { read, write } => vec![read, write],
        Claim::NotWritten { .. }
        | Claim::HadBefore { .. }
        | Claim::HasNow { .. }
        | Claim::Boundary { .. }
        | Claim::Inside { .. }
        | Claim::Serial { .. } => Vec::new(),
    }
}

/// Whether the trace bears a claim out, or why not.
pub fn holds(claim: &Claim, record: &Record) -> Checked {
    for fact in facts(claim) {
        happened(fact, record)?;
    }
    match claim {
        Claim::Access(_) => Ok(()),
        Claim::Ordered(first, second) => require(first.at < second.at, || {
            format!("event {} is not before event {}", first.at, second.at)
        }),
        Claim::Between { first, between, last } => is_between(first, between, last),
        Claim::KnowsOnly { known, until } => knows_only(known, *until, record),
        Claim::Overwritten { gone, by } => overwritten(gone, by, record),
        Claim::Lost { gone, by } => {
            overwritten(gone, by, record)?;
            let read = record
                .between(&gone.variable, gone.at, by.at)
                .find(|access| !access.writes && access.thread == by.thread);
            require(read.is_none(), || {
                let at = read.map_or(0, |access| access.at);
                format!("{} had read {} in between, at event {at}", by.thread, gone.variable)
            })
        }
        Claim::NeverRead { gone } => {
            let next = record.of(&gone.variable).iter().find(|access| access.at > gone.at);
            let is_foreign = next.is_some_and(|next| next.writes && next.thread != gone.thread);
            require(is_foreign, || "the next access is no write of another thread".to_owned())
        }
        Claim::StaleCheck { saw, changed, now, acted } => {
            stale_check([saw, changed, now, acted], record)
        }
        Claim::ReadFrom { read, write } => {
            require(write.writes && !read.writes, || "it is no write and a read".to_owned())?;
            require(write.thread != read.thread, || "it is one thread".to_owned())?;
            is_source(write, read, record)
        }
        Claim::NotWritten { thread, variable, from, until } => {
            let mut own = record.between(variable, *from, *until);
            let own = own.find(|access| access.writes && access.thread == *thread);
            require(own.is_none(), || format!("{thread} had written {variable}"))
        }
        Claim::HadBefore { variable, value, at } => {
            let had = record.value_before(variable, *at);
            require(had.as_ref() == Some(value), || format!("it had {had:?} before event {at}"))
        }
        Claim::HasNow { variable, value, thread, at } => {
            let last = record.between(variable, 0, *at).filter(|access| access.writes).last();
            let fits = |last: &Access| last.thread == *thread && last.value.as_ref() == Some(value);
            require(last.is_some_and(fits), || format!("the last write before was {last:?}"))
        }
        Claim::Boundary { thread, block, at, enters } => {
            let found = record.boundaries.get(at);
            let is_it = found.is_some_and(|found| {
                found.thread == *thread && found.block == *block && found.enters == *enters
            });
            require(is_it, || format!("at event {at} there is {found:?}"))
        }
        Claim::Inside { thread, block, at } => {
            let own = record.boundaries.range(..=at).filter(|(_, found)| found.thread == *thread);
            let mut open: Vec<&str> = Vec::new();
            for (_, found) in own {
                if found.enters {
                    open.push(&found.block);
                } else {
                    open.pop();
                }
            }
            require(open.contains(&block.as_str()), || format!("{thread} is not in {block}"))
        }
        Claim::Serial { parts, orders, fits } => {
            serial::holds(parts, *orders, fits.as_deref(), record)
        }
    }
}

/// The access is in the trace as it is told.
fn happened(fact: &AccessFact, record: &Record) -> Checked {
    let Some((variable, access)) = record.at(fact.at) else {
        return Err(format!("event {} is no access of {}", fact.at, fact.variable));
    };
    let is_it = variable == fact.variable
        && access.thread == fact.thread
        && access.writes == fact.writes
        && access.value == fact.value;
    require(is_it, || format!("event {} is {access:?} of {variable}, not {fact:?}", fact.at))
}

fn is_between(first: &AccessFact, between: &AccessFact, last: &AccessFact) -> Checked {
    require(first.thread == last.thread, || "the ends are of two threads".to_owned())?;
    require(between.thread != first.thread, || "all three are of one thread".to_owned())?;
    require(first.at < between.at && between.at < last.at, || "it is not in between".to_owned())
}

fn knows_only(known: &AccessFact, until: u64, record: &Record) -> Checked {
    require(known.at < until, || "it came later".to_owned())?;
    let again = record
        .between(&known.variable, known.at, until)
        .find(|access| access.thread == known.thread);
    require(again.is_none(), || {
        format!("{} has accessed {} again: {again:?}", known.thread, known.variable)
    })
}

fn overwritten(gone: &AccessFact, by: &AccessFact, record: &Record) -> Checked {
    require(gone.writes && by.writes, || "both must be writes".to_owned())?;
    require(gone.variable == by.variable, || "these are two variables".to_owned())?;
    require(gone.thread != by.thread, || "it is one thread".to_owned())?;
    require(gone.at < by.at, || "it came earlier".to_owned())?;
    let other = record.between(&gone.variable, gone.at, by.at).find(|access| access.writes);
    require(other.is_none(), || format!("it was overwritten before, by {other:?}"))
}

fn is_source(write: &AccessFact, read: &AccessFact, record: &Record) -> Checked {
    require(write.variable == read.variable, || "these are two variables".to_owned())?;
    require(write.at < read.at, || "the read came first".to_owned())?;
    let other = record.between(&write.variable, write.at, read.at).find(|access| access.writes);
    require(other.is_none(), || format!("it was overwritten before, by {other:?}"))?;
    require(write.value == read.value, || "the values differ".to_owned())
}

fn stale_check([saw, changed, now, acted]: [&AccessFact; 4], record: &Record) -> Checked {
    let is_one = [saw, now, acted].iter().all(|fact| fact.thread == acted.thread);
    require(is_one, || "the check and the act are of two threads".to_owned())?;
    require(!saw.writes && !now.writes && acted.writes, || "not a check and an act".to_owned())?;
    require(changed.writes && changed.thread != acted.thread, || "nobody changed it".to_owned())?;
    let in_order = saw.at < changed.at && changed.at < now.at && now.at < acted.at;
    require(in_order, || "it happened in another order".to_owned())?;
    require(saw.value != now.value, || "it was the same all the time".to_owned())?;
    let had = record.value_before(&acted.variable, acted.at);
    require(had == now.value, || format!("it was {had:?} when {} acted", acted.thread))?;
    let own = |access: &&Access| !access.writes && access.thread == acted.thread;
    let latest = record.between(&acted.variable, saw.at, acted.at).filter(own).last();
    require(latest.is_some_and(|latest| latest.value == now.value), || {
        format!("the latest read gave {latest:?}")
    })
}
