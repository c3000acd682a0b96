//! What the author of a program says by `untorn.h`.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use untorn_explore::{Exploration, Options};

use crate::harness::Folder;

const HEADER: &str = include_str!("../../include/untorn.h");

/// The body of a thread is no block by itself, and the memory has no name.
const PROGRAM: &str = "\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include \"untorn.h\"

struct account { long balance; };
static struct account *account;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *pay(void *unused) {
    UNTORN_ATOMIC_BEGIN(\"payment\");
    pthread_mutex_lock(&lock);
    long found = account->balance;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    account->balance = found - 10;
    pthread_mutex_unlock(&lock);
    UNTORN_ATOMIC_END();
    return unused;
}

int main(void) {
    account = calloc(1, sizeof *account);
    UNTORN_SHARED(account->balance);
    account->balance = 100;
    pthread_t one, other;
    pthread_create(&one, NULL, pay, NULL);
    pthread_create(&other, NULL, pay, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf(\"%ld\\n\", account->balance);
    free(account);
    return 0;
}
";

#[test]
fn marked_blocks_and_named_memory_are_what_findings_speak_of() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("untorn.h"), HEADER).expect("writable");
    let program = folder.program(PROGRAM);
    let mut runner = folder.prepare(&program, &[]);
    let options = Options { runs: 60, minimise: 0, ..Options::default() };
    let stop = AtomicBool::new(false);
    let mut watch = |_: untorn_explore::Progress<'_>| {};
    let exploration = Exploration::new(runner.as_mut(), options, folder.path(), &stop, &mut watch);
    let outcome = exploration.run().expect("the program can be run");
    let found = outcome.violations.iter().map(|violation| violation.key.identity());
    let found: Vec<_> = found.map(|identity| (identity.block, identity.field)).collect();
    let expected = ("payment".to_owned(), "account->balance".to_owned());
    assert!(found.contains(&expected), "{found:?}");
}

#[test]
fn without_our_wrapper_the_header_is_nothing() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("untorn.h"), HEADER).expect("writable");
    let source = folder.path().join("plain.c");
    std::fs::write(&source, PROGRAM).expect("writable");
    let plain = folder.path().join("plain");
    let strict = ["-std=c99", "-pedantic-errors", "-Wall", "-Werror", "-pthread"];
    let built = Command::new("gcc").args(strict).arg(&source).arg("-o").arg(&plain).status();
    assert!(built.is_ok_and(|status| status.success()));
    let said = Command::new(&plain).output().expect("it starts");
    assert_eq!(said.stdout, b"80\n");
}
