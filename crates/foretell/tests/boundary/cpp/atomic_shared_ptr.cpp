// A shared_ptr is replaced and read with the atomic functions, which take a lock of the library.
#include "boundary.hpp"
#include <memory>
static std::shared_ptr<int> common;
static int data, seen;
int main() {
    run_both(
        [] {
            hand_over([] { data = 42; }, [] { std::atomic_store(&common, std::make_shared<int>(1)); });
        },
        [] {
            while (!std::atomic_load(&common)) std::this_thread::yield();
            seen = data;
        });
    std::printf("%d\n", seen);
}
