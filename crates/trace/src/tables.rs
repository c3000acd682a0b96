//! The tables that give ids their names, sites their places and variables their initial values.

pub mod convention;
mod facts;
mod names;
mod sites;

use crate::event::{Value, ValueKind};
use crate::ids::{LabelId, LockId, MemberId, SiteId, ThreadId, VarId};
use crate::recording::RunMeta;

pub use facts::{AddressRange, LabelFacts, VarFacts, VarRole};
pub use names::NameTable;
pub use sites::{CodePosition, MemoryOrder, PositionRow, Site, SiteFacts, SiteRow, SiteTable};

/// All data of a trace beside its events. Grows while a trace is read: an id is defined
/// before the batch that uses it is handed out.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub threads: NameTable<ThreadId>,
    pub vars: NameTable<VarId>,
    pub locks: NameTable<LockId>,
    /// Labels of blocks, names of methods and of inputs.
    pub labels: NameTable<LabelId>,
    /// Declared variables, the same for every object.
    pub members: NameTable<MemberId>,
    pub sites: SiteTable,
    /// Facts of variables from `first_facts` on; shorter than `vars` when the rest is not known.
    var_facts: Vec<VarFacts>,
    first_facts: usize,
    /// Variables whose facts were set, in order: a writer finds what is new since its last call.
    fact_log: Vec<VarId>,
    first_logged: usize,
    /// Where variables lie in memory, by variable; empty if the front end did not provide them.
    var_ranges: Vec<AddressRange>,
    /// Facts of labels; shorter than `labels` when the rest is not known.
    label_facts: Vec<LabelFacts>,
    /// Labels whose facts were set, in order.
    label_log: Vec<LabelId>,
    pub meta: RunMeta,
}

impl Tables {
    pub fn var_facts(&self, var: VarId) -> VarFacts {
        let place = var.index().checked_sub(self.first_facts);
        place.and_then(|place| self.var_facts.get(place)).copied().unwrap_or_default()
    }

    /// What was forgotten stays so: see [`Tables::forget_variables`].
    pub fn set_var_facts(&mut self, var: VarId, facts: VarFacts) {
        let Some(place) = var.index().checked_sub(self.first_facts) else { return };
        if self.var_facts.len() <= place {
            self.var_facts.resize(place + 1, VarFacts::default());
        }
        if self.var_facts[place] != facts {
            self.var_facts[place] = facts;
            self.fact_log.push(var);
        }
    }

    /// The variables whose facts were set or changed, in that order, without the first so many.
    pub fn fact_log(&self, from: usize) -> &[VarId] {
        &self.fact_log[from.saturating_sub(self.first_logged).min(self.fact_log.len())..]
    }

    /// Drops the names and facts of the first variables, and of the first entries of the log. For a writer of its own
    /// tables: what is in the file need not be in memory as well.
    pub(crate) fn forget_variables(&mut self, names: usize, logged: usize) {
        self.vars.forget(names);
        let facts = names.saturating_sub(self.first_facts).min(self.var_facts.len());
        self.var_facts.drain(..facts);
        self.first_facts += facts;
        let logged = logged.saturating_sub(self.first_logged).min(self.fact_log.len());
        self.fact_log.drain(..logged);
        self.first_logged += logged;
    }

    /// The facts given so far, by variable, of tables that nothing was forgotten of.
    pub fn all_var_facts(&self) -> &[VarFacts] {
        &self.var_facts
    }

    /// Where a variable lies in memory, if that is known.
    pub fn var_range(&self, var: VarId) -> Option<AddressRange> {
        self.var_ranges.get(var.index()).copied().filter(|range| range.size > 0)
    }

    pub fn set_var_range(&mut self, var: VarId, range: AddressRange) {
        if self.var_ranges.len() <= var.index() {
            self.var_ranges.resize(var.index() + 1, AddressRange::default());
        }
        self.var_ranges[var.index()] = range;
    }

    /// By variable.
    pub fn all_var_ranges(&self) -> &[AddressRange] {
        &self.var_ranges
    }

    pub fn label_facts(&self, label: LabelId) -> LabelFacts {
        self.label_facts.get(label.index()).copied().unwrap_or_default()
    }

    pub fn set_label_facts(&mut self, label: LabelId, facts: LabelFacts) {
        if self.label_facts.len() <= label.index() {
            self.label_facts.resize(label.index() + 1, LabelFacts::default());
        }
        if self.label_facts[label.index()] != facts {
            self.label_facts[label.index()] = facts;
            self.label_log.push(label);
        }
    }

    /// The labels whose facts were set or changed, in that order, without the first so many.
    pub fn label_log(&self, from: usize) -> &[LabelId] {
        &self.label_log[from.min(self.label_log.len())..]
    }

    /// The class and the method that a label is about, if known.
    pub fn label_method(&self, label: LabelId) -> Option<(&str, &str)> {
        let facts = self.label_facts(label);
        let (class, method) = (self.sites.symbol(facts.class), self.sites.symbol(facts.method));
        (!method.is_empty()).then_some((class, method))
    }

