// Memory of a synchronised pool is used by two threads, one block after the other.
#include "boundary.hpp"
#include <memory_resource>
#include <vector>
static std::pmr::synchronized_pool_resource pool;
static std::mutex lock;
static int sum;
static void work() {
    for (int i = 0; i < 3; i++) {
        std::pmr::vector<int> numbers(&pool);
        for (int n = 0; n < 5; n++) numbers.push_back(n);
        forgotten_guard guard(lock);
        for (int n : numbers) sum += n;
    }
}
int main() {
    run_both(work, work);
    std::printf("%d\n", sum);
}
