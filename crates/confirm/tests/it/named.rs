//! Traces with a name: what the paper shows, what its conditions get wrong, and what once went wrong here.

use untorn_confirm::{
    Confirmation, Method, Options, Reason, Stage, UndecidedReason, ValueVerdict, Window, confirm,
    phrasing,
};
use untorn_testkit::{Truth, check_serial_order, script, value_atomic};
use untorn_trace::{Access, EventIdx, Op, Trace, Value, VarFacts};

/// A script whose reads and writes may carry values, `T0 r(x)=1`; variables start as 0 unless
/// `initial` gives another value. `u` before `r` or `w` makes it one half of an update.
fn valued(text: &str, initial: &[(&str, Option<i64>)]) -> Trace {
    let steps: Vec<&str> =
        text.split([';', '\n']).map(str::trim).filter(|step| !step.is_empty()).collect();
    let bare: Vec<String> = steps
        .iter()
        .map(|step| {
            step.split('=').next().unwrap_or("").replace(" ur(", " r(").replace(" uw(", " w(")
        })
        .collect();
    let mut trace = script(&bare.join(";"));
    for (event, step) in trace.events.iter_mut().zip(&steps) {
        if let Some((_, value)) = step.split_once('=') {
            event.op = event.op.with_value(Value::int(value.trim().parse().expect("a number")));
        }
        let update = step.contains(" ur(") || step.contains(" uw(");
        if let Op::Read { access, .. } | Op::Write { access, .. } = &mut event.op
            && update
        {
            *access = Access::Update;
        }
    }
    let names: Vec<String> = trace.tables.vars.iter().map(str::to_owned).collect();
    for name in names {
        let given = initial.iter().find(|(var, _)| *var == name);
        let value = given.map_or(Some(0), |&(_, value)| value).map(Value::int);
        let var = trace.tables.vars.intern(&name);
        trace.tables.set_var_facts(var, VarFacts::default().with_initial(value));
    }
    trace
}

/// The answer, agreed with the oracle.
fn answer(trace: &Trace) -> Confirmation {
    let found = confirm(&trace.events, &trace.tables, &Options::default());
    let truth = value_atomic(&trace.events, &trace.tables);
    let agrees = match &found.verdict {
        ValueVerdict::Atomic(order) => {
            let order: Vec<EventIdx> = order.blocks.iter().map(|block| block.first).collect();
            assert_eq!(check_serial_order(&trace.events, &trace.tables, &order), Ok(()));
            truth == Truth::Atomic
        }
        ValueVerdict::NotAtomic(_) => truth == Truth::NotAtomic,
        ValueVerdict::Undecided(_) => truth == Truth::Open,
    };
    assert!(agrees, "{truth:?}: {found:?}");
    found
}

fn reason(text: &str) -> (Reason, Trace) {
    let trace = valued(text, &[]);
    match answer(&trace).verdict {
        ValueVerdict::NotAtomic(reason) => (reason, trace),
        other => panic!("{other:?}"),
    }
}

fn is_atomic(text: &str) -> bool {
    matches!(answer(&valued(text, &[])).verdict, ValueVerdict::Atomic(_))
}

fn printed_fires(text: &str) -> bool {
    let trace = valued(text, &[]);
    let options = Options { method: Method::Printed, ..Options::default() };
    matches!(confirm(&trace.events, &trace.tables, &options).verdict, ValueVerdict::NotAtomic(_))
}

const RWW_WITH_INITIAL_VALUE: &str = "T1 begin; T1 r(x)=0; T2 w(x)=2; T1 w(x)=3; T1 end";

#[test]
fn printed_rww_is_wrong_when_variables_have_initial_values() {
    assert!(is_atomic(RWW_WITH_INITIAL_VALUE));
    assert!(printed_fires(RWW_WITH_INITIAL_VALUE));
}

const WRW_WITH_THIRD_THREAD: &str = "T1 begin; T1 w(x)=1; T3 w(x)=7; T2 r(x)=7; T1 w(x)=2; T1 end";

#[test]
fn printed_wrw_is_wrong_with_a_third_thread() {
    assert!(is_atomic(WRW_WITH_THIRD_THREAD));
    assert!(printed_fires(WRW_WITH_THIRD_THREAD));
}

const DIRTY_READ: &str = "T1 begin; T1 w(x)=1; T2 r(x)=1; T1 w(x)=2; T1 end";

