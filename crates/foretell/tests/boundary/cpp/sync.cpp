// Objects that order threads. OBJECT 1: condition_variable_any, 2: shared_mutex, 3: call_once,
// 4: latch, 5: barrier, 6: counting_semaphore, 7: jthread and stop_token, 8: atomic wait,
// 9: timed_mutex, 10: recursive_mutex, 11: shared_timed_mutex, 12: atomic_flag wait,
// 13: stop_callback, 14: binary_semaphore with a timeout.
#include "boundary.hpp"
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
using namespace std::chrono_literals;
static int data, seen;
#if OBJECT == 1
static std::shared_mutex lock;
static std::condition_variable_any condition;
static bool ready;
static void pass() {
    {
        std::unique_lock<std::shared_mutex> guard(lock);
        ready = true;
    }
    condition.notify_one();
}
static void take() {
    std::unique_lock<std::shared_mutex> guard(lock);
    condition.wait(guard, [] { return ready; });
}
#elif OBJECT == 2 || OBJECT == 11
#if OBJECT == 2
static std::shared_mutex lock;
#else
static std::shared_timed_mutex lock;
#endif
static bool ready;
static void pass() {
    lock.lock();
    ready = true;
    lock.unlock();
}
static void take() {
    for (bool done = false; !done;) {
        lock.lock_shared();
        done = ready;
        lock.unlock_shared();
        std::this_thread::yield();
    }
}
#elif OBJECT == 3
static std::once_flag once;
#ifdef BUG
static std::atomic<bool> started;
#endif
#elif OBJECT == 4
static std::latch latch(1);
static void pass() { latch.count_down(); }
static void take() { latch.wait(); }
#elif OBJECT == 5
static std::barrier<> meeting(2);
static void pass() { meeting.arrive_and_wait(); }
static void take() { meeting.arrive_and_wait(); }
#elif OBJECT == 6
static std::counting_semaphore<4> semaphore(0);
static void pass() { semaphore.release(); }
static void take() { semaphore.acquire(); }
#elif OBJECT == 8
static std::atomic<int> word;
static void pass() {
    word = 1;
    word.notify_one();
}
static void take() { word.wait(0); }
#elif OBJECT == 9
static std::timed_mutex lock;
static bool ready;
static void pass() {
    lock.lock();
    ready = true;
    lock.unlock();
}
static void take() {
    for (bool done = false; !done;) {
        if (lock.try_lock_for(10s)) {
            done = ready;
            lock.unlock();
        }
        std::this_thread::yield();
    }
}
#elif OBJECT == 10
static std::recursive_mutex lock;
static bool ready;
static void pass() {
    std::lock_guard<std::recursive_mutex> outer(lock);
    std::lock_guard<std::recursive_mutex> inner(lock);
    ready = true;
}
static void take() {
    for (bool done = false; !done;) {
        std::lock_guard<std::recursive_mutex> guard(lock);
        done = ready;
    }
}
#elif OBJECT == 12
static std::atomic_flag flag;
static void pass() {
    flag.test_and_set();
    flag.notify_all();
}
static void take() { flag.wait(false); }
#elif OBJECT == 13
static std::stop_source source;
static void pass() { source.request_stop(); }
static void take() {
    std::atomic<bool> stopped = false;
    std::stop_callback callback(source.get_token(), [&] { stopped = true; });
    while (!stopped) std::this_thread::yield();
}
#elif OBJECT == 14
static std::binary_semaphore semaphore(0);
static void pass() { semaphore.release(); }
static void take() {
    while (!semaphore.try_acquire_for(10s)) {
    }
}
#endif
#if OBJECT == 3
static void initialise() { data = 42; }
static void use() {
#ifdef BUG
    if (!started.exchange(true)) std::call_once(once, initialise);
#else
    std::call_once(once, initialise);
#endif
    int mine = data;
    std::atomic_ref<int>(seen).store(mine);
}
int main() {
    run_both(use, use);
    std::printf("%d\n", data);
}
#elif OBJECT == 7
int main() {
    std::jthread worker([](std::stop_token token) {
        while (!token.stop_requested()) std::this_thread::yield();
        seen = data;
    });
    hand_over([] { data = 42; }, [&] { worker.request_stop(); });
    worker.join();
    std::printf("%d\n", seen);
}
#else
int main() {
    run_both([] { hand_over([] { data = 42; }, pass); }, [] {
        take();
        seen = data;
    });
    std::printf("%d\n", seen);
}
#endif
