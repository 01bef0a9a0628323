// Helpers of the programs at the boundary. Each program is correct; with BUG it is its buggy twin.
#pragma once
#include <cstdio>
#include <mutex>
#include <thread>

// Writes data and passes it on; the buggy twin passes it on before it is written.
template <class Write, class Pass> void hand_over(Write write, Pass pass) {
#ifdef BUG
    pass();
    write();
#else
    write();
    pass();
#endif
}

// Runs two functions in two threads and waits for both.
template <class First, class Second> void run_both(First first, Second second) {
    std::thread a(first), b(second);
    a.join();
    b.join();
}

// A guard that the buggy twin forgets.
#ifdef BUG
struct forgotten_guard {
    explicit forgotten_guard(std::mutex &) {}
    ~forgotten_guard() {}
};
#else
using forgotten_guard = std::lock_guard<std::mutex>;
#endif
