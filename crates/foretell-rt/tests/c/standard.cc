// Threads, locks and conditions as the C++ library has them.
#include "check.h"
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex m;
static std::condition_variable c;
static std::shared_mutex rw;
static int ready, sum;
static std::string text;

static void work(int n) {
    std::unique_lock<std::mutex> lock(m);
    c.wait(lock, [] { return ready != 0; });
    sum += n;
    text += "a string that does not fit into itself";
    lock.unlock();
    std::shared_lock<std::shared_mutex> shared(rw);
    std::this_thread::yield();
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work, i);
    {
        std::lock_guard<std::mutex> lock(m);
        ready = 1;
    }
    c.notify_all();
    for (auto &t : threads)
        t.join();
    CHECK(sum == 3 && text.size() == 3 * 38);
    auto f = std::async(std::launch::async, [] { return 7; });
    CHECK(f.get() == 7);
    std::unique_lock<std::mutex> lock(m);
    CHECK(c.wait_for(lock, std::chrono::milliseconds(2)) == std::cv_status::timeout);
    std::this_thread::sleep_for(std::chrono::microseconds(10));
    std::unique_lock<std::shared_mutex> exclusive(rw);
    printf("ok\n");
    return 0;
}
