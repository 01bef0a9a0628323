/* A thread creates a file; inotify tells a second thread. */
#include "boundary.h"
#include <fcntl.h>
#include <sys/inotify.h>
static char directory[] = "/tmp/boundary-XXXXXX", file[64];
static int watch, data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, close(open(file, O_CREAT | O_WRONLY, 0600)));
    return unused;
}
static void *consumer(void *unused) {
    char events[512];
    MUST(read(watch, events, sizeof events) > 0);
    seen = data;
    return unused;
}
int main(void) {
    MUST(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/new", directory);
    MUST((watch = inotify_init()) >= 0);
    MUST(inotify_add_watch(watch, directory, IN_CREATE) >= 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
    unlink(file);
    rmdir(directory);
}
