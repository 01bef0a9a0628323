// Objects of the standard library, handed over or handing over. WAY 1: regex, 2: stringstream, 3:
// filesystem, 4: locale, 5: memory resource, 6: node of a map, 7: list spliced, 8: vector of
// bool, 9: valarray, 10: wide string, 11: bitset, 12: unordered_set, 13: multiset, 14: deque of
// strings, 15: tuple of strings, 16: nested map, 17: string swap, 18: vector of unique_ptr, 19:
// array of functions, 20: initializer lists, 21: random engine, 22: chrono formatting, 23:
// ifstream, 24: ostringstream moved, 25: exceptions by nested, 26: type_index map, 27: iterators,
// 28: string_view keys, 29: shared_ptr aliasing, 30: enable_shared_from_this, 31: error_code, 32:
// vector of vectors, 33: stack, 34: sorted by algorithm, 35: stable_sort of strings.
#include "boundary.hpp"
#include <algorithm>
#include <any>
#include <array>
#include <bitset>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <unistd.h>
#include <valarray>
#include <vector>
#include <iomanip>
static std::mutex lock;
static std::condition_variable changed;
static int data, seen;
// The box is filled by one thread, and emptied by the other when it is not empty.
#if WAY == 1
static std::unique_ptr<std::regex> box;
static void put() { box = std::make_unique<std::regex>("a(b+)c"); }
static bool full() { return box != nullptr; }
static void get() {
    std::smatch m;
    std::string s = "xabbcx";
    seen = std::regex_search(s, m, *box) ? (int)m[1].length() : -1;
    box.reset();
}
#elif WAY == 2
static std::stringstream box;
static void put() { box << 2 << ' ' << "abc"; }
static bool full() { return box.tellp() > 0; }
static void get() { box >> seen; std::string rest; box >> rest; }
#elif WAY == 3
namespace fs = std::filesystem;
static const fs::path box = fs::temp_directory_path() / ("boundary-" + std::to_string(getpid()));
static void put() { fs::create_directory(box); }
static bool full() { return fs::exists(box); }
static void get() { seen = fs::is_directory(box) ? 2 : 0; fs::remove_all(box); }
#elif WAY == 4
static std::unique_ptr<std::locale> box;
static void put() {
    box = std::make_unique<std::locale>(std::locale::classic(), new std::numpunct<char>);
}
static bool full() { return box.get(); }
static void get() {
    std::ostringstream o;
    o.imbue(*box);
    o << 22;
    seen = (int)o.str().size();
    box.reset();
}
#elif WAY == 5
static std::pmr::synchronized_pool_resource pool;
static std::pmr::vector<int> box(&pool);
static void put() { box.assign(2, 7); }
static bool full() { return !box.empty(); }
static void get() { seen = (int)box.size(); box.clear(); box.shrink_to_fit(); }
#elif WAY == 6
static std::map<int, std::string> from{{1, "one"}, {2, "two"}};
static std::map<int, std::string>::node_type box;
static void put() { box = from.extract(2); }
static bool full() { return !box.empty(); }
static void get() {
    std::map<int, std::string> to;
    to.insert(std::move(box));
    seen = to.begin()->first;
}
#elif WAY == 7
static std::list<std::string> box;
static void put() {
    std::list<std::string> mine{"a long string that is on the heap", "b"};
    box.splice(box.end(), mine);
}
static bool full() { return box.size() == 2; }
static void get() { std::list<std::string> mine; mine.swap(box); seen = (int)mine.size(); }
#elif WAY == 8
static std::vector<bool> box;
static void put() { box.resize(100); box[70] = box[3] = true; }
static bool full() { return box.size() > 0; }
static void get() { seen = (int)std::count(box.begin(), box.end(), true); box = {}; }
#elif WAY == 9
static std::valarray<int> box;
static void put() { box.resize(10, 1); box[3] = 2; }
static bool full() { return box.size() > 0; }
static void get() { seen = box.max(); box.resize(0); }
#elif WAY == 10
static std::wstring box;
static void put() { box = L"two words that are long enough for the heap"; }
static bool full() { return !box.empty(); }
static void get() { std::wstring mine = std::move(box); seen = (int)mine.find(L'o'); box.clear(); }
#elif WAY == 11
static std::bitset<300> box;
static void put() { box.set(200).set(7); }
static bool full() { return box.any(); }
static void get() { seen = (int)box.count(); box.reset(); }
#elif WAY == 12
static std::unordered_set<std::string> box;
static void put() { for (int i = 0; i < 20; i++) box.insert(std::string(20, 'a' + i)); }
static bool full() { return box.size() == 20; }
static void get() { seen = (int)box.count(std::string(20, 'b')) + 1; box.clear(); }
#elif WAY == 13
static std::multiset<int, std::greater<>> box;
static void put() { box.insert({1, 2, 2}); }
static bool full() { return !box.empty(); }
static void get() { seen = *box.begin(); box.clear(); }
#elif WAY == 14
static std::deque<std::string> box;
static void put() { for (int i = 0; i < 40; i++) box.push_front(std::string(30, 'x')); }
static bool full() { return box.size() == 40; }
static void get() {
    while (!box.empty()) { seen += box.back().size() == 30; box.pop_back(); }
    seen -= 38;
}
#elif WAY == 15
static std::unique_ptr<std::tuple<std::string, int>> box;
static void put() {
    box = std::make_unique<std::tuple<std::string, int>>("a string that is on the heap", 2);
}
static bool full() { return (bool)box; }
static void get() { auto mine = std::move(box); seen = std::get<1>(*mine); }
#elif WAY == 16
static std::map<std::string, std::map<int, std::vector<int>>> box;
static void put() { box["a"][1].push_back(2); }
static bool full() { return box.count("a"); }
static void get() { seen = box["a"][1].front(); box.erase("a"); }
#elif WAY == 17
static std::string box;
static void put() { std::string mine(40, 'x'); mine.swap(box); }
static bool full() { return box.length(); }
static void get() { std::string mine; mine.swap(box); seen = (int)mine.length() - 38; }
#elif WAY == 18
static std::vector<std::unique_ptr<int>> box;
static void put() { box.push_back(std::make_unique<int>(2)); }
static bool full() { return !box.empty(); }
static void get() { auto mine = std::move(box.back()); box.pop_back(); seen = *mine; }
#elif WAY == 19
static std::array<std::function<int()>, 3> box;
static void put() { std::string s(50, 'x'); box[1] = [s] { return (int)s.size() - 48; }; }
static bool full() { return (bool)box[1]; }
static void get() { seen = box[1](); box[1] = nullptr; }
#elif WAY == 20
static std::vector<std::pair<int, std::string>> box;
static void put() { box = {{1, "one"}, {2, "a longer string for the heap"}}; }
static bool full() { return box.size() == 2; }
static void get() { for (auto &[k, v] : box) seen = k; box.clear(); }
#elif WAY == 21
static std::unique_ptr<std::mt19937> box;
static void put() { box = std::make_unique<std::mt19937>(7); box->discard(10); }
static bool full() { return (bool)box; }
static void get() { seen = std::uniform_int_distribution<int>(2, 2)(*box); box.reset(); }
#elif WAY == 22
static std::string box;
static void put() {
    std::time_t t = 0;
    std::ostringstream o;
    o << std::put_time(std::gmtime(&t), "%Y-%m-%d and more text");
    box = o.str();
}
static bool full() { return !box.empty(); }
static void get() { seen = (int)std::stoi(box) - 1968; box.clear(); }
#elif WAY == 23
static const std::string name = "/tmp/boundary-" + std::to_string(getpid());
static void put() { std::ofstream(name) << 2 << std::endl; }
static bool full() { return std::ifstream(name).good(); }
static void get() { std::ifstream(name) >> seen; std::remove(name.c_str()); }
#elif WAY == 24
static std::unique_ptr<std::ostringstream> box;
static void put() {
    std::ostringstream mine;
    mine << "twelve chars";
    box = std::make_unique<std::ostringstream>(std::move(mine));
}
static bool full() { return (bool)box; }
static void get() { seen = (int)box->str().size() - 10; box.reset(); }
#elif WAY == 25
static std::exception_ptr box;
static void put() {
    try {
        try { throw std::runtime_error("inner text that is long enough"); }
        catch (...) { std::throw_with_nested(std::logic_error("outer")); }
    } catch (...) { box = std::current_exception(); }
}
static bool full() { return box != nullptr; }
static void get() {
    try { std::rethrow_exception(box); }
    catch (std::exception &e) {
        try { std::rethrow_if_nested(e); } catch (std::runtime_error &) { seen = 2; }
    }
    box = nullptr;
}
#elif WAY == 26
static std::unordered_map<std::type_index, std::any> box;
static void put() { box[typeid(int)] = 2; box[typeid(std::string)] = std::string(40, 'x'); }
static bool full() { return box.size() == 2; }
static void get() { seen = std::any_cast<int>(box[typeid(int)]); box.clear(); }
#elif WAY == 27
static std::map<int, int> table{{1, 1}, {2, 2}};
static std::map<int, int>::iterator box = table.end();
static void put() { box = table.find(2); }
static bool full() { return box != table.end(); }
static void get() { seen = box->second; table.erase(box); box = table.end(); }
#elif WAY == 28
static std::vector<std::string> owner;
static std::map<std::string_view, int> box;
static void put() {
    owner.push_back("a key that is long enough for the heap");
    box[owner.back()] = 2;
}
static bool full() { return !box.empty(); }
static void get() { seen = box.begin()->second; box.clear(); owner.clear(); }
#elif WAY == 29
struct pair { int a = 1, b = 2; };
static std::shared_ptr<int> box;
static void put() {
    auto whole = std::make_shared<pair>();
    box = std::shared_ptr<int>(whole, &whole->b);
}
static bool full() { return (bool)box; }
static void get() { seen = *box; box.reset(); }
#elif WAY == 30
struct node : std::enable_shared_from_this<node> { int value = 2; };
static std::weak_ptr<node> box;
static std::shared_ptr<node> keep;
static void put() { keep = std::make_shared<node>(); box = keep->weak_from_this(); }
static bool full() { return !box.expired(); }
static void get() { seen = box.lock()->value; keep.reset(); }
#elif WAY == 31
static std::unique_ptr<std::system_error> box;
static void put() {
    box = std::make_unique<std::system_error>(ENOENT, std::generic_category(), "what is missing");
}
static bool full() { return (bool)box; }
static void get() { seen = box->code().value(); box.reset(); }
#elif WAY == 32
static std::vector<std::vector<std::string>> box;
static void put() { box.emplace_back(2, std::string(40, 'y')); }
static bool full() { return !box.empty(); }
static void get() { auto mine = std::move(box); box.clear(); seen = (int)mine[0].size(); }
#elif WAY == 33
static std::stack<std::string, std::vector<std::string>> box;
static void put() { box.push(std::string(60, 'z')); box.push("zz"); }
static bool full() { return box.size() == 2; }
static void get() { seen = (int)box.top().size(); box.pop(); box.pop(); }
#elif WAY == 34
static std::vector<int> box;
static void put() {
    std::vector<int> mine{5, 2, 9, 4};
    std::sort(mine.begin(), mine.end());
    box = mine;
}
static bool full() { return !box.empty(); }
static void get() { seen = *std::lower_bound(box.begin(), box.end(), 2); box.clear(); }
#elif WAY == 35
static std::vector<std::string> box;
static void put() {
    for (int i = 9; i > 0; i--) box.push_back(std::string(30 + i, 'a'));
    std::stable_sort(box.begin(), box.end());
}
static bool full() { return box.size() == 9; }
static void get() { seen = (int)box[1].size() - 30; box.clear(); }
#endif
static void producer() {
    hand_over([] { data = 40; }, [] {
        std::lock_guard<std::mutex> guard(lock);
        put();
        changed.notify_one();
    });
}
static void consumer() {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [] { return full(); });
    get();
    guard.unlock();
    seen += data;
}
int main() {
    run_both(producer, consumer);
    std::printf("%d\n", seen);
}
