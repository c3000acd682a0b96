//! Collections of java.util.concurrent: each call is one access of the content of the collection, or of the entry of
//! a key in a map. Only the probe can see whether the object is such a collection: most calls are made through
//! interfaces.

use untorn_bytecode::{Instr, Member, Snippet, op};
use untorn_trace::event::Access;

use super::super::{MethodPass, RewriteError};
use super::Operands;
use crate::sites::{Reached, SiteKind};

const PROBES: &str = "java/lang/UntornCollections";

/// How the probe finds out whether a call changed anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Never,
    Always,
    /// By the result: true, not zero, not null.
    IfSo,
    /// The result is null: there was no entry before.
    IfNull,
    /// It creates a value if there is none, which can only be seen before the call.
    IfAbsent,
}

/// The effect of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AccessEffect {
    change: Change,
    /// Its first argument is a key.
    keyed: bool,
    /// It throws if the collection is empty.
    insists: bool,
}

impl AccessEffect {
    const fn of_all(change: Change) -> Self {
        Self { change, keyed: false, insists: false }
    }

    const fn of_key(change: Change) -> Self {
        Self { change, keyed: true, insists: false }
    }

    const fn throwing_if_empty(change: Change) -> Self {
        Self { change, keyed: false, insists: true }
    }

    fn of(class: &str, name: &str, descriptor: &str) -> Option<Self> {
        if is_map(class) {
            return Self::of_map(name, descriptor).or_else(|| Self::of_any(name, descriptor));
        }
        Self::of_any(name, descriptor)
    }

    fn of_map(name: &str, descriptor: &str) -> Option<Self> {
        let answers = descriptor.ends_with(")Z");
        Some(match name {
            "get" | "containsKey" | "getOrDefault" => Self::of_key(Change::Never),
            "put" | "compute" | "computeIfPresent" | "merge" => Self::of_key(Change::Always),
            "putIfAbsent" => Self::of_key(Change::IfNull),
            "computeIfAbsent" => Self::of_key(Change::IfAbsent),
            "remove" | "replace" if answers || descriptor.ends_with(")Ljava/lang/Object;") => {
                Self::of_key(Change::IfSo)
            }
            "putAll" | "clear" | "replaceAll" => Self::of_all(Change::Always),
            _ => return None,
        })
    }

    fn of_any(name: &str, descriptor: &str) -> Option<Self> {
        let void = descriptor.ends_with(")V");
        let bare = descriptor.starts_with("()");
        Some(match name {
            "size" | "isEmpty" | "mappingCount" | "contains" | "containsAll" | "containsValue"
            | "keySet" | "values" | "entrySet" | "iterator" | "toArray" | "forEach" | "stream"
            | "peek" | "peekFirst" | "peekLast" | "remainingCapacity" | "indexOf"
            | "lastIndexOf" | "get" | "firstKey" | "lastKey" | "first" | "last" => {
                Self::of_all(Change::Never)
            }
            "element" | "getFirst" | "getLast" => Self::throwing_if_empty(Change::Never),
            "remove" | "removeFirst" | "removeLast" | "pop" if bare => {
                Self::throwing_if_empty(Change::Always)
            }
            "remove" if descriptor.starts_with("(I)") => Self::of_all(Change::Always),
            "take" | "takeFirst" | "takeLast" | "clear" | "push" | "set" => {
                Self::of_all(Change::Always)
            }
            "add" | "put" | "addFirst" | "addLast" | "putFirst" | "putLast" | "transfer"
                if void =>
            {
                Self::of_all(Change::Always)
            }
            "add"
            | "addAll"
            | "offer"
            | "offerFirst"
            | "offerLast"
            | "remove"
            | "removeIf"
            | "removeAll"
            | "retainAll"
            | "poll"
            | "pollFirst"
            | "pollLast"
            | "drainTo"
            | "addIfAbsent"
            | "addAllAbsent"
            | "tryTransfer"
            | "removeFirstOccurrence"
            | "removeLastOccurrence" => Self::of_all(Change::IfSo),
            _ => return None,
        })
    }

    /// The sites, in the order that the probes expect.
    fn site_kinds(self) -> Vec<SiteKind> {
        let site = |write, access| SiteKind::Reached { write, access, what: Reached::NamedField };
        match self.change {
            Change::Never if !self.insists => vec![site(false, Access::Volatile)],
            _ => vec![
                site(false, Access::Update),
                site(true, Access::Update),
                site(false, Access::Volatile),
            ],
        }
    }
}

fn is_map(class: &str) -> bool {
    class.ends_with("Map")
}

