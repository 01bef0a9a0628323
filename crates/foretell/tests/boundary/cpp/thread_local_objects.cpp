// Each thread has its object; its destructor adds to a total under a mutex.
#include "boundary.hpp"
#include <string>
static std::mutex lock;
static int total;
struct counter {
    std::string text;
    int value = 0;
    ~counter() {
        forgotten_guard guard(lock);
        total += value + static_cast<int>(text.size());
    }
};
static thread_local counter mine;
static void work() {
    for (int i = 0; i < 5; i++) {
        mine.value++;
        mine.text += "one more piece of text";
    }
}
int main() {
    run_both(work, work);
    std::printf("%d\n", total);
}
