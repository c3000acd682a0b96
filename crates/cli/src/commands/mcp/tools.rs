//! The tools: what an assistant may ask for, and the call of `untorn` that does it.

use serde_json::{Value, json};

/// The time of a check that names none. An assistant waits for the answer.
const TIME: &str = "30s";

const COMMAND: &str = "The command that starts the program, a word an item: [\"java\", \"-cp\", \"classes\", \"Main\"]. \
                       C and C++ must be built by `untorn cc`, Rust by `untorn cargo build`.";

const OPTIONS: &str = "More options of the command line, a word an item: [\"--atomic\", \"com.acme.*\"] or \
                       [\"--junit\", \"com.acme.BankTest\", \"-cp\", \"classes\"].";

/// All tools, with the JSON schemas of what they are given.
pub fn list() -> Value {
    let words = |about: &str| json!({ "type": "array", "items": { "type": "string" }, "description": about });
    let text = |about: &str| json!({ "type": "string", "description": about });
    let number = json!({ "type": "integer", "minimum": 1, "description": "The number of the finding in the report." });
    let report = text("The path of a report.json that a check wrote.");
    let time = text("How long to try, such as 30s or 5m.");
    json!([
        tool(
            "check",
            "Runs a multithreaded program under a controlled scheduler and looks for atomicity violations, deadlocks and \
             failures that depend on the schedule. Each finding happened in a run that can be replayed.",
            &json!({
                "command": words(COMMAND),
                "options": words(OPTIONS),
                "time": time,
                "out": text("The folder of the report; untorn-out if missing."),
            }),
            &[],
        ),
        tool(
            "explain",
            "Explains a finding: what happened, step by step, why it is wrong, and how to fix it.",
            &json!({ "report": report, "number": number }),
            &["report"],
        ),
        tool(
            "replay",
            "Makes a finding happen again, with the same schedule.",
            &json!({ "report": report, "number": number }),
            &["report", "number"],
        ),
        tool(
            "verify",
            "After a fix: tries whether a finding can still happen.",
            &json!({ "report": report, "number": number, "time": time }),
            &["report", "number"],
        ),
        tool(
            "doctor",
            "Tells what of a program can be seen, and what cannot.",
            &json!({ "command": words(COMMAND) }),
            &["command"],
        ),
    ])
}

fn tool(name: &str, about: &str, properties: &Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": about,
        "inputSchema": { "type": "object", "properties": properties, "required": required },
    })
}

/// The words of the command line that do what the tool is asked for.
pub fn words(params: &Value) -> Result<Vec<String>, String> {
    let given = Arguments(&params["arguments"]);
    let name = params["name"].as_str().unwrap_or_default();
    let mut words = vec![name.to_owned()];
    match name {
        "check" => {
            words.extend([
                "--time".to_owned(),
                given.text("time")?.unwrap_or_else(|| TIME.to_owned()),
            ]);
            given.text("out")?.into_iter().for_each(|out| words.extend(["--out".to_owned(), out]));
            words.extend(given.words("options")?);
            words.extend(given.command()?);
        }
        "explain" => words.extend(given.finding()?),
        "replay" => words.extend(given.finding()?),
        "verify" => {
            given
                .text("time")?
                .into_iter()
                .for_each(|time| words.extend(["--time".to_owned(), time]));
            words.extend(given.finding()?);
        }
        "doctor" => words.extend(given.command()?),
        other => return Err(format!("there is no tool '{other}'")),
    }
    Ok(words)
}

/// What a tool was given.
struct Arguments<'v>(&'v Value);

impl Arguments<'_> {
    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match &self.0[name] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(format!("'{name}' is a text")),
        }
    }

    fn words(&self, name: &str) -> Result<Vec<String>, String> {
        let fault = || format!("'{name}' is a list of texts");
        match &self.0[name] {
            Value::Null => Ok(Vec::new()),
            Value::Array(all) => {
                all.iter().map(|word| word.as_str().map(str::to_owned).ok_or_else(fault)).collect()
            }
            _ => Err(fault()),
        }
    }

    /// The program, behind two dashes.
    fn command(&self) -> Result<Vec<String>, String> {
        let words = self.words("command")?;
        Ok(if words.is_empty() { words } else { [vec!["--".to_owned()], words].concat() })
    }

    /// A report and the number of a finding in it.
    fn finding(&self) -> Result<Vec<String>, String> {
        let report =
            self.text("report")?.ok_or("'report' is missing: the path of a report.json")?;
        if report.starts_with('-') {
            return Err("'report' is a path, not an option".to_owned());
        }
        let number = match &self.0["number"] {
            Value::Null => None,
            number => {
                Some(number.as_u64().ok_or("'number' is the number of a finding")?.to_string())
            }
        };
        Ok([Some(report), number].into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(params: &Value) -> String {
        words(params).map_or_else(|fault| fault, |words| words.join(" "))
    }

    #[test]
    fn a_tool_is_a_call() {
        let check = json!({ "name": "check", "arguments": {
            "command": ["java", "Main"], "options": ["--atomic", "a.*"], "time": "5s" } });
        assert_eq!(line(&check), "check --time 5s --atomic a.* -- java Main");
        let explain =
            json!({ "name": "explain", "arguments": { "report": "r.json", "number": 2 } });
        assert_eq!(line(&explain), "explain r.json 2");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(line(&json!({ "name": "rm" })), "there is no tool 'rm'");
        let none = json!({ "name": "replay", "arguments": {} });
        assert_eq!(line(&none), "'report' is missing: the path of a report.json");
        let option = json!({ "name": "explain", "arguments": { "report": "--help" } });
        assert_eq!(line(&option), "'report' is a path, not an option");
        let words = json!({ "name": "doctor", "arguments": { "command": "java Main" } });
        assert_eq!(line(&words), "'command' is a list of texts");
    }
}
