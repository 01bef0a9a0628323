// The worker comes to the meeting only if it was not told to stop; main comes in any case.
#include <atomic>
#include <barrier>
#include <thread>

static std::barrier meeting(2);
static std::atomic<bool> stop;

int main()
{
    std::thread worker([] {
        if (!stop)
            meeting.arrive_and_wait();
    });
    stop = true;
    meeting.arrive_and_wait();
    worker.join();
}
