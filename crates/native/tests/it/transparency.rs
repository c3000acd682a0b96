//! What a program does is what it does without us: output, exit code, signals.

use std::process::Command;

use untorn_frontend::{ExitKind, FrontEndErrorKind, FrontEndKind, Output, Program, RunOptions};
use untorn_native::Native;
use untorn_native::binary::{Build, build_of, is_native};
use untorn_schedule::RunSpec;

use crate::harness::{Folder, stdout};

/// The ending and the output of a program: alone, and recorded.
fn both(text: &str) -> [(ExitKind, String); 2] {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    let program = folder.program(text);
    let alone = Command::new(&program).output().expect("it starts");
    let code = alone.status.code().map(ExitKind::Exit);
    let exit = code.or(alone.status.signal().map(ExitKind::Signal)).expect("it has ended");
    let said = String::from_utf8_lossy(&alone.stdout).into_owned();
    let mut runner = folder.prepare(&program, &[]);
    let trace = folder.path().join("run.utr");
    let ran = runner.run(&RunSpec::default(), &trace).expect("it runs");
    let summary = untorn_frontend::RecordedTrace::read(&trace).expect("a trace");
    assert_eq!(summary.cut, None, "the trace is complete, however the program ended");
    [(exit, said), (ran.exit, stdout(&ran))]
}

fn is_the_same(text: &str, expected: ExitKind) {
    let [alone, recorded] = both(text);
    assert_eq!(alone, recorded);
    assert_eq!(recorded.0, expected);
}

#[test]
fn a_program_ends_as_it_does_alone() {
    is_the_same("int main(void) { return 7; }", ExitKind::Exit(7));
    is_the_same(
        "#include <stdlib.h>\n#include <stdio.h>\nstatic void bye(void) { puts(\"bye\"); }\n\
         int main(void) { atexit(bye); exit(3); }",
        ExitKind::Exit(3),
    );
    is_the_same("#include <unistd.h>\nint main(void) { _exit(4); }", ExitKind::Exit(4));
    is_the_same(
        "#include <stdlib.h>\nint main(void) { abort(); }",
        ExitKind::Signal(libc::SIGABRT),
    );
    is_the_same(
        "int *volatile nowhere;\nint main(void) { return *nowhere; }",
        ExitKind::Signal(libc::SIGSEGV),
    );
}

#[test]
fn a_program_sees_its_own_handlers_and_environment() {
    is_the_same(
        "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         static void handle(int signal) { printf(\"handled %d\\n\", signal); }\n\
         int main(void) {\n\
         struct sigaction old;\n\
         sigaction(SIGSEGV, NULL, &old);\n\
         printf(\"%d\\n\", old.sa_handler == SIG_DFL);\n\
         signal(SIGTERM, handle);\n\
         raise(SIGTERM);\n\
         printf(\"%s %s\\n\", getenv(\"LD_PRELOAD\") ? \"set\" : \"unset\", getenv(\"UNTORN_NATIVE_RUN\") ? \"set\" : \"unset\");\n\
         return 0; }",
        ExitKind::Exit(0),
    );
}

#[test]
fn children_are_not_recorded_and_end_by_themselves() {
    is_the_same(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         static int shared = 1;\n\
         int main(void) {\n\
         fflush(stdout);\n\
         pid_t child = fork();\n\
         if (child == 0) { shared = 5; _exit(shared); }\n\
         int status;\n\
         waitpid(child, &status, 0);\n\
         printf(\"%d %d\\n\", WEXITSTATUS(status), shared);\n\
         fflush(stdout);\n\
         return system(\"echo below\") != 0; }",
        ExitKind::Exit(0),
    );
}

#[test]
fn atomics_and_memory_functions_do_what_they_say() {
    is_the_same(
        "#include <stdatomic.h>\n#include <stdio.h>\n#include <string.h>\n\
         struct pair { long first; char name[40]; };\n\
         int main(void) {\n\
         _Atomic unsigned char a = 250; _Atomic short b = -3; _Atomic int c = 5; _Atomic long d = 1L << 40;\n\
         int expected = 9;\n\
         a += 10; b -= 1; c ^= 3; atomic_fetch_or(&d, 6); atomic_exchange(&b, b * 2);\n\
         int failed = atomic_compare_exchange_strong(&c, &expected, 1);\n\
         int took = atomic_compare_exchange_strong(&c, &expected, 77);\n\
         atomic_thread_fence(memory_order_seq_cst);\n\
         struct pair one, two;\n\
         memset(&one, 0, sizeof one); strcpy(one.name, \"ada\"); one.first = 3; two = one;\n\
         strcat(two.name, \" and bob\"); memmove(two.name + 1, two.name, 5);\n\
         printf(\"%d %d %d %ld %d %d %d %s %zu %d\\n\", a, b, c, d, expected, failed, took, two.name,\n\
         strlen(two.name), memcmp(&one, &two, sizeof one) != 0);\n\
         return 0; }",
        ExitKind::Exit(0),
    );
}

#[test]
fn a_program_that_was_built_without_us_is_refused_with_the_way_out() {
    let folder = Folder::new();
    let source = folder.path().join("plain.c");
    std::fs::write(&source, "int main(void) { return 0; }").expect("writable");
    let plain = folder.path().join("plain");
    let built = Command::new("gcc").arg(&source).arg("-o").arg(&plain).status();
    assert!(built.is_ok_and(|status| status.success()));
    assert_eq!(build_of(&plain), Build::Plain);
    let command = vec![plain.display().to_string()];
    assert!(is_native(&command, None), "a program of the user's own is meant for this front end");
    let program = Program { command, ..Program::default() };
    let options = RunOptions::new(Output::Kept(folder.path().to_owned()));
    let error = Native.prepare(&program, options).err().expect("it cannot be recorded");
    assert_eq!(error.kind, FrontEndErrorKind::Input);
    assert!(error.message.contains("built without untorn cc"), "{error}");
    assert!(error.way_out.is_some_and(|words| words.contains("CC='untorn cc'")));
}

#[test]
fn tools_of_the_system_are_left_to_others() {
    for command in ["sh", "/bin/sh", "/usr/bin/env", "no-such-command"] {
        assert!(!is_native(&[command.to_owned()], None), "{command}");
    }
}
