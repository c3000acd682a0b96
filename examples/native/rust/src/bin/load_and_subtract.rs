//! The number of seats is read, and then changed by an atomic operation: both threads take the last one.
// expect: violation of reserve

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

static SEATS: AtomicI32 = AtomicI32::new(1);

#[inline(never)]
fn reserve() -> bool {
    if SEATS.load(Ordering::SeqCst) == 0 {
        return false;
    }
    SEATS.fetch_sub(1, Ordering::SeqCst);
    true
}

fn main() {
    let customers = [thread::spawn(|| reserve()), thread::spawn(|| reserve())];
    let happy = customers.map(|customer| customer.join().unwrap()).iter().filter(|&&got| got).count();
    println!("{happy} reserved, {} left", SEATS.load(Ordering::SeqCst));
}
