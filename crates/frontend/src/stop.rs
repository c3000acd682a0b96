//! Ending a program that does not end by itself, such as a server: after some time, when it says something, or when a
//! client has done its work.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use untorn_trace::glob::Glob;

use crate::processes::{Child, ProcessError};

/// A longer line of output is looked at in parts.
const MAX_LINE: usize = 1 << 16;

/// When a run is ended that would go on. That is no failure: the run came to where it should.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StopCondition {
    /// So long after its start.
    pub after: Option<Duration>,
    /// When a line of its output contains this text, in which `*` stands for any text. If there is a client, it is started
    /// then.
    pub until: Option<String>,
    /// When this command, a client, has ended. It is for `sh`.
    pub drive: Option<String>,
}

impl StopCondition {
    /// The program ends by itself.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Where the output of the program and of its client goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StopStreams {
    /// Standard output and standard error of the program: files.
    pub output: [PathBuf; 2],
    /// What is in them is copied to ours, and the client has ours.
    pub is_shared: bool,
    /// Else, where the output of the client goes.
    pub client: PathBuf,
}

/// Watches one run. It is asked again and again by the thread that started the program.
#[derive(Debug)]
pub struct Stopper<'a> {
    condition: &'a StopCondition,
    streams: StopStreams,
    begin: Instant,
    outputs: [OutputReader; 2],
    /// The text was seen, or is not waited for.
    is_ready: bool,
    client: Option<Child>,
    /// How the client ended.
    ended: Option<ExitStatus>,
}

impl<'a> Stopper<'a> {
    pub fn new(condition: &'a StopCondition, streams: StopStreams) -> Self {
        let text = condition.until.as_ref().map(|text| Glob::new(format!("*{text}*")));
        let outputs =
            [(); 2].map(|()| OutputReader { text: text.clone(), ..OutputReader::default() });
        let (begin, is_ready) = (Instant::now(), condition.until.is_none());
        Self { condition, streams, begin, outputs, is_ready, client: None, ended: None }
    }

