//! Are two objects that took each other's place the same but for their identity?

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_predict::At;
use untorn_trace::{ObjectId, Op, Value, ValueKind, VarId};

use super::Assessment;

/// Objects that are compared.
const MAX_COMPARED: usize = 64;

/// Whether a block found nothing and stored an object, and another thread had stored one meanwhile.
pub(super) fn may_be_same(assessment: &Assessment<'_>) -> bool {
    stored(assessment).is_some()
}

/// The object that was stored last, and the one that it replaced.
fn stored(assessment: &Assessment<'_>) -> Option<[Value; 2]> {
    let history = &assessment.run.history;
    let ([read, write], [_, intruder]) = (assessment.instance.own, assessment.instance.other);
    let value = |at: At| history.event(at).value();
    let is_object = assessment.run.tables.var_facts(assessment.var(write)).values == ValueKind::Ref;
    let (kept, lost, null) = (value(write)?, value(intruder)?, Value(0));
    let is_initialisation = assessment.is_lost_update()
        && is_object
        && value(read) == Some(null)
        && ![kept, lost].contains(&null)
        && kept != lost;
    is_initialisation.then_some([kept, lost])
}

/// Whether a lazy initialisation was made twice without harm: the block found nothing and stored an object, another
/// thread had stored one meanwhile, both have the same contents, and nobody changes the one that was replaced.
pub(super) fn are_same(assessment: &Assessment<'_>) -> bool {
    let Some(both) = stored(assessment) else { return false };
    let ([_, write], [_, intruder]) = (assessment.instance.own, assessment.instance.other);
    let parts = Parts::of(assessment);
    let mut compared = Compared::default();
    compared.same(&parts, both, [write, intruder])
        && compared.lost.iter().all(|&object| parts.is_unchanged(object, intruder))
}

/// The parts of an object, with their values and the kinds of these.
type Contents = FxHashMap<(String, usize), (Option<Value>, ValueKind)>;

/// The variables of each object.
struct Parts<'s> {
    assessment: &'s Assessment<'s>,
    of: FxHashMap<ObjectId, Vec<VarId>>,
}

impl<'s> Parts<'s> {
    fn of(assessment: &'s Assessment<'s>) -> Self {
        let tables = &assessment.run.tables;
        let mut of: FxHashMap<ObjectId, Vec<VarId>> = FxHashMap::default();
        for index in 0..assessment.run.history.var_count() {
            let var = VarId(index as u32);
            let owner = tables.var_facts(var).owner;
            if owner != ObjectId::NONE {
                of.entry(owner).or_default().push(var);
            }
        }
        Self { assessment, of }
    }

    fn vars(&self, object: Value) -> &[VarId] {
        let id = u32::try_from(object.0).map(ObjectId).unwrap_or(ObjectId::NONE);
        self.of.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The last value of each part of an object before an event, by what the part is called; elements of an array are
    /// called the same, and come in the order of their first accesses.
    fn contents(&self, object: Value, until: At) -> Contents {
        let (history, tables) = (&self.assessment.run.history, &self.assessment.run.tables);
        let value = |var: VarId| {
            let writes = history.writes(var);
            match writes.partition_point(|&at| at < until).checked_sub(1) {
                Some(last) => history.event(writes[last]).value(),
                None => history.initial(var),
            }
        };
        let mut often: FxHashMap<String, usize> = FxHashMap::default();
        let part = |&var: &VarId| {
            let name = tables.member_name(var);
            let nth = often.entry(name.clone()).or_default();
            *nth += 1;
            ((name, *nth), (value(var), tables.var_facts(var).values))
        };
        self.vars(object).iter().map(part).collect()
    }

    /// Whether nobody writes a part of an object after an event.
    fn is_unchanged(&self, object: Value, since: At) -> bool {
        let history = &self.assessment.run.history;
        let is_later = |&at: &At| at > since && matches!(history.event(at).op, Op::Write { .. });
        let mut writes = self.vars(object).iter().flat_map(|&var| history.writes(var));
        !writes.any(is_later)
    }
}

/// The pairs that were compared, so that objects that refer to each other end the search.
#[derive(Default)]
struct Compared {
    seen: FxHashSet<(Value, Value)>,
    lost: Vec<Value>,
}

impl Compared {
    /// Whether two objects are alike. Of what nothing was recorded, nothing is known.
    fn same(&mut self, parts: &Parts<'_>, [kept, lost]: [Value; 2], until: [At; 2]) -> bool {
        if !self.seen.insert((kept, lost)) {
            return true;
        }
        if self.seen.len() > MAX_COMPARED {
            return false;
        }
        self.lost.push(lost);
        let (one, other) = (parts.contents(kept, until[0]), parts.contents(lost, until[1]));
        !one.is_empty()
            && one.len() == other.len()
            && one.iter().all(|(name, &(value, kind))| match (other.get(name), kind) {
                (Some(&(own, _)), _) if own == value && value.is_some() => true,
                (Some(&(Some(own), _)), ValueKind::Ref) => {
                    value.is_some_and(|value| self.same(parts, [value, own], until))
                }
                _ => false,
            })
    }
}
