// Whether a key is there is asked under a lock for readers, and the entry is put under one for writers: both threads
// find nothing, and the second one adds to what the first one has put.
// expect: violation of Store::put_if_absent on store
#include <iostream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

class Store {
    mutable std::shared_mutex mutex;
    std::map<std::string, int> entries;

    bool has(const std::string &key) const {
        std::shared_lock lock(mutex);
        return entries.count(key) > 0;
    }

    void put(const std::string &key, int value) {
        std::unique_lock lock(mutex);
        entries[key] += value;
    }

public:
    void put_if_absent(const std::string &key, int value) {
        if (!has(key))
            put(key, value);
    }

    int get(const std::string &key) const {
        std::shared_lock lock(mutex);
        return entries.at(key);
    }
};

static Store store;

static void work(int number) { store.put_if_absent("answer", number); }

int main() {
    std::thread one(work, 1), other(work, 2);
    one.join();
    other.join();
    std::cout << "answer " << store.get("answer") << "\n";
}
