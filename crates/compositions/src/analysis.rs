//! From classes to a ranked list.

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_bytecode::access;

use crate::clients::{SetCall, set_calls};
use crate::effects::{Effects, Facts};
use crate::escape::Escape;
use crate::evidence::{Guard, Mutators, guard, reasons};
use crate::finding::{CallSite, Finding, SetCallSite, Statistics, Symptom};
use crate::muvi::{Key, Muvi};
use crate::phrasing;
use crate::rank::{Reason, score};
use crate::sets::{SetId, Sets};
use crate::symptoms::{Pair, Pruned, pairs};
use untorn_codemodel::Jdk;
use untorn_codemodel::access_paths::MethodContext;
use untorn_codemodel::dependence::{Dependence, ReturnFlow};
use untorn_codemodel::ids::MethodId;
use untorn_codemodel::program::{Program, Skipped};
use untorn_codemodel::{ClassBytes, Origin};

/// Which symptoms are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub by_use: bool,
    pub by_complementation: bool,
    pub by_muvi: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { by_use: true, by_complementation: true, by_muvi: false }
    }
}

/// The result of the analysis of an application.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The most promising first.
    pub findings: Vec<Finding>,
    /// All calls that touch what compositions can be about, of the application and its libraries.
    pub set_calls: Vec<SetCallSite>,
    pub statistics: Statistics,
    pub skipped: Skipped,
}

/// Looks for compositions in the classes of the application.
pub fn analyze(files: &[ClassBytes], jdk: &Jdk, options: &Options) -> Report {
    let mut program = Program::read(files, jdk);
    let facts = Facts::new(&mut program);
    let effects = Effects::new(&program, &facts);
    let sets = Sets::new(&mut program, &effects);
    let order = facts.calls.bottom_up(&program);
    let escape = Escape::new(&program, &facts.calls, &order);
    let flow = ReturnFlow::new(&program, &facts.calls, &facts.getters, &order);
    let world = Context { program: &program, facts: &facts, sets: &sets, flow: &flow };
    let clients = world.clients(&effects, &escape);
    let mut report = world.judge(&clients, options);
    report.set_calls = world.set_call_sites(&clients);
    report.statistics.jdk_classes = jdk.len() as u64;
    report.skipped = program.skipped.clone();
    report
}

/// All that is known when client methods are judged.
struct Context<'a> {
    program: &'a Program,
    facts: &'a Facts,
    sets: &'a Sets,
    flow: &'a ReturnFlow,
}

/// A method of the application with its set calls.
struct Client<'a> {
    context: MethodContext<'a>,
    set_calls: Vec<SetCall>,
}

/// The best pair of some calls.
struct RankedPair {
    points: i32,
    pair: Pair,
    reasons: Vec<Reason>,
}

/// The clients of a program, and the locks under which objects are changed.
struct Clients<'a> {
    list: Vec<Client<'a>>,
    mutators: Mutators,
    /// Where each set is touched, by whomever.
    touched: Vec<SetAccess>,
}

/// A call that touches a set.
#[derive(Clone, Copy)]
struct SetAccess {
    set: SetId,
    method: MethodId,
    pc: u32,
}

