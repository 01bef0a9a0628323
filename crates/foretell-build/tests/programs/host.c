#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
int plugin(const char *);
#endif

int main(int argc, char **argv) {
#ifdef LINKED
    int (*f)(const char *) = plugin;
#else
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    int (*f)(const char *) = (int (*)(const char *))dlsym(library, "plugin");
#endif
    printf("%d\n", f("one"));
    printf("%d\n", f("two"));
    return 0;
}
