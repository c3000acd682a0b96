// Everything by which threads of C++ wait for each other, used as it is meant to be.
// expect: clean
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::condition_variable changed;
static std::shared_mutex table_lock;
static std::map<int, std::string> table;
static bool ready;
static std::once_flag once;
static std::atomic<int> total;

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const { return 1; }
};

struct Square : Shape {
    int area() const override { return 4; }
};

static const std::string &name() {
    static const std::string made = "made once";
    return made;
}

static void work(int number) {
    std::call_once(once, [] { total += 100; });
    {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [] { return ready; });
    }
    {
        std::unique_lock<std::shared_mutex> guard(table_lock);
        table[number] = name();
    }
    std::unique_ptr<Shape> shape = std::make_unique<Square>();
    total += shape->area();
    try {
        throw std::runtime_error("caught");
    } catch (const std::exception &) {
        total += 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work, i);
    {
        std::lock_guard<std::mutex> guard(lock);
        ready = true;
    }
    changed.notify_all();
    for (auto &thread : threads)
        thread.join();
    std::shared_lock<std::shared_mutex> guard(table_lock);
    std::cout << "total " << total << ", table " << table.size() << "\n";
}
