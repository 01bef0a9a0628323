// A correct producer and consumer with a condition variable: nothing to predict.
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

static std::mutex lock;
static std::condition_variable ready;
static std::queue<int> items;

static void produce()
{
    for (int i = 1; i <= 3; i++) {
        std::lock_guard<std::mutex> guard(lock);
        items.push(i);
        ready.notify_one();
    }
}

int main()
{
    std::thread producer(produce);
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        std::unique_lock<std::mutex> guard(lock);
        ready.wait(guard, [] { return !items.empty(); });
        sum += items.front();
        items.pop();
    }
    producer.join();
    return sum == 6 ? 0 : 1;
}
