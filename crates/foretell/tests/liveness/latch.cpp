// The worker that counts last has the lock only until then; who waits for the latch has none.
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>

static std::mutex lock;
static std::latch done(2);
static std::counting_semaphore<4> permits(3);
static int count;

static void work()
{
    permits.acquire();
    permits.acquire();
    {
        std::lock_guard guard(lock);
        count++;
        done.count_down();
    }
    permits.release(2);
}

int main()
{
    std::thread first(work), second(work);
    std::thread last([] {
        done.wait();
        std::lock_guard guard(lock);
        count++;
    });
    first.join();
    second.join();
    last.join();
    return count != 3;
}
