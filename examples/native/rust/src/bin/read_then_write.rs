//! Whether a value is there is asked under a lock for readers, and it is put under one for writers: both threads compute it.
// expect: violation of get

use std::sync::{Arc, RwLock};
use std::thread;

struct Cache {
    /// The value, and how often it was computed.
    entry: RwLock<(u32, u32)>,
}

impl Cache {
    #[inline(never)]
    fn get(&self) -> u32 {
        let found = self.entry.read().unwrap().0;
        if found != 0 {
            return found;
        }
        let mut entry = self.entry.write().unwrap();
        entry.0 += 7;
        entry.1 += 1;
        entry.0
    }
}

fn main() {
    let cache = Arc::new(Cache { entry: RwLock::default() });
    let ask = || {
        let cache = Arc::clone(&cache);
        thread::spawn(move || cache.get())
    };
    let values = [ask(), ask()].map(|thread| thread.join().unwrap());
    println!("{values:?}, computed {} times", cache.entry.read().unwrap().1);
}
