// C++ that uses a library which is not recorded: strings, streams, containers, exceptions.
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" int apply(int (*f)(int, void *), int n, void *data);

static std::string box;
static std::map<std::string, int> numbers;

static int thrower(int i, void *) {
    if (i == 1) throw std::out_of_range("thrown through code that is not recorded");
    return i;
}

struct Base {
    virtual ~Base() {}
    virtual std::string name() const { return "base"; }
};
struct Derived : Base {
    std::string name() const override { return "derived"; }
};

int main(int argc, char **argv) {
    std::ios_base::sync_with_stdio(argc > 2);
    box = "some text that is longer than the small buffer of a string";
    box += '!';
    std::cout << box << ' ' << box.size() << std::endl;
    for (const char *word : {"one", "two", "three"}) numbers[word] = numbers.size();
    for (auto &[word, n] : numbers) std::cout << word << '=' << n << '\n';
    std::ostringstream out;
    out << 42 << ' ' << 1.5 << " text";
    std::cout << out.str() << std::endl;
    std::istringstream in("7 8 nine");
    int a, b;
    std::string c;
    in >> a >> b >> c;
    std::cout << a + b << c << std::endl;
    try {
        apply(thrower, 3, nullptr);
    } catch (const std::out_of_range &e) {
        std::cout << "caught: " << e.what() << std::endl;
    }
    try {
        std::vector<int>().at(3);
    } catch (const std::exception &e) {
        std::cout << "caught" << std::endl;
    }
    std::list<int> list{3, 1, 2};
    list.sort();
    std::unordered_map<std::string, int> table;
    for (int i = 0; i < 50; i++) table[std::to_string(i)] = i;
    Derived derived;
    Base *base = &derived;
    std::cout << list.front() << ' ' << table["17"] << ' ' << base->name() << ' '
              << (dynamic_cast<Derived *>(base) != nullptr) << std::endl;
    if (argc > 1) {
        std::ofstream file(argv[1]);
        file << "line one\nline two\n";
        file.close();
        std::ifstream back(argv[1]);
        std::string line;
        while (std::getline(back, line)) std::cout << "read " << line << std::endl;
    }
    std::cerr << "done\n";
    return 0;
}
