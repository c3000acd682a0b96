//! The made-up programs that the machine runs: a few dozen methods, each a straight line of steps
//! with at most one loop. A step has one place in the source, as in real code.

use crate::{LabelId, SiteId, Tables};

use super::Shape;
use super::rng::Rng;

/// One of the two objects a call works on; the first one's lock has the smaller number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    First = 0,
    Second = 1,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Fixed(u32),
    /// Another one each time: an array, a map.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum VarChoice {
    /// A field of an object, touched only under the object's lock.
    Guarded(Slot, Field),
    /// Never written while threads run: configuration, constants.
    Common(Field),
    Local(Field),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Begin(LabelId),
    End(LabelId),
    Acquire(Slot),
    Release(Slot),
    Read(VarChoice),
    Write(VarChoice),
    /// Goes back, so that the steps before run between `low` and `high` times. No event.
    Again {
        back: u32,
        low: u32,
        high: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub act: Act,
    pub site: SiteId,
}

#[derive(Debug)]
pub(super) struct Program {
    /// What threads call, each as likely as the other.
    pub methods: Vec<Vec<Step>>,
    /// What the first thread does for ever in `hold`, inside of its one block.
    pub holder: Vec<Step>,
}

/// Parameters of the blocks of a shape. Shares are of 256.
struct Style {
    methods: u32,
    /// Accesses in a row under one lock, before loops.
    accesses: (u32, u32),
    /// Of the methods, to have a loop; and how often it goes round.
    loops: (u32, u32, u32),
    /// Of the methods, to touch objects at all.
    locking: u32,
    /// Of the locking methods, to work on two objects.
    two: u32,
    /// Of the methods, to be no block.
    outside: u32,
    /// Of the blocks, to contain another one.
    nested: u32,
    /// Of the guarded accesses, to pick any field.
    any: u32,
    /// Every block begins with a read of a common variable.
    common_first: bool,
}

impl Style {
    fn of(shape: Shape) -> Self {
        let mix = Self {
            methods: 26,
            accesses: (1, 4),
            loops: (60, 3, 24),
            locking: 190,
            two: 80,
            outside: 48,
            nested: 60,
            any: 96,
            common_first: false,
        };
        match shape {
            Shape::Mix | Shape::Pipe => mix,
            Shape::Hold => Self { common_first: true, ..mix },
            Shape::Small => Self {
                methods: 40,
                accesses: (1, 3),
                loops: (0, 1, 1),
                locking: 128,
                two: 0,
                outside: 20,
                nested: 0,
                ..mix
            },
            Shape::Large => Self { loops: (256, 50, 90), outside: 16, any: 200, ..mix },
            Shape::Local => Self { locking: 14, loops: (128, 3, 24), ..mix },
            Shape::ManyVars => Self { any: 256, loops: (80, 3, 24), ..mix },
        }
    }
}

const CLASSES: [&str; 7] = ["Shop", "Cart", "Stock", "Ledger", "Queue", "Session", "Report"];
const VERBS: [&str; 7] = ["order", "cancel", "add", "move", "total", "update", "scan"];

impl Program {
    pub(super) fn new(shape: Shape, fields: u32, tables: &mut Tables) -> Self {
        // The program belongs to the shape: the seed of a trace decides only how it runs.
        let mut rng = Rng::new(0x0507_0311 + shape as u64);
        let style = Style::of(shape);
        let mut methods = Vec::new();
        for i in 0..style.methods {
            let mut writer = Writer::new(i, fields, &style, &mut rng, tables);
            writer.method();
            methods.push(writer.body);
        }
        let mut writer = Writer::new(style.methods, fields, &style, &mut rng, tables);
        for field in 0..4 {
            writer.step(Act::Read(VarChoice::Local(Field::Fixed(field))));
            writer.step(Act::Write(VarChoice::Local(Field::Fixed(field))));
        }
        Self { holder: writer.body, methods }
    }
}

