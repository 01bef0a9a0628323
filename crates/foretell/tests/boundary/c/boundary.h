/* Helpers of the programs at the boundary. Each program is correct; with BUG it is its buggy twin. */
#ifndef BOUNDARY_H
#define BOUNDARY_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes data and passes it on; the buggy twin passes it on before it is written. */
#ifdef BUG
#define HAND_OVER(write, pass) do { pass; write; } while (0)
#else
#define HAND_OVER(write, pass) do { write; pass; } while (0)
#endif

/* A statement that the buggy twin forgets. */
#ifdef BUG
#define FORGOTTEN(statement) do { } while (0)
#else
#define FORGOTTEN(statement) do { statement; } while (0)
#endif

/* Ends the program if a call that it depends on fails. */
#define MUST(condition) do { if (!(condition)) { perror(#condition); exit(9); } } while (0)

/* Runs two functions in two threads and waits for both. */
static inline void run_both(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t a, b;
    MUST(pthread_create(&a, NULL, first, NULL) == 0);
    MUST(pthread_create(&b, NULL, second, NULL) == 0);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
#endif
