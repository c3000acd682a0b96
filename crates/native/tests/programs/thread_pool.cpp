// A pool of threads with a queue.
// thread pool, ok
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>
class Pool {
    std::mutex m;
    std::condition_variable cv;
    std::deque<std::function<void()>> q;
    bool stop = false;
    std::vector<std::thread> t;
    void run() {
        for (;;) {
            std::function<void()> f;
            {
                std::unique_lock<std::mutex> l(m);
                cv.wait(l, [this] { return stop || !q.empty(); });
                if (q.empty())
                    return;
                f = std::move(q.front());
                q.pop_front();
            }
            f();
        }
    }

  public:
    explicit Pool(int n) {
        for (int i = 0; i < n; i++)
            t.emplace_back([this] { run(); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> l(m);
            stop = true;
        }
        cv.notify_all();
        for (auto &x : t)
            x.join();
    }
    void add(std::function<void()> f) {
        {
            std::lock_guard<std::mutex> l(m);
            q.push_back(std::move(f));
        }
        cv.notify_one();
    }
};
int main() {
    std::atomic<int> n{0};
    {
        Pool p(3);
        for (int i = 0; i < 6; i++)
            p.add([&n, i] { n += i; });
    }
    std::cout << n << "\n";
}
