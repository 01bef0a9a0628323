/* Request and answer through stdio streams on a pair of sockets. */
#include "boundary.h"
#include <sys/socket.h>
static int pair[2], data, seen;
static void *server(void *unused) {
    FILE *stream = fdopen(pair[0], "r+");
    char line[16];
    MUST(fgets(line, sizeof line, stream));
    HAND_OVER(data = 42, { fputs("done\n", stream); fflush(stream); });
    return unused;
}
static void *client(void *unused) {
    FILE *stream = fdopen(pair[1], "r+");
    char line[16];
    fputs("go\n", stream);
    fflush(stream);
    MUST(fgets(line, sizeof line, stream));
    seen = data;
    return unused;
}
int main(void) {
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    run_both(server, client);
    printf("%d\n", seen);
}
