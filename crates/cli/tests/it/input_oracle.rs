//! Random programs with two arguments: what any small arguments reach, which all are tried, the search for other inputs
//! reaches as well; and the re-execution never loses its way.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use untorn_schedule::Rng;

use crate::support::java::{self, Running, arg, compile, scratch, untorn};

/// All arguments from minus this to this are tried.
const DOMAIN: i32 = 12;

/// A check makes many runs, and none of them may be left out because the machine is busy.
const LIMIT: Duration = Duration::from_secs(1000);

/// Writes a program. Each place that a branch leads to has a mark.
struct Writer {
    rng: Rng,
    out: String,
    marks: u32,
    locals: u32,
}

impl Writer {
    fn below(&mut self, end: u64) -> u64 {
        self.rng.below(end)
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len() as u64) as usize]
    }

    fn expression(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(5) {
                0 | 1 => "a".to_owned(),
                2 | 3 => "b".to_owned(),
                _ => self.below(12).to_string(),
            };
        }
        let x = self.expression(depth - 1);
        match self.below(14) {
            0 => format!("(cells[{x} & 3] + 1)"),
            1 => "total".to_owned(),
            2 => format!("({x} % 7)"),
            3 => format!("({x} / 3)"),
            4 => format!("(byte) ({x} * 40)"),
            5 => format!("(int) ((long) {x} * 1000003L >>> 5)"),
            6 => format!("Math.max({x}, {})", self.expression(depth - 1)),
            7 => format!("helped({x}, {})", self.expression(depth - 1)),
            8 => format!("({x} > 2 ? {} : -{x})", self.expression(0)),
            9 => format!("({x} >>> 1)"),
            _ => {
                let op = self.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({x} {op} {})", self.expression(depth - 1))
            }
        }
    }

    fn condition(&mut self) -> String {
        let (x, y) = (self.expression(1), self.expression(1));
        match self.below(8) {
            0 => format!("(long) {x} < {y} * 2L"),
            1 => format!("{x} < 3 && {y} > 1"),
            _ => {
                let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("{x} {op} {y}")
            }
        }
    }

    fn mark(&mut self) {
        let _ = writeln!(self.out, "mark({});", self.marks);
        self.marks += 1;
    }

    fn block(&mut self, depth: u32) {
        self.out.push_str("{\n");
        self.mark();
        if depth > 0 {
            self.statement(depth - 1);
        }
        self.out.push_str("}\n");
    }

    fn statement(&mut self, depth: u32) {
        match self.below(8) {
            0 => {
                let text = format!("total = {};\n", self.expression(2));
                self.out.push_str(&text);
            }
            1 => {
                let text = format!("cells[{} & 3] = {};\n", self.expression(1), self.expression(1));
                self.out.push_str(&text);
            }
            2 => {
                let key = self.expression(1);
                let _ = writeln!(self.out, "switch ({key} % 5) {{");
                for case in [0, 2, 4] {
                    let _ = writeln!(self.out, "case {case}:");
                    self.block(depth.saturating_sub(1));
                    self.out.push_str("break;\n");
                }
                self.out.push_str("default:\n");
                self.block(0);
                self.out.push_str("}\n");
                return;
            }
            3 => {
                let divisor = self.expression(1);
                let _ = writeln!(self.out, "try {{ total = 100 / ({divisor});");
                self.mark();
                self.out.push_str("} catch (ArithmeticException e)\n");
                self.block(0);
            }
            4 => {
                let (name, bound) = (self.locals, self.expression(1));
                self.locals += 1;
                let _ =
                    writeln!(self.out, "for (int i{name} = 0; i{name} < ({bound} & 3); i{name}++)");
                self.block(0);
            }
            _ => {}
        }
        let condition = self.condition();
        let _ = writeln!(self.out, "if ({condition})");
        self.block(depth);
        if self.below(2) == 0 {
            self.out.push_str("else\n");
            self.block(depth);
        }
    }
}

