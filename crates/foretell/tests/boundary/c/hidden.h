/* Objects whose code is not recorded: hidden.c is built by the plain compiler. */
#ifndef HIDDEN_H
#define HIDDEN_H
#ifdef __cplusplus
extern "C" {
#endif
/* A lock; it sleeps in the kernel. */
struct hidden_lock { int word; };
void hidden_lock(struct hidden_lock *lock);
void hidden_unlock(struct hidden_lock *lock);
/* A lock that spins, with its state inside the library. */
void hidden_spin_lock(void);
void hidden_spin_unlock(void);
/* A queue of pointers; taking from an empty one waits. */
struct hidden_queue;
struct hidden_queue *hidden_queue_new(void);
void hidden_put(struct hidden_queue *queue, void *item);
void *hidden_get(struct hidden_queue *queue);
/* A queue inside the library; an empty one gives NULL. */
void hidden_push(void *item);
void *hidden_pop(void);
/* A counting semaphore inside the library, by number. */
void hidden_up(int number);
void hidden_down(int number);
/* Reads one byte of a descriptor. */
int hidden_read(int descriptor);
/* Calls a function with the library's lock held. */
void hidden_with_lock(void (*function)(void *), void *argument);
/* Registers a function; hidden_fire calls those that are registered. */
void hidden_register(void (*function)(void *), void *argument);
void hidden_fire(void);
/* Runs a function in a thread that the library creates, and waits for the end of all of those. */
void hidden_spawn(void *(*function)(void *), void *argument);
void hidden_wait_all(void);
/* Waits in a loop until the word is not 0; sets it. */
void hidden_spin_until(int *word);
void hidden_set(int *word);
#ifdef __cplusplus
}
#endif
#endif