impl<'a> Context<'a> {
    fn clients(&self, effects: &Effects, escape: &Escape) -> Clients<'a> {
        let mut found =
            Clients { list: Vec::new(), mutators: Mutators::default(), touched: Vec::new() };
        for (id, method, _) in self.program.bodies() {
            let Some(context) = self.facts.context(self.program, id) else { continue };
            let set_calls = set_calls(self.facts, effects, self.sets, escape, &context);
            found.mutators.note(self.facts, &context, &set_calls);
            found.touched.extend(set_calls.iter().map(|set_call| SetAccess {
                set: set_call.set,
                method: id,
                pc: context.body.instr(set_call.instr).pc,
            }));
            let is_client = self.program.class(method.class).origin == Origin::Application
                && method.access & access::BRIDGE == 0;
            if is_client && set_calls.len() > 1 {
                found.list.push(Client { context, set_calls });
            }
        }
        found
    }

    /// The calls that touch a set of which some method makes two calls.
    fn set_call_sites(&self, clients: &Clients<'_>) -> Vec<SetCallSite> {
        let set_calls = clients.list.iter().flat_map(|client| &client.set_calls);
        let sets: FxHashSet<SetId> = set_calls.map(|set_call| set_call.set).collect();
        let touched = clients.touched.iter().filter(|touched| sets.contains(&touched.set));
        let mut sites: Vec<SetCallSite> = touched
            .map(|&SetAccess { method, pc, .. }| {
                let method = self.program.method(method);
                SetCallSite {
                    class: self.program.class_name(method.class).to_owned(),
                    method: self.program.text(method.name).to_owned(),
                    descriptor: self.program.text(method.descriptor).to_owned(),
                    pc,
                }
            })
            .collect();
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    fn judge(&self, clients: &Clients<'_>, options: &Options) -> Report {
        let mut tally = Tally::default();
        let mut findings = Vec::new();
        for client in &clients.list {
            self.judge_client(client, &clients.mutators, options, &mut tally, &mut findings);
        }
        let muvi = std::mem::take(&mut tally.muvi).frequent();
        if options.by_muvi {
            self.add_frequent(clients, &muvi, &tally, &mut findings);
        }
        sort(&mut findings);
        demote_repeated(&mut findings);
        sort(&mut findings);
        let statistics = self.statistics(&tally, &muvi);
        Report { findings, set_calls: Vec::new(), statistics, skipped: Skipped::default() }
    }

    fn judge_client(
        &self,
        client: &Client<'_>,
        mutators: &Mutators,
        options: &Options,
        tally: &mut Tally,
        findings: &mut Vec<Finding>,
    ) {
        let (context, set_calls) = (&client.context, &client.set_calls);
        let mut dependence = Dependence::new(context.body);
        let found =
            pairs(context, set_calls, self.sets, self.flow, &mut dependence, &mut tally.pruned);
        let mut best: FxHashMap<Key, RankedPair> = FxHashMap::default();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for pair in found {
            let (a, b) = (&set_calls[pair.first], &set_calls[pair.second]);
            let key = Key::new(context.method, a.owner, a.called, b.called);
            let guard = guard(self.facts, mutators, context, a, b);
            if guard == Guard::Sure {
                tally.guarded.insert(key);
                continue;
            }
            tally.note(self, &pair, key, a, context.method);
            let reasons = reasons(self.facts, context, set_calls, &pair, guard, &dependence);
            if pair.complements && pair.uses.is_none() {
                group(&mut groups, pair.first, pair.second);
            }
            let points = score(&reasons);
            let is_better = best.get(&key).is_none_or(|known| known.points < points);
            if is_better {
                best.insert(key, RankedPair { points, pair, reasons });
            }
        }
        note_together(client, tally);
        let mut best: Vec<(Key, RankedPair)> = best.into_iter().collect();
        best.sort_unstable_by_key(|entry| entry.0);
        let best: Vec<RankedPair> = best.into_iter().map(|entry| entry.1).collect();
        for RankedPair { pair, reasons, .. } in &best {
            if options.by_use && pair.uses.is_some() {
                findings.push(self.finding(
                    client,
                    Symptom::Use,
                    &[pair.first, pair.second],
                    pair,
                    reasons,
                ));
            }
        }
        if options.by_complementation {
            self.add_groups(client, &groups, &best, findings);
        }
    }

    /// A finding for every group of calls that run together, with the reasons of its best pair.
    fn add_groups(
        &self,
        client: &Client<'_>,
        groups: &[Vec<usize>],
        best: &[RankedPair],
        findings: &mut Vec<Finding>,
    ) {
        for group in groups {
            let inside = |pair: &Pair| {
                pair.uses.is_none() && group.contains(&pair.first) && group.contains(&pair.second)
            };
            let pairs = best.iter().filter(|judged| inside(&judged.pair));
            if let Some(RankedPair { pair, reasons, .. }) = pairs.max_by_key(|judged| judged.points)
            {
                findings.push(self.finding(client, Symptom::Complementation, group, pair, reasons));
            }
        }
    }

    /// What only the baseline finds.
    fn add_frequent(
        &self,
        clients: &Clients<'_>,
        muvi: &FxHashSet<Key>,
        tally: &Tally,
        findings: &mut Vec<Finding>,
    ) {
        for client in &clients.list {
            let set_calls = &client.set_calls;
            let mut done = FxHashSet::default();
            for (second, b) in set_calls.iter().enumerate() {
                for (first, a) in set_calls[..second].iter().enumerate() {
                    let key = Key::new(client.context.method, a.owner, a.called, b.called);
                    let alike = a.owner == b.owner && a.set == b.set && a.instr != b.instr;
                    if alike && muvi.contains(&key) && !tally.has(&key) && done.insert(key) {
                        let pair = Pair { first, second, uses: None, complements: false };
                        let calls = [first, second];
                        findings.push(self.finding(client, Symptom::Frequent, &calls, &pair, &[]));
                    }
                }
            }
        }
    }

    fn finding(
        &self,
        client: &Client<'_>,
        symptom: Symptom,
        calls: &[usize],
        pair: &Pair,
        reasons: &[Reason],
    ) -> Finding {
        let context = &client.context;
        let method = self.program.method(context.method);
        let first = &client.set_calls[pair.first];
        let call = |&at: &usize| {
            let set_call = &client.set_calls[at];
            CallSite {
                api: phrasing::api(self.program, set_call.called),
                class: phrasing::class(
                    self.program,
                    self.program.method_ref(set_call.called).class,
                ),
                descriptor: phrasing::descriptor(self.program, set_call.called),
                pc: context.body.instr(set_call.instr).pc,
                line: context.body.line(set_call.instr),
                writes: set_call.is_write(),
                reads: !set_call.reads.is_empty(),
            }
        };
        Finding {
            symptom,
            class: phrasing::class(self.program, method.class),
            method: self.program.text(method.name).to_owned(),
            descriptor: self.program.text(method.descriptor).to_owned(),
            source: phrasing::source(self.program, method.class),
            calls: calls.iter().map(call).collect(),
            receiver: phrasing::access_path(context, &first.owner),
            set: phrasing::set(self.program, self.sets, first.set),
            steps: pair
                .uses
                .as_ref()
                .map(|chain| phrasing::steps(context, chain))
                .unwrap_or_default(),
            reasons: reasons.to_vec(),
            score: score(reasons),
        }
    }

    fn statistics(&self, tally: &Tally, muvi: &FxHashSet<Key>) -> Statistics {
        let program = self.program;
        let ours = self.sets.iter().filter(|set| program.class(set.class).is_ours());
        let both: FxHashSet<Key> = tally.by_use.union(&tally.by_complementation).copied().collect();
        let minus = |a: &FxHashSet<Key>, b: &FxHashSet<Key>| a.difference(b).count() as u64;
        Statistics {
            classes: program.classes.iter().filter(|class| class.is_ours()).count() as u64,
            methods: program.bodies().count() as u64,
            jdk_classes: 0,
            sets: ours.clone().count() as u64,
            largest_set: ours.map(|set| set.fields.len()).max().unwrap_or(0) as u64,
            library_classes: tally.library_classes.len() as u64,
            apis: tally.apis.len() as u64,
            client_classes: tally.client_classes.len() as u64,
            compositions: both.len() as u64,
            by_use: tally.by_use.len() as u64,
            by_complementation: tally.by_complementation.len() as u64,
            by_muvi: muvi.len() as u64,
            missed_by_muvi: minus(&both, muvi),
            only_muvi: minus(muvi, &both),
            use_missed_by_muvi: minus(&tally.by_use, muvi),
            only_muvi_not_use: minus(muvi, &tally.by_use),
            comp_missed_by_muvi: minus(&tally.by_complementation, muvi),
            only_muvi_not_comp: minus(muvi, &tally.by_complementation),
            guarded: minus(&tally.guarded, &both),
            brackets: tally.pruned.brackets,
            compares: tally.pruned.compares,
            reflective: self.facts.calls.reflective,
            wide: self.facts.calls.wide,
        }
    }
}

