//! What `untorn compare` is to do.

use std::path::{Path, PathBuf};

use untorn_findings::coverage::Demand;
use untorn_frontend::StopCondition;
use untorn_jvm::ProgramArguments;
use untorn_jvm::config::ScopeConfig;

use super::args::{CompareArgs, StrategyName};
use super::methods;
use crate::commands::check::args::FailOn;
use crate::commands::check::config::Check;
use crate::config::{duration, initial_seed, scope, source_roots, sources_of};
use crate::console::{Color, Volume};
use crate::exit::Result;
use crate::files::is_dash;
use crate::program::program;

#[derive(Debug)]
pub struct Compare {
    pub methods: Vec<StrategyName>,
    pub out: PathBuf,
    pub json: Option<PathBuf>,
    pub color: Color,
    pub volume: Volume,
    pub program: ProgramArguments,
    pub options: untorn_explore::Options,
    scope: ScopeConfig,
}

impl Compare {
    pub fn new(args: CompareArgs) -> Result<Self> {
        let program = program(args.program)?;
        let mut methods = Vec::new();
        for &name in if args.with.is_empty() { StrategyName::all() } else { &args.with } {
            if !methods.contains(&name) {
                methods.push(name);
            }
        }
        let mut options = untorn_explore::Options {
            time: duration(&args.time)?,
            // Time is the measure here.
            runs: u32::MAX,
            sources: sources_of(args.blocks),
            max_events: args.events.map_or(u64::MAX, |most| most.max(1)),
            // Finding is compared, not what comes after it.
            minimise: 0,
            not_atomic: args.not_atomic,
            ..untorn_explore::Options::default()
        };
        initial_seed(&mut options, args.seed);
        let machine = args.json.as_deref().is_some_and(is_dash);
        Ok(Self {
            methods,
            out: args.out,
            json: args.json,
            color: args.colors.color,
            volume: if args.quiet || machine { Volume::Quiet } else { Volume::Normal },
            program,
            options,
            scope: scope(args.scope),
        })
    }

    /// The check that one method is.
    pub fn check(&self, name: StrategyName, out: &Path) -> Check {
        let strategy = methods::strategy(name);
        Check {
            options: untorn_explore::Options { strategy, ..self.options.clone() },
            out: out.to_owned(),
            sources: source_roots(Vec::new()),
            scope: self.scope.clone(),
            compositions: false,
            run_time: None,
            stop: StopCondition::default(),
            fail_on: FailOn::Any,
            demand: Demand::default(),
            allow_inconclusive: true,
            fresh: false,
            color: self.color,
            volume: Volume::Quiet,
            program: self.program.clone(),
            linearizable: None,
        }
    }
}