/// The class `Guards`, whose marks are printed; and `All`, which tries all arguments, or those that it is given.
fn program(seed: u64) -> Vec<(String, String)> {
    let mut writer = Writer { rng: Rng::new(seed), out: String::new(), marks: 0, locals: 0 };
    let helped = writer.expression(2).replace("helped", "Math.min");
    for _ in 0..3 {
        writer.statement(2);
    }
    let body = &writer.out;
    let guards = format!(
        "public final class Guards {{\n\
         static int total;\n\
         static int[] cells = new int[4];\n\
         static final boolean[] marks = new boolean[{}];\n\
         static void mark(int at) {{ marks[at] = true; }}\n\
         static int helped(int a, int b) {{ return {helped}; }}\n\
         static void run(int a, int b) {{\n{body}}}\n\
         static void runAnew(int a, int b) {{ total = 0; cells = new int[4]; run(a, b); }}\n\
         static void print() {{\n\
         for (int at = 0; at < marks.length; at++) if (marks[at]) System.out.print(at + \" \");\n\
         System.out.println();\n\
         }}\n\
         public static void main(String[] arguments) throws Exception {{\n\
         int a = Integer.parseInt(arguments[0]), b = Integer.parseInt(arguments[1]);\n\
         Thread thread = new Thread(() -> run(a, b));\n\
         thread.start();\n\
         thread.join();\n\
         print();\n\
         }}\n}}\n",
        writer.marks
    );
    let all = format!(
        "public final class All {{\n\
         public static void main(String[] arguments) {{\n\
         for (int at = 0; at + 1 < arguments.length; at += 2)\n\
         Guards.runAnew(Integer.parseInt(arguments[at]), Integer.parseInt(arguments[at + 1]));\n\
         if (arguments.length == 0)\n\
         for (int a = -{DOMAIN}; a <= {DOMAIN}; a++)\n\
         for (int b = -{DOMAIN}; b <= {DOMAIN}; b++) Guards.runAnew(a, b);\n\
         Guards.print();\n\
         }}\n}}\n"
    );
    vec![("Guards.java".to_owned(), guards), ("All.java".to_owned(), all)]
}

/// The marks that are reached with these arguments, two by two; without any, with all.
fn marks(classes: &Path, arguments: &[&str]) -> BTreeSet<u32> {
    let mut command = java::java(classes, "All");
    command.extend(arguments.iter().map(|&word| word.to_owned()));
    let done = java::try_run(&command).unwrap_or_else(|error| panic!("{error}")).with_code(0);
    done.stdout.split_whitespace().map(|word| word.parse().expect("a mark")).collect()
}

fn finds_what_brute_force_finds(seed: u64) {
    let classes = compile("input-oracle", &program(seed));
    let reachable = marks(&classes, &[]);
    let out = scratch(&format!("input-oracle-{seed}"));
    let mut args =
        vec!["check", "--verbose", "--explore", "2", "--time", "900s", "--out", arg(&out)];
    let mut command = java::java(&classes, "Guards");
    command.extend(["0", "0"].map(str::to_owned));
    args.push("--");
    args.extend(command.iter().map(String::as_str));
    let done = Running::start(&mut untorn(&args)).within(LIMIT).finish();
    assert!(!format!("{}{}", done.stdout, done.stderr).contains("re-execution diverged"), "{done}");
    let lines = done.stdout.lines().chain(done.stderr.lines());
    let tried: Vec<&str> = lines
        .filter_map(|line| line.trim().strip_prefix("tried: arguments "))
        .flat_map(|line| line.split(' '))
        .collect();
    assert!(tried.len() >= 4, "no other inputs were tried: {done}");
    let found = marks(&classes, &tried);
    let missed: Vec<&u32> = reachable.difference(&found).collect();
    assert!(
        missed.is_empty(),
        "seed {seed}: marks {missed:?} were not reached with {tried:?}\n{}",
        program(seed)[0].1
    );
}

#[test]
fn what_small_arguments_reach_is_reached() {
    let seeds = if java::soak() { 0..30 } else { 0..2 };
    seeds.for_each(finds_what_brute_force_finds);
}
