/* Callbacks from a walk over a directory count under a mutex: nftw (WALK 1), scandir (WALK 2). */
#include "boundary.h"
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char directory[] = "/tmp/boundary-XXXXXX", file[64];
static int count;
#if WALK == 1
static int visit(const char *path, const struct stat *stat, int type, struct FTW *base) {
    (void)path, (void)stat, (void)base;
    FORGOTTEN(pthread_mutex_lock(&lock));
    count += type == FTW_F;
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return 0;
}
static void *walk(void *unused) {
    MUST(nftw(directory, visit, 4, FTW_PHYS) == 0);
    return unused;
}
#else
static int filter(const struct dirent *entry) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    count += entry->d_name[0] != '.';
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return 0;
}
static void *walk(void *unused) {
    struct dirent **list;
    MUST(scandir(directory, &list, filter, NULL) == 0);
    free(list);
    return unused;
}
#endif
int main(void) {
    MUST(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/file", directory);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    run_both(walk, walk);
    printf("%d\n", count);
    unlink(file);
    rmdir(directory);
}
