//! The stories of findings in random runs are true, and false ones are noticed.

use std::path::{Path, PathBuf};

use untorn_findings::truth::contradictions;
use untorn_findings::{cycle, scene};
use untorn_report::claim::{AccessFact, Claim, Statement};
use untorn_report::story::{self, Story};
use untorn_report::terminal::Look;
use untorn_report::{Finding, explain};
use untorn_serializability::context::Gatherer;
use untorn_serializability::{
    Block, Checker, Cycle, Edge, EdgeKind, Step, Transaction, Violation, velodrome,
};
use untorn_testkit::{ValuedKnobs, cases, script, valued};
use untorn_trace::formats::utr;
use untorn_trace::{Event, EventIdx, Op, Sink, SiteId, Tables, Trace, Value, VarId};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("untorn-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn trace(&self, events: &[Event], tables: &Tables) -> PathBuf {
        let path = self.0.join("run.utr");
        let file = std::fs::File::create(&path).expect("a file");
        let mut sink = utr::Writer::new(file, utr::Compression::None);
        sink.write(tables, events).and_then(|()| sink.finish(tables)).expect("it is written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The findings of a trace, with their scenes if wanted.
fn findings(events: &[Event], tables: &Tables, path: &Path, with_scenes: bool) -> Vec<Finding> {
    let mut checker = velodrome::Velodrome::new();
    let _ = checker.events(EventIdx(0), events);
    let violations = checker.finish().violations;
    let mut gatherer = Gatherer::new(&violations);
    let _ = gatherer.events(EventIdx(0), events);
    let contexts = gatherer.finish();
    let both = violations.iter().zip(&contexts);
    both.map(|(violation, context)| {
        let mut finding = cycle::finding(violation, Some(context), tables);
        if with_scenes {
            let vars = cycle::variables(violation, Some(context));
            finding.scene = scene::read(&finding, &vars, path);
        }
        finding
    })
    .collect()
}

#[test]
fn every_sentence_about_a_random_run_is_true() {
    let folder = Folder::new("true-stories");
    let mut told = 0;
    for seed in 0..cases(1000, 60_000) {
        let (events, tables) = valued(&ValuedKnobs::known(), seed);
        let path = folder.trace(&events, &tables);
        for finding in findings(&events, &tables, &path, true) {
            let wrong = contradictions(&finding, &[], &path).expect("the trace can be read");
            let look = Look { verbose: true, ..Look::default() };
            let story = explain::render(&finding, None, &look);
            assert!(wrong.is_empty(), "seed {seed}: {wrong:#?}\n{story}");
            told += 1;
        }
    }
    assert!(told > cases(1000, 60_000) / 4, "only {told} stories");
}

/// `T0 begin withdraw; T0 r(x)=100; …` with values.
fn run(text: &str) -> (Vec<Event>, Tables) {
    let bare: Vec<&str> =
        text.split(';').map(|step| step.split('=').next().unwrap_or_default()).collect();
    let Trace { mut events, tables } = script(&bare.join(";"));
    for (event, step) in events.iter_mut().zip(text.split(';')) {
        if let Some((_, value)) = step.split_once('=') {
            let value = value.trim().parse().expect("a number");
            event.op = event.op.with_value(Value::int(value));
        }
    }
    (events, tables)
}

/// Two withdrawals. The first checks the balance, is interrupted, and reads the balance again.
const STALE: &str = "A begin withdraw; A r(x)=100; B begin withdraw; B r(x)=100; B r(x)=100; B w(x)=30; \
                     B end withdraw; A r(x)=30; A w(x)=-50; A end withdraw";

/// The same, and the first does not read it again.
const LOST: &str = "A begin withdraw; A r(x)=100; B begin withdraw; B r(x)=100; B w(x)=30; B end withdraw; \
                    A w(x)=20; A end withdraw";

/// The finding that these three accesses make, as a search for candidates finds it.
fn of_three(events: &[Event], tables: &Tables, three: [u64; 3], path: &Path) -> Finding {
    let step = |at: u64| Step { at: EventIdx(at), event: events[at as usize] };
    let var = VarId(events[three[0] as usize].op.target());
    let [first, second, third] = three.map(step);
    let edge = |from, to| Edge { from, to, why: EdgeKind::Variable(var) };
    let block = |at: u64| {
        let Op::Begin { label, .. } = events[at as usize].op else {
            panic!("no block begins at {at}")
        };
        Block { label, site: SiteId::NONE, begin: EventIdx(at) }
    };
    let own = |at: u64, of: Step| Transaction { thread: of.event.thread, block: Some(block(at)) };
    let violation = Violation {
        cycle: Cycle {
            transactions: vec![own(0, first), own(2, second)],
            edges: vec![edge(first, second), edge(second, third)],
        },
        refuted: vec![block(0)],
        occurrences: 1,
    };
    let mut gatherer = Gatherer::new(std::slice::from_ref(&violation));
    let _ = gatherer.events(EventIdx(0), events);
    let context = gatherer.finish().pop();
    let mut finding = cycle::finding(&violation, context.as_ref(), tables);
    finding.scene = scene::read(&finding, &cycle::variables(&violation, context.as_ref()), path);
    finding
}

fn story_of(text: &str, three: [u64; 3], name: &str) -> (Story, Finding) {
    let folder = Folder::new(name);
    let (events, tables) = run(text);
    let path = folder.trace(&events, &tables);
    let finding = of_three(&events, &tables, three, &path);
    assert_eq!(contradictions(&finding, &[], &path), Some(Vec::new()));
    (story::story(&finding, None), finding)
}

#[test]
fn a_stale_check_is_no_lost_update() {
    let (story, finding) = story_of(STALE, [1, 5, 8], "stale");
    assert_eq!(story.kind, "Stale check");
    assert_eq!(
        story.title(),
        "A looked at x when it was 100 and wrote it when it was 30: B had written it in between."
    );
    let text = explain::render(&finding, None, &Look::default());
    assert!(!text.contains("30 is lost") && !text.contains("knowing only"), "{text}");
    let (story, _) = story_of(LOST, [1, 4, 6], "lost");
    assert_eq!(story.kind, "Lost update");
    assert_eq!(
        story.title(),
        "B’s x of 30 is lost: A overwrote it with 20, still knowing only 100."
    );
}

fn fact(at: u64, thread: &str, writes: bool, value: &str) -> AccessFact {
    let value = Some(value.to_owned());
    AccessFact { at, thread: thread.to_owned(), variable: "x".to_owned(), writes, value }
}

/// What was once told of [`STALE`], and other lies about it.
#[test]
fn lies_are_noticed() {
    let folder = Folder::new("lies");
    let (events, tables) = run(STALE);
    let path = folder.trace(&events, &tables);
    let finding = findings(&events, &tables, &path, true).pop().expect("a violation");
    let (saw, changed) = (fact(1, "A", false, "100"), fact(5, "B", true, "30"));
    let acted = fact(8, "A", true, "-50");
    let (gone, by) = (changed.clone(), acted.clone());
    let lies = [
        Claim::Lost { gone: gone.clone(), by: by.clone() },
        Claim::KnowsOnly { known: saw.clone(), until: 8 },
        Claim::NeverRead { gone: gone.clone() },
        Claim::Access(fact(1, "A", false, "99")),
        Claim::Access(fact(1, "B", false, "100")),
        Claim::Ordered(changed.clone(), saw.clone()),
        Claim::Between { first: changed.clone(), between: saw.clone(), last: acted.clone() },
        Claim::ReadFrom { read: fact(4, "B", false, "100"), write: changed.clone() },
        Claim::HasNow { variable: "x".into(), value: "30".into(), thread: "B".into(), at: 9 },
        Claim::HadBefore { variable: "x".into(), value: "30".into(), at: 1 },
        Claim::NotWritten { thread: "B".into(), variable: "x".into(), from: 2, until: 7 },
        Claim::Boundary { thread: "B".into(), block: "withdraw".into(), at: 0, enters: true },
        Claim::Inside { thread: "B".into(), block: "withdraw".into(), at: 8 },
        Claim::Serial {
            parts: vec![vec![1, 7, 8], vec![3, 4, 5]],
            orders: 2,
            fits: Some(vec![0, 1]),
        },
        Claim::StaleCheck {
            saw: fact(3, "B", false, "100"),
            changed: changed.clone(),
            now: fact(7, "A", false, "30"),
            acted: acted.clone(),
        },
    ];
    for lie in lies {
        let told = Statement::new("", vec![lie.clone()]);
        let wrong = contradictions(&finding, &[told], &path).expect("the trace can be read");
        assert_eq!(wrong.len(), 1, "{lie:?}: {wrong:?}");
    }
    // True claims, but the words say more.
    let tear = Claim::Between { first: saw, between: changed, last: acted };
    for text in
        ["B’s x of 30 is lost", "A wrote -50, still knowing only 100", "B wrote 31 in between"]
    {
        let told = Statement::new(text, vec![tear.clone()]);
        let wrong = contradictions(&finding, &[told], &path).expect("the trace can be read");
        assert_eq!(wrong.len(), 1, "{text}");
    }
}