/// Classes and interfaces through which the program calls such collections.
pub(super) fn is_collection(class: &str) -> Option<()> {
    let known = match class.strip_prefix("java/util/concurrent/") {
        Some(name) => [
            "ConcurrentMap",
            "ConcurrentNavigableMap",
            "ConcurrentHashMap",
            "ConcurrentSkipListMap",
            "ConcurrentSkipListSet",
            "ConcurrentLinkedQueue",
            "ConcurrentLinkedDeque",
            "CopyOnWriteArrayList",
            "CopyOnWriteArraySet",
            "BlockingQueue",
            "BlockingDeque",
            "TransferQueue",
            "ArrayBlockingQueue",
            "LinkedBlockingQueue",
            "LinkedBlockingDeque",
            "PriorityBlockingQueue",
            "LinkedTransferQueue",
            "DelayQueue",
        ]
        .contains(&name),
        None => matches!(
            class,
            "java/util/Map"
                | "java/util/SortedMap"
                | "java/util/NavigableMap"
                | "java/util/Collection"
                | "java/util/Queue"
                | "java/util/Deque"
                | "java/util/List"
                | "java/util/Set"
                | "java/util/SortedSet"
                | "java/util/NavigableSet"
        ),
    };
    known.then_some(())
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn collection(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<(), RewriteError> {
        let by_object = matches!(instr.opcode, op::INVOKEVIRTUAL | op::INVOKEINTERFACE);
        let effect = AccessEffect::of(&called.class, &called.name, &called.descriptor);
        let Some(effect) = effect.filter(|_| by_object) else { return Ok(()) };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let site = self.sites(instr.pc, effect.site_kinds());
        self.planned(instr.pc, site)?;
        let first = match effect {
            AccessEffect { change: Change::IfAbsent, .. } => {
                let code = operands.load(operands.load(Snippet::new(), 0), 1);
                let descriptor = "(Ljava/lang/Object;Ljava/lang/Object;I)V";
                self.call_probe_of(PROBES, code, site, "beforeMaking", descriptor)?
            }
            AccessEffect { insists: true, .. } => {
                let code = operands.load(Snippet::new(), 0);
                self.call_probe_of(PROBES, code, site, "beforeTaking", "(Ljava/lang/Object;I)V")?
            }
            _ => Snippet::new(),
        };
        let last = self.probe_after(&effect, &operands, &called.descriptor, site)?;
        self.around(instr.pc, &operands, &first, last);
        Ok(())
    }

    /// The probe after the call, with the result if the effect depends on it.
    fn probe_after(
        &mut self,
        effect: &AccessEffect,
        operands: &Operands,
        descriptor: &str,
        site: crate::sites::CodeSite,
    ) -> Result<Snippet, RewriteError> {
        let (name, result) = match (effect.change, effect.keyed) {
            (Change::Never, false) => ("observed", ""),
            (Change::Never, true) => ("observedKey", ""),
            (Change::Always, false) => ("changed", ""),
            (Change::Always, true) => ("changedFor", ""),
            (Change::IfSo, false) => ("changed", result_of(descriptor)),
            (Change::IfSo, true) => ("changedFor", result_of(descriptor)),
            (Change::IfNull, _) => ("added", "Ljava/lang/Object;"),
            (Change::IfAbsent, _) => ("made", ""),
        };
        let code = if result.is_empty() { Snippet::new() } else { Snippet::new().op(op::DUP) };
        let code = operands.load(code, 0);
        let (code, key) = match effect.keyed {
            true => (operands.load(code, 1), "Ljava/lang/Object;"),
            false => (code, ""),
        };
        let descriptor = format!("({result}Ljava/lang/Object;{key}I)V");
        self.call_probe_of(PROBES, code, site, name, &descriptor)
    }
}

/// The type of the result, as the probes expect it.
fn result_of(descriptor: &str) -> &'static str {
    match descriptor.rsplit(')').next() {
        Some("Z") => "Z",
        Some("I") => "I",
        _ => "Ljava/lang/Object;",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_recorded_by_what_they_do() {
        let of = |class: &str, name: &str, descriptor: &str| {
            AccessEffect::of(class, name, descriptor).map(|effect| (effect.change, effect.keyed))
        };
        let object = "(Ljava/lang/Object;)Ljava/lang/Object;";
        assert_eq!(of("java/util/Map", "get", object), Some((Change::Never, true)));
        assert_eq!(of("java/util/Map", "remove", object), Some((Change::IfSo, true)));
        assert_eq!(
            of("java/util/List", "get", "(I)Ljava/lang/Object;"),
            Some((Change::Never, false))
        );
        assert_eq!(
            of("java/util/Queue", "remove", "()Ljava/lang/Object;"),
            Some((Change::Always, false))
        );
        assert_eq!(
            of("java/util/Queue", "remove", "(Ljava/lang/Object;)Z"),
            Some((Change::IfSo, false))
        );
        assert_eq!(of("java/util/Map", "hashCode", "()I"), None);
    }
}
