//! The answer in plain words, with the names of the tables.

use untorn_trace::{Tables, Value, VarId, show_value};

use crate::blocks::Block;
use crate::verdict::{
    Excluded, Forced, NoSource, OrderReason, Party, Point, Reason, UndecidedReason, Update,
};

/// Orders shown of a long chain; the reason itself has all.
const MAX_ORDERS: usize = 12;

/// Blocks and sources listed in a sentence.
const MAX_NAMED: usize = 4;

/// One line: what is wrong.
pub fn headline(reason: &Reason, tables: &Tables) -> String {
    let names = |blocks: &[Block]| {
        let mut names: Vec<String> = Vec::new();
        for block in blocks.iter().filter(|block| block.label.is_some()) {
            let name = bare_name(block, tables);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let blocks = reason.blocks();
    match reason {
        Reason::OwnRead { block, .. } => format!("{} was interrupted", name(block, tables)),
        Reason::LostUpdate { var, .. } => {
            format!("an update of {} was lost", tables.var_name(*var))
        }
        Reason::Printed { pattern, .. } => format!("the printed condition {pattern} holds"),
        _ => match names(&blocks).as_slice() {
            [] => "no serial order explains what was read".to_owned(),
            [one] => format!("no serial order of {one} explains what was read"),
            many => format!("no serial order of {} explains what was read", list(many)),
        },
    }
}

/// The proof, a sentence each.
pub fn sentences(reason: &Reason, tables: &Tables) -> Vec<String> {
    let words = Phrases { tables };
    match reason {
        Reason::OwnRead { block, var, access, wrote, read } => {
            let did = if *wrote { "wrote" } else { "read" };
            let (name, x) = (name(block, tables), tables.var_name(*var));
            if tables.var_facts(*var).role.is_collection() {
                // Its values are versions, which mean nothing to a reader.
                let did = if *wrote { "changed" } else { "looked at" };
                return vec![format!(
                    "{name} {did} {x} and then found it changed, though it changed nothing in between: alone it \
                     would have found it as it was."
                )];
            }
            let (had, got) = (words.value(*var, access.value), words.value(*var, read.value));
            vec![format!(
                "{name} {did} {x} = {had} and then read {got}, though it wrote nothing in between: \
                 alone it would have read {had}."
            )]
        }
        Reason::NoSource(no) => words.no_source(no),
        Reason::LostUpdate { var, updates, sources } => words.lost_update(*var, updates, sources),
        Reason::Cycle(orders) => words.cycle(orders),
        Reason::Exhausted { states, blocks, vars } => {
            let vars: Vec<String> = vars.iter().map(|&var| tables.var_name(var)).collect();
            vec![format!(
                "A search through all serial orders of {} on {} found none in which every read \
                 returns what it returned ({states} situations).",
                count(blocks.len(), "transaction"),
                list(&vars)
            )]
        }
        Reason::Printed { pattern, var, block, .. } => vec![format!(
            "The condition {pattern} of the AtomChase paper holds for {} on {}. The printed \
             conditions are not a proof: this may be a false alarm.",
            name(block, tables),
            tables.var_name(*var)
        )],
    }
}

/// Why there is no answer.
pub fn undecided(why: &UndecidedReason, tables: &Tables) -> String {
    match why {
        UndecidedReason::Budget { spent } => {
            format!("the budget of {spent} steps is used up; a larger --budget may decide it")
        }
        UndecidedReason::TooLarge { blocks } => {
            format!("{blocks} transactions matter, too many to compare: choose a window")
        }
        UndecidedReason::UnknownValues => {
            "values are missing, and the answer depends on them".to_owned()
        }
        UndecidedReason::Inconsistent(found) => format!(
            "the trace contradicts itself: the read of {} at event {} returned something else than was \
             written last, so code that was not recorded wrote it; the rest is no violation",
            tables.var_name(found.var),
            found.read
        ),
        UndecidedReason::Method => "this method alone cannot decide".to_owned(),
    }
}

/// What to call a transaction: `Account.withdraw of Alice`, `Bob's access at Bank.java:12`.
pub fn name(block: &Block, tables: &Tables) -> String {
    let thread = tables.thread_name(block.thread);
    match block.label {
        Some(_) => format!("{} of {thread}", bare_name(block, tables)),
        None => match tables.site_text(block.site) {
            place if place.is_empty() => format!("{thread}'s access at event {}", block.begin),
            place => format!("{thread}'s access at {place}"),
        },
    }
}

fn bare_name(block: &Block, tables: &Tables) -> String {
    let named = block.label.map(|label| tables.block_name(label, block.site));
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "the block".to_owned())
}

fn list(names: &[String]) -> String {
    let shown = names.len().min(MAX_NAMED);
    let mut parts: Vec<String> = names[..shown].to_vec();
    if shown < names.len() {
        parts.push(format!("{} more", names.len() - shown));
    }
    match parts.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

struct Phrases<'a> {
    tables: &'a Tables,
}

impl Phrases<'_> {
    fn value(&self, var: VarId, value: Option<Value>) -> String {
        let facts = self.tables.var_facts(var);
        match value {
            None => "an unknown value".to_owned(),
            // What a collection held is not known, only how often it had changed.
            Some(value) if facts.role.is_collection() => format!("version {}", value.0),
            Some(value) => show_value(value, facts.values),
        }
    }

    /// Two executions of the same block by the same thread need their positions to be distinguished.
    fn block(&self, block: &Block, among: &[Block]) -> String {
        let own = name(block, self.tables);
        let alike = |other: &&Block| *other != block && name(other, self.tables) == own;
        if among.iter().any(|other| alike(&other)) {
            format!("{own} (event {})", block.begin)
        } else {
            own
        }
    }

    fn party(&self, party: Party, among: &[Block]) -> String {
        party.map_or_else(|| "the start".to_owned(), |block| self.block(&block, among))
    }

    fn no_source(&self, no: &NoSource) -> Vec<String> {
        let reason = Reason::NoSource(no.clone());
        let all = reason.blocks();
        let (x, v) = (self.tables.var_name(no.var), self.value(no.var, no.read.value));
        let reader = self.block(&no.block, &all);
        let hidden = no.orders.len().saturating_sub(MAX_ORDERS);
        let mut out: Vec<String> =
            no.orders[hidden..].iter().map(|order| self.forced(order, &all)).collect();
        match (&no.passing, no.excluded.is_empty()) {
            (Some((writer, _)), _) => out.push(format!(
                "{reader} read {x} = {v}, which {} wrote only in passing and replaced before it was \
                 through.",
                self.block(writer, &all)
            )),
            (None, true) => {
                out.push(format!("{reader} read {x} = {v}, which no other block leaves there."));
            }
            (None, false) => {
                out.push(format!("{reader} read {x} = {v}, but every possible source is excluded:"));
            }
        }
        for (party, why) in no.excluded.iter().take(MAX_ORDERS) {
            let who = match party {
                Some(block) => self.block(block, &all),
                None => format!("the initial {v}"),
            };
            out.push(match why {
                Excluded::Later => format!("{who} must run later."),
                Excluded::Overwritten(by) => {
                    format!("{who}: {} overwrites it before.", self.block(by, &all))
                }
                Excluded::Contradiction => format!("{who}: taking it leads to a contradiction."),
            });
        }
        out
    }

    fn lost_update(&self, var: VarId, updates: &[Update], sources: &[Party]) -> Vec<String> {
        let all: Vec<Block> = updates.iter().map(|update| update.block).collect();
        let x = self.tables.var_name(var);
        if let ([first, second], [_]) = (updates, sources) {
            let (a, b) = (self.block(&first.block, &all), self.block(&second.block, &all));
            let (v, w) = (self.value(var, first.read.value), self.value(var, first.write.value));
            let u = self.value(var, second.write.value);
            return vec![format!(
                "{a} read {x} = {v} and wrote {w}; {b} read {v}, too, and wrote {u}: whichever ran \
                 second had to read what the first one wrote."
            )];
        }
        let names: Vec<String> = all.iter().map(|block| self.block(block, &all)).collect();
        let from = match sources.len() {
            0 => "no block".to_owned(),
            1 => "one block or initial value".to_owned(),
            n => format!("{n} blocks or initial values"),
        };
        vec![format!(
            "{} ({}) each read {x} and then wrote it, and can have read only from {from}: each needs a \
             different source.",
            count(updates.len(), "block"),
            list(&names)
        )]
    }

    fn cycle(&self, orders: &[Forced]) -> Vec<String> {
        let reason = Reason::Cycle(orders.to_vec());
        let all = reason.blocks();
        let hidden = orders.len().saturating_sub(MAX_ORDERS);
        let mut out: Vec<String> = Vec::new();
        if hidden > 0 {
            out.push(format!("({} not shown.)", count(hidden, "earlier step")));
        }
        out.extend(orders[hidden..].iter().map(|order| self.forced(order, &all)));
        out.push("These orders contradict each other.".to_owned());
        out
    }

    fn forced(&self, order: &Forced, all: &[Block]) -> String {
        let (from, to) = (self.party(order.from, all), self.party(order.to, all));
        let name = |var: VarId| self.tables.var_name(var);
        let read =
            |var: VarId, read: &Point| format!("{} = {}", name(var), self.value(var, read.value));
        match &order.because {
            OrderReason::Kept => format!("{from} runs before {to}: thread, fork or join order."),
            OrderReason::Read { var, read: point, .. } if order.from.is_none() => {
                format!(
                    "{to} read {}, the initial value, and it has no other possible source.",
                    read(*var, point)
                )
            }
            OrderReason::Read { var, read: point, .. } => format!(
                "{from} runs before {to}, which read {}: it has no other possible source.",
                read(*var, point)
            ),
            OrderReason::NotBetweenEarly { var, reader, read: point } if order.to.is_none() => {
                format!(
                    "{from} wrote {} and cannot run before {}, which read the initial {}.",
                    name(*var),
                    self.block(reader, all),
                    self.value(*var, point.value)
                )
            }
            OrderReason::NotBetweenEarly { var, reader, read: point } => format!(
                "{from} runs before {to}: it wrote {}, too, and must not come between {to} and {}, \
                 which read {}.",
                name(*var),
                self.block(reader, all),
                read(*var, point)
            ),
            OrderReason::NotBetweenLate { var, source, read: point } => format!(
                "{from} runs before {to}: {to} wrote {}, too, and must not come between {} and {from}, \
                 which read {}.",
                name(*var),
                self.party(*source, all),
                read(*var, point)
            ),
            OrderReason::EverySource { var, read: point } => format!(
                "{from} runs before {to}: it is or precedes every possible source of {}, which \
                 {to} read.",
                read(*var, point)
            ),
            OrderReason::AfterEverySource { var, read: point } => format!(
                "{from} runs before {to}: {to} overwrites {}, which {from} read, after every \
                 possible source of it.",
                read(*var, point)
            ),
        }
    }
}
