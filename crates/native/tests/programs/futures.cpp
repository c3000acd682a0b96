// What <future> has.
#include <future>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>
int main() {
    std::vector<int> v(60);
    std::iota(v.begin(), v.end(), 1);
    std::vector<std::future<int>> f;
    for (int i = 0; i < 3; i++)
        f.push_back(std::async(std::launch::async, [&v, i] {
            return std::accumulate(v.begin() + i * 20, v.begin() + (i + 1) * 20, 0);
        }));
    int s = 0;
    for (auto &x : f)
        s += x.get();
    std::promise<int> p;
    auto q = p.get_future();
    std::thread t([&p] { p.set_value(7); });
    int z = q.get();
    t.join();
    auto bad = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
    try {
        bad.get();
    } catch (const std::exception &e) {
        std::cout << e.what() << "\n";
    }
    auto slow = std::async(std::launch::async, [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return 1;
    });
    bool to = slow.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout;
    s += slow.get();
    std::packaged_task<int(int)> pt([](int x) { return x * 2; });
    auto pf = pt.get_future();
    std::thread t2(std::move(pt), 21);
    std::cout << s << " " << z << " " << to << " " << pf.get() << "\n";
    t2.join();
}
