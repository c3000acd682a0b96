// Each method holds the lock, and the caller needs two of them to be one step.
// expect: violation of deposit on balance
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

class Account {
public:
    int get() {
        std::lock_guard<std::mutex> guard(lock);
        return balance;
    }
    void set(int amount) {
        std::lock_guard<std::mutex> guard(lock);
        balance = amount;
    }

private:
    std::mutex lock;
    int balance = 100;
};

static Account account;

static void deposit(int amount) {
    int seen = account.get();
    account.set(seen + amount);
}

int main() {
    std::vector<std::thread> tellers;
    for (int i = 0; i < 2; i++)
        tellers.emplace_back(deposit, 10);
    for (auto &teller : tellers)
        teller.join();
    std::cout << "balance " << account.get() << "\n";
}
