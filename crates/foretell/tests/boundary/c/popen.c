/* A command that a thread starts with popen writes to a FIFO that a second thread reads. */
#include "boundary.h"
#include <sys/stat.h>
static char directory[] = "/tmp/boundary-XXXXXX", fifo[64], command[128];
static int data, seen;
static void *producer(void *unused) {
    FILE *pipe;
    HAND_OVER(data = 42, MUST((pipe = popen(command, "r"))));
    pclose(pipe);
    return unused;
}
static void *consumer(void *unused) {
    char line[16];
    FILE *in = fopen(fifo, "r");
    MUST(in && fgets(line, sizeof line, in));
    seen = data;
    fclose(in);
    return unused;
}
int main(void) {
    MUST(mkdtemp(directory));
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    snprintf(command, sizeof command, "echo go > %s", fifo);
    MUST(mkfifo(fifo, 0600) == 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
    unlink(fifo);
    rmdir(directory);
}
