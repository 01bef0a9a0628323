// Parties that pass phases with a completion, apart from their arrivals, and leave one by one.
#include <barrier>
#include <thread>
#include <utility>
#include <vector>

static int data[3], sum, phases;

int main()
{
    auto completion = []() noexcept {
        sum = 0;
        for (int value : data)
            sum += value;
        phases++;
    };
    std::barrier meeting(3, completion);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&, i] {
            for (int phase = 0; phase <= i; phase++) {
                data[i] = phase;
                auto arrival = meeting.arrive();
                meeting.wait(std::move(arrival));
            }
            meeting.arrive_and_drop();
        });
    for (auto &thread : threads)
        thread.join();
    return phases != 4;
}
