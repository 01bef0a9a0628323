/* greeting.c with the second thread after the first. */
#include <pthread.h>
#include <stdio.h>

static const char *greeting = "nobody";

static void *say(void *name)
{
    greeting = name;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, say, "first");
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, say, "second");
    pthread_join(thread, NULL);
    printf("%s\n", greeting);
    return 0;
}