    /// The declared variable, the same for every object: `Account.balance`, `Grid.rows[]`. Where the trace does
    /// not contain it, it is derived from the usual form of names: see [`convention`].
    pub fn member_name(&self, var: VarId) -> String {
        match self.members.get(self.var_facts(var).member) {
            Some(name) => name.to_owned(),
            None => convention::member(&self.var_name(var)),
        }
    }

    /// Whether a variable is an element of an array, or of a map.
    pub fn is_element(&self, var: VarId) -> bool {
        match self.var_facts(var).role {
            VarRole::Unknown => convention::is_element(&self.var_name(var)),
            role => matches!(role, VarRole::Element | VarRole::KeyedContents),
        }
    }

    /// A value of a variable the way a programmer would write it. `None` of the content of a collection: its values are
    /// versions, which look like values and are none.
    pub fn shown_value(&self, var: VarId, value: Value) -> Option<String> {
        let facts = self.var_facts(var);
        (!facts.role.is_collection()).then(|| show_value(value, facts.values))
    }

    pub fn thread_name(&self, thread: ThreadId) -> String {
        self.threads.get(thread).map_or_else(|| format!("thread {}", thread.0), str::to_owned)
    }

    pub fn var_name(&self, var: VarId) -> String {
        self.vars.get(var).map_or_else(|| format!("variable {}", var.0), str::to_owned)
    }

    pub fn lock_name(&self, lock: LockId) -> String {
        self.locks.get(lock).map_or_else(|| format!("lock {}", lock.0), str::to_owned)
    }

    pub fn site_text(&self, site: SiteId) -> String {
        self.sites.get(site).map_or_else(String::new, |s| s.to_string())
    }

    /// What to call a block: its label, or where it begins.
    pub fn block_name(&self, label: LabelId, site: SiteId) -> String {
        if let Some(name) = self.labels.get(label) {
            return name.to_owned();
        }
        match self.sites.get(site) {
            Some(site) => format!("block at {site}"),
            None => "unnamed block".to_owned(),
        }
    }
}

/// Writes a value the way a programmer would.
pub fn show_value(value: Value, kind: ValueKind) -> String {
    match kind {
        ValueKind::Int => value.0.cast_signed().to_string(),
        ValueKind::Bool => (value.0 != 0).to_string(),
        ValueKind::Char => match u32::try_from(value.0).ok().and_then(char::from_u32) {
            Some(c) => format!("{c:?}"),
            None => format!("'\\u{{{:x}}}'", value.0),
        },
        ValueKind::Float => f32::from_bits(value.0 as u32).to_string(),
        ValueKind::Double => f64::from_bits(value.0).to_string(),
        ValueKind::Ref if value.0 == 0 => "null".to_owned(),
        ValueKind::Ref => format!("#{}", value.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectId;

    #[test]
    fn names_that_were_forgotten_keep_their_ids() {
        let mut table = NameTable::<VarId>::default();
        for number in 0..10 {
            assert_eq!(table.push(&format!("name {number}")), VarId(number));
        }
        assert_eq!(table.find("name 3"), Some(VarId(3)));
        for forgotten in [0, 4, 4, 2] {
            table.forget(forgotten);
        }
        assert_eq!(table.len(), 10);
        assert_eq!((table.get(VarId(3)), table.get(VarId(4))), (None, Some("name 4")));
        assert_eq!((table.find("name 3"), table.find("name 9")), (None, Some(VarId(9))));
        table.forget(100);
        assert_eq!(table.push("last"), VarId(10));
        assert_eq!(table.iter().collect::<Vec<_>>(), ["last"]);
    }

    #[test]
    fn a_member_is_what_the_trace_says_or_else_what_names_look_like() {
        let mut tables = Tables::default();
        let var = tables.vars.push("Account#17.balance");
        assert_eq!(tables.member_name(var), "Account.balance");
        let member = tables.members.intern("Account.total");
        let facts = VarFacts::default();
        tables.set_var_facts(var, facts.with_place(VarRole::Field, ObjectId::NONE, member));
        assert_eq!(tables.member_name(var), "Account.total");
    }

    #[test]
    fn facts_are_forgotten_with_the_names() {
        let mut tables = Tables::default();
        let facts = |number| VarFacts::default().with_initial(Some(Value(number)));
        for number in 0..6 {
            let var = tables.vars.push("x");
            tables.set_var_facts(var, facts(number));
        }
        tables.forget_variables(4, 3);
        assert_eq!(tables.var_facts(VarId(3)), VarFacts::default());
        assert_eq!(tables.var_facts(VarId(4)), facts(4));
        assert_eq!(tables.fact_log(3), [VarId(3), VarId(4), VarId(5)]);
        tables.set_var_facts(VarId(6), facts(6));
        assert_eq!(tables.fact_log(5), [VarId(5), VarId(6)]);
    }
}