#[test]
fn printed_wrw_misses_a_dirty_read() {
    let (reason, trace) = reason(DIRTY_READ);
    assert!(!printed_fires(DIRTY_READ));
    let Reason::NoSource(no) = &reason else { panic!("{reason:?}") };
    assert!(no.passing.is_some());
    let words = phrasing::sentences(&reason, &trace.tables).join(" ");
    assert!(words.contains("wrote only in passing"), "{words}");
}

#[test]
fn figure_4_of_the_paper_is_atomic() {
    assert!(is_atomic("T2 w(x)=1; T1 begin; T1 w(x)=1; T2 r(x)=1; T1 w(x)=3; T1 end"));
}

#[test]
fn the_bank_account_of_the_paper_loses_an_update() {
    let trace = valued(
        "Alice begin withdraw; Alice r(balance)=20; Bob begin withdraw; Bob r(balance)=20
         Bob w(balance)=5; Bob end withdraw; Alice w(balance)=10; Alice end withdraw",
        &[("balance", Some(20))],
    );
    let ValueVerdict::NotAtomic(reason) = answer(&trace).verdict else { panic!("a lost update") };
    let Reason::LostUpdate { updates, sources, .. } = &reason else { panic!("{reason:?}") };
    assert_eq!((updates.len(), sources.as_slice()), (2, &[None][..]));
    assert_eq!(reason.events(), [1, 3, 4, 6].map(EventIdx));
    assert_eq!(
        phrasing::sentences(&reason, &trace.tables),
        [
            "withdraw of Alice read balance = 20 and wrote 10; withdraw of Bob read 20, too, and wrote 5: \
          whichever ran second had to read what the first one wrote."
        ]
    );
}

#[test]
fn a_lost_update_is_none_if_somebody_brings_the_value_back() {
    assert!(is_atomic(
        "T3 w(x)=0; T1 begin; T1 r(x)=0; T2 begin; T2 r(x)=0; T2 w(x)=1; T2 end; T1 w(x)=2; T1 end"
    ));
}

#[test]
fn two_reads_of_one_block_differ() {
    let (reason, trace) = reason("T1 begin; T1 r(x)=0; T2 w(x)=2; T1 r(x)=2; T1 end");
    assert!(matches!(reason, Reason::OwnRead { wrote: false, .. }));
    let words = phrasing::sentences(&reason, &trace.tables).join(" ");
    assert!(words.contains("read x = 0 and then read 2"), "{words}");
}

#[test]
fn a_block_reads_over_its_own_write() {
    let (reason, _) = reason("T1 begin; T1 w(x)=1; T2 w(x)=2; T1 r(x)=2; T1 end");
    assert!(matches!(reason, Reason::OwnRead { wrote: true, .. }));
}

#[test]
fn two_variables_seen_half_changed() {
    let (reason, trace) = reason(
        "T2 begin; T2 r(low)=0; T1 begin; T1 w(low)=1; T1 w(high)=1; T1 end; T2 r(high)=1; T2 end",
    );
    let words = phrasing::sentences(&reason, &trace.tables).join("\n");
    assert!(!words.is_empty());
    assert_eq!(reason.blocks().len(), 2, "{words}");
}

/// Write skew: each reads what the other writes.
#[test]
fn write_skew() {
    let (reason, trace) =
        reason("T1 begin; T1 r(x)=0; T2 begin; T2 r(y)=0; T1 w(y)=1; T1 end; T2 w(x)=1; T2 end");
    let Reason::NoSource(no) = &reason else { panic!("{reason:?}") };
    assert!(!no.orders.is_empty(), "why the one runs before the other is part of the reason");
    assert_eq!((reason.blocks().len(), reason.vars().len()), (2, 2));
    assert_eq!(
        phrasing::sentences(&reason, &trace.tables),
        [
            "the block of T1 read x = 0, the initial value, and it has no other possible source.",
            "the block of T1 runs before the block of T2: the block of T2 wrote x, too, and must not come \
             between the start and the block of T1, which read x = 0.",
            "the block of T2 read y = 0, but every possible source is excluded:",
            "the initial 0: the block of T1 overwrites it before.",
        ]
    );
}

#[test]
fn an_update_outside_of_blocks_is_one_step() {
    let (reason, _) = reason("T1 begin; T1 r(x)=0; T2 ur(x)=0; T2 uw(x)=1; T1 w(x)=1; T1 end");
    assert!(matches!(reason, Reason::LostUpdate { .. }), "{reason:?}");
    // As two steps, T2's read comes first and its write last.
    assert!(is_atomic("T1 begin; T1 r(x)=0; T2 r(x)=0; T2 w(x)=1; T1 w(x)=1; T1 end"));
}

