/* Objects of the random programs, recorded: a mutex and a condition variable for each. */
#include "objects.h"
#include <pthread.h>
#include <stdlib.h>
#define OBJECTS 8
#define ROOM 64

struct object { pthread_mutex_t mutex; pthread_cond_t condition; int count, first; int *blocks[ROOM]; };
#define OBJECT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, { NULL } }
#define ALL { OBJECT, OBJECT, OBJECT, OBJECT, OBJECT, OBJECT, OBJECT, OBJECT }
static struct object queues[OBJECTS] = ALL, stacks[OBJECTS] = ALL, flags[OBJECTS] = ALL;
static struct object semaphores[OBJECTS] = ALL, counters[OBJECTS] = ALL, locks[OBJECTS] = ALL;

void lock(int number) { pthread_mutex_lock(&locks[number].mutex); }
void unlock(int number) { pthread_mutex_unlock(&locks[number].mutex); }

static void raise(struct object *object) {
    pthread_mutex_lock(&object->mutex);
    object->count++;
    pthread_cond_broadcast(&object->condition);
    pthread_mutex_unlock(&object->mutex);
}
static void until(struct object *object, int value, int taken) {
    pthread_mutex_lock(&object->mutex);
    while (object->count < value) pthread_cond_wait(&object->condition, &object->mutex);
    object->count -= taken;
    pthread_mutex_unlock(&object->mutex);
}

void put(int number, int *block) {
    struct object *queue = &queues[number];
    pthread_mutex_lock(&queue->mutex);
    queue->blocks[queue->first + queue->count++] = block;
    pthread_cond_broadcast(&queue->condition);
    pthread_mutex_unlock(&queue->mutex);
}
int *get(int number) {
    struct object *queue = &queues[number];
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == 0) pthread_cond_wait(&queue->condition, &queue->mutex);
    int *block = queue->blocks[queue->first++];
    queue->count--;
    pthread_mutex_unlock(&queue->mutex);
    return block;
}
void push(int number, int *block) {
    struct object *stack = &stacks[number];
    pthread_mutex_lock(&stack->mutex);
    stack->blocks[stack->count++] = block;
    pthread_mutex_unlock(&stack->mutex);
}
int *pop(int number) {
    struct object *stack = &stacks[number];
    int *block = NULL;
    pthread_mutex_lock(&stack->mutex);
    if (stack->count > 0) block = stack->blocks[--stack->count];
    pthread_mutex_unlock(&stack->mutex);
    return block;
}
void set(int number) { raise(&flags[number]); }
void await(int number) { until(&flags[number], 1, 0); }
int is_set(int number) {
    pthread_mutex_lock(&flags[number].mutex);
    int answer = flags[number].count > 0;
    pthread_mutex_unlock(&flags[number].mutex);
    return answer;
}
void up(int number) { raise(&semaphores[number]); }
void down(int number) { until(&semaphores[number], 1, 1); }
void add(int number) { raise(&counters[number]); }
void reached(int number, int value) { until(&counters[number], value, 0); }
