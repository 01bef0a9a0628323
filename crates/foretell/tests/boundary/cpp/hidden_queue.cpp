// Objects go through a queue that is not recorded.
#include "../c/hidden.h"
#include "boundary.hpp"
#include <string>
struct job {
    std::string name;
    int value = 0;
};
static hidden_queue *queue;
static int sum;
int main() {
    queue = hidden_queue_new();
    run_both(
        [] {
            for (int n = 1; n <= 3; n++) {
                auto mine = new job{"a job with a name that is long enough to be on the heap", 0};
                hand_over([=] { mine->value = n; }, [=] { hidden_put(queue, mine); });
            }
        },
        [] {
            for (int n = 1; n <= 3; n++) {
                auto mine = static_cast<job *>(hidden_get(queue));
                sum += mine->value + static_cast<int>(mine->name.size());
#ifndef BUG
                delete mine;
#endif
            }
        });
    std::printf("%d\n", sum);
}
