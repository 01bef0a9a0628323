/* Calls of the library with state, from two threads, and output that the program redirects. */
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *root;
static int keys[8];

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void *worker(void *argument) {
    int start = *(int *)argument;
    for (int i = start; i < start + 4; i++) {
        pthread_mutex_lock(&lock);
        keys[i] = i;
        tsearch(&keys[i], &root, compare);
        printf("inserted\n");
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    int starts[2] = {0, 4};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, &starts[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    int found = 0;
    for (int i = 0; i < 8; i++) found += tfind(&keys[i], &root, compare) != NULL;
    printf("%d\n", found);
    fflush(stdout);
    if (argc > 1) {
        /* Standard output becomes a pipe of the program's own. */
        int pipes[2];
        char text[16] = "";
        if (pipe(pipes) != 0) return 1;
        int saved = dup(1);
        dup2(pipes[1], 1);
        puts("through");
        fflush(stdout);
        dup2(saved, 1);
        FILE *in = fdopen(pipes[0], "r");
        if (!fgets(text, sizeof text, in)) return 1;
        printf("got %s", text);
        FILE *file = fopen(argv[1], "w");
        fprintf(file, "%d\n", found);
        fputs("line\n", file);
        fclose(file);
    }
    return 0;
}
