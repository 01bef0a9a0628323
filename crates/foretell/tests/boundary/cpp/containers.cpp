// A block is handed over through a container of the standard library under a mutex.
// CONTAINER 1: vector, 2: deque, 3: list, 4: map, 5: set, 6: unordered_map, 7: queue of strings,
// 8: priority_queue, 9: multimap, 10: forward_list.
#include "boundary.hpp"
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
struct item { int value = 0; };
static std::mutex lock;
static int sum;
#if CONTAINER == 1
static std::vector<item *> box;
static void put(item *i) { box.push_back(i); }
static item *take() { auto i = box.back(); box.pop_back(); return i; }
#elif CONTAINER == 2
static std::deque<item *> box;
static void put(item *i) { box.push_back(i); }
static item *take() { auto i = box.front(); box.pop_front(); return i; }
#elif CONTAINER == 3
static std::list<item *> box;
static void put(item *i) { box.push_back(i); }
static item *take() { auto i = box.front(); box.pop_front(); return i; }
#elif CONTAINER == 4
static std::map<int, item *> box;
static int last;
static void put(item *i) { box[++last] = i; }
static item *take() { auto i = box.begin()->second; box.erase(box.begin()); return i; }
#elif CONTAINER == 5
static std::set<item *> box;
static void put(item *i) { box.insert(i); }
static item *take() { auto i = *box.begin(); box.erase(box.begin()); return i; }
#elif CONTAINER == 6
static std::unordered_map<std::string, item *> box;
static int last;
static void put(item *i) { box["key " + std::to_string(++last)] = i; }
static item *take() { auto i = box.begin()->second; box.erase(box.begin()); return i; }
#elif CONTAINER == 7
static std::queue<std::pair<std::string, item *>> box;
static void put(item *i) { box.emplace("the name of an item that is long enough for the heap", i); }
static item *take() { auto i = std::move(box.front()); box.pop(); return i.second; }
#elif CONTAINER == 8
static std::priority_queue<std::pair<int, item *>> box;
static void put(item *i) { box.emplace(1, i); }
static item *take() { auto i = box.top().second; box.pop(); return i; }
#elif CONTAINER == 9
static std::multimap<std::string, item *> box;
static void put(item *i) { box.emplace("key", i); }
static item *take() { auto i = box.begin()->second; box.erase(box.begin()); return i; }
#else
static std::forward_list<item *> box;
static void put(item *i) { box.push_front(i); }
static item *take() { auto i = box.front(); box.pop_front(); return i; }
#endif
int main() {
    run_both(
        [] {
            for (int n = 1; n <= 3; n++) {
                auto mine = new item;
                hand_over([=] { mine->value = n; }, [=] {
                    std::lock_guard<std::mutex> guard(lock);
                    put(mine);
                });
            }
        },
        [] {
            for (int n = 1; n <= 3;) {
                item *mine = nullptr;
                {
                    std::lock_guard<std::mutex> guard(lock);
                    if (!box.empty()) mine = take();
                }
                if (mine) {
                    sum += mine->value;
                    n++;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    std::printf("%d\n", sum);
}
