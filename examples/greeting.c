/* Which of two threads writes first decides what is printed: the output differs. */
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
    pthread_t a, b;
    pthread_create(&a, NULL, say, "first");
    pthread_create(&b, NULL, say, "second");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s\n", greeting);
    return 0;
}
