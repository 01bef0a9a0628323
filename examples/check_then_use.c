/* A pointer is checked, and used after another thread has cleared it.
 *
 * foretell check examples/check_then_use.c predicts the race on `shared` and makes the program
 * crash: SIGSEGV in get_info. */
#include <pthread.h>
#include <stdio.h>

struct info {
    int value;
};

static struct info the_info = {42};
static struct info *shared = &the_info;

static int get_info(void)
{
    if (shared != NULL)
        return shared->value;
    return -1;
}

static void *closer(void *unused)
{
    (void)unused;
    shared = NULL;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, closer, NULL);
    int value = get_info();
    pthread_join(thread, NULL);
    return value == 42 || value == -1 ? 0 : 1;
}
