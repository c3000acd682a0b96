// The key is asked for and put under one lock.
// expect: clean
#include <iostream>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

class Store {
    std::mutex mutex;
    std::map<std::string, int> entries;
    std::list<std::string> order;

public:
    void put_if_absent(const std::string &key, int value) {
        std::lock_guard lock(mutex);
        if (entries.count(key) == 0) {
            entries[key] = value;
            order.push_back(key);
        }
    }

    size_t size() {
        std::lock_guard lock(mutex);
        return entries.size() + order.size();
    }
};

static Store store;

static void work(int number) {
    store.put_if_absent("answer", number);
    store.put_if_absent("question", number);
}

int main() {
    std::thread one(work, 1), other(work, 2);
    one.join();
    other.join();
    std::cout << store.size() << "\n";
}
