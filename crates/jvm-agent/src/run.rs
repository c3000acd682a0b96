//! What belongs to one run of the program: who schedules it, where its trace goes.

use std::fs::File;
use std::io;
use std::sync::Arc;

use untorn_jvm_protocol::config::Config;
use untorn_runtime::{
    Control, Input, Recorder, Settings, SpareBuffers, ThreadNames, current_processor, scheduler,
};
use untorn_schedule::{AnnouncedEvents, PlanPoint, Schedule, Steering};

use crate::agent::LoadError;
use crate::convert::Converter;
use crate::host::JvmHost;
use crate::instrument::Rewriter;

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) control: Control<&'static JvmHost>,
    pub(crate) config: Config,
    pub(crate) input: Arc<Input>,
}

impl Run {
    /// Starts the thread that writes the trace; the program may begin.
    pub(crate) fn prepare(
        config: Config,
        host: &'static JvmHost,
        rewriter: &Arc<Rewriter>,
        spare: SpareBuffers,
    ) -> Result<Self, LoadError> {
        let scheduler = scheduler(&config.spec, recorded_schedule(&config)?);
        let thread_names = Arc::new(ThreadNames::default());
        let input = Arc::new(Input::new(config.input.as_deref())?);
        let recorder = Arc::new(Recorder::with(Arc::clone(&input), spare));
        let mut converter = Converter::new(Arc::clone(rewriter), Arc::clone(&thread_names));
        converter.tables.meta = config.meta.clone();
        start_writer(File::create(&config.trace)?, converter, &recorder)?;
        let settings = Settings {
            progress: config.progress.clone(),
            replaying: config.replay.is_some(),
            asks_policy: asked_points(&config.spec.steering).1 != AnnouncedEvents::Nothing,
            processor: if config.pin { current_processor() } else { None },
            exit: end_process,
            stays: config.server.is_some(),
        };
        let control = Control::new(host, scheduler, recorder, thread_names, settings);
        Ok(Self { control, config, input })
    }
}

/// The points of a run at which threads ask, and which events the policy hears of before they happen: none while a plan decides. In a
/// replay, those that it heard of: threads may have been held there.
pub(crate) fn asked_points(control: &Steering) -> (Vec<PlanPoint>, AnnouncedEvents) {
    match control {
        Steering::Policy(policy) => (Vec::new(), policy.announced_events()),
        Steering::Marks { policy, marks } => (marks.points(), policy.announced_events()),
        Steering::Plan { plan, .. } => {
            (plan.points().into_iter().cloned().collect(), AnnouncedEvents::Nothing)
        }
    }
}

fn start_writer(file: File, converter: Converter, recorder: &Arc<Recorder>) -> io::Result<()> {
    let recorder = Arc::clone(recorder);
    let body = move || recorder.write_all(file, converter);
    std::thread::Builder::new().name("untorn writer".to_owned()).spawn(body)?;
    Ok(())
}

pub(crate) fn end_process(code: i32) {
    // SAFETY: ends the process at once.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(code)
    }
}

/// The schedule to repeat, if there is one.
fn recorded_schedule(config: &Config) -> Result<Option<Schedule>, LoadError> {
    let Some(path) = &config.replay else { return Ok(None) };
    let bytes = std::fs::read(path).map_err(|error| LoadError::Schedule(error.to_string()))?;
    let steps = Schedule::decode(&bytes).map_err(|error| LoadError::Schedule(error.to_string()))?;
    Ok(Some(Schedule { steps }))
}
