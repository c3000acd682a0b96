//! Broken classes do no harm: whatever the bytes, the analysis ends and does not panic.

use untorn_compositions::{Archives, ClassBytes, Jdk, Options, Origin, analyze};
use untorn_testkit::rng::Rng;

use crate::common;

const ROUNDS: u64 = 100_000;
const SOAK_ROUNDS: u64 = 1_000_000;

/// Compiled programs and small classes of the JDK, from all over it.
fn classes(name: u64) -> Vec<Vec<u8>> {
    let mut archives = Archives::default();
    archives
        .add(&common::compile(&format!("mutated-{name}")), Origin::Application)
        .expect("compiled");
    let jdk = common::jdk();
    let mut names: Vec<&str> = jdk.names().collect();
    names.sort_unstable();
    let small = names.into_iter().filter_map(|name| jdk.bytes(name));
    let small = small.filter(|bytes| (500..3000).contains(&bytes.len())).step_by(151);
    archives.classes.into_iter().map(|class| class.bytes).chain(small.map(<[u8]>::to_vec)).collect()
}

fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u32) as usize;
        match rng.below(16) {
            0..7 => bytes[at] ^= 1 << rng.below(8),
            7..11 => bytes[at] = rng.bits() as u8,
            // Lengths, counts, indices and offsets have two or four bytes.
            11..15 => {
                let small = rng.below(300);
                let number = rng.pick(&[0, 1, 0xff, 0xffff, u32::MAX, small]).to_be_bytes();
                let len = if rng.chance(128) { 2 } else { 4 };
                for (byte, &new) in bytes[at..].iter_mut().zip(&number[4 - len..]) {
                    *byte = new;
                }
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
}

#[test]
fn broken_classes_do_no_harm() {
    analyse_broken(6, untorn_testkit::cases(ROUNDS, ROUNDS));
}

#[test]
fn soak_a_million_broken_classes() {
    if untorn_testkit::is_soak() {
        analyse_broken(8, SOAK_ROUNDS);
    }
}

fn analyse_broken(seed: u64, rounds: u64) {
    let classes = classes(seed);
    let options = Options { by_muvi: true, ..Options::default() };
    let jdk = Jdk::none();
    let mut rng = Rng::new(seed);
    let mut read = 0;
    for round in 0..rounds {
        let at = (round % classes.len() as u64) as usize;
        let mut bytes = classes[at].clone();
        mutate(&mut bytes, &mut rng);
        let report = analyze(&[ClassBytes { origin: Origin::Application, bytes }], &jdk, &options);
        read += report.statistics.classes;
    }
    assert!(read > rounds / 10, "only {read} of {rounds} were classes at all");
}
