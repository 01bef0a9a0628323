// A stack whose functions are locked one by one, and a caller that checks and pops in two calls:
// the other thread may empty it in between. An atomicity violation without a data race; the replay
// ends in the failed assertion.
#include <cassert>
#include <mutex>
#include <thread>

#include "foretell.h"

class Stack {
public:
    bool empty()
    {
        std::lock_guard<std::mutex> guard(lock);
        return size == 0;
    }

    void push(int item)
    {
        std::lock_guard<std::mutex> guard(lock);
        items[size++] = item;
    }

    int pop()
    {
        std::lock_guard<std::mutex> guard(lock);
        assert(size > 0);
        return items[--size];
    }

    void clear()
    {
        std::lock_guard<std::mutex> guard(lock);
        size = 0;
    }

private:
    std::mutex lock;
    int items[8];
    int size = 0;
};

static Stack stack;

static int take()
{
    FORETELL_ATOMIC_SCOPE("take");
    return stack.empty() ? 0 : stack.pop();
}

int main()
{
    stack.push(7);
    std::thread other([] { stack.clear(); });
    take();
    other.join();
    return 0;
}
