//! Serial orders, by trying all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{Access, Record};

/// More transactions than this are not told as serial orders.
const MAX_PARTS: usize = 6;

struct Touch<'a> {
    variable: &'a str,
    access: &'a Access,
}

/// Whether just the named order, or none, gives every value of these accesses.
pub fn holds(
    parts: &[Vec<u64>],
    count: usize,
    fits: Option<&[usize]>,
    record: &Record,
) -> Result<(), String> {
    if parts.len() > MAX_PARTS {
        return Err(format!("{} transactions are too many", parts.len()));
    }
    let mut touches: Vec<Vec<Touch<'_>>> = Vec::new();
    for part in parts {
        let own: Option<Vec<Touch<'_>>> = part
            .iter()
            .map(|&at| record.at(at).map(|(variable, access)| Touch { variable, access }))
            .collect();
        touches.push(own.ok_or("a position is no access of these variables")?);
    }
    complete(&touches, record)?;
    let works = |order: &[usize]| plays(order, &touches, record);
    let mut all = Vec::new();
    orders(&mut (0..parts.len()).collect(), 0, &mut all);
    all.retain(|order: &Vec<usize>| keeps_threads(order, &touches));
    if all.len() != count {
        return Err(format!("there are {} orders, not {count}", all.len()));
    }
    match fits {
        Some(order) if works(order) && keeps_threads(order, &touches) => Ok(()),
        Some(order) => Err(format!("the order {order:?} does not give these values")),
        None => match all.iter().find(|order| works(order)) {
            Some(order) => Err(format!("the order {order:?} gives these values")),
            None => Ok(()),
        },
    }
}

/// No access of the variables between the first and the last one is left out.
fn complete(touches: &[Vec<Touch<'_>>], record: &Record) -> Result<(), String> {
    let all: BTreeSet<u64> = touches.iter().flatten().map(|touch| touch.access.at).collect();
    let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return Ok(()) };
    let variables: BTreeSet<&str> = touches.iter().flatten().map(|touch| touch.variable).collect();
    for variable in variables {
        if let Some(more) =
            record.between(variable, first, last).find(|access| !all.contains(&access.at))
        {
            return Err(format!("{variable} was also accessed by {more:?}"));
        }
    }
    Ok(())
}

/// The transactions of a thread stay in their order.
fn keeps_threads(order: &[usize], touches: &[Vec<Touch<'_>>]) -> bool {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    order.iter().filter_map(|&part| touches[part].first()).all(|first| {
        let before = last.insert(&first.access.thread, first.access.at);
        before.is_none_or(|before| before < first.access.at)
    })
}

/// Whether every read of this order returns what it returned, and the same values are left.
fn plays(order: &[usize], touches: &[Vec<Touch<'_>>], record: &Record) -> bool {
    let start = touches.iter().flatten().map(|touch| touch.access.at).min().unwrap_or(0);
    let mut memory: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for touch in touches.iter().flatten() {
        memory.insert(touch.variable, record.value_before(touch.variable, start));
    }
    let mut observed = memory.clone();
    let mut in_order: Vec<&Touch<'_>> = touches.iter().flatten().collect();
    in_order.sort_by_key(|touch| touch.access.at);
    for touch in in_order {
        observed.insert(touch.variable, touch.access.value.clone());
    }
    for touch in order.iter().flat_map(|&part| &touches[part]) {
        let held = memory.insert(touch.variable, touch.access.value.clone());
        if !touch.access.writes && held != Some(touch.access.value.clone()) {
            return false;
        }
    }
    memory == observed
}

fn orders(items: &mut Vec<usize>, fixed: usize, out: &mut Vec<Vec<usize>>) {
    if fixed >= items.len() {
        out.push(items.clone());
        return;
    }
    for index in fixed..items.len() {
        items.swap(fixed, index);
        orders(items, fixed + 1, out);
        items.swap(fixed, index);
    }
}
