//! What is to be changed in one method.

use super::Snippet;

/// Code around a whole method, as `try { … } finally { … }` would put it.
///
/// The handler covers the body, and of `before_return` and `handler` what stands before their
/// [`end_protection`](Snippet::end_protection). For a `synchronized` method spelled out, that is
/// everything up to and including `monitorexit`: so does `javac`, and HotSpot's compilers give up
/// methods whose monitors do not balance on every path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrap {
    /// Runs at entry, not covered.
    pub enter: Snippet,
    /// Runs before each return, with the returned value on the stack, which it leaves alone.
    pub before_return: Snippet,
    /// Runs with the exception on the stack, which it leaves alone and which is thrown again.
    pub handler: Snippet,
}

/// How an insertion relates to its instruction. The order is the one in which code is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InsertAt {
    Before,
    Instead,
    After,
}

#[derive(Clone, Debug)]
pub(super) struct Insertion {
    pub pc: u32,
    pub place: InsertAt,
    pub snippet: Snippet,
}

/// A local variable that is set throughout a wrap.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptLocal {
    pub slot: u16,
    pub class: u16,
    /// The index of the wrap whose `enter` sets it.
    pub wrap: usize,
}

/// The changes of one method. Nothing is checked until [`finish`](super::ClassEditor::finish).
///
/// What is inserted has to leave the stack as it found it (a replacement: as the instruction would
/// have left it) and may use local variables only from [`scratch_local`](Self::scratch_local).
/// Several insertions at the same place run in the order in which they were given.
#[derive(Clone, Debug)]
pub struct MethodEdit {
    pub(super) insertions: Vec<Insertion>,
    pub(super) prologue: Vec<Snippet>,
    pub(super) wraps: Vec<Wrap>,
    /// Ascending by slot and by wrap.
    pub(super) kept: Vec<KeptLocal>,
    pub(super) grow_stack: u16,
    /// `max_locals` of the method to be written; past 65 535 if that does not fit.
    pub(super) max_locals: u32,
}

impl MethodEdit {
    pub(super) const fn new(max_locals: u16) -> Self {
        Self {
            insertions: Vec::new(),
            prologue: Vec::new(),
            wraps: Vec::new(),
            kept: Vec::new(),
            grow_stack: 0,
            max_locals: max_locals as u32,
        }
    }

    /// Whether the code stays as it is.
    pub(super) const fn is_empty(&self) -> bool {
        self.insertions.is_empty() && self.prologue.is_empty() && self.wraps.is_empty()
    }

    /// Runs `code` before the instruction at `pc`, however that is reached: branches, handlers,
    /// stack maps and line numbers of `pc` then belong to the inserted code.
    pub fn before(&mut self, pc: u32, code: Snippet) -> &mut Self {
        self.insert(pc, InsertAt::Before, code)
    }

    /// Runs `code` when the instruction at `pc` has completed and did not branch. Branches to the
    /// instruction that follows do not run it. Behind an instruction that never falls through, it
    /// would never run, and is left out.
    ///
    /// What `code` throws goes where an exception of the instruction would have gone, except
    /// around monitors, whose ranges HotSpot's compilers check: behind a `monitorexit` at the end
    /// of a handler's range, `code` is not covered; behind a `monitorenter` with a range that
    /// catches everything, it is.
    pub fn after(&mut self, pc: u32, code: Snippet) -> &mut Self {
        self.insert(pc, InsertAt::After, code)
    }

    /// Puts `code` in the place of the instruction at `pc`. Given several times, the codes follow
    /// one another.
    pub fn replace(&mut self, pc: u32, code: Snippet) -> &mut Self {
        self.insert(pc, InsertAt::Instead, code)
    }

    fn insert(&mut self, pc: u32, place: InsertAt, snippet: Snippet) -> &mut Self {
        self.insertions.push(Insertion { pc, place, snippet });
        self
    }

    /// Runs `code` once when the method is entered, never by a branch to its first instruction.
    /// Within wraps: their `enter` comes first, and their handlers cover it.
    pub fn prologue(&mut self, code: Snippet) -> &mut Self {
        self.prologue.push(code);
        self
    }

    /// What is kept by wraps that were given; without its wrap, such a variable is mere scratch.
    pub(super) fn kept_in_wraps(&self) -> impl Iterator<Item = &KeptLocal> {
        self.kept.iter().filter(|kept| kept.wrap < self.wraps.len())
    }

    pub(super) fn keeps_anything(&self) -> bool {
        self.kept_in_wraps().next().is_some()
    }

    /// Puts code around the whole method; the first one given is the outermost. Not for
    /// constructors. At the ends of the method, the code may rely on no local variables but those
    /// from [`keep_local`](Self::keep_local) and, unless the method is static or overwrites it,
    /// `this`.
    pub fn wrap(&mut self, wrap: Wrap) -> &mut Self {
        self.wraps.push(wrap);
        self
    }

    /// Makes room for `slots` more on the stack than the method needs by itself. The largest of
    /// all calls counts, as no two snippets run at the same time.
    pub fn grow_stack(&mut self, slots: u16) -> &mut Self {
        self.grow_stack = self.grow_stack.max(slots);
        self
    }

    /// New local variables of that many slots; the first one's number. Snippets may share them:
    /// no snippet is interrupted by another, and none finds what another has left.
    pub fn scratch_local(&mut self, slots: u16) -> u16 {
        let first = self.max_locals;
        self.max_locals = first.saturating_add(u32::from(slots));
        u16::try_from(first).unwrap_or(u16::MAX)
    }

    /// A new local variable that the `enter` of the wrap given next sets, to an object of `class`
    /// (a constant), and that may be read from there on, also where the method returns and in
    /// handlers: of this wrap, and of those within.
    ///
    /// Needed for the monitor of a static method. HotSpot's compilers give a method up unless each
    /// `monitorexit` takes the very value from the stack or a variable that `monitorenter` took;
    /// another `ldc` of the same class will not do.
    pub fn keep_local(&mut self, class: u16) -> u16 {
        let slot = self.scratch_local(1);
        self.kept.push(KeptLocal { slot, class, wrap: self.wraps.len() });
        slot
    }
}
