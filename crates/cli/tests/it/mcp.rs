//! `untorn mcp`, as an assistant talks to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::java::{arg, example, scratch};
use crate::support::{root, untorn};

struct Assistant {
    server: Child,
    stdin: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Assistant {
    fn new() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_untorn"))
            .arg("mcp")
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(server.stdout.take().unwrap());
        Self { stdin: server.stdin.take(), server, answers }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, id: u32, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The server ends when its client goes.
    fn leave(mut self) {
        self.stdin = None;
        assert!(self.server.wait().unwrap().success());
    }
}

#[test]
fn a_session() {
    let mut assistant = Assistant::new();
    let hello = assistant.ask(1, "initialize", &json!({ "protocolVersion": "2025-03-26" }));
    assert_eq!(hello["result"]["protocolVersion"], "2025-03-26");
    assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = assistant.ask(2, "tools/list", &json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["check", "explain", "replay", "verify", "doctor"]);
    let missing = json!({ "name": "explain", "arguments": { "report": "no-such-report.json" } });
    let answer = assistant.ask(3, "tools/call", &missing);
    assert_eq!(answer["result"]["isError"], true);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let alone = untorn(&root(), &["explain", "no-such-report.json"], b"");
    assert_eq!(text, format!("{}\nexit code 2", String::from_utf8_lossy(&alone.stderr).trim_end()));
    assistant.leave();
}

#[test]
fn what_is_wrong_is_answered_and_the_session_goes_on() {
    let mut assistant = Assistant::new();
    writeln!(assistant.stdin.as_mut().unwrap(), "not JSON").unwrap();
    assert_eq!(assistant.next()["error"]["code"], -32_700);
    assert_eq!(assistant.ask(1, "tools/run", &json!({}))["error"]["code"], -32_601);
    assert_eq!(assistant.ask(2, "tools/call", &json!({ "name": "rm" }))["error"]["code"], -32_602);
    assert_eq!(assistant.ask(3, "ping", &json!({}))["result"], json!({}));
    assistant.leave();
}

/// A check that is given up is ended like any interrupted one: it keeps what it found, and makes room.
#[test]
fn a_call_that_is_cancelled_makes_room() {
    let out = scratch("mcp-cancelled");
    let report = out.join("report.json");
    let mut assistant = Assistant::new();
    let command = example("fail", "Bank").command();
    let check = json!({ "name": "check", "arguments": {
        "time": "10m", "out": arg(&out), "command": command, "options": ["--explore", "100000"] } });
    assistant.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": check }));
    while !report.exists() {
        assert!(assistant.server.try_wait().unwrap().is_none(), "the server has ended");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assistant.send(&json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    let explain =
        json!({ "name": "explain", "arguments": { "report": arg(&report), "number": 1 } });
    // The first answer is that of the second call: nobody waits for the first one.
    let answer = assistant.ask(2, "tools/call", &explain);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Account.withdraw"), "{text}");
    assistant.leave();
}
