// What is initialised once, in four ways.
#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
struct S {
    int v;
    S() : v(5) {
    }
};
S &get() {
    static S s;
    return s;
}
static std::once_flag of;
static int c;
thread_local std::unique_ptr<int> tl;
static std::atomic<S *> inst{nullptr};
static std::mutex im;
static int made;
S *dcl() {
    S *p = inst.load(std::memory_order_acquire);
    if (!p) {
        std::lock_guard<std::mutex> l(im);
        p = inst.load(std::memory_order_relaxed);
        if (!p) {
            p = new S;
            made++;
            inst.store(p, std::memory_order_release);
        }
    }
    return p;
}
int main() {
    auto f = [] {
        get().v;
        std::call_once(of, [] { c++; });
        tl = std::make_unique<int>(3);
        dcl();
        try {
            std::recursive_timed_mutex r;
            if (r.try_lock_for(std::chrono::seconds(1)))
                r.unlock();
            throw 1;
        } catch (int) {
        }
    };
    std::thread a(f), b(f), d(f);
    a.join();
    b.join();
    d.join();
    std::cout << c << " " << get().v << " " << made << "\n";
}
