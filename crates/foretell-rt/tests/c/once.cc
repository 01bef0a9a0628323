// One-time initialisation: pthread_once, call_once, function-local statics, new and delete.
#include "check.h"
#include <threads.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static int runs[3], attempts;

static void by_pthread() { runs[0]++; sched_yield(); runs[0] += 10; }
static void by_c11() { runs[1]++; sched_yield(); runs[1] += 10; }

struct Slow {
    int value;
    Slow() : value(0) { runs[2]++; sched_yield(); value = 7; }
};

struct Throws {
    Throws() { if (__atomic_fetch_add(&attempts, 1, __ATOMIC_SEQ_CST) == 0) throw 1; }
};

static int local() { static Slow s; return s.value; }
static void throwing() { static Throws t; (void)t; }

static void *work(void *arg) {
    CHECK(pthread_once(&once, by_pthread) == 0);
    CHECK(runs[0] == 11);
    call_once(&flag, by_c11);
    CHECK(runs[1] == 11);
    CHECK(local() == 7);
    int caught = 0;
    try { throwing(); } catch (int) { caught = 1; throwing(); }
    int *one = new int(3), *many = new int[4];
    *one += many[0] = caught;
    delete one;
    delete[] many;
    ::operator delete(::operator new(8));
    ::operator delete[](::operator new[](8));
    ::operator delete[](::operator new[](8), 8);
    return arg;
}

int main() {
    pthread_t t[4];
    for (auto &x : t) pthread_create(&x, NULL, work, NULL);
    for (auto &x : t) pthread_join(x, NULL);
    CHECK(runs[2] == 1 && attempts == 2);
    printf("ok\n");
    return 0;
}
