//! What is not the program's own: files, pipes, sockets, child processes, standard input. A thread that waits for
//! them lets the others run meanwhile, and nobody's patience is needed for it. `constructs/Sockets`, `Channels` and
//! `Children` have more of it; here is what of them is recorded and repeated.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::java::{self, Recorded, arg, compile_one, record, run, scratch, untorn};

/// One class with a `main` of its own for each test.
const SOURCE: &str = r#"
import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.*;

class Trips {
    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        var here = InetAddress.getLoopbackAddress();
        var server = new ServerSocket(0, 5, here);
        Thread answering = new Thread(() -> {
            try (Socket socket = server.accept()) {
                answer(socket);
            } catch (IOException error) {
                System.out.println(error);
            }
        });
        answering.start();
        int sum = 0;
        try (Socket socket = new Socket(here, server.getLocalPort())) {
            socket.setTcpNoDelay(true);
            for (int i = 0; i < count; i++) {
                socket.getOutputStream().write(i & 63);
                sum += socket.getInputStream().read();
            }
        }
        answering.join();
        System.out.println(sum);
    }

    static void answer(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        int asked;
        while ((asked = socket.getInputStream().read()) >= 0) socket.getOutputStream().write(asked + 1);
    }
}

class Passing {
    public static void main(String[] args) throws Exception {
        var here = InetAddress.getLoopbackAddress();
        var server = new ServerSocket(0, 5, here);
        Socket socket = new Socket(here, server.getLocalPort());
        Socket other = server.accept();
        socket.setSoTimeout(30);
        long before = System.nanoTime();
        try {
            socket.getInputStream().read();
        } catch (SocketTimeoutException expected) {
            System.out.println(System.nanoTime() - before >= 30_000_000);
        }
        other.getOutputStream().write(7);
        System.out.println(socket.getInputStream().read());
    }
}

class Piped {
    static int seen;

    public static void main(String[] args) throws Exception {
        Pipe pipe = Pipe.open();
        Thread reading = new Thread(() -> {
            try {
                for (ByteBuffer one = ByteBuffer.allocate(1); pipe.source().read(one.clear()) > 0;) seen += one.get(0);
            } catch (IOException error) {
                System.out.println(error);
            }
        });
        reading.start();
        for (byte i = 0; i < 40; i++) pipe.sink().write(ByteBuffer.wrap(new byte[] {i}));
        pipe.sink().close();
        reading.join();
        System.out.println(seen);
    }
}

class Reading {
    static int length;

    public static void main(String[] args) throws Exception {
        try (var in = new FileInputStream(args[0])) {
            for (int read; (read = in.read()) >= 0;) length += read;
        }
        System.out.println(length + " " + Files.readString(Path.of(args[0])));
    }
}

class Asked {
    static int lines;

    public static void main(String[] args) throws Exception {
        Thread working = new Thread(() -> {
            for (int i = 0; i < 5; i++) lines += 0;
        });
        working.start();
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            lines++;
            System.out.println("got " + line);
        }
        working.join();
        System.out.println(lines + " lines");
    }
}

class Finalizing {
    static int steps;

    public static void main(String[] args) throws Exception {
        Thread beside = new Thread(() -> {
            for (int i = 0; i < 50; i++) steps++;
        });
        beside.start();
        System.runFinalization();
        beside.join();
        System.runFinalization();
        System.out.println(steps);
    }
}
"#;

fn classes() -> PathBuf {
    compile_one("Outside.java", SOURCE)
}

fn command(main: &str, argument: &[&str]) -> Vec<String> {
    let mut command = java::java(&classes(), main);
    command.extend(argument.iter().map(|&word| word.to_owned()));
    command
}

/// Nobody gets the token by force before a test is over: whoever waits has to give it away by itself.
const PATIENCE: [&str; 2] = ["--patience", "600000"];

/// Records a program, which must say that, and repeats it.
fn recorded(name: &str, options: &[&str], command: &[String], says: &str) -> PathBuf {
    let trace = scratch(&format!("outside-{name}")).join("run.utr");
    let done = record(&trace, &[options, &PATIENCE].concat(), command).with_code(0);
    assert_eq!(done.stdout, says, "{done}");
    let again = run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
    assert_eq!(again.stdout, says, "{again}");
    trace
}

