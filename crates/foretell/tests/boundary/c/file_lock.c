/* A counter is protected by the lock of a file: OFD record locks (LOCK 1) or flock (LOCK 2). */
#include "boundary.h"
#include <fcntl.h>
#include <sys/file.h>
static char name[] = "/tmp/boundary-XXXXXX";
static int count;
static void set(int file, int how) {
#if LOCK == 1
    struct flock lock = {.l_type = how, .l_whence = SEEK_SET};
    MUST(fcntl(file, F_OFD_SETLKW, &lock) == 0);
#else
    MUST(flock(file, how == F_WRLCK ? LOCK_EX : LOCK_UN) == 0);
#endif
}
static void *first(void *unused) {
    int file = open(name, O_RDWR);
    set(file, F_WRLCK);
    count++;
    set(file, F_UNLCK);
    close(file);
    return unused;
}
static void *second(void *unused) {
    int file = open(name, O_RDWR);
    FORGOTTEN(set(file, F_WRLCK));
    count++;
    FORGOTTEN(set(file, F_UNLCK));
    close(file);
    return unused;
}
int main(void) {
    MUST(mkstemp(name) >= 0);
    run_both(first, second);
    printf("%d\n", count);
    unlink(name);
}
