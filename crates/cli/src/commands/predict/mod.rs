//! `untorn predict`: what could be torn if the threads of a recorded run were scheduled otherwise.

pub mod args;
pub mod config;
mod decide;
mod load;
mod plans;
mod question;
mod report;
mod show;

use std::time::Instant;

use untorn_predict::candidates::{self, Candidates, Limits, Objects};
use untorn_predict::simulation::Knowledge;
use untorn_predict::{BlockId, History, HistoryIndex, Origin};
use untorn_serializability::block_filter::BlockFilter;
use untorn_trace::{Tables, VarId};

use crate::console::Console;
use crate::exit::{Exit, Result};
use crate::files::write_text;

use config::{Patterns, Predict};
use decide::{Chosen, Decided, Setting};
use load::Loaded;
use question::Question;
use report::{Prediction, Predictions, Tally};

pub fn run(config: &Predict) -> Result<Exit> {
    let start = Instant::now();
    let mut console = Console::new(config.color, config.volume);
    let Loaded { reading, history, blocks } = load::load(config)?;
    let tables = reading.tables();
    let facts = HistoryIndex::new(&history);
    let (found, questions, all) = questions(&facts, config, tables);
    let knowledge = knowledge(&history, tables);
    let setting = Setting { config, facts: &facts, knowledge: &knowledge };
    let decided = decide::all(&setting, &questions);
    let predictions = predictions(&setting, &found, questions, &decided, tables)?;
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
    if !all {
        console.warn("the pattern has more instances than were looked at");
    }
    if blocks == 0 && matches!(config.patterns, Patterns::Torn(_)) {
        // A prediction about nothing must not look like a pass.
        console.warn(&format!(
            "nothing to predict: the trace has no blocks that count, {}",
            config.input.name()
        ));
        return Ok(Exit::BadInput);
    }
    let any = predictions.tally.feasible() > 0;
    Ok(if any { Exit::Findings } else { Exit::Clean })
}

/// What to ask about, and whether that is all there is.
fn questions(
    facts: &HistoryIndex<'_>,
    config: &Predict,
    tables: &Tables,
) -> (Candidates, Vec<Question>, bool) {
    let patterns = match &config.patterns {
        Patterns::Torn(patterns) => patterns,
        Patterns::Events(patterns) => {
            let (questions, all) = question::of_patterns(patterns, facts.history, tables);
            return (Candidates::default(), questions, all);
        }
    };
    let objects = if patterns.is_empty() { Objects::of_trace(tables) } else { Objects::default() };
    let mut found = candidates::find_in(facts, config.sources, Limits::default(), &objects);
    // Declared blocks were chosen while reading.
    let filter = BlockFilter::new(&config.blocks.atomic, &config.blocks.not_atomic);
    let counts = |block: BlockId, origin: Origin| {
        let label = facts.history.block(block).label;
        origin == Origin::Declared || filter.matches(tables.labels.get(label).unwrap_or(""))
    };
    let wanted = |pattern| patterns.is_empty() || patterns.contains(&pattern);
    let ones = std::mem::take(&mut found.candidates).into_iter();
    let ones = ones.filter(|one| wanted(one.pattern) && counts(one.block, one.origin));
    let pairs = std::mem::take(&mut found.pairs).into_iter();
    // Of a branch that nobody took there is nothing to show yet.
    let pairs = pairs.filter(|pair| pair.is_seen && counts(pair.block, pair.origin));
    let questions = ones.map(Question::One).chain(pairs.map(Question::Pair)).collect();
    (found, questions, true)
}

/// Which variables steer a thread that reads another value: references lead to other objects, and
/// what is an element of an array was found by an index.
fn knowledge(history: &History, tables: &Tables) -> Knowledge {
    let vars = || (0..history.var_count()).map(VarId::from_index);
    let is_element = |var: VarId| tables.is_element(var);
    Knowledge {
        steers: vars().map(|var| load::steers(tables, var)).collect(),
        elements: vars().map(is_element).collect(),
        ..Knowledge::of(history)
    }
}

/// The predictions to report, each with a reordering that the independent validator accepted.
fn predictions(
    setting: &Setting<'_, '_>,
    found: &Candidates,
    questions: Vec<Question>,
    decided: &[Decided],
    tables: &Tables,
) -> Result<Predictions> {
    let tally = Tally::of(found, &questions, decided);
    let mut chosen: Vec<Chosen<'_>> = questions
        .iter()
        .zip(decided)
        .filter_map(|(question, decided)| match decided {
            Decided::Feasible { goal, pending, draft, sure } => {
                Some(Chosen { question, goal, pending: *pending, draft, sure: *sure })
            }
            _ => None,
        })
        .collect();
    // What may be a false alarm comes last; otherwise the order of the candidates stays.
    chosen.sort_by_key(|chosen| !chosen.question.is_sure(chosen.sure));
    chosen.truncate(setting.config.limit);
    let outlines = decide::checked_outlines(setting, &chosen, tables)?;
    let list = chosen.into_iter().zip(outlines).map(|(chosen, outline)| Prediction {
        question: chosen.question.clone(),
        goal: chosen.goal.clone(),
        pending: chosen.pending,
        sure: chosen.sure,
        outline,
    });
    Ok(Predictions { tally, list: list.collect() })
}
