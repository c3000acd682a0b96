//! A value is read and written back while one lock is held; a counter is changed in one step.
// expect: clean

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Default)]
struct Account {
    balance: Mutex<i64>,
    deposits: AtomicU32,
}

impl Account {
    #[inline(never)]
    fn deposit(&self, amount: i64) {
        *self.balance.lock().unwrap() += amount;
        self.deposits.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let account = Arc::new(Account::default());
    let start = |amount| {
        let account = Arc::clone(&account);
        thread::spawn(move || account.deposit(amount))
    };
    let tellers = [20, 30].map(start);
    for teller in tellers {
        teller.join().unwrap();
    }
    let balance = *account.balance.lock().unwrap();
    println!("balance {balance} by {}", account.deposits.load(Ordering::Relaxed));
}
