/* The last of three owners destroys the mutex of the object and frees it. */
#include <pthread.h>
#include <stdlib.h>
struct object { pthread_mutex_t lock; int references; int uses; };
static void *owner(void *argument)
{
    struct object *object = argument;
    pthread_mutex_lock(&object->lock);
    object->uses++;
    int left = --object->references;
    pthread_mutex_unlock(&object->lock);
    if (left == 0) {
        pthread_mutex_destroy(&object->lock);
        free(object);
    }
    return NULL;
}
int main(void)
{
    pthread_t a, b;
    struct object *object = calloc(1, sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    object->references = 3;
    pthread_create(&a, NULL, owner, object);
    pthread_create(&b, NULL, owner, object);
    owner(object);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
