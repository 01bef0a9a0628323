/* Client requests of Valgrind: every register but the result is as before. The library that is
   loaded makes requests, too, the first one as it is loaded. */
#include "check.h"
#include "requests.h"
#include <dlfcn.h>
#include <immintrin.h>

static long lock;

/* Sets registers and memory below the stack pointer, makes a request, and returns how many of them
   have changed. */
static long changed(unsigned long *args) {
    long changes = 0;
    __asm__ volatile(
        "mov %1, %%rax\n\t"
        "mov $0x1001, %%rcx\n\t mov $0x1002, %%rsi\n\t mov $0x1003, %%rdi\n\t"
        "mov $0x1004, %%r8\n\t mov $0x1005, %%r9\n\t mov $0x1006, %%r10\n\t"
        "mov $0x1007, %%r11\n\t mov $0x1008, %%r12\n\t mov $0x1009, %%rbx\n\t"
        "movl $0x2001, -4(%%rsp)\n\t movl $0x2002, -128(%%rsp)\n\t"
        "movq %%rcx, %%xmm0\n\t movq %%rsi, %%xmm15\n\t"
        "mov $77, %%rdx\n\t"
        REQUEST
        "xor %%r13, %%r13\n\t"
        "cmp $77, %%rdx\n\t setne %%r13b\n\t"
        "xor %%rdx, %%rdx\n\t"
        "cmp %1, %%rax\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1001, %%rcx\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1002, %%rsi\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1003, %%rdi\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1004, %%r8\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1005, %%r9\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1006, %%r10\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1007, %%r11\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1008, %%r12\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1009, %%rbx\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmpl $0x2001, -4(%%rsp)\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmpl $0x2002, -128(%%rsp)\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "movq %%xmm0, %%rcx\n\t movq %%xmm15, %%rsi\n\t"
        "cmp $0x1001, %%rcx\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "cmp $0x1002, %%rsi\n\t setne %%dl\n\t add %%rdx, %%r13\n\t"
        "mov %%r13, %0\n\t"
        : "=r"(changes)
        : "r"(args)
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "xmm0",
          "xmm15", "cc", "memory");
    return changes;
}

/* The high halves of the vector registers. */
__attribute__((target("avx"))) static int wide_changed(unsigned long *args) {
    double in[4] = {1, 2, 3, 4}, out[4];
    unsigned long result = 0;
    __asm__ volatile("vmovupd %2, %%ymm7\n\t" REQUEST "vmovupd %%ymm7, %1\n\t vzeroupper"
                     : "+d"(result), "=m"(out)
                     : "m"(in), "a"(args)
                     : "xmm7", "cc", "memory");
    return memcmp(in, out, sizeof in) != 0;
}

/* A sequence that only Valgrind itself uses stays as it is. */
static unsigned long untouched(void) {
    unsigned long rax = 5;
    __asm__ volatile(ROTATIONS "xchgq %%rcx, %%rcx" : "+a"(rax) : : "cc", "memory");
    return rax;
}

int main(int argc, char **argv) {
    unsigned long requests[][6] = {
        {LOCKED, (unsigned long)&lock},
        {UNLOCKED, (unsigned long)&lock},
        {HAPPENS_BEFORE, (unsigned long)&lock},
        {HAPPENS_AFTER, (unsigned long)&lock},
        {0x1001},
    };
    for (int i = 0; i < 5; i++) {
        CHECK(changed(requests[i]) == 0);
        if (__builtin_cpu_supports("avx"))
            CHECK(wide_changed(requests[i]) == 0);
    }
    CHECK(untouched() == 5);
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    void (*use)(void) = dlsym(library, "use");
    use();
    printf("ok\n");
    return 0;
}
