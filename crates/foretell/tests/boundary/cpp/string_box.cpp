// One string is handed over under a mutex; the consumer waits until it is not empty.
#include "boundary.hpp"
#include <string>
static std::mutex lock;
static std::string box;
static int data, length, seen;
int main() {
    run_both(
        [] {
            hand_over([] { data = 42; }, [] {
                std::string text = "a string that is too long for the small buffer of a string";
                std::lock_guard<std::mutex> guard(lock);
                box = std::move(text);
            });
        },
        [] {
            std::string mine;
            while (mine.empty()) {
                {
                    std::lock_guard<std::mutex> guard(lock);
                    if (!box.empty()) mine = std::move(box);
                }
                std::this_thread::yield();
            }
            length = static_cast<int>(mine.size());
            seen = data;
        });
    std::printf("%d %d\n", length, seen);
}
