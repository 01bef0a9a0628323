/* Calls of the C library that two threads make for themselves order nothing: the buggy twin counts
   without its lock, before the calls in one thread and after them in the other.
   CALLS 1: texts, times and other state in memory; 2: files and streams. */
#include "boundary.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static FILE *log_file;
static void say(const char *format, ...) {
    char text[100], date[40];
    time_t now = time(NULL);
    struct tm tm;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    localtime_r(&now, &tm);
    strftime(date, sizeof date, "%H:%M", &tm);
    fprintf(log_file, "%s %s\n", date, text);
    fflush(log_file);
}
static void calls(int id) {
    say("thread %d of %s", id, "two");
#if CALLS == 1
    char text[40], words[] = "a b", *rest, *copy;
    unsigned seed = id;
    struct in_addr address = {1};
    regex_t pattern;
    pthread_attr_t attributes;
    sprintf(text, "%d %.3f %s %Lg %*s", id, 1.5, "text", 2.5L, 8, "more");
    MUST(asprintf(&copy, "%s and %s", text, words) > 0);
    free(copy);
    MUST(sscanf(text, "%u", &seed) == 1);
    strtok_r(words, " ", &rest);
    inet_ntop(AF_INET, &address, text, sizeof text);
    rand_r(&seed);
    seed += rand() + strlen(strerror(ENOENT)) + (getenv("HOME") != NULL);
    MUST(regcomp(&pattern, "aa", 0) == 0 && regexec(&pattern, "caat", 0, NULL, 0) == 0);
    regfree(&pattern);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_attr_destroy(&attributes);
    gethostname(text, sizeof text);
#else
    char name[40], line[10], *whole = NULL;
    size_t room = 0;
    struct stat status;
    snprintf(name, sizeof name, "/tmp/unrelated.%d.%d", getpid(), id);
    FILE *file = fopen(name, "w+");
    MUST(file && fputs("one\ntwo\n", file) >= 0 && fwrite("x\n", 1, 2, file) == 2);
    rewind(file);
    MUST(fgets(line, sizeof line, file) && getline(&whole, &room, file) > 0);
    MUST(fscanf(file, "%9s", line) == 1 && ftell(file) > 0);
    fclose(file);
    free(whole);
    int fd = open(name, O_RDONLY);
    MUST(fd >= 0 && read(fd, line, 3) == 3 && fstat(fd, &status) == 0);
    close(fd);
    MUST(stat(name, &status) == 0 && access("/etc/passwd", R_OK) == 0 && unlink(name) == 0);
    DIR *directory = opendir("/etc");
    MUST(directory && readdir(directory));
    closedir(directory);
    MUST((file = tmpfile()));
    dprintf(fileno(file), "%d", id);
    fclose(file);
#endif
}
static void add(void) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    count++;
    FORGOTTEN(pthread_mutex_unlock(&lock));
}
static void *first(void *unused) {
    add();
    calls(1);
    return unused;
}
static void *second(void *unused) {
    calls(2);
    add();
    return unused;
}
int main(void) {
    MUST((log_file = tmpfile()));
    run_both(first, second);
    printf("%d\n", count);
}