#[test]
fn a_thousand_questions_and_answers_cost_no_patience() {
    let trace = recorded("trips", &[], &command("Trips", &["1000"]), "32020\n");
    let awaited = Recorded::read(&trace).summary().awaited;
    assert!(awaited >= 1000, "who waits for an answer lets the other one run");
}

#[test]
fn threads_that_talk_do_so_in_the_same_order_by_the_same_seed() {
    for policy in ["random", "pct", "pos"] {
        let options = ["--policy", policy, "--seed", "3"];
        let command = command("Trips", &["20"]);
        let first = recorded(&format!("seed-{policy}"), &options, &command, "210\n");
        let second = first.with_file_name("again.utr");
        record(&second, &[&options[..], &PATIENCE].concat(), &command).with_code(0);
        let same = std::fs::read(&first).ok() == std::fs::read(&second).ok();
        assert!(same, "{policy}: {}", java::difference(&first, &second));
    }
}

/// `System.runFinalization` waits for a thread of the JDK, which nobody controls, and whose end nobody tells. When that
/// comes is up to the system, and so a replay may differ.
#[test]
fn who_waits_for_a_thread_of_the_jdk_is_not_stuck() {
    for policy in ["run-to-block", "random"] {
        let trace = scratch(&format!("outside-finalizing-{policy}")).join("run.utr");
        let options = [&["--policy", policy, "--seed", "2"], &PATIENCE[..]].concat();
        let done = record(&trace, &options, &command("Finalizing", &[])).with_code(0);
        assert_eq!(done.stdout, "50\n", "{done}");
    }
}

/// For the world outside the time is over after 30 ms; for the program too, by its own clock.
#[test]
fn the_limit_of_a_socket_passes() {
    recorded("passing", &[], &command("Passing", &[]), "true\n7\n");
}

#[test]
fn pipes_and_files_are_read_again() {
    recorded("piped", &["--policy", "random", "--seed", "5"], &command("Piped", &[]), "780\n");
    let file = scratch("outside-file").join("text");
    std::fs::write(&file, "abc").expect("a file is written");
    recorded("reading", &[], &command("Reading", &[arg(&file)]), "294 abc\n");
}

/// A shell, because standard input is the shell's to give.
fn shell(line: &str) -> std::process::Output {
    let mut shell = Command::new("timeout");
    shell.args(["-k", "1", "60", "sh", "-c", line]).env("UNTORN_AGENT", java::agent());
    shell.stdin(Stdio::null()).output().expect("a shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn standard_input_comes_out_of_the_trace_again() {
    let trace = scratch("outside-input").join("run.utr");
    let (untorn, trace) = (env!("CARGO_BIN_EXE_untorn"), arg(&trace));
    let words = [&PATIENCE.join(" "), "--", &command("Asked", &[]).join(" ")].join(" ");
    let expected = "got one\ngot two\n2 lines\n";
    for giving in ["printf 'one\\ntwo'", "(echo one; sleep 0.3; echo two)"] {
        let done = shell(&format!("{giving} | {untorn} record -q -o {trace} {words}"));
        assert_eq!(text(&done.stdout), expected, "{}", text(&done.stderr));
        // Whatever it is given now, and if it is given nothing for a long time.
        for giving in ["echo other", "sleep 5"] {
            let again = shell(&format!("{giving} | {untorn} replay {trace}"));
            assert_eq!(text(&again.stdout), expected, "{}", text(&again.stderr));
            assert!(text(&again.stderr).contains("events exactly"), "{}", text(&again.stderr));
        }
    }
    for closed in ["</dev/null", "<&-"] {
        let done = shell(&format!("{untorn} record -q -o {trace} {words} {closed}"));
        assert!(
            text(&done.stdout).ends_with("0 lines\n") || closed == "<&-",
            "{}",
            text(&done.stderr)
        );
        let again = shell(&format!("echo other | {untorn} replay {trace}"));
        assert_eq!(again.stdout, done.stdout, "{}", text(&again.stderr));
    }
}

/// While one thread waits for a line that is not given yet, the other one runs to its end.
#[test]
fn who_waits_for_input_does_not_keep_the_others_waiting() {
    let trace = scratch("outside-waiting").join("run.utr");
    let command = command("Asked", &[]);
    let mut start = untorn(&["record", "-q", "-o", arg(&trace)]);
    start.args(PATIENCE).arg("--").args(&command).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = start.spawn().expect("untorn starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"first\n").expect("somebody reads");
    drop(input);
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(text(&done.stdout), "got first\n1 lines\n");
}
