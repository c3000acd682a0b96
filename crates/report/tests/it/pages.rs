//! Reports made by hand, for the page: everything the examples do not show.

pub mod more;

use untorn_report::model::{
    CheckSummary, Evidence, Excerpt, NoFinding, Report, Scene, SceneStep, SceneVariable,
};
use untorn_report::{Action, Finding, Operation};

use crate::samples;

const SOURCE: &str = "\
class Account {
    private int balance;

    synchronized int getBalance() {
        return balance;
    }

    synchronized void setBalance(int balance) {
        this.balance = balance;
    }

    boolean withdraw(int amount) {
        int available = getBalance();
        if (available < amount) {
            return false;
        }
        setBalance(available - amount);
        return true;
    }
}
";

fn step(at: u64, thread: &str, node: usize, action: Action, value: &str, line: u32) -> SceneStep {
    let access = matches!(action, Action::Read | Action::Write);
    let target = if access { "Account#1.balance" } else { "Account.withdraw" };
    SceneStep {
        operation: Operation {
            at,
            thread: thread.into(),
            transaction: Some(node),
            place: format!("Account.java:{line}"),
            action,
            target: target.into(),
            value: (!value.is_empty()).then(|| value.into()),
            manner: None,
        },
        class: "Account".into(),
        method: String::new(),
        holds: if access { vec!["Account#1".into()] } else { vec![] },
        stack: vec!["Account.withdraw".into()],
        hidden: if at == 400 { 212 } else { 0 },
    }
}

/// The bank of the design study, with everything a finding can have.
pub fn bank() -> Finding {
    let mut finding = samples::Sketch::default()
        .transaction("Alice")
        .block("Account.withdraw", 2, Some(410))
        .refuted()
        .op(3, Action::Read, "Account#1.balance", "100", "Account.java:5")
        .op(400, Action::Write, "Account#1.balance", "70", "Account.java:9")
        .transaction("Bob")
        .block("Account.withdraw", 4, Some(7))
        .op(5, Action::Read, "Account#1.balance", "100", "Account.java:5")
        .op(6, Action::Write, "Account#1.balance", "50", "Account.java:9")
        .edge(3, 6, untorn_report::EdgeKind::Variable)
        .edge(6, 400, untorn_report::EdgeKind::Variable)
        .finish();
    finding.badges = vec!["confirmed by values".into(), "visible".into(), "RWW".into()];
    finding.evidence = Some(Evidence {
        origin: "inferred".into(),
        values: vec!["Account.withdraw of Alice read Account#1.balance = 100 and wrote 70; Account.withdraw of Bob read 100, too, and wrote 50: whichever ran second had to read what the first one wrote.".into()],
        effects: vec!["printed \"balance 70, expected 20\"".into()],
        alike: 2,
        trace: "run-4.utr".into(),
        run: 4,
        replay: "untorn replay untorn-out/report.json 1".into(),
        milliseconds: 1705,
        ..Evidence::default()
    });
    finding.scene = Some(Scene {
        threads: 12,
        variables: vec![SceneVariable {
            name: "Account#1.balance".into(),
            before: Some("100".into()),
        }],
        steps: vec![
            step(2, "Alice", 0, Action::Begin, "", 13),
            step(3, "Alice", 0, Action::Read, "100", 5),
            step(4, "Bob", 1, Action::Begin, "", 13),
            step(5, "Bob", 1, Action::Read, "100", 5),
            step(6, "Bob", 1, Action::Write, "50", 9),
            step(7, "Bob", 1, Action::End, "", 13),
            step(400, "Alice", 0, Action::Write, "70", 9),
            step(410, "Alice", 0, Action::End, "", 13),
        ],
        whole: true,
    });
    finding.sources = vec![Excerpt {
        file: "Account.java".into(),
        path: "src/Account.java".into(),
        first: 1,
        lines: SOURCE.lines().map(str::to_owned).collect(),
    }];
    finding
}

fn facts() -> CheckSummary {
    CheckSummary {
        command: ["java", "-cp", "classes", "Bank"].map(String::from).to_vec(),
        runs: 40,
        directed: 31,
        events: 48_200,
        threads: 12,
        candidates: 9,
        milliseconds: 12_400,
        ..CheckSummary::default()
    }
}

fn of(findings: Vec<Finding>) -> Report {
    let mut report = Report::new("untorn 0.0.0", vec![]);
    report.findings = findings;
    for (finding, number) in report.findings.iter_mut().zip(1..) {
        finding.number = number;
        finding.front_end = "jvm".into();
    }
    report.check = Some(facts());
    report
}

