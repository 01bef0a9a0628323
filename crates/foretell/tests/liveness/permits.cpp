// Each of two threads takes both permits, one at a time.
#include <semaphore>
#include <thread>

static std::counting_semaphore<2> permits(2);

static void work()
{
    permits.acquire();
    permits.acquire();
    permits.release(2);
}

int main()
{
    std::thread first(work), second(work);
    first.join();
    second.join();
    return 0;
}
