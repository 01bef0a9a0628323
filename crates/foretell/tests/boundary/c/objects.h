/* Objects of the random programs, by number. objects_hidden.c is built without recording;
   objects_recorded.c, with the same meaning, is recorded. */
#ifndef OBJECTS_H
#define OBJECTS_H
/* Mutual exclusion. */
void lock(int number);
void unlock(int number);
/* Queue of blocks; get waits. */
void put(int number, int *block);
int *get(int number);
/* Stack of blocks; pop gives NULL if it is empty. */
void push(int number, int *block);
int *pop(int number);
/* Flag that is set once and stays set. */
void set(int number);
void await(int number);
int is_set(int number);
/* Semaphore. */
void up(int number);
void down(int number);
/* Counter; reached waits until it has at least this value. */
void add(int number);
void reached(int number, int value);
#endif