/// One of each: patterns, cycles, three threads, no block to blame, predictions, uncovered code.
pub fn all_kinds() -> Report {
    let mut report = of(vec![
        bank(),
        samples::set_add(),
        samples::three_threads(),
        samples::ring(6, 6),
        samples::nested(),
        samples::no_blame(),
        samples::program_order(),
        samples::tangle(),
        samples::ring(20, 12),
        more::deadlock(),
        more::philosophers(3),
        more::stuck(),
        more::two_fields(),
        more::write_skew(),
    ]);
    if let Some(check) = &mut report.check {
        check.unseen = vec!["not instrumented: com.acme.Huge.<clinit>: method too large".into()];
        check.unreached = vec![NoFinding {
            block: "OrderBook.quote".into(),
            variable: "OrderBook.best".into(),
            pattern: "WWR".into(),
            places: vec![
                "OrderBook.java:134".into(),
                "OrderBook.java:140".into(),
                "OrderBook.java:136".into(),
            ],
            why: "its plans could not be followed: Bob never came to OrderBook.java:139".into(),
            sources: vec![],
        }];
        check.unreached.push(NoFinding {
            block: "Ledger.total".into(),
            variable: "Ledger.savings and Ledger.current".into(),
            pattern: "RWWR".into(),
            places: [51, 44, 45, 52].map(|line| format!("Ledger.java:{line}")).to_vec(),
            why: "the budget ended first".into(),
            sources: vec![],
        });
    }
    report
}

pub fn nothing() -> Report {
    let mut report = of(vec![]);
    if let Some(check) = &mut report.check {
        check.unseen = vec!["not instrumented: a".into(), "not instrumented: b".into()];
    }
    report
}

/// A thousand findings in a few hundred places.
pub fn many() -> Report {
    let findings = (0..1000u32).map(|index| {
        let mut finding = bank();
        let name = format!("com.acme.p{}.Account{}.withdraw", index % 3, index % 60);
        for block in finding.transactions.iter_mut().flat_map(|own| &mut own.blocks) {
            block.name.clone_from(&name);
        }
        finding
    });
    of(findings.collect())
}

/// What an enemy would call things. None of it may run, leave the page, or reach a terminal raw.
pub const HOSTILE: [&str; 8] = [
    "<script>document.title='pwned'</script>",
    "</script><script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "<svg onload=document.title='pwned'>",
    "\u{1b}]0;pwned\u{7}\u{1b}[31m",
    "../../../../etc/passwd",
    "javascript:document.title='pwned'//",
    "]]>&quot;'\"`${document.title='pwned'}{data}{script}\u{202e}",
];

pub fn hostile() -> Report {
    let mut findings: Vec<Finding> = HOSTILE
        .iter()
        .map(|name| {
            let mut finding = bank();
            let place = format!("{name}:7");
            finding.headline = (*name).into();
            finding.badges.push((*name).into());
            for own in &mut finding.transactions {
                own.thread = format!("{name}{}", own.thread);
                for block in &mut own.blocks {
                    block.name = format!("{name}.{name}");
                }
            }
            let scene = finding.scene.iter_mut().flat_map(|scene| &mut scene.steps);
            for op in finding.operations.iter_mut().chain(scene.map(|step| &mut step.operation)) {
                op.thread = format!("{name}{}", op.thread);
                op.target = format!("{name}#1.{name}");
                op.place.clone_from(&place);
                op.value = op.value.as_ref().map(|value| format!("{value}{name}"));
            }
            for variable in finding.scene.iter_mut().flat_map(|scene| &mut scene.variables) {
                variable.name = format!("{name}#1.{name}");
            }
            if let Some(evidence) = &mut finding.evidence {
                evidence.effects = vec![format!("printed \"{name}\"")];
                evidence.replay = format!("untorn replay {name}");
            }
            finding.sources = vec![Excerpt {
                file: (*name).into(),
                path: (*name).into(),
                first: 1,
                lines: vec![(*name).into(); 9],
            }];
            finding
        })
        .collect();
    let mut long = bank();
    for own in &mut long.transactions {
        own.thread = "n".repeat(1 << 20);
    }
    findings.push(long);
    let mut report = of(findings);
    if let Some(check) = &mut report.check {
        check.command = HOSTILE.map(String::from).to_vec();
        check.unseen = HOSTILE.map(String::from).to_vec();
    }
    report
}
