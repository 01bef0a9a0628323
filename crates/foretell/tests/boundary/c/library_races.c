/* State of the C library that has no lock of its own, and memory that its functions read.
   STATE 1: environment, 2: static buffer of localtime, 3: strtok, 4: drand48, 5: a text that is
   printed, 6: a text that is made, 7: getpwnam. */
#include "boundary.h"
#include <pwd.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[32] = "text";
static void use(int id) {
#if STATE == 1
    if (id == 1)
        setenv("BOUNDARY", "1", 1);
    else
        getenv("BOUNDARY");
#elif STATE == 2
    time_t now = id;
    struct tm *tm = id == 1 ? localtime(&now) : gmtime(&now);
    MUST(tm->tm_sec == id);
#elif STATE == 3
    char words[] = "one two";
    MUST(strtok(words, " ") && strtok(NULL, " "));
#elif STATE == 4
    MUST(drand48() < 1);
#elif STATE == 5
    if (id == 1)
        text[0] = 'T';
    else
        fprintf(stderr, "%d %s\n", id, text);
#elif STATE == 6
    if (id == 1)
        snprintf(text, sizeof text, "text of %d", id);
    else
        MUST(text[0] == 't');
#else
    MUST(getpwnam("root"));
#endif
}
static void *first(void *unused) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    use(1);
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return unused;
}
static void *second(void *unused) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    use(2);
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return unused;
}
int main(void) {
    run_both(first, second);
    printf("%zu\n", strlen(text) > 0 ? (size_t)1 : 0);
}