    /// Whether the run goes on.
    ///
    /// # Errors
    /// If the client cannot be started.
    pub fn look(&mut self) -> Result<ControlFlow<()>, ProcessError> {
        self.is_ready |= self.read_output();
        if self.condition.after.is_some_and(|after| self.begin.elapsed() >= after) {
            return Ok(ControlFlow::Break(()));
        }
        if !self.is_ready {
            return Ok(ControlFlow::Continue(()));
        }
        let is_over = match (&mut self.client, &self.condition.drive) {
            (Some(client), _) => {
                self.ended = client.look_for_end()?;
                self.ended.is_some()
            }
            (None, Some(drive)) => {
                self.client = Some(Child::start(&mut self.client_command(drive))?);
                false
            }
            (None, None) => self.condition.until.is_some(),
        };
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn client_command(&self, drive: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", drive]).stdin(Stdio::null());
        if !self.streams.is_shared
            && let Ok(file) = File::create(&self.streams.client)
            && let Ok(same) = file.try_clone()
        {
            command.stdout(file).stderr(same);
        }
        command
    }

    /// Whether the text was seen.
    fn read_output(&mut self) -> bool {
        let [out, err] = &mut self.outputs;
        let [out_file, err_file] = &self.streams.output;
        let is_shared = self.streams.is_shared;
        let ours: (&mut dyn Write, &mut dyn Write) =
            (&mut std::io::stdout(), &mut std::io::stderr());
        let both = [
            out.read(out_file, is_shared.then_some(&mut *ours.0)),
            err.read(err_file, is_shared.then_some(&mut *ours.1)),
        ];
        both.contains(&true)
    }

    /// The program has ended. Ends the client if it still runs; says how it ended if it did so by itself.
    pub fn finish(mut self) -> Option<ExitStatus> {
        self.read_output();
        if let (Some(client), None) = (&mut self.client, self.ended) {
            client.kill();
        }
        self.ended
    }
}

/// What is new in a file.
#[derive(Debug, Default)]
struct OutputReader {
    text: Option<Glob>,
    read: u64,
    /// The last line, if it has no end yet.
    line: Vec<u8>,
}

impl OutputReader {
    /// Reads what is new, and copies it. Says whether the text is in it.
    fn read(&mut self, file: &PathBuf, copy: Option<&mut dyn Write>) -> bool {
        let mut new = Vec::new();
        let Ok(mut file) = File::open(file) else { return false };
        let is_read =
            file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_end(&mut new));
        if is_read.is_err() || new.is_empty() {
            return false;
        }
        self.read += new.len() as u64;
        if let Some(copy) = copy {
            // Who does not listen any more misses it.
            let _ = copy.write_all(&new).and_then(|()| copy.flush());
        }
        let Some(text) = &self.text else { return false };
        self.line.extend_from_slice(&new);
        let is_there = self
            .line
            .split(|&byte| byte == b'\n')
            .any(|line| text.matches(&String::from_utf8_lossy(line)));
        let last = self.line.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.line.drain(..last.max(self.line.len().saturating_sub(MAX_LINE)));
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::{Ending, Limits, run_until};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("untorn-stop-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn streams(&self) -> StopStreams {
            let file = |name: &str| self.0.join(name);
            StopStreams {
                output: [file("out"), file("err")],
                is_shared: false,
                client: file("client"),
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Runs a script under a condition.
    fn run(folder: &Folder, script: &str, condition: &StopCondition) -> (Ending, Option<i32>) {
        let streams = folder.streams();
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&folder.0);
        command.stdout(File::create(&streams.output[0]).expect("a file"));
        command.stderr(File::create(&streams.output[1]).expect("a file"));
        let mut stopper = Stopper::new(condition, streams);
        let ending = run_until(&mut command, Limits::default(), &mut || stopper.look());
        (ending.expect("it runs"), stopper.finish().and_then(|status| status.code()))
    }

    const SERVER: &str = "echo starting; echo 'ready at 80' >&2; while :; do sleep 0.05; done";

    #[test]
    fn a_server_is_ended_when_it_says_so() {
        let folder = Folder::new("until");
        let until = Some("ready * 80".to_owned());
        let (ending, client) = run(&folder, SERVER, &StopCondition { until, ..Default::default() });
        assert_eq!((ending, client), (Ending::Stopped, None));
    }

    #[test]
    fn a_server_is_ended_when_its_client_has_ended() {
        let folder = Folder::new("drive");
        let here = folder.0.display();
        let condition = StopCondition {
            until: Some("ready".to_owned()),
            drive: Some(format!("grep -q ready {here}/err && echo asked && exit 3")),
            ..StopCondition::default()
        };
        assert_eq!(run(&folder, SERVER, &condition), (Ending::Stopped, Some(3)));
        let said = std::fs::read_to_string(folder.0.join("client")).expect("what it said");
        assert_eq!(said, "asked\n");
    }

    #[test]
    fn a_server_is_ended_after_some_time_together_with_its_client() {
        let folder = Folder::new("after");
        let condition = StopCondition {
            after: Some(Duration::from_millis(200)),
            drive: Some(format!("echo $$ > {}/pid; exec sleep 1000", folder.0.display())),
            ..StopCondition::default()
        };
        assert_eq!(run(&folder, SERVER, &condition), (Ending::Stopped, None));
        let client = std::fs::read_to_string(folder.0.join("pid")).expect("it was started");
        assert!(!std::path::Path::new(&format!("/proc/{}", client.trim())).exists());
    }

    #[test]
    fn what_ends_by_itself_is_not_stopped() {
        let folder = Folder::new("itself");
        let until = Some("never said".to_owned());
        let condition = StopCondition { until, ..StopCondition::default() };
        let (ending, _) = run(&folder, "echo 'never'; echo 'said'; exit 7", &condition);
        assert!(matches!(ending, Ending::Ended(status) if status.code() == Some(7)), "{ending:?}");
    }

    #[test]
    fn a_line_may_come_in_parts() {
        let folder = Folder::new("parts");
        let script = "printf 'Star'; sleep 0.1; printf 'ted in 3'; while :; do sleep 0.05; done";
        let until = Some("Started in".to_owned());
        let (ending, _) = run(&folder, script, &StopCondition { until, ..Default::default() });
        assert_eq!(ending, Ending::Stopped);
    }
}
