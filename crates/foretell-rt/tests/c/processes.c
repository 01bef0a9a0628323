/* fork, exec, vfork, dlopen, _exit. */
#include "check.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>

int x;
static void *add(void *arg) { x++; return arg; }

static int child(pid_t (*how)(void), int status) {
    int got;
    pid_t pid = how();
    if (pid == 0) {
        pthread_t t;
        pthread_create(&t, NULL, add, NULL);
        pthread_join(t, NULL);
        _exit(status + x);
    }
    CHECK(pid > 0 && waitpid(pid, &got, 0) == pid && WIFEXITED(got));
    return WEXITSTATUS(got);
}

/* Becomes itself with another argument. */
static void replace(char *path, char *how, char *argument) {
    char *args[] = {path, argument, NULL};
    extern char **environ;
    x++;
    if (strcmp(how, "execv") == 0) execv(path, args);
    if (strcmp(how, "execvp") == 0) execvp(path, args);
    if (strcmp(how, "execve") == 0) execve(path, args, environ);
    if (strcmp(how, "execvpe") == 0) execvpe(path, args, environ);
    if (strcmp(how, "fexecve") == 0) fexecve(open(path, O_RDONLY), args, environ);
    if (strcmp(how, "execl") == 0) execl(path, path, argument, NULL);
    if (strcmp(how, "execlp") == 0) execlp(path, path, argument, NULL);
    if (strcmp(how, "execle") == 0) execle(path, path, argument, NULL, environ);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc == 3)
        replace(argv[0], argv[1], argv[2]);
    if (argc == 2) {
        printf("%s\n", argv[1]);
        return 0;
    }
    pthread_t t;
    pthread_create(&t, NULL, add, NULL);
    pthread_join(t, NULL);
    CHECK(child(fork, 4) == 6);
    CHECK(child(_Fork, 5) == 7);
    fflush(stdout);
    int got;
    pid_t pid = vfork();
    if (pid == 0) {
        execl(argv[0], argv[0], "from the child", NULL);
        _exit(9);
    }
    CHECK(waitpid(pid, &got, 0) == pid && got == 0);
    void *lib = dlopen("libm.so.6", RTLD_NOW);
    CHECK(lib && dlsym(lib, "cos") && dlclose(lib) == 0);
    CHECK(getenv("FORETELL_LOG") == NULL);
    char *args[] = {argv[0], "from itself", NULL};
    execv(argv[0], args);
    return 1;
}
