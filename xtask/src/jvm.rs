//! Figures of the JVM front end: what recording costs. Ratios of whole runs, best of a few, because this
//! is what a user waits for; processor time of single events, because that is what can be improved.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Compute-bound examples with sizes that the plain JVM computes in some tenths of a second.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("RayTracer", &["300"]),
    ("Sor", &["200", "150"]),
    ("Tsp", &["11"]),
    ("MonteCarlo", &["1500"]),
    ("Elevator", &[]),
    ("BoundedBuffer", &[]),
];

const RUNS: usize = 2;

struct Bench {
    untorn: PathBuf,
    classes: PathBuf,
    trace: PathBuf,
}

/// Prints all tables.
pub fn print_all(folder: &Path) -> Result<()> {
    let untorn = crate::release::untorn()?;
    let classes = folder.join("java");
    std::fs::create_dir_all(&classes)?;
    compile("examples/java/pass", &classes)?;
    compile("xtask/java", &classes)?;
    let bench = Bench { untorn, classes, trace: folder.join("jvm.utr") };
    bench.events()?;
    bench.slowdown()?;
    bench.start_up()?;
    bench.switches()?;
    bench.large()
}

fn compile(sources: &str, classes: &Path) -> Result<()> {
    let files = std::fs::read_dir(sources)
        .with_context(|| format!("{sources}: run from the project's root"))?;
    let files = files.filter_map(|entry| Some(entry.ok()?.path()));
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "java")).collect();
    let done = Command::new("javac").arg("-d").arg(classes).args(files).status()?;
    if done.success() { Ok(()) } else { bail!("javac failed") }
}

impl Bench {
    fn plain(&self, class: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("java");
        command.arg("-cp").arg(&self.classes).arg(class).args(arguments);
        command
    }

    fn recorded(&self, options: &[&str], class: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.untorn);
        command.args(["record", "-o"]).arg(&self.trace).args(options).args(["--", "java", "-cp"]);
        command.arg(&self.classes).arg(class).args(arguments);
        command
    }

    /// The best time of some runs, in seconds.
    fn time(&self, make: impl Fn() -> Command) -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let start = Instant::now();
            let mut command = make();
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            best = best.min(start.elapsed().as_secs_f64());
            if !status.success() {
                bail!("{command:?} failed");
            }
        }
        Ok(best)
    }

    fn events(&self) -> Result<()> {
        println!("| event | plain, ns | recorded, ns of the program's processor time |");
        println!("| --- | --- | --- |");
        let figures = |command: &mut Command| -> Result<Vec<(String, f64)>> {
            let text = String::from_utf8(command.stderr(Stdio::null()).output()?.stdout)?;
            let rows = text.lines().filter_map(|line| line.split_once('\t'));
            Ok(rows.filter_map(|(what, ns)| Some((what.to_owned(), ns.parse().ok()?))).collect())
        };
        let plain = figures(&mut self.plain("Accesses", &["2000000"]))?;
        let recorded = figures(&mut self.recorded(&[], "Accesses", &["2000000"]))?;
        for ((what, before), (_, after)) in plain.iter().zip(&recorded) {
            println!("| {what} | {before:.1} | {after:.1} |");
        }
        println!();
        Ok(())
    }

    fn slowdown(&self) -> Result<()> {
        println!(
            "| program | plain, s | recorded, s | slowdown | only locks | events | M events/s |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        let (mut product, mut idle) = (1.0, 1.0);
        for (class, arguments) in EXAMPLES {
            let plain = self.time(|| self.plain(class, arguments))?;
            let nothing = self.time(|| self.recorded(&["--exclude", "*"], class, arguments))?;
            let recorded = self.time(|| self.recorded(&[], class, arguments))?;
            let events = self.count()?;
            product *= recorded / plain;
            idle *= nothing / plain;
            println!(
                "| {class} {} | {plain:.2} | {recorded:.2} | {:.1}× | {:.2}× | {:.1} M | {:.1} |",
                arguments.join(" "),
                recorded / plain,
                nothing / plain,
                events as f64 / 1e6,
                events as f64 / recorded / 1e6,
            );
        }
        let mean = |product: f64| product.powf(1.0 / EXAMPLES.len() as f64);
        println!("| geometric mean | | | {:.1}× | {:.2}× | | |\n", mean(product), mean(idle));
        Ok(())
    }

    /// Events of the last trace.
    fn count(&self) -> Result<u64> {
        let input = untorn_trace::formats::open::Input::new(&self.trace);
        let options = untorn_trace::formats::open::OpenOptions::default();
        let mut source = untorn_trace::formats::open::open(&input, &options)?;
        let (mut batch, mut events) = (Vec::new(), 0);
        loop {
            source.read(&mut batch)?;
            if batch.is_empty() {
                return Ok(events);
            }
            events += batch.len() as u64;
        }
    }

    fn start_up(&self) -> Result<()> {
        let plain = self.time(|| self.plain("Empty", &[]))?;
        let recorded = self.time(|| self.recorded(&[], "Empty", &[]))?;
        println!(
            "Start-up: {:.0} ms plain, {:.0} ms recorded, {:.0} ms more.\n",
            plain * 1e3,
            recorded * 1e3,
            (recorded - plain) * 1e3
        );
        Ok(())
    }

    fn switches(&self) -> Result<()> {
        const SWITCHES: u32 = 200_000;
        let half = (SWITCHES / 2).to_string();
        let few = self.time(|| self.recorded(&[], "PingPong", &["1"]))?;
        let many = self.time(|| self.recorded(&[], "PingPong", &[&half]))?;
        println!("A switch: {:.1} µs.\n", (many - few) * 1e6 / f64::from(SWITCHES));
        Ok(())
    }

    fn large(&self) -> Result<()> {
        let start = Instant::now();
        let mut child = self.recorded(&[], "Sor", &["500", "440"]).stdout(Stdio::null()).spawn()?;
        let mut largest = 0;
        while child.try_wait()?.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(200));
            largest = largest.max(java_memory(child.id()).unwrap_or(0));
        }
        let seconds = start.elapsed().as_secs_f64();
        let (events, size) = (self.count()?, self.trace.metadata()?.len());
        println!(
            "A large run (Sor 500 440): {:.0} M events in {seconds:.0} s, {:.2} bytes an event, \
             at most {} MB resident in the JVM.",
            events as f64 / 1e6,
            size as f64 / events as f64,
            largest / 1024
        );
        Ok(())
    }
}

/// Resident kilobytes of the JVM that `untorn` started.
fn java_memory(parent: u32) -> Option<u64> {
    let children =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let child = children.split_whitespace().next()?;
    let status = std::fs::read_to_string(format!("/proc/{child}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
