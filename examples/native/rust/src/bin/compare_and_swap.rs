//! A seat is taken only if the number is still what it was when it was read.
// expect: clean

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

static SEATS: AtomicI32 = AtomicI32::new(1);

#[inline(never)]
fn reserve() -> bool {
    let take = |left: i32| (left > 0).then(|| left - 1);
    SEATS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
}

fn main() {
    let customers = [thread::spawn(|| reserve()), thread::spawn(|| reserve())];
    let happy = customers.map(|customer| customer.join().unwrap()).iter().filter(|&&got| got).count();
    println!("{happy} reserved, {} left", SEATS.load(Ordering::SeqCst));
}
