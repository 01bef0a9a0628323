// Streams that two threads use for themselves order nothing: the buggy twin counts without its lock,
// before the calls in one thread and after them in the other.
#include "boundary.hpp"
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
static std::mutex lock;
static int count;
static std::shared_ptr<int> pointer = std::make_shared<int>(1);
static void calls(int id) {
    std::cerr << "thread " << id << std::endl;
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
int main() {
    run_both([] { add(); calls(1); }, [] { calls(2); add(); });
    std::printf("%d\n", count);
}