#[test]
fn fork_and_join_are_kept() {
    // The child's read must not move before the fork.
    let (_, _) = reason("M begin; M w(x)=1; M fork(C); C r(x)=1; M w(x)=2; M end");
    assert!(is_atomic("M begin; M w(x)=1; M fork(C); M end; C r(x)=1; M join(C); M w(x)=2"));
}

/// A block that waits for a thread which ran meanwhile is two blocks.
#[test]
fn a_block_is_cut_where_it_waits_for_a_thread() {
    let trace =
        valued("M begin; M w(x)=1; M fork(C); C r(x)=1; C w(x)=2; M join(C); M r(x)=2; M end", &[]);
    let found = answer(&trace);
    assert!(matches!(found.verdict, ValueVerdict::Atomic(_)));
    assert_eq!(found.facts.cuts, 1);
}

/// Two blocks, each of which joins what the other forks: without cuts the kept order has a cycle.
#[test]
fn blocks_that_join_what_the_other_forks() {
    assert!(is_atomic(
        "A begin; B begin; A r(x)=0; A fork(C); B fork(D); C r(x)=0; D r(x)=0; A join(D); B join(C);
         B r(x)=0; A end; B end; C2 w(x)=1"
    ));
}

/// A write of the same value may be needed later to bring it back: it is not harmless.
#[test]
fn a_write_of_the_same_value_is_kept_for_later() {
    assert!(is_atomic(
        "T0 begin; T0 r(y)=0; T1 w(y)=1; T0 w(x)=0; T0 end; T0 w(x)=1; T1 w(x)=0; T1 w(x)=0; T0 r(x)=0"
    ));
}

#[test]
fn a_missing_value_follows_from_the_trace() {
    // The write of T2 has no value, but T3 read it.
    let (reason, _) = reason("T1 begin; T1 r(x)=0; T2 w(x); T3 r(x)=5; T1 r(x); T1 end");
    assert!(matches!(reason, Reason::OwnRead { .. }), "{reason:?}");
}

#[test]
fn a_missing_value_that_matters_leaves_it_undecided() {
    let trace = valued("T1 begin; T1 w(x); T2 r(x); T1 w(x)=0; T1 end", &[]);
    let found = answer(&trace);
    assert_eq!(found.verdict, ValueVerdict::Undecided(UndecidedReason::UnknownValues));
}

#[test]
fn an_unknown_initial_value_is_what_the_first_read_returned() {
    let trace = valued("T1 begin; T1 r(x)=9; T2 w(x)=1; T1 r(x)=1; T1 end", &[("x", None)]);
    assert!(matches!(answer(&trace).verdict, ValueVerdict::NotAtomic(Reason::OwnRead { .. })));
}

#[test]
fn a_trace_that_contradicts_itself_is_undecided() {
    let trace = valued("T1 begin; T1 r(x)=4; T2 r(x)=4; T1 end", &[]);
    let ValueVerdict::Undecided(UndecidedReason::Inconsistent(found)) = answer(&trace).verdict
    else {
        panic!("x was written by unrecorded code")
    };
    assert_eq!(found.read, EventIdx(1));
    // The rest may still be refuted.
    let trace =
        valued("T1 begin; T1 r(x)=4; T2 r(x)=4; T1 r(y)=0; T2 w(y)=1; T1 r(y)=1; T1 end", &[]);
    assert!(matches!(answer(&trace).verdict, ValueVerdict::NotAtomic(_)));
}

#[test]
fn a_window_starts_with_the_memory_before_it() {
    let trace =
        valued("T1 w(x)=5; T1 begin; T1 r(x)=5; T2 w(x)=6; T1 r(x)=6; T1 end; T2 w(y)=1", &[]);
    let window = Window::around(&trace.events, &[EventIdx(3), EventIdx(4)]);
    assert_eq!(window, Some(Window { from: EventIdx(1), to: EventIdx(6) }));
    let options = Options { window, ..Options::default() };
    let found = confirm(&trace.events, &trace.tables, &options);
    assert_eq!(found.stage, Stage::OwnRead);
    let options = Options {
        window: Some(Window { from: EventIdx(0), to: EventIdx(4) }),
        ..Options::default()
    };
    let found = confirm(&trace.events, &trace.tables, &options);
    assert!(matches!(found.verdict, ValueVerdict::Atomic(_)), "the block up to there is whole");
    assert_eq!(found.facts.open, 1);
    assert_eq!(Window::around(&trace.events, &[EventIdx(99)]), None);
}
