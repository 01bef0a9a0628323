// A static local object is made by the first thread that comes.
#include "boundary.hpp"
#include <string>
#ifdef BUG
static std::string *made;
static const std::string &table() {
    if (!made) made = new std::string("a text that is long enough to be on the heap");
    return *made;
}
#else
static const std::string &table() {
    static std::string made = "a text that is long enough to be on the heap";
    return made;
}
#endif
static int lengths[2];
int main() {
    run_both([] { lengths[0] = static_cast<int>(table().size()); },
             [] { lengths[1] = static_cast<int>(table().size()); });
    std::printf("%d %d\n", lengths[0], lengths[1]);
}
