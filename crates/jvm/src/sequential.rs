//! A JVM that makes the calls of scenarios one after the other, and says what operations a class has.
//!
//! It runs `UntornSequential`, which the agent adds to it; nothing is recorded or scheduled there. It is asked a line, and
//! answers a line. It ends when its standard input does, so it never outlives this process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use untorn_frontend::FrontEndError;
use untorn_jvm_protocol::{CLASSES_ONLY, SEQUENTIAL_MAIN};
use untorn_linearizability::{Observation, Scenario, SequentialError, SequentialRuns};

use crate::jdk::find_program;
use crate::launch::{LaunchError, find_agent};
use crate::program::ProgramArguments;

/// Longer than all calls of a scenario may take together.
const LONGEST: Duration = Duration::from_secs(120);

/// A constructor or a method of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Empty for a constructor.
    pub name: String,
    pub descriptor: String,
    /// A type among its parameters of which no value can be made.
    pub obstacle: Option<String>,
    /// A constructor that is public, or a method that the class itself declares.
    pub is_preferred: bool,
}

/// What can be called of a class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassFacts {
    /// No object of it can be made.
    pub is_abstract: bool,
    pub constructors: Vec<Member>,
    /// The public methods of its objects, by name.
    pub methods: Vec<Member>,
}

/// The JVM. It is started when it is first asked, and started again if it cannot be asked any more.
#[derive(Debug)]
pub struct SequentialJvm {
    command: Vec<String>,
    directory: Option<PathBuf>,
    process: Option<Process>,
    is_careful: bool,
}

#[derive(Debug)]
struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl SequentialJvm {
    /// The command of the program is `java` with its options, without a main class.
    ///
    /// # Errors
    /// If there is no such `java`, or no agent.
    pub fn new(program: &ProgramArguments) -> Result<Self, FrontEndError> {
        let (java, options) = program.command.split_first().ok_or(LaunchError::NoCommand)?;
        let java = find_program(java).ok_or_else(|| LaunchError::NotFound(java.clone()))?;
        let agent = format!("-agentpath:{}={CLASSES_ONLY}", find_agent()?.display());
        let mut command = vec![java.display().to_string(), agent];
        command.extend(options.iter().cloned());
        command.push(SEQUENTIAL_MAIN.to_owned());
        let directory = program.directory.clone();
        Ok(Self { command, directory, process: None, is_careful: false })
    }

    /// From now on every order has classes of its own, and more time before a call is taken to wait.
    pub fn be_careful(&mut self) {
        self.is_careful = true;
        self.process = None;
    }

    pub fn is_careful(&self) -> bool {
        self.is_careful
    }

    /// What can be called of a class; `None` if there is no such class.
    ///
    /// # Errors
    /// If the JVM cannot be asked, or the class not be loaded.
    pub fn describe(&mut self, class: &str) -> Result<Option<ClassFacts>, FrontEndError> {
        let answer = self.ask(&format!("describe\t{class}"))?;
        let mut parts = answer.split('\t');
        match parts.next() {
            Some("missing") => return Ok(None),
            Some("class") => {}
            _ => {
                return Err(FrontEndError::input(format!(
                    "the class {class} cannot be used: {}",
                    rest(&answer)
                )));
            }
        }
        let mut facts = ClassFacts::default();
        for part in parts {
            let words: Vec<&str> = part.split(' ').collect();
            let some = |obstacle: &str| Some(obstacle.to_owned()).filter(|own| own != "-");
            match words[..] {
                ["abstract"] => facts.is_abstract = true,
                ["constructor", access, descriptor, obstacle] => facts.constructors.push(Member {
                    name: String::new(),
                    descriptor: descriptor.to_owned(),
                    obstacle: some(obstacle),
                    is_preferred: access == "public",
                }),
                ["method", owner, name, descriptor, obstacle] => facts.methods.push(Member {
                    name: name.to_owned(),
                    descriptor: descriptor.to_owned(),
                    obstacle: some(obstacle),
                    is_preferred: owner == "own",
                }),
                // A name with a blank in it, which a scenario could not have.
                _ => {}
            }
        }
        // The JVM has them in no fixed order.
        let key = |own: &Member| (own.name.clone(), own.descriptor.clone());
        facts.methods.sort_by_key(key);
        facts.constructors.sort_by_key(key);
        Ok(Some(facts))
    }

    fn ask(&mut self, request: &str) -> Result<String, FrontEndError> {
        if let Some(process) = &mut self.process
            && let Ok(answer) = process.ask(request)
        {
            return Ok(answer);
        }
        let mut process = self.start()?;
        let answer = process.ask(request).map_err(|why| process.failed(&why))?;
        self.process = Some(process);
        Ok(answer)
    }

    fn start(&self) -> Result<Process, FrontEndError> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let lost = |why: &dyn std::fmt::Display| {
            FrontEndError::run(format!("cannot start '{}': {why}", self.command[0]))
        };
        let mut child = command.spawn().map_err(|error| lost(&error))?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(lost(&"it has no streams"));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut process = Process { child, requests, answers };
        if self.is_careful {
            process.ask("careful").map_err(|why| process.failed(&why))?;
        }
        Ok(process)
    }
}

impl Process {
    fn ask(&mut self, request: &str) -> Result<String, String> {
        writeln!(self.requests, "{request}").map_err(|error| error.to_string())?;
        self.answers.recv_timeout(LONGEST).map_err(|error| match error {
            RecvTimeoutError::Timeout => "it does not answer".to_owned(),
            RecvTimeoutError::Disconnected => "it ended".to_owned(),
        })
    }

    /// With what the JVM has printed.
    fn failed(&mut self, why: &str) -> FrontEndError {
        let _ = self.child.kill();
        let mut printed = String::new();
        if let Some(errors) = &mut self.child.stderr {
            // What cannot be read is not shown.
            let _ = errors.take(4096).read_to_string(&mut printed);
        }
        FrontEndError::run(format!(
            "the JVM that makes calls one after the other cannot be asked: {why}"
        ))
        .details(printed.lines().take(8).map(str::to_owned))
        .way_out("behind `--` there are java and its options: -- java -cp classes")
    }
}

impl SequentialRuns for SequentialJvm {
    fn run(
        &mut self,
        scenario: &Scenario,
        order: &[usize],
    ) -> Result<Vec<Observation>, SequentialError> {
        let order: Vec<String> = order.iter().map(usize::to_string).collect();
        let request = format!("run\t{}\t{}", scenario.to_text(), order.join(","));
        let answer =
            self.ask(&request).map_err(|error| SequentialError::CouldNotRun(error.to_string()))?;
        let mut lines = answer.split('\t');
        if lines.next() != Some("ok") {
            return Err(SequentialError::CouldNotRun(rest(&answer).to_owned()));
        }
        Ok(lines.map(Observation::parse).collect::<Result<_, _>>()?)
    }
}

/// What stands behind the first word.
fn rest(answer: &str) -> &str {
    answer.split_once('\t').map_or(answer, |(_, rest)| rest)
}
