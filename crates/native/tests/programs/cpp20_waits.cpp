// Latches, barriers, semaphores, atomics that wait, and threads that are asked to stop.
#include <atomic>
#include <barrier>
#include <iostream>
#include <latch>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>
int main() {
    std::latch l(3);
    std::barrier b(3);
    std::counting_semaphore<4> s(1);
    std::atomic<int> a{0};
    int n = 0;
    std::vector<std::jthread> t;
    for (int i = 0; i < 3; i++)
        t.emplace_back([&] {
            l.arrive_and_wait();
            s.acquire();
            n++;
            s.release();
            b.arrive_and_wait();
            a.fetch_add(1);
            a.notify_all();
        });
    int v;
    while ((v = a.load()) < 3)
        a.wait(v);
    t.clear();
    std::jthread w([](std::stop_token st) {
        while (!st.stop_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    w.request_stop();
    w.join();
    std::cout << n << " " << a << "\n";
}
