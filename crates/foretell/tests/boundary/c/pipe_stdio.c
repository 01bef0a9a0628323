/* A line goes through a pipe; WRITER and READER name the functions of the two ends. */
#include "boundary.h"
#include <errno.h>
static int ends[2], data, seen;
static void *producer(void *unused) {
#if WRITER == 1
    HAND_OVER(data = 42, MUST(write(ends[1], "1 2\n", 4) == 4));
#elif WRITER == 2
    HAND_OVER(data = 42, MUST(dprintf(ends[1], "%d %d\n", 1, 2) == 4));
#elif WRITER == 3
    FILE *out = fdopen(dup(ends[1]), "w");
    HAND_OVER(data = 42, { fprintf(out, "%d %d\n", 1, 2); fflush(out); });
    fclose(out);
#else
    FILE *out = fdopen(dup(ends[1]), "w");
    setvbuf(out, NULL, _IONBF, 0);
    HAND_OVER(data = 42, fwrite("1 2\n", 1, 4, out));
    fclose(out);
#endif
    return unused;
}
static void *consumer(void *unused) {
    FILE *in = fdopen(dup(ends[0]), "r");
#if READER == 1
    char line[32];
    MUST(fgets(line, sizeof line, in));
#elif READER == 2
    char *text = NULL;
    size_t room = 0;
    MUST(getline(&text, &room, in) == 4);
    free(text);
#elif READER == 3
    int a, b;
    MUST(fscanf(in, "%d %d", &a, &b) == 2);
#else
    char line[4];
    setvbuf(in, NULL, _IONBF, 0);
    MUST(fread(line, 1, 4, in) == 4);
#endif
    seen = data;
    fclose(in);
    return unused;
}
int main(void) {
    MUST(pipe(ends) == 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
