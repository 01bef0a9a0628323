/* Every way to end, chosen by the first argument. */
#include "check.h"
#include <assert.h>
#include <signal.h>

int x;
static void *add(void *arg) { x++; return arg; }
static void on_abort(int n) { _exit(8 + (n != SIGABRT)); }
static void bye(void) { printf("bye\n"); }
static int deep(int n) { volatile char block[4096]; block[0] = n; return deep(n + 1) + block[0]; }

int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, NULL, add, NULL);
    pthread_join(t, NULL);
    setvbuf(stdout, NULL, _IONBF, 0);
    atexit(bye);
    switch (argv[1][0]) {
    case 'r': return 3;
    case 'e': exit(4);
    case '_': _exit(5);
    case 'q': quick_exit(6);
    case 'E': _Exit(7);
    case 's': *(volatile int *)16 = 1; break;
    case 'a': abort();
    case 'A': assert(x == 0); break;
    case 'b': signal(SIGABRT, on_abort); abort();
    case 'B': signal(SIGABRT, on_abort); assert(x == 0); break;
    case 'f': return 5 / (x - 1);
    case 'o': return deep(0);
    case 'k': kill(getpid(), SIGKILL); break;
    case 't': raise(SIGTERM); break;
    case 'p': pthread_exit(NULL);
    }
    return 0;
}
