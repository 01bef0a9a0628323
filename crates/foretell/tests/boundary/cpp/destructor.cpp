// The last owner destroys an object of a class with virtual functions, in any thread.
#include "boundary.hpp"
#include <atomic>
#include <memory>
#include <string>
struct base {
    virtual ~base() {}
    virtual int number() const = 0;
};
static std::atomic<int> destroyed;
struct derived : base {
    std::string text = "a text that is long enough to be on the heap, not in the object";
    int value = 21;
    ~derived() override { destroyed++; }
    int number() const override { return value; }
};
static std::shared_ptr<base> common;
static int sums[2];
#ifdef BUG
static void use(int me) {
    std::shared_ptr<base> mine = std::move(common);
    sums[me] = mine ? mine->number() : 0;
}
#endif
int main() {
    common = std::make_shared<derived>();
#ifdef BUG
    run_both([] { use(0); }, [] { use(1); });
#else
    std::shared_ptr<base> one = common, two = std::move(common);
    std::thread a([mine = std::move(one)]() mutable { sums[0] = mine->number(); mine.reset(); });
    std::thread b([mine = std::move(two)]() mutable { sums[1] = mine->number(); mine.reset(); });
    a.join();
    b.join();
#endif
    std::printf("%d %d\n", sums[0] + sums[1], destroyed.load());
}