/// Writes one method.
struct Writer<'a> {
    style: &'a Style,
    rng: &'a mut Rng,
    tables: &'a mut Tables,
    class: &'static str,
    verb: &'static str,
    number: u32,
    line: u32,
    fields: u32,
    body: Vec<Step>,
}

impl<'a> Writer<'a> {
    fn new(
        number: u32,
        fields: u32,
        style: &'a Style,
        rng: &'a mut Rng,
        tables: &'a mut Tables,
    ) -> Self {
        let classes = CLASSES.len() as u32;
        let class = CLASSES[(number % classes) as usize];
        let verb = VERBS[(number / classes) as usize % VERBS.len()];
        // Places are numbers, as in the traces that RAPID's logger writes.
        let line = 1000 * (1 + number % classes) + number / classes * 40;
        Self { style, rng, tables, class, verb, number, line, fields, body: Vec::new() }
    }

    fn step(&mut self, act: Act) {
        let site = self.tables.sites.intern_loc(&self.line.to_string());
        self.line += 1;
        self.body.push(Step { act, site });
    }

    fn method(&mut self) {
        // The first methods are blocks, so that every shape has some.
        let outside = self.number > 3 && self.rng.chance(self.style.outside);
        let locking = self.rng.chance(self.style.locking);
        let around = locking && !outside && self.rng.chance(48);
        let label = self.tables.labels.intern(&format!("{}.{}", self.class, self.verb));
        if around {
            // A caller's lock: it is taken and given back outside of the block.
            self.step(Act::Acquire(Slot::First));
        }
        if !outside {
            self.step(Act::Begin(label));
            if self.style.common_first {
                self.step(Act::Read(VarChoice::Common(Field::Any)));
            }
        }
        if locking && !around {
            self.locked(outside);
        } else if around {
            self.accesses(Some(Slot::First));
        } else {
            self.accesses(None);
        }
        if !outside {
            self.step(Act::End(label));
        }
        if around {
            self.step(Act::Release(Slot::First));
        }
    }

    /// Accesses of one object or two, under their locks. Nothing is taken after the first release.
    fn locked(&mut self, outside: bool) {
        let nested = !outside && self.rng.chance(self.style.nested);
        let inner = self.tables.labels.intern(&format!("{}.{}Inner", self.class, self.verb));
        if self.rng.chance(64) {
            self.accesses(None);
        }
        self.step(Act::Acquire(Slot::First));
        self.accesses(Some(Slot::First));
        let two = self.rng.chance(self.style.two);
        if nested {
            self.step(Act::Begin(inner));
        }
        if two {
            self.step(Act::Acquire(Slot::Second));
            self.accesses(Some(Slot::Second));
            self.step(Act::Release(Slot::Second));
        } else if nested {
            self.accesses(Some(Slot::First));
        }
        if nested {
            self.step(Act::End(inner));
        }
        self.step(Act::Release(Slot::First));
    }

    /// Some accesses, perhaps in a loop.
    fn accesses(&mut self, lock: Option<Slot>) {
        let count = self.rng.between(self.style.accesses.0, self.style.accesses.1);
        for _ in 0..count {
            let act = self.access(lock);
            self.step(act);
        }
        let (share, low, high) = self.style.loops;
        if self.rng.chance(share) {
            self.step(Act::Again { back: count, low, high });
        }
    }

    fn access(&mut self, lock: Option<Slot>) -> Act {
        let rng = &mut *self.rng;
        if let Some(slot) = lock
            && rng.chance(180)
        {
            let any = rng.chance(self.style.any);
            let field = if any { Field::Any } else { Field::Fixed(rng.below(self.fields)) };
            let place = VarChoice::Guarded(slot, field);
            let write = rng.chance(100);
            return if write { Act::Write(place) } else { Act::Read(place) };
        }
        if rng.chance(90) {
            return Act::Read(VarChoice::Common(Field::Any));
        }
        let place = VarChoice::Local(Field::Fixed(rng.below(super::machine::LOCALS)));
        if rng.chance(110) { Act::Write(place) } else { Act::Read(place) }
    }
}
