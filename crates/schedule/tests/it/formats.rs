//! Schedules and plans as bytes and text: what is written parses back, and malformed input does no harm.

use untorn_schedule::{
    AccessKind, CodePoint, Plan, PlanPoint, PlanStep, PlanThread, PolicyKind, Reason, Schedule,
    ScheduleError, Step, ThreadId,
};
use untorn_testkit::Rng;

const REASONS: [Reason; 8] = [
    Reason::Budget,
    Reason::Blocked,
    Reason::Yielded,
    Reason::Ended,
    Reason::Outside,
    Reason::Plan,
    Reason::Cut,
    Reason::Held,
];

fn rounds(usual: u64) -> u64 {
    untorn_testkit::cases(usual, usual * 20)
}

fn random_steps(rng: &mut Rng) -> Vec<Step> {
    let step = |_| {
        let (thread, events) = (rng.below(64), rng.below(64));
        Step {
            thread: ThreadId((rng.bits() as u32).checked_shr(thread).unwrap_or(0)),
            events: rng.bits() >> events,
            reason: rng.pick(&REASONS),
        }
    };
    (0..20).map(step).collect()
}

#[test]
fn soak_a_schedule_reads_back() {
    for seed in 0..rounds(50_000) {
        let mut rng = Rng::new(seed);
        let (first, second) = (random_steps(&mut rng), random_steps(&mut rng));
        let bytes = [Schedule::encode_steps(&first), Schedule::encode_steps(&second)].concat();
        let both = [first, second].concat();
        assert_eq!(Schedule::decode(&bytes).as_ref(), Ok(&both), "seed {seed}: pieces concatenate");
        let schedule = Schedule::from(both);
        assert_eq!(schedule.to_string().parse(), Ok(schedule), "seed {seed}");
    }
}

#[test]
fn soak_random_bytes_are_a_schedule_or_an_error() {
    for seed in 0..rounds(500_000) {
        let mut rng = Rng::new(seed);
        let mut bytes: Vec<u8> = (0..rng.below(40)).map(|_| rng.bits() as u8).collect();
        if seed % 2 == 0 {
            // Bytes without the high bit are whole numbers: these get further.
            bytes.iter_mut().for_each(|byte| *byte &= 0x9f);
        }
        if let Ok(steps) = Schedule::decode(&bytes) {
            // A number may be encoded longer than needed, so only the steps are compared.
            assert_eq!(Schedule::decode(&Schedule::encode_steps(&steps)), Ok(steps));
        }
    }
}

#[test]
fn damaged_bytes_are_named() {
    let step = Step { thread: ThreadId(300), events: 1 << 40, reason: Reason::Outside };
    let bytes = Schedule::encode_steps(&[step]);
    for cut in 1..bytes.len() {
        let error = Schedule::decode(&bytes[..cut]).expect_err("cut");
        assert!(matches!(error, ScheduleError::Truncated { .. }), "{error}");
    }
    assert_eq!(Schedule::decode(&[]), Ok(Vec::new()));
    let large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
    assert_eq!(Schedule::decode(&large), Err(ScheduleError::TooLarge { offset: 0 }));
    let events = [&[0][..], &large].concat();
    assert_eq!(Schedule::decode(&events), Err(ScheduleError::TooLarge { offset: 1 }));
    let thread = [0xf8, 0xff, 0xff, 0xff, 0xff, 0x01, 0];
    assert_eq!(Schedule::decode(&thread), Err(ScheduleError::TooLarge { offset: 0 }));
}

#[test]
fn the_bytes_of_a_schedule_never_change() {
    let step = |thread, events, reason| Step { thread: ThreadId(thread), events, reason };
    let steps: Vec<Step> = (0..).zip(REASONS).map(|(i, reason)| step(i, 200, reason)).collect();
    let bytes = [
        0, 200, 1, 9, 200, 1, 18, 200, 1, 27, 200, 1, 36, 200, 1, 45, 200, 1, 54, 200, 1, 63, 200,
        1,
    ];
    assert_eq!(Schedule::encode_steps(&steps), bytes);
    let text = "// a comment\n#0 200 budget\n\n;another\n  #1 200 blocked\n";
    assert_eq!(text.parse(), Ok(Schedule::from(steps[..2].to_vec())));
}

