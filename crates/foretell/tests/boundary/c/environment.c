/* The library's own state under a mutex. STATE 1: environment, 2: localtime, 3: strtok, 4: rand,
   5: setlocale, 6: getpwnam, 7: strerror. */
#include "boundary.h"
#include <locale.h>
#include <pwd.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seen;
/* Marks in the library's state that the data is there. */
static void mark(void) {
#if STATE == 1
    setenv("BOUNDARY", "1", 1);
#elif STATE == 2
    setenv("TZ", "UTC+1", 1);
    tzset();
#elif STATE == 3
    static char text[] = "one two";
    strtok(text, " ");
#elif STATE == 4
    srand(1);
#elif STATE == 5
    setlocale(LC_ALL, "C.UTF-8");
#elif STATE == 6
    setpwent();
    getpwent();
#else
    strerror(100000);
#endif
}
static int marked(void) {
#if STATE == 1
    return getenv("BOUNDARY") != NULL;
#elif STATE == 2
    time_t zero = 0;
    return localtime(&zero)->tm_hour == 23;
#elif STATE == 3
    char *word = strtok(NULL, " ");
    return word != NULL && strcmp(word, "two") == 0;
#elif STATE == 4
    return rand() == 1804289383;
#elif STATE == 5
    return strcmp(setlocale(LC_CTYPE, NULL), "C.UTF-8") == 0;
#elif STATE == 6
    struct passwd *user = getpwnam("root");
    return user && ++seen > 3;
#else
    return strerror(3) != NULL && ++seen > 3;
#endif
}
#if STATE >= 6
/* State that only one of the threads may use at a time, and a counter that goes with it. */
static void *user(void *unused) {
    int done = 0;
    while (!done) {
        FORGOTTEN(pthread_mutex_lock(&lock));
        mark();
        done = marked();
        FORGOTTEN(pthread_mutex_unlock(&lock));
    }
    return unused;
}
int main(void) {
    run_both(user, user);
    printf("%s\n", seen > 3 ? "done" : "not done");
}
#else
static int data;
static void *producer(void *unused) {
    HAND_OVER(data = 42, {
        pthread_mutex_lock(&lock);
        mark();
        pthread_mutex_unlock(&lock);
    });
    return unused;
}
static void *consumer(void *unused) {
    for (int done = 0; !done;) {
        pthread_mutex_lock(&lock);
        done = marked();
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    seen = data;
    return unused;
}
int main(void) {
    setenv("TZ", "UTC", 1);
    srand(7);
    /* The consumer may go on with it first. */
    static char empty[] = "";
    strtok(empty, " ");
    run_both(producer, consumer);
    printf("%d\n", seen);
}
#endif
