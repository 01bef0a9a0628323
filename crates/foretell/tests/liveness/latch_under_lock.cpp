// Waits for the latch with the lock that the workers need to count it down.
#include <latch>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::latch done(1);

int main()
{
    std::thread worker([] {
        std::lock_guard guard(lock);
        done.count_down();
    });
    std::thread last([] {
        std::lock_guard guard(lock);
        done.wait();
    });
    worker.join();
    last.join();
    return 0;
}
