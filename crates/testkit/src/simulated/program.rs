//! The language of simulated programs, a line an instruction.
//!
//! ```text
//! balance = 100              a variable and its first value
//! queue = 0 contents         the content of a collection; `sync`: the state of a latch
//! entry Worker.run           a method where a thread begins
//! library List.add           a method of a library; so are all places in it
//! thread main                the first thread; others start by `fork`
//!   fork Alice
//!   join Alice
//! thread Alice
//!   call Account.withdraw    an activation, until `return Account.withdraw`
//!   read balance r           into a register of the thread; `vread`: volatile
//!   add r -30                or `set r 5`; a second register instead of the number is fine
//!   write balance r          or a number; `vwrite`: volatile; `inc balance`: an atomic update
//!   return Account.withdraw
//! ```
//!
//! Further: `lock m`, `unlock m`; `sync m Name` and `endsync m Name`; `atomic Name` and `end Name`;
//! `wait m`, `notify m`, `notifyall m`; `sleep 50`, in milliseconds; `.label`, `goto label`, `if r == 0 goto label` (`!=`, `<`, `>`);
//! `print text $r` (`$process` is another number in each run); `fail text` (ends the thread as an exception does); `exit 3`. `//` starts a comment.

use std::collections::HashMap;
use std::str::FromStr;

use untorn_trace::{BlockKind, VarRole};

/// A script of the program; the first one is the main thread.
pub type ScriptId = usize;

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub(super) vars: Vec<Variable>,
    pub(super) locks: Vec<String>,
    pub(super) labels: Vec<Label>,
    pub(super) scripts: Vec<Script>,
    registers: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub name: String,
    pub initial: i64,
    pub role: VarRole,
}

#[derive(Clone, Debug)]
pub(super) struct Label {
    pub name: String,
    pub is_entry: bool,
    pub is_library: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub name: String,
    /// With the number of their lines.
    pub instrs: Vec<(u32, Instr)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Number(i64),
    Register(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Test {
    Equal,
    Differs,
    Less,
    Greater,
}

#[derive(Clone, Debug)]
pub(super) enum Instr {
    Read {
        var: usize,
        register: usize,
        volatile: bool,
    },
    Write {
        var: usize,
        value: Operand,
        volatile: bool,
    },
    Update {
        var: usize,
    },
    Lock(usize),
    Unlock(usize),
    Begin {
        kind: BlockKind,
        label: usize,
        lock: Option<usize>,
    },
    End(usize),
    Call(usize),
    Return(usize),
    Set(usize, Operand),
    Add(usize, Operand),
    If {
        register: usize,
        test: Test,
        value: Operand,
        target: usize,
    },
    Goto(usize),
    Print(String),
    Fail(String),
    Exit(i32),
    Fork(ScriptId),
    Join(ScriptId),
    Wait(usize),
    /// Milliseconds.
    Sleep(u64),
    Notify {
        lock: usize,
        all: bool,
    },
}

impl Program {
    pub(super) fn registers(&self) -> usize {
        self.registers.len()
    }

    pub(super) fn register(&self, name: &str) -> Option<usize> {
        self.registers.iter().position(|register| register == name)
    }
}

/// Why a text is no program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ProgramError {
    pub line: u32,
    pub reason: String,
}

impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let lines: Vec<(u32, &str)> = text
            .lines()
            .enumerate()
            .map(|(number, line)| (number as u32 + 1, line.split("//").next().unwrap_or("").trim()))
            .filter(|(_, line)| !line.is_empty())
            .collect();
        let mut parser = Parser::default();
        for (_, line) in &lines {
            if let Some(name) = line.strip_prefix("thread ") {
                let name = name.trim().to_owned();
                parser.program.scripts.push(Script { name, instrs: Vec::new() });
            }
        }
        for (number, line) in lines {
            parser.line(number, line).map_err(|reason| ProgramError { line: number, reason })?;
        }
        parser.finish()
    }
}

#[derive(Default)]
struct Parser {
    program: Program,
    /// The current script; none before the first `thread`.
    script: Option<ScriptId>,
    /// By script and name: where jumps lead.
    targets: HashMap<(ScriptId, String), usize>,
    /// Jumps whose targets are not known yet: script, position, line, name.
    jumps: Vec<(ScriptId, usize, u32, String)>,
}

impl Parser {
    fn line(&mut self, number: u32, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "thread" {
            self.script = Some(self.script.map_or(0, |script| script + 1));
            return Ok(());
        }
        let Some(script) = self.script else { return self.declaration(&words) };
        if let Some(name) = line.strip_prefix('.') {
            let at = self.program.scripts[script].instrs.len();
            self.targets.insert((script, name.to_owned()), at);
            return Ok(());
        }
        for instr in self.instr(script, number, &words)? {
            self.program.scripts[script].instrs.push((number, instr));
        }
        Ok(())
    }