#[test]
fn wrong_lines_of_a_schedule_are_named() {
    let cases = [
        ("0 1 budget", "line 1: expected a thread such as #0, found '0'"),
        ("\n#0 -1 budget", "line 2: expected a number of events, found '-1'"),
        ("#0 1 tired", "line 1: expected a reason such as 'blocked', found 'tired'"),
        ("#0 1", "line 1: expected a reason such as 'blocked', found ''"),
        ("#0 1 cut off", "line 1: expected the end of the line, found 'off'"),
    ];
    for (text, words) in cases {
        let error = text.parse::<Schedule>().expect_err(text);
        assert_eq!(error.to_string(), words);
    }
}

fn random_text(rng: &mut Rng, letters: &[char]) -> String {
    (0..=rng.below(8)).map(|_| rng.pick(letters)).collect()
}

fn random_plan(rng: &mut Rng) -> Plan {
    const NAME: [char; 12] = ['a', 'Z', '0', '-', '.', ' ', '"', '\\', '\n', '\r', '@', 'é'];
    const WORD: [char; 10] = ['a', 'Z', '9', '$', '_', ' ', '"', ':', '+', 'ß'];
    let step = |_| {
        let word = |rng: &mut Rng| random_text(rng, &WORD);
        let number = rng.bits() as u32;
        let code_point = match rng.below(4) {
            0 => CodePoint::FileLine { file: format!("{}.java", word(rng)), line: number },
            1 => CodePoint::MethodLine { class: word(rng), method: word(rng), line: number },
            2 => CodePoint::ModuleOffset { module: word(rng), offset: u64::from(number) << 20 },
            _ => CodePoint::MethodPc {
                class: format!("p.{}", word(rng)),
                method: word(rng),
                descriptor: "(Ljava/lang/String;[I)V".to_owned(),
                pc: number,
            },
        };
        let kinds = [Some(AccessKind::Read), Some(AccessKind::Release), None];
        let thread = match rng.below(3) {
            0 => PlanThread::Id(ThreadId(rng.bits() as u32)),
            _ => PlanThread::Name(random_text(rng, &NAME)),
        };
        let point = PlanPoint { code_point, kind: rng.pick(&kinds) };
        PlanStep { thread, point, occurrence: rng.between(1, 3) }
    };
    let steps = (0..5).map(step).collect();
    Plan { keeps_time: rng.below(2) == 0, ..Plan::new(steps) }
}

#[test]
fn soak_a_plan_reads_back() {
    for seed in 0..rounds(50_000) {
        let plan = random_plan(&mut Rng::new(seed));
        let text = plan.to_string();
        assert_eq!(text.parse(), Ok(plan), "seed {seed}:\n{text}");
    }
}

#[test]
fn soak_random_text_is_a_plan_or_an_error() {
    const PIECES: [&str; 20] = [
        "main", "#1", "\"a b\"", "\"", "@", " ", " ", "A.java:1", "p.A.m", ":", "7", "(I)V", "@3",
        "read", "any", "#2", "\n", "//", ";", "é\\",
    ];
    for seed in 0..rounds(200_000) {
        let mut rng = Rng::new(seed);
        let text: String = (0..rng.below(12)).map(|_| rng.pick(&PIECES)).collect();
        match text.parse::<Plan>() {
            Ok(plan) => assert_eq!(plan.to_string().parse(), Ok(plan), "seed {seed}: {text}"),
            Err(error) => {
                let lines = text.lines().count();
                assert!((1..=lines).contains(&error.line) && error.column > 0, "{error}: {text}");
            }
        }
    }
}

#[test]
fn policies_have_names() {
    for text in ["run-to-block", "random", "pos", "pct:2:500"] {
        let policy: PolicyKind = text.parse().expect(text);
        assert_eq!(policy.to_string(), text);
    }
    assert_eq!("pct".parse(), Ok(PolicyKind::PCT));
    assert_eq!("pct:5".parse(), Ok(PolicyKind::Pct { depth: 5, length: 10_000 }));
    for text in ["", "PCT", "pct:", "pct:0", "pct:1:0", "pct:1:2:3", "pct:x"] {
        let error = text.parse::<PolicyKind>().expect_err(text);
        assert!(error.to_string().starts_with(&format!("no policy '{text}'")), "{error}");
    }
}
