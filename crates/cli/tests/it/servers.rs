//! Programs that do not end by themselves: they are driven by a client, and ended in order.

use std::path::{Path, PathBuf};

use crate::support::java::{self, Recorded, arg, compile, run, scratch};

/// Sells what it has, to each client in a thread. Its first argument is the file where it says at which port.
const SHOP: &str = r#"import java.io.*;
import java.net.*;
import java.nio.file.*;

public class Shop {
    static int stock = 10;
    static int sold;

    static boolean sell() {
        int left = stock;
        if (left == 0) return false;
        stock = left - 1;
        return true;
    }

    public static void main(String[] args) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Files.writeString(Path.of(args[0]), "" + server.getLocalPort());
            System.out.println("ready for clients");
            while (true) {
                Socket client = server.accept();
                new Thread(() -> serve(client)).start();
            }
        }
    }

    static void serve(Socket client) {
        try (client) {
            client.getInputStream().read();
            client.getOutputStream().write(sell() ? 1 : 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
"#;

/// Two clients at once; fails if it is told to.
const CLIENT: &str = r#"import java.net.*;
import java.nio.file.*;

public class Client {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(Files.readString(Path.of(args[0])));
        Socket[] both = new Socket[2];
        for (int i = 0; i < 2; i++) {
            both[i] = new Socket(InetAddress.getLoopbackAddress(), port);
            both[i].getOutputStream().write(1);
        }
        for (Socket one : both) one.getInputStream().read();
        System.out.println("bought");
        System.exit(args.length > 1 ? 5 : 0);
    }
}
"#;

struct Server {
    folder: PathBuf,
    classes: PathBuf,
    port: PathBuf,
}

impl Server {
    fn new(name: &str) -> Self {
        let sources = [("Shop.java", SHOP), ("Client.java", CLIENT)];
        let sources = sources.map(|(file, text)| (file.to_owned(), text.to_owned()));
        let folder = scratch(name);
        let port = folder.join("port");
        Self { classes: compile("Shop", &sources), folder, port }
    }

    fn command(&self, main: &str) -> Vec<String> {
        let mut command = java::java(&self.classes, main);
        command.push(arg(&self.port).to_owned());
        command
    }

    fn client(&self) -> String {
        self.command("Client").join(" ")
    }

    /// Runs a command of ours on the server.
    fn run(&self, args: &[&str]) -> java::CommandResult {
        let program = self.command("Shop");
        let program = ["--"].into_iter().chain(program.iter().map(String::as_str));
        run(&args.iter().copied().chain(program).collect::<Vec<_>>())
    }

    /// Programs of this test that run.
    fn processes(&self) -> usize {
        let all = std::fs::read_dir("/proc").expect("a system with /proc").flatten();
        let mark = self.port.as_os_str().as_encoded_bytes();
        let is_mine = |process: &Path| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            line.windows(mark.len()).any(|part| part == mark)
        };
        all.filter(|process| is_mine(&process.path())).count()
    }
}

#[test]
fn a_server_is_checked_with_a_client_and_nothing_is_left() {
    let server = Server::new("server_check");
    let (out, client) = (server.folder.join("out"), server.client());
    let checked = server.run(&[
        "check",
        "--time",
        "120s",
        "--runs",
        "16",
        "--until",
        "ready for*",
        "--drive",
        &client,
        "--own-inputs",
        "--minimise",
        "0",
        "-o",
        arg(&out),
    ]);
    let checked = checked.with_code(1);
    assert!(checked.stdout.contains("Shop.sell is not atomic"), "{}", checked.stdout);
    let said = std::fs::read_to_string(out.join("client.txt")).expect("what the client said");
    assert_eq!(said, "bought\n");
    assert_eq!(server.processes(), 0);
}

#[test]
fn a_server_is_recorded_until_it_says_something_or_until_time_is_over() {
    let server = Server::new("server_record");
    let trace = server.folder.join("run.utr");
    let recorded = server.run(&["record", "-o", arg(&trace), "--until", "ready"]).with_code(0);
    assert!(recorded.stdout.contains("ready for clients"), "{}", recorded.stdout);
    Recorded::read(&trace);
    let recorded = server.run(&["record", "-o", arg(&trace), "--stop-after", "3s"]);
    recorded.with_code(0);
    Recorded::read(&trace);
    assert_eq!(server.processes(), 0);
}

#[test]
fn a_client_that_fails_makes_the_run_fail() {
    let server = Server::new("server_client");
    let trace = server.folder.join("run.utr");
    let client = format!("{} fail", server.client());
    let args = ["record", "-o", arg(&trace), "--until", "ready", "--drive", &client];
    let recorded = server.run(&args).with_code(5);
    assert!(recorded.stdout.contains("bought"), "{}", recorded.stdout);
    assert_eq!(server.processes(), 0);
}

#[test]
fn conditions_that_say_nothing_are_refused() {
    let server = Server::new("server_refused");
    for args in [["--until", ""], ["--drive", " "], ["--stop-after", "soon"]] {
        let refused = server.run(&["record", args[0], args[1]]).with_code(2);
        assert!(refused.stderr.contains("untorn"), "{}", refused.stderr);
    }
}
