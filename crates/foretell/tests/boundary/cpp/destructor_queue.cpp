// Objects with virtual destructors are made in one thread and deleted in the other.
#include "boundary.hpp"
#include <memory>
#include <vector>
struct base {
    virtual ~base() {}
    int value = 0;
};
struct derived : base {
    std::vector<int> numbers{1, 2, 3};
    ~derived() override { total += static_cast<int>(numbers.size()); }
    static int total;
};
int derived::total;
static std::mutex lock;
static std::vector<std::unique_ptr<base>> box;
static int sum;
int main() {
    run_both(
        [] {
            for (int n = 1; n <= 3; n++) {
                auto mine = std::make_unique<derived>();
                derived *later = mine.get();
                hand_over([=] { later->value = n; }, [&] {
                    std::lock_guard<std::mutex> guard(lock);
                    box.push_back(std::move(mine));
                });
            }
        },
        [] {
            for (int n = 0; n < 3;) {
                std::unique_ptr<base> mine;
                {
                    std::lock_guard<std::mutex> guard(lock);
                    if (!box.empty()) {
                        mine = std::move(box.back());
                        box.pop_back();
                    }
                }
                if (mine) {
                    sum += mine->value;
                    n++;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    std::printf("%d %d\n", sum, derived::total);
}
