// stack.cpp with a function that checks and pops under one lock.
#include <mutex>
#include <thread>

#include "foretell.h"

class Stack {
public:
    void push(int item)
    {
        std::lock_guard<std::mutex> guard(lock);
        items[size++] = item;
    }

    int pop_or(int otherwise)
    {
        std::lock_guard<std::mutex> guard(lock);
        return size == 0 ? otherwise : items[--size];
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
    return stack.pop_or(0);
}

int main()
{
    stack.push(7);
    std::thread other([] { stack.clear(); });
    take();
    other.join();
    return 0;
}
