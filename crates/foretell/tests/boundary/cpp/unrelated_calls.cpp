// Streams that two threads use for themselves, and a log under a lock, order nothing: the buggy twin
// counts without its lock, before the calls in one thread and after them in the other. With TEXT the
// twin prints a string while it is changed.
#include "boundary.hpp"
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
static std::mutex lock, log_lock;
static int count;
static std::ofstream log_file;
static std::string log_name = "/tmp/unrelated." + std::to_string(getpid()) + ".log";
static std::shared_ptr<int> pointer = std::make_shared<int>(1);
static void calls(int id) {
    std::cerr << "thread " << id << std::endl;
    {
        std::lock_guard<std::mutex> guard(log_lock);
        log_file << "thread " << id << std::endl;
    }
    std::ostringstream out;
    out << "a" << id << std::setw(4) << 1.5 << "\n" << std::hex << 17;
    std::istringstream in(out.str());
    std::string word, line;
    in >> word;
    while (std::getline(in, line)) {
    }
    std::stringstream both;
    both << id;
    both >> id;
    std::string name = "/tmp/unrelated." + std::to_string(getpid()) + "." + std::to_string(id);
    {
        std::ofstream file(name);
        file << word << 1 << std::endl;
    }
    std::ifstream file(name);
    while (std::getline(file, line)) {
    }
    std::remove(name.c_str());
    auto copy = std::atomic_load(&pointer);
    try {
        throw std::runtime_error(word);
    } catch (const std::exception &e) {
        line = e.what();
    }
}
static void add() {
    forgotten_guard guard(lock);
    count++;
}
#ifdef TEXT
static std::string text = "text";
int main() {
    log_file.open(log_name);
    run_both([] { forgotten_guard guard(lock); text[0] = 'T'; },
             [] { forgotten_guard guard(lock); log_file << text << "\n"; std::cerr << text << "\n"; });
    std::remove(log_name.c_str());
    std::printf("%zu\n", text.size());
    (void)calls, (void)add;
}
#else
int main() {
    log_file.open(log_name);
    run_both([] { add(); calls(1); }, [] { calls(2); add(); });
    std::remove(log_name.c_str());
    std::printf("%d\n", count);
}
#endif
