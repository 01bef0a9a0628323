/* A thread moves bytes between two pipes with splice or, with TEE, copies them with tee. */
#include "boundary.h"
#include <fcntl.h>
static int in[2], out[2], data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, MUST(write(in[1], "x", 1) == 1));
    return unused;
}
static void *consumer(void *unused) {
    char got;
    MUST(read(out[0], &got, 1) == 1);
    seen = data;
    return unused;
}
static void *mover(void *unused) {
#ifdef TEE
    MUST(tee(in[0], out[1], 1, 0) == 1);
#else
    MUST(splice(in[0], NULL, out[1], NULL, 1, 0) == 1);
#endif
    return unused;
}
int main(void) {
    pthread_t thread;
    MUST(pipe(in) == 0 && pipe(out) == 0);
    MUST(pthread_create(&thread, NULL, mover, NULL) == 0);
    run_both(producer, consumer);
    pthread_join(thread, NULL);
    printf("%d\n", seen);
}