/// The most promising first; the rest of the order only has to be the same every time.
fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (-finding.score, finding.symptom, finding.class.clone());
        key(a).cmp(&key(b)).then_with(|| place_in_source(a).cmp(&place_in_source(b)))
    });
}

/// Further findings about the same object in one method are worth less than the best one.
fn demote_repeated(findings: &mut [Finding]) {
    let mut seen = FxHashSet::default();
    for finding in findings {
        let object = (finding.class.clone(), finding.method.clone(), finding.receiver.clone());
        if !seen.insert(object) {
            finding.reasons.push(Reason::Repeated);
            finding.score = score(&finding.reasons);
        }
    }
}

fn place_in_source(finding: &Finding) -> (String, Option<u32>, Vec<String>) {
    let apis = finding.calls.iter().map(|call| call.api.clone()).collect();
    (finding.method.clone(), finding.calls.first().and_then(|call| call.line), apis)
}

/// Puts two set calls into one group.
fn group(groups: &mut Vec<Vec<usize>>, a: usize, b: usize) {
    match groups.iter_mut().find(|group| group.contains(&a) || group.contains(&b)) {
        Some(group) => {
            group.extend([a, b]);
            group.sort_unstable();
            group.dedup();
        }
        None => groups.push(vec![a.min(b), a.max(b)]),
    }
}

/// Passes to the baseline the calls that a client makes together.
fn note_together(client: &Client<'_>, tally: &mut Tally) {
    for (at, b) in client.set_calls.iter().enumerate() {
        for a in &client.set_calls[..at] {
            if a.owner == b.owner && a.set == b.set && a.instr != b.instr {
                tally.muvi.note(Key::new(client.context.method, a.owner, a.called, b.called));
            }
        }
    }
}

/// What is counted on the way.
#[derive(Default)]
struct Tally {
    by_use: FxHashSet<Key>,
    by_complementation: FxHashSet<Key>,
    guarded: FxHashSet<Key>,
    pruned: Pruned,
    muvi: Muvi,
    apis: FxHashSet<untorn_codemodel::ids::RefId>,
    library_classes: FxHashSet<untorn_codemodel::ids::ClassId>,
    client_classes: FxHashSet<untorn_codemodel::ids::ClassId>,
}

impl Tally {
    fn note(&mut self, world: &Context<'_>, pair: &Pair, key: Key, a: &SetCall, method: MethodId) {
        if pair.uses.is_some() {
            self.by_use.insert(key);
        }
        if pair.complements {
            self.by_complementation.insert(key);
        }
        self.apis.extend([key.calls.0, key.calls.1]);
        let set = world.sets.set(a.set);
        self.library_classes
            .extend(set.fields.iter().map(|&field| world.program.field(field).class));
        self.client_classes.insert(world.program.method(method).class);
    }

    fn has(&self, key: &Key) -> bool {
        self.by_use.contains(key) || self.by_complementation.contains(key)
    }
}
