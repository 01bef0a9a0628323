/* An allocator of the program hands out memory of an mmap arena, again and again. */
#include "boundary.h"
#include <sys/mman.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct block { struct block *next; int value; };
static struct block *arena, *unused_blocks;
static int sums[2];
static struct block *take(void) {
    pthread_mutex_lock(&lock);
    struct block *block = unused_blocks;
    unused_blocks = block->next;
    pthread_mutex_unlock(&lock);
    return block;
}
static void give(struct block *block) {
    pthread_mutex_lock(&lock);
    block->next = unused_blocks;
    unused_blocks = block;
    pthread_mutex_unlock(&lock);
}
static void work(int *sum) {
    for (int i = 0; i < 4; i++) {
        struct block *block = take();
        HAND_OVER({ block->value = i; *sum += block->value; }, give(block));
    }
}
static void *first(void *unused) {
    work(&sums[0]);
    return unused;
}
static void *second(void *unused) {
    work(&sums[1]);
    return unused;
}
int main(void) {
    arena = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(arena != MAP_FAILED);
    for (int i = 0; i < 4; i++) give(&arena[i]);
    run_both(first, second);
    printf("%d %d\n", sums[0], sums[1]);
}
