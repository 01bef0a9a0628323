// Ways of the standard library to order threads. WAY 1: std::lock, 2: scoped_lock, 3: try_lock of
// two, 4: wait with a stop_token, 5: latch polled, 6: barrier's completion, 7: deferred async, 8:
// future polled, 9: call_once with an exception, 10: atomic_ref, 11: atomic of a double, 12:
// atomic of a shared_ptr, 13: notify_all_at_thread_exit, 14: osyncstream, 15:
// recursive_timed_mutex, 16: try_acquire_for, 17: thread_local destructor, 18: coroutine, 19:
// exception from a thread, 20: shared_lock deferred, 21: unique_lock moved, 22: arrive_and_drop,
// 23: packaged_task reset, 24: set_value_at_thread_exit, 25: future of void chain, 26: atomic
// wait of many, 27: static local, 28: condition_variable wait_for, 29: stop_callback destructor,
// 30: thread moved, 31: atomic_flag lock, 32: lock in both orders, 33: wait_until, 34: jthread
// vector.
#include "boundary.hpp"
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <syncstream>
#include <vector>
using namespace std::chrono_literals;
static int data, seen;
static bool ready;
static std::mutex a, b;
#if WAY == 1 || WAY == 2 || WAY == 3 || WAY == 32
template <class M, class N> static void both(M &m, N &n, bool &done, bool set) {
#if WAY == 1 || WAY == 32
    std::unique_lock<M> x(m, std::defer_lock);
    std::unique_lock<N> y(n, std::defer_lock);
    std::lock(x, y);
#elif WAY == 2
    std::scoped_lock guard(m, n);
#else
    while (std::try_lock(m, n) != -1) std::this_thread::yield();
    std::lock_guard<M> x(m, std::adopt_lock);
    std::lock_guard<N> y(n, std::adopt_lock);
#endif
    if (set) ready = true;
    done = ready;
}
static void pass() { bool done; both(a, b, done, true); }
static void take() {
    for (bool done = false; !done; std::this_thread::yield()) both(b, a, done, false);
}
#elif WAY == 4
static std::condition_variable_any changed;
static std::stop_source source;
static void pass() { source.request_stop(); }
static void take() {
    std::unique_lock<std::mutex> g(a);
    changed.wait(g, source.get_token(), [] { return false; });
}
#elif WAY == 5
static std::latch latch(2);
static void pass() { latch.count_down(2); }
static void take() { while (!latch.try_wait()) std::this_thread::yield(); }
#elif WAY == 6
static void completed() noexcept { seen = data; }
static std::barrier<void (*)() noexcept> meeting(2, completed);
static void pass() { (void)meeting.arrive(); }
static void take() { meeting.arrive_and_wait(); data = seen; }
#elif WAY == 7
static std::future<int> later = std::async(std::launch::deferred, [] { return data; });
static std::atomic<bool> flag;
static void pass() { flag = true; }
static void take() { while (!flag) std::this_thread::yield(); later.get(); }
#elif WAY == 8
static std::promise<void> promise;
static std::future<void> future = promise.get_future();
static void pass() { promise.set_value(); }
static void take() {
    while (future.wait_for(0s) != std::future_status::ready) std::this_thread::yield();
}
#elif WAY == 9
static std::once_flag once;
static std::atomic<int> tries;
static void initialise() { if (tries++ == 0) throw std::runtime_error("again"); ready = true; }
static void attempt() {
    for (;;) try { std::call_once(once, initialise); return; }
    catch (std::runtime_error &) { }
}
static std::atomic<bool> flag;
static void pass() { attempt(); flag = true; }
static void take() { attempt(); while (!flag) std::this_thread::yield(); if (!ready) std::abort(); }
#elif WAY == 10
static int word;
static void pass() { std::atomic_ref<int>(word).store(1); }
static void take() { while (!std::atomic_ref<int>(word).load()) std::this_thread::yield(); }
#elif WAY == 11
static std::atomic<double> level{0};
static void pass() { for (double d = level; !level.compare_exchange_weak(d, d + 1.5);) { } }
static void take() { while (level.load() < 1) std::this_thread::yield(); }
#elif WAY == 12
static std::atomic<std::shared_ptr<int>> box;
static void pass() { box.store(std::make_shared<int>(1)); }
static void take() {
    std::shared_ptr<int> mine;
    while (!(mine = box.load())) std::this_thread::yield();
    if (*mine != 1) std::abort();
    box.exchange(nullptr);
}
#elif WAY == 13
static std::condition_variable changed;
static void pass() {
    std::unique_lock<std::mutex> g(a);
    ready = true;
    std::notify_all_at_thread_exit(changed, std::move(g));
}
static void take() { std::unique_lock<std::mutex> g(a); changed.wait(g, [] { return ready; }); }
#elif WAY == 14
static std::atomic<bool> flag;
static void pass() { std::osyncstream(std::cout) << "passed" << std::endl; flag = true; }
static void take() {
    while (!flag) std::this_thread::yield();
    std::osyncstream(std::cout) << "taken\n";
}
#elif WAY == 15
static std::recursive_timed_mutex m;
static void pass() {
    m.lock();
    if (!m.try_lock_for(1s)) std::abort();
    ready = true;
    m.unlock();
    m.unlock();
}
static void take() {
    for (bool done = false; !done; std::this_thread::yield())
        if (m.try_lock_until(std::chrono::steady_clock::now() + 5s)) {
        done = ready;
        m.unlock();
    }
}
#elif WAY == 16
static std::counting_semaphore<3> permits(0);
static void pass() { permits.release(2); }
static void take() {
    while (!permits.try_acquire_for(5s))
        { } while (!permits.try_acquire()) std::this_thread::yield();
}
#elif WAY == 17
static std::atomic<bool> flag;
struct last { int *p = new int(1); ~last() { delete p; flag = true; } };
static void pass() { std::thread([] { static thread_local last l; *l.p = data; }).join(); }
static void take() { while (!flag) std::this_thread::yield(); }
#elif WAY == 18
struct task {
    struct promise_type {
        task get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
static task run() { data += 0; co_await std::suspend_always{}; data += 0; }
static std::coroutine_handle<> box;
static void pass() {
    task t = run();
    t.handle.resume();
    std::lock_guard<std::mutex> g(a);
    box = t.handle;
}
static void take() {
    for (std::coroutine_handle<> h;;) {
        { std::lock_guard<std::mutex> g(a); h = box; }
        if (h) { h.resume(); h.destroy(); return; }
        std::this_thread::yield();
    }
}
#elif WAY == 19
static std::exception_ptr problem;
static std::atomic<bool> flag;
static void pass() {
    std::thread t([] {
        try {
            throw std::string("a text on the heap, long enough");
        } catch (...) {
            problem = std::current_exception();
        }
    });
    t.join();
    flag = true;
}
static void take() {
    while (!flag) std::this_thread::yield();
    try {
        std::rethrow_exception(problem);
    } catch (std::string &s) {
        if (s.size() < 5) std::abort();
    }
    problem = nullptr;
}
#elif WAY == 20
static std::shared_timed_mutex m;
static void pass() { std::unique_lock<std::shared_timed_mutex> g(m); ready = true; }
static void take() {
    for (bool done = false; !done; std::this_thread::yield()) {
        std::shared_lock<std::shared_timed_mutex> g(m, std::defer_lock);
        if (g.try_lock_for(1s)) done = ready;
    }
}
#elif WAY == 21
static std::unique_lock<std::mutex> hold() { std::unique_lock<std::mutex> g(a); return g; }
static void pass() { auto g = hold(); ready = true; }
static void take() {
    for (bool done = false; !done; std::this_thread::yield()) {
        std::unique_lock<std::mutex> g;
        g = hold();
        done = ready;
    }
}
#elif WAY == 22
static std::barrier<> meeting(2);
static void pass() { meeting.arrive_and_drop(); }
static void take() { meeting.arrive_and_wait(); meeting.arrive_and_wait(); }
#elif WAY == 23
static std::packaged_task<int()> job([] { return data; });
static std::atomic<bool> flag;
static void pass() { flag = true; }
static void take() {
    while (!flag) std::this_thread::yield();
    auto f = job.get_future();
    job();
    f.get();
    job.reset();
}
#elif WAY == 24
static std::promise<int> promise;
static std::future<int> future = promise.get_future();
static void pass() { promise.set_value_at_thread_exit(1); }
static void take() { future.get(); }
#elif WAY == 25
static std::promise<void> one, two;
static void pass() {
    std::thread t([] { one.get_future().wait(); two.set_value(); });
    one.set_value();
    t.join();
}
static void take() { two.get_future().get(); }
#elif WAY == 26
static std::atomic<int> stage;
static void pass() { for (int i = 1; i <= 3; i++) { stage = i; stage.notify_all(); } }
static void take() { for (int s = stage; s < 3; s = stage) stage.wait(s); }
#elif WAY == 27
static std::atomic<bool> flag;
struct big { std::vector<int> v; big() : v(100, data) {} };
static big &instance() { static big b; return b; }
static void pass() { instance(); flag = true; }
static void take() {
    while (!flag) std::this_thread::yield();
    if (instance().v.size() != 100) std::abort();
}
#elif WAY == 28 || WAY == 33
static std::condition_variable changed;
static void pass() { { std::lock_guard<std::mutex> g(a); ready = true; } changed.notify_all(); }
static void take() {
    std::unique_lock<std::mutex> g(a);
#if WAY == 28
    while (!changed.wait_for(g, 1s, [] { return ready; })) { }
#else
    while (!ready) changed.wait_until(g, std::chrono::system_clock::now() + 2s);
#endif
}
#elif WAY == 29
static std::stop_source source;
static std::atomic<bool> flag;
static void pass() {
    { std::stop_callback c(source.get_token(), [] { ready = true; }); }
    flag = true;
}
static void take() {
    while (!flag) std::this_thread::yield();
    source.request_stop();
    if (ready) std::abort();
}
#elif WAY == 30
static std::optional<std::thread> box;
static void pass() {
    std::thread t([] { ready = true; });
    std::lock_guard<std::mutex> g(a);
    box = std::move(t);
}
static void take() {
    for (std::thread mine;; std::this_thread::yield()) {
        { std::lock_guard<std::mutex> g(a); if (box) { mine = std::move(*box); box.reset(); } }
        if (mine.joinable()) { mine.join(); if (!ready) std::abort(); return; }
    }
}
#elif WAY == 31
static std::atomic_flag spin = ATOMIC_FLAG_INIT;
static void enter() {
    while (spin.test_and_set(std::memory_order_acquire)) spin.wait(true, std::memory_order_relaxed);
}
static void leave() { spin.clear(std::memory_order_release); spin.notify_one(); }
static void pass() { enter(); ready = true; leave(); }
static void take() {
    for (bool done = false; !done; std::this_thread::yield()) { enter(); done = ready; leave(); }
}
#elif WAY == 34
static std::atomic<int> sum;
static void pass() {
    std::vector<std::jthread> v;
    for (int i = 0; i < 3; i++) v.emplace_back([](std::stop_token) { sum += 1; });
}
static void take() { while (sum != 3) std::this_thread::yield(); }
#endif
static void producer() { hand_over([] { data = 42; }, [] { pass(); }); }
static void consumer() { take(); seen = data; }
int main() {
    run_both(producer, consumer);
    std::printf("%d\n", seen);
}
