//! `untorn mcp`: the commands as tools of a coding assistant, by the Model Context Protocol.
//!
//! One JSON message a line on standard input and output. A tool is a call of this executable, so what an assistant gets
//! is what a person would read. One tool runs at a time. If the client goes or cancels a call, the call is ended like
//! any interrupted `untorn`: the program under test goes with it.

mod call;
mod messages;
mod tools;

use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, Sender};

use serde_json::{Value, json};

use crate::console::Console;
use crate::exit::{Exit, Result};
use call::{Call, CallResult};
use messages::{FaultCode, Request};

/// The revisions of the protocol that this server speaks, the newest first.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// What the server waits for.
enum Input {
    Line(String),
    /// The client closed its end.
    Closed,
    /// The running tool came to its end.
    Finished(CallResult),
}

pub fn run() -> Result<Exit> {
    let (sender, inputs) = mpsc::channel();
    let lines = sender.clone();
    std::thread::spawn(move || read_lines(&lines));
    Server { sender, running: None, waiting: VecDeque::new(), console: Console::plain() }
        .serve(&inputs)?;
    Ok(Exit::Clean)
}

fn read_lines(sender: &Sender<Input>) {
    for line in std::io::stdin().lock().lines() {
        let input = line.map_or(Input::Closed, Input::Line);
        if sender.send(input).is_err() {
            return;
        }
    }
    // If nobody listens any more, there is nobody to tell.
    let _ = sender.send(Input::Closed);
}

struct Server {
    sender: Sender<Input>,
    /// With the number of its request; without, if nobody waits for the result any more.
    running: Option<(Option<Value>, Call)>,
    /// Calls of tools that wait for their turn.
    waiting: VecDeque<(Value, Value)>,
    console: Console,
}

impl Server {
    fn serve(mut self, inputs: &Receiver<Input>) -> Result<()> {
        while let Ok(input) = inputs.recv() {
            match input {
                Input::Line(line) if line.trim().is_empty() => {}
                Input::Line(line) => self.take(&line)?,
                Input::Finished(result) => self.finish(&result)?,
                Input::Closed => {
                    if let Some((_, call)) = &self.running {
                        call.end();
                        // Whoever ends a call waits until the program under test is gone.
                        while !matches!(inputs.recv(), Ok(Input::Finished(_)) | Err(_)) {}
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let request = match Request::parse(line) {
            Ok(request) => request,
            Err(fault) => return self.say(&fault),
        };
        let Some(id) = request.id else {
            self.note(&request.method, &request.params);
            return Ok(());
        };
        match request.method.as_str() {
            "initialize" => self.answer(&id, &hello(&request.params)),
            "ping" => self.answer(&id, &json!({})),
            "tools/list" => self.answer(&id, &json!({ "tools": tools::list() })),
            "tools/call" => {
                self.waiting.push_back((id, request.params));
                self.start_next()
            }
            other => {
                let text = format!("there is no method '{other}'");
                self.say(&messages::fault(&id, FaultCode::MethodNotFound, &text))
            }
        }
    }

    /// Messages that want no answer.
    fn note(&mut self, method: &str, params: &Value) {
        if method != "notifications/cancelled" {
            return;
        }
        let id = &params["requestId"];
        self.waiting.retain(|(waiting, _)| waiting != id);
        if let Some((running, call)) = &mut self.running
            && running.as_ref() == Some(id)
        {
            *running = None;
            call.end();
        }
    }

    fn start_next(&mut self) -> Result<()> {
        while self.running.is_none() {
            let Some((id, params)) = self.waiting.pop_front() else { return Ok(()) };
            let sender = self.sender.clone();
            let started = tools::words(&params).and_then(|words| {
                Call::start(&words, move |result| {
                    // Nobody waits for the result any more if the server has ended.
                    let _ = sender.send(Input::Finished(result));
                })
            });
            match started {
                Ok(call) => self.running = Some((Some(id), call)),
                Err(text) => self.say(&messages::fault(&id, FaultCode::InvalidParams, &text))?,
            }
        }
        Ok(())
    }

    fn finish(&mut self, result: &CallResult) -> Result<()> {
        if let Some((Some(id), _)) = self.running.take() {
            self.answer(&id, &result.to_json())?;
        }
        self.start_next()
    }

    fn answer(&mut self, id: &Value, result: &Value) -> Result<()> {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        self.console.put(&format!("{message}\n"))
    }
}

/// Who this is, and which revision of the protocol is spoken: the client's if it is known here.
fn hello(params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str();
    let revision = REVISIONS.iter().find(|own| Some(**own) == wanted).unwrap_or(&REVISIONS[0]);
    json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "untorn", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Untorn finds atomicity violations in multithreaded programs. Call `check` with the command that \
                         starts the program, then `explain` for a finding. After a fix, `verify` tries that finding again.",
    })
}
