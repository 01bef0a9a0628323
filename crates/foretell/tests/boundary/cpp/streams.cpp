// Streams of the standard library. STREAM 1: cout under a mutex, 2: stringstream under a mutex,
// 3: getline from a pipe, 4: fstream, 5: ostringstream in each thread.
#include "boundary.hpp"
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unistd.h>
static std::mutex lock;
static int data, seen;
#if STREAM == 1
static int lines;
static void print() {
    for (int i = 0; i < 2; i++) {
        forgotten_guard guard(lock);
        std::cout << "line" << std::endl;
        lines++;
    }
}
int main() {
    run_both(print, print);
    (void)data, (void)seen;
    std::printf("%d\n", lines);
}
#elif STREAM == 5
static std::string texts[2];
static int total;
static void build(int me) {
    std::ostringstream text;
    text << "number " << me << ' ' << 1.5;
    texts[me] = text.str();
    forgotten_guard guard(lock);
    total += static_cast<int>(texts[me].size());
}
int main() {
    run_both([] { build(0); }, [] { build(1); });
    (void)data, (void)seen;
    std::printf("%d\n", total);
}
#else
#if STREAM == 2
static std::stringstream box;
static void pass() {
    std::lock_guard<std::mutex> guard(lock);
    box << "word\n";
}
static void take() {
    std::string word;
    while (word.empty()) {
        {
            std::lock_guard<std::mutex> guard(lock);
            if (!(box >> word)) box.clear();
        }
        std::this_thread::yield();
    }
}
#elif STREAM == 3
static int ends[2];
static void pass() {
    if (write(ends[1], "word\n", 5) != 5) std::abort();
}
static void take() {
    std::ifstream in("/dev/fd/" + std::to_string(ends[0]));
    std::string word;
    std::getline(in, word);
}
#else
static char name[] = "/tmp/boundary-XXXXXX";
static void pass() {
    std::ofstream out(name);
    out << "word\n";
}
static void take() {
    std::string word;
    while (word.empty()) {
        std::ifstream in(name);
        std::getline(in, word);
        std::this_thread::yield();
    }
}
#endif
int main() {
#if STREAM == 3
    if (pipe(ends) != 0) return 9;
#elif STREAM == 4
    if (mkstemp(name) < 0) return 9;
#endif
    run_both([] { hand_over([] { data = 42; }, pass); }, [] {
        take();
        seen = data;
    });
    std::printf("%d\n", seen);
#if STREAM == 4
    unlink(name);
#endif
}
#endif
