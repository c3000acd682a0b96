//! A value is read under a lock, and written back under the same lock taken again: an update can be lost.
// expect: violation of deposit

use std::sync::{Arc, Mutex};
use std::thread;

struct Account {
    balance: Mutex<i64>,
}

impl Account {
    fn get(&self) -> i64 {
        *self.balance.lock().unwrap()
    }

    fn set(&self, amount: i64) {
        *self.balance.lock().unwrap() = amount;
    }

    #[inline(never)]
    fn deposit(&self, amount: i64) {
        let seen = self.get();
        self.set(seen + amount);
    }
}

fn main() {
    let account = Arc::new(Account { balance: Mutex::new(100) });
    let start = |amount| {
        let account = Arc::clone(&account);
        thread::spawn(move || account.deposit(amount))
    };
    let tellers = [20, 30].map(start);
    for teller in tellers {
        teller.join().unwrap();
    }
    println!("balance {}", account.get());
}