    fn declaration(&mut self, words: &[&str]) -> Result<(), String> {
        match *words {
            ["entry", name] => {
                let label = self.label(name);
                self.program.labels[label].is_entry = true;
            }
            ["library", name] => {
                let label = self.label(name);
                self.program.labels[label].is_library = true;
            }
            [name, "=", value] => self.declare(name, value, VarRole::Unknown)?,
            [name, "=", value, "contents"] => self.declare(name, value, VarRole::Contents)?,
            [name, "=", value, "sync"] => self.declare(name, value, VarRole::SyncState)?,
            _ => return Err(format!("{} before the first thread", words.join(" "))),
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, value: &str, role: VarRole) -> Result<(), String> {
        let initial = value.parse().map_err(|_| format!("no number: {value}"))?;
        self.program.vars.push(Variable { name: name.to_owned(), initial, role });
        Ok(())
    }

    fn instr(
        &mut self,
        script: ScriptId,
        number: u32,
        words: &[&str],
    ) -> Result<Vec<Instr>, String> {
        let rest = words[1..].join(" ");
        let at = self.program.scripts[script].instrs.len();
        Ok(vec![match *words {
            ["read" | "vread", var, register] => Instr::Read {
                var: self.var(var)?,
                register: self.register(register),
                volatile: words[0] == "vread",
            },
            ["write" | "vwrite", var, value] => Instr::Write {
                var: self.var(var)?,
                value: self.operand(value),
                volatile: words[0] == "vwrite",
            },
            ["inc", var] => Instr::Update { var: self.var(var)? },
            ["lock", lock] => Instr::Lock(self.lock(lock)),
            ["unlock", lock] => Instr::Unlock(self.lock(lock)),
            ["sync", lock, name] => {
                let (lock, label) = (self.lock(lock), self.label(name));
                let kind = BlockKind::Synchronized;
                return Ok(vec![Instr::Begin { kind, label, lock: Some(lock) }, Instr::Lock(lock)]);
            }
            ["endsync", lock, name] => {
                let (lock, label) = (self.lock(lock), self.label(name));
                return Ok(vec![Instr::Unlock(lock), Instr::End(label)]);
            }
            ["atomic", name] => {
                Instr::Begin { kind: BlockKind::Named, label: self.label(name), lock: None }
            }
            ["end", name] => Instr::End(self.label(name)),
            ["call", name] => Instr::Call(self.label(name)),
            ["return", name] => Instr::Return(self.label(name)),
            ["set", register, value] => Instr::Set(self.register(register), self.operand(value)),
            ["add", register, value] => Instr::Add(self.register(register), self.operand(value)),
            ["if", register, test, value, "goto", target] => {
                self.jumps.push((script, at, number, target.to_owned()));
                let (register, value) = (self.register(register), self.operand(value));
                Instr::If { register, test: test_of(test)?, value, target: 0 }
            }
            ["goto", target] => {
                self.jumps.push((script, at, number, target.to_owned()));
                Instr::Goto(0)
            }
            ["print", ..] => Instr::Print(rest),
            ["fail", ..] => Instr::Fail(rest),
            ["exit", code] => Instr::Exit(code.parse().map_err(|_| format!("no code: {code}"))?),
            ["fork", name] => Instr::Fork(self.thread(name)?),
            ["join", name] => Instr::Join(self.thread(name)?),
            ["sleep", millis] => {
                Instr::Sleep(millis.parse().map_err(|_| format!("no time: {millis}"))?)
            }
            ["wait", lock] => Instr::Wait(self.lock(lock)),
            ["notify", lock] => Instr::Notify { lock: self.lock(lock), all: false },
            ["notifyall", lock] => Instr::Notify { lock: self.lock(lock), all: true },
            _ => return Err(format!("no instruction: {}", words.join(" "))),
        }])
    }

    fn var(&self, name: &str) -> Result<usize, String> {
        let found = self.program.vars.iter().position(|var| var.name == name);
        found.ok_or_else(|| format!("no variable {name}"))
    }

    fn thread(&self, name: &str) -> Result<ScriptId, String> {
        let found = self.program.scripts.iter().position(|script| script.name == name);
        found.ok_or_else(|| format!("no thread {name}"))
    }

    fn lock(&mut self, name: &str) -> usize {
        position_or_push(&mut self.program.locks, name)
    }

    fn register(&mut self, name: &str) -> usize {
        position_or_push(&mut self.program.registers, name)
    }

    fn operand(&mut self, text: &str) -> Operand {
        text.parse().map_or_else(|_| Operand::Register(self.register(text)), Operand::Number)
    }

    fn label(&mut self, name: &str) -> usize {
        let labels = &mut self.program.labels;
        labels.iter().position(|label| label.name == name).unwrap_or_else(|| {
            labels.push(Label { name: name.to_owned(), is_entry: false, is_library: false });
            labels.len() - 1
        })
    }

    fn finish(mut self) -> Result<Program, ProgramError> {
        if self.program.scripts.is_empty() {
            return Err(ProgramError { line: 1, reason: "no thread".to_owned() });
        }
        for (script, at, line, name) in self.jumps {
            let target = self.targets.get(&(script, name.clone())).copied();
            let target =
                target.ok_or_else(|| ProgramError { line, reason: format!("no label {name}") })?;
            match &mut self.program.scripts[script].instrs[at].1 {
                Instr::If { target: to, .. } | Instr::Goto(to) => *to = target,
                _ => unreachable!("only these jump"),
            }
        }
        Ok(self.program)
    }
}

fn position_or_push(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn test_of(text: &str) -> Result<Test, String> {
    Ok(match text {
        "==" => Test::Equal,
        "!=" => Test::Differs,
        "<" => Test::Less,
        ">" => Test::Greater,
        _ => return Err(format!("no comparison {text}")),
    })
}
