//! `untorn predict`: what could be torn if the threads of a recorded run were scheduled otherwise.

pub mod config;
mod decide;
mod plans;
mod report;
mod show;

use std::ops::ControlFlow;
use std::time::Instant;

use untorn_check::block_filter::BlockFilter;
use untorn_predict::candidates::{self, Candidate, Found, Limits};
use untorn_predict::simulation::Knowledge;
use untorn_predict::{Facts, History, Origin};
use untorn_trace::{Event, Tables, ValueKind, VarId};

use crate::console::{Console, Volume};
use crate::exit::{Exit, Failure, Result};
use crate::files::write_text;
use crate::reading::{Manner, Reading, read};

use config::{Predict, Sure};
use decide::{Chosen, Decided, Setting};
use report::{Counts, Prediction, Predictions};

pub fn run(config: &Predict) -> Result<Exit> {
    let start = Instant::now();
    let mut console = Console::new(config.color, config.volume);
    let (reading, events) = load(config)?;
    let tables = reading.tables();
    let blocks = events.iter().filter(|event| is_block(event, config)).count() as u64;
    let history = History::new(events, tables)
        .map_err(|error| Failure::input(format!("{error}, {}", config.input.name())))?;
    let facts = Facts::new(&history);
    let mut found = candidates::find(&facts, config.sources, Limits::default());
    choose(&mut found, config, &history, tables);
    let knowledge = knowledge(&history, tables);
    let setting = Setting { config, facts: &facts, knowledge: &knowledge };
    let decided = decide::all(&setting, &found.candidates);
    let predictions = predictions(&setting, &found, &decided, tables)?;
    show::show(&predictions, &reading, &history, config, start.elapsed(), &mut console)?;
    if let Some(folder) = &config.plans {
        plans::write(folder, &predictions, &history, tables, &mut console)?;
    }
    if let Some(export) = &config.export {
        plans::export(export, &predictions, &history, &mut console)?;
    }
    if let Some(path) = &config.json {
        write_text(path, &predictions.json(&config.input.name(), &history, tables), &mut console)?;
    }
    if blocks == 0 {
        // A prediction about nothing must not look like a pass.
        console.warn(&format!(
            "nothing to predict: the trace has no blocks that count, {}",
            config.input.name()
        ));
        return Ok(Exit::BadInput);
    }
    let any = predictions.counts.feasible > 0;
    Ok(if any { Exit::Violations } else { Exit::Clean })
}

fn load(config: &Predict) -> Result<(Reading, Vec<Event>)> {
    let mut events = Vec::new();
    let quiet = config.volume == Volume::Quiet;
    let manner = Manner { blocks: &config.blocks, progress: "reading", quiet };
    let reading = read(&config.input, manner, &mut |_, batch| {
        events.extend_from_slice(batch);
        ControlFlow::Continue(())
    })?;
    Ok((reading, events))
}

fn is_block(event: &Event, config: &Predict) -> bool {
    match event.op {
        untorn_trace::Op::Begin { .. } => true,
        untorn_trace::Op::Call { .. } => config.sources == candidates::Sources::All,
        _ => false,
    }
}

/// Leaves the candidates that the user asked for. Declared blocks were chosen while reading.
fn choose(found: &mut Found, config: &Predict, history: &History, tables: &Tables) {
    let filter = BlockFilter::new(&config.blocks.atomic, &config.blocks.not_atomic);
    let counts = |candidate: &Candidate| {
        let label = history.block(candidate.block).label;
        candidate.origin == Origin::Declared
            || filter.matches(tables.labels.get(label).unwrap_or(""))
    };
    found.candidates.retain(|candidate| {
        let wanted = config.patterns.is_empty() || config.patterns.contains(&candidate.pattern);
        wanted && counts(candidate)
    });
}

/// Which variables steer a thread that reads another value: references lead to other objects, and
/// what is an element of an array was found by an index.
fn knowledge(history: &History, tables: &Tables) -> Knowledge {
    let vars = || (0..history.var_count()).map(VarId::from_index);
    let is_element = |var: VarId| tables.vars.get(var).is_some_and(|name| name.ends_with(']'));
    Knowledge {
        steers: vars().map(|var| tables.var_facts(var).kind == ValueKind::Ref).collect(),
        elements: vars().map(is_element).collect(),
        ..Knowledge::of(history)
    }
}

/// The predictions to report, each with a plan that the independent validator accepted.
fn predictions(
    setting: &Setting<'_, '_>,
    found: &Found,
    decided: &[Decided],
    tables: &Tables,
) -> Result<Predictions> {
    let counts = Counts::of(found, decided);
    let mut chosen: Vec<Chosen<'_>> = found
        .candidates
        .iter()
        .zip(decided)
        .filter_map(|(candidate, decided)| match decided {
            Decided::Feasible { goal, draft, sure } => {
                Some(Chosen { candidate, goal, draft, sure: *sure })
            }
            _ => None,
        })
        .collect();
    // What may be a false alarm comes last; otherwise the order of the candidates stays.
    chosen.sort_by_key(|chosen| chosen.sure.label() != Sure::Value.label());
    chosen.truncate(setting.config.limit);
    let plans = decide::checked_plans(setting, &chosen, tables)?;
    let list = chosen.into_iter().zip(plans).map(|(chosen, plan)| Prediction {
        candidate: chosen.candidate.clone(),
        goal: chosen.goal.clone(),
        sure: chosen.sure,
        plan,
    });
    Ok(Predictions { counts, list: list.collect() })
}
