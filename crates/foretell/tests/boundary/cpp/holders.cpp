// A value is handed over in a holder under a mutex. HOLDER 1: shared_ptr, 2: weak_ptr, 3: function,
// 4: optional, 5: variant, 6: any, 7: unique_ptr, 8: exception_ptr, 9: string_view of a string.
#include "boundary.hpp"
#include <any>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
static std::mutex lock;
static int data, seen;
#if HOLDER == 1
static std::shared_ptr<std::string> box;
static void put() { box = std::make_shared<std::string>("text"); }
static bool take() { auto mine = std::move(box); return mine && mine->size() == 4; }
#elif HOLDER == 2
static std::shared_ptr<int> owner;
static std::weak_ptr<int> box;
static void put() { owner = std::make_shared<int>(1); box = owner; }
static bool take() { auto mine = box.lock(); return mine && *mine == 1; }
#elif HOLDER == 3
static std::function<int(int)> box;
static void put() { std::string text = "text"; box = [text](int n) { return n + int(text.size()); }; }
static bool take() { return box && box(1) == 5; }
#elif HOLDER == 4
static std::optional<std::string> box;
static void put() { box = "text"; }
static bool take() { return box.has_value() && box->size() == 4; }
#elif HOLDER == 5
static std::variant<int, std::string> box;
static void put() { box = std::string("text"); }
static bool take() { return std::holds_alternative<std::string>(box); }
#elif HOLDER == 6
static std::any box;
static void put() { box = std::string("text"); }
static bool take() { return box.has_value() && std::any_cast<std::string>(&box) != nullptr; }
#elif HOLDER == 7
static std::unique_ptr<std::string> box;
static void put() { box = std::make_unique<std::string>("text"); }
static bool take() { auto mine = std::move(box); return mine != nullptr; }
#elif HOLDER == 8
static std::exception_ptr box;
static void put() {
    try {
        throw std::runtime_error("text");
    } catch (...) {
        box = std::current_exception();
    }
}
static bool take() {
    if (!box) return false;
    try {
        std::rethrow_exception(box);
    } catch (const std::runtime_error &error) {
        return std::string(error.what()) == "text";
    }
}
#else
static std::string owner;
static std::string_view box;
static void put() { owner = "some text in a string"; box = owner; }
static bool take() { return box.find("string") != std::string_view::npos; }
#endif
int main() {
    run_both(
        [] {
            hand_over([] { data = 42; }, [] {
                std::lock_guard<std::mutex> guard(lock);
                put();
            });
        },
        [] {
            for (bool done = false; !done;) {
                {
                    std::lock_guard<std::mutex> guard(lock);
                    done = take();
                }
                std::this_thread::yield();
            }
            seen = data;
        });
    std::printf("%d\n", seen);
}
