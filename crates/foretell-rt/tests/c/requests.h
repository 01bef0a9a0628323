/* Client requests of Valgrind, as its headers make them. */
#define ROTATIONS "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
#define REQUEST ROTATIONS "xchgq %%rbx, %%rbx\n\t"
#define UNLOCKED 0x48470105
#define LOCKED 0x48470108
#define HAPPENS_BEFORE 0x48470121
#define HAPPENS_AFTER 0x48470122

static inline void request(unsigned long number, const void *object) {
    volatile unsigned long args[6] = {number, (unsigned long)object, 0, 0, 0, 0};
    unsigned long result = 0;
    __asm__ volatile(REQUEST : "+d"(result) : "a"(&args[0]) : "cc", "memory");
}
