// Results that pass between threads. RESULT 1: promise, 2: packaged_task, 3: async, 4: promise at
// the end of a thread, 5: shared_future, 6: a promise that is broken, 7: an exception in a promise.
#include "boundary.hpp"
#include <future>
#include <stdexcept>
static int data, seen;
#if RESULT == 3
static std::promise<void> told;
static int work() {
    hand_over([] { data = 42; }, [] { told.set_value(); });
    return 1;
}
int main() {
    auto result = std::async(std::launch::async, work);
    told.get_future().wait();
    seen = data;
    result.get();
    std::printf("%d\n", seen);
}
#elif RESULT == 2
int main() {
    std::packaged_task<int()> task([] {
#ifndef BUG
        data = 42;
#endif
        return 1;
    });
    auto result = task.get_future();
    std::thread worker([&] {
        task();
#ifdef BUG
        data = 42;
#endif
    });
    result.get();
    seen = data;
    worker.join();
    std::printf("%d\n", seen);
}
#elif RESULT == 4
struct at_end {
    ~at_end() { data = 42; }
};
int main() {
    std::promise<int> promise;
    auto result = promise.get_future();
    std::thread worker([&] {
        thread_local at_end end;
        (void)&end;
#ifdef BUG
        promise.set_value(1);
#else
        promise.set_value_at_thread_exit(1);
#endif
    });
    result.get();
    seen = data;
    worker.join();
    std::printf("%d\n", seen);
}
#else
int main() {
    std::promise<int> promise;
#if RESULT == 5
    std::shared_future<int> result = promise.get_future().share();
#else
    std::future<int> result = promise.get_future();
#endif
    std::thread worker([&] {
        hand_over([] { data = 42; }, [&] {
#if RESULT == 6
            std::promise<int> gone = std::move(promise);
#elif RESULT == 7
            promise.set_exception(std::make_exception_ptr(std::runtime_error("text")));
#else
            promise.set_value(1);
#endif
        });
    });
    try {
        result.get();
    } catch (const std::exception &) {
    }
    seen = data;
    worker.join();
    std::printf("%d\n", seen);
}
#endif
