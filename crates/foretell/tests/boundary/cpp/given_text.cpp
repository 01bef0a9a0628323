// Recorded code fills a text, and library code that is not recorded reads it, under a mutex. The
// text says whether the data is there. TEXT 1: char array and sscanf, 2: string and a stream,
// 3: char array and strtol.
#include "boundary.hpp"
#include <cstdlib>
#include <sstream>
#include <string>
static std::mutex lock;
static int data, seen;
#if TEXT == 2
static std::string text;
static void pass() { text = "7"; }
static int read() {
    std::istringstream in;
    in.str(text);
    int n = 0;
    in >> n;
    return n;
}
#else
static char text[16];
static void pass() { text[0] = '7'; }
static int read() {
#if TEXT == 1
    int n = 0;
    std::sscanf(text, "%d", &n);
    return n;
#else
    return static_cast<int>(std::strtol(text, nullptr, 10));
#endif
}
#endif
int main() {
    run_both(
        [] {
            hand_over([] { data = 42; }, [] {
                std::lock_guard<std::mutex> guard(lock);
                pass();
            });
        },
        [] {
            for (int ready = 0; !ready;) {
                {
                    std::lock_guard<std::mutex> guard(lock);
                    ready = read();
                }
                std::this_thread::yield();
            }
            seen = data;
        });
    std::printf("%d\n", seen);
}
