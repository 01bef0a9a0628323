// Objects whose code is partly in libstdc++.so, changed by two threads under a mutex; the buggy twin
// forgets the mutex. OBJECT 1: string, 2: set, 3: map of strings, 4: list, 5: unordered_map with
// strings as keys, 6: string that is only assigned, 7: erasing from a map, 8: wide string,
// 9: list that is spliced, 10: shared_ptr, 11: string that is read.
#include "boundary.hpp"
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
static std::mutex lock;
#if OBJECT == 1
static std::string box;
static void change(int n) { box += n == 1 ? "some text that is longer than the small buffer " : "and "; }
static int result() { return static_cast<int>(box.size()); }
#elif OBJECT == 2
static std::set<int> box;
static void change(int n) { for (int i = 0; i < 4; i++) box.insert(10 * n + i); }
static int result() { return static_cast<int>(box.size()); }
#elif OBJECT == 3
static std::map<std::string, int> box;
static void change(int n) { box["a key that is longer than the small buffer"] += n; }
static int result() { return box.begin()->second; }
#elif OBJECT == 4
static std::list<int> box;
static void change(int n) { box.push_back(n); }
static int result() { return static_cast<int>(box.size()) + box.front() + box.back(); }
#elif OBJECT == 5
static std::unordered_map<std::string, int> box;
static void change(int n) { box["key " + std::to_string(n)] = n; }
static int result() { return static_cast<int>(box.size()); }
#elif OBJECT == 6
static std::string box;
static void change(int) { box = "short"; }
static int result() { return static_cast<int>(box.size()); }
#elif OBJECT == 7
static std::map<int, int> box{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
static void change(int n) { box.erase(n); }
static int result() {
    int sum = 0;
    for (auto &entry : box) sum += entry.second;
    return sum;
}
#elif OBJECT == 8
static std::wstring box;
static void change(int n) { box.push_back(n == 1 ? L'a' : L'b'); }
static int result() { return static_cast<int>(box.size()); }
#elif OBJECT == 9
static std::list<int> box{0};
static void change(int n) {
    std::list<int> more{n, n, n};
    box.splice(box.end(), more);
}
static int result() { return static_cast<int>(box.size()); }
#elif OBJECT == 10
static std::shared_ptr<std::string> box;
static void change(int n) { box = std::make_shared<std::string>(std::string(2, char('a' + n))); }
static int result() { return static_cast<int>(box->size()); }
#else
static std::string box = "a text that is longer than the small buffer of a string";
static int found;
static void change(int n) {
    if (n == 1)
        box.insert(0, "the start of ");
    else
        found = box.find("small") != std::string::npos;
}
static int result() { return found; }
#endif
int main() {
    run_both(
        [] {
            forgotten_guard guard(lock);
            change(1);
        },
        [] {
            forgotten_guard guard(lock);
            change(2);
        });
    std::printf("%d\n", result());
}
