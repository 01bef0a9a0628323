/* Functions that give out, read and write memory: the results are the library's. */
#include "check.h"
#include <sys/random.h>
#include <malloc.h>
#include <search.h>
#include <strings.h>
#include <sys/mman.h>

void *__memcpy_chk(void *, const void *, size_t, size_t), *__memmove_chk(void *, const void *, size_t, size_t);
void *__memset_chk(void *, int, size_t, size_t), *__mempcpy_chk(void *, const void *, size_t, size_t);
char *__strcpy_chk(char *, const char *, size_t), *__stpcpy_chk(char *, const char *, size_t);
char *__strncpy_chk(char *, const char *, size_t, size_t), *__strcat_chk(char *, const char *, size_t);
char *__strncat_chk(char *, const char *, size_t, size_t);

static char a[600], b[600];

/* The functions that the compiler calls when it checks the sizes of buffers. */
static void checked(void) {
    CHECK(__memset_chk(a, 'y', 20, 600) == a && a[19] == 'y');
    CHECK(__memcpy_chk(b, a, 20, 600) == b && b[19] == 'y');
    CHECK(__memmove_chk(b + 1, b, 20, 599) == b + 1 && b[20] == 'y');
    CHECK(__mempcpy_chk(b, "ab", 3, 600) == b + 3 && strcmp(b, "ab") == 0);
    CHECK(__strcpy_chk(b, "one", 4) == b && __stpcpy_chk(b, "two", 4) == b + 3);
    CHECK(__strcat_chk(b, "!", 5) == b && __strncat_chk(b, "?!", 1, 6) == b);
    CHECK(strcmp(b, "two!?") == 0 && __strncpy_chk(b, "x", 3, 600) == b && b[2] == 0);
}

static int ascending(const void *x, const void *y) { return *(const char *)x - *(const char *)y; }
static int by_sign(const void *x, const void *y, void *sign) {
    return ascending(x, y) * *(int *)sign;
}

/* Functions that call back the program. */
static void sorted(void) {
    char text[] = "dbca";
    int down = -1;
    qsort(text, 4, 1, ascending);
    CHECK(strcmp(text, "abcd") == 0);
    qsort_r(text, 4, 1, by_sign, &down);
    CHECK(strcmp(text, "dcba") == 0);
    qsort(text, 0, 1, ascending);
    void *tree = NULL;
    for (int i = 0; i < 4; i++) CHECK(**(char **)tsearch(text + i, &tree, ascending) == text[i]);
    CHECK(*(char **)tfind("c", &tree, ascending) == text + 1 && !tfind("z", &tree, ascending));
    for (int i = 0; i < 4; i++) CHECK(tdelete(text + i, &tree, ascending));
    CHECK(tree == NULL && tfind("c", &tree, ascending) == NULL);
}

/* Memory by hand. */
static void mapped(void) {
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *q = mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[8191] = *q = 1;
    p = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
    CHECK(p != MAP_FAILED && p[8191] == 1 && munmap(q, 4096) == 0);
    CHECK(mprotect(p, 4096, PROT_READ) == 0 && munmap(p, 1 << 20) == 0);
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
}

int main(void) {
    char *volatile one = b; /* or the compiler takes a shorter way */
    memset(a, 'x', 599);
    memcpy(b, a, 600);
    CHECK(memcmp(a, b, 600) == 0 && memchr(a, 0, 600) == a + 599);
    memmove(a + 1, a, 100);
    memmove(a, a + 1, 100);
    CHECK(strlen(a) == 599 && strnlen(a, 10) == 10 && strlen("") == 0);
    for (int i = 0; i < 26; i++)
        a[i] = 'a' + i;
    a[26] = 0;
    memmove(a + 3, a, 10);
    CHECK(strcmp(a, "abcabcdefghijnopqrstuvwxyz") == 0);
    memmove(a, a + 3, 10);
    CHECK(strncmp(a, "abcdefghij", 10) == 0);
    strcpy(one, "one");
    strcat(one, " two");
    strncat(b, " three four", 6);
    CHECK(strcmp(b, "one two three") == 0 && strstr(b, "two") == b + 4);
    CHECK(stpcpy(one, "ab") == b + 2 && strchr(b, 'b') == b + 1 && strrchr(b, 'a') == b);
    strncpy(b, "xyz", 10);
    CHECK(b[3] == 0 && b[9] == 0 && strcasecmp(b, "XYZ") == 0 && strncasecmp(b, "XYa", 2) == 0);
    char *d = strdup("copy"), *e = strndup("copy", 2);
    CHECK(strcmp(d, "copy") == 0 && strcmp(e, "co") == 0);
    free(d);
    free(e);
    int *p = malloc(40), *q = calloc(10, 4);
    CHECK(q[9] == 0);
    p[9] = 5;
    p = realloc(p, 4000);
    CHECK(p[9] == 5);
    p = reallocarray(p, 10, 4);
    CHECK(reallocarray(NULL, (size_t)-1, 16) == NULL && errno == ENOMEM);
    free(p);
    free(q);
    void *r = memalign(64, 10), *s = aligned_alloc(128, 128), *t;
    CHECK((size_t)r % 64 == 0 && (size_t)s % 128 == 0);
    CHECK(posix_memalign(&t, 256, 10) == 0 && (size_t)t % 256 == 0);
    CHECK(posix_memalign(&t, 3, 10) == EINVAL);
    free(r);
    free(s);
    free(t);
    r = valloc(10), s = pvalloc(10);
    CHECK((size_t)r % 4096 == 0 && (size_t)s % 4096 == 0);
    free(r);
    free(s);
    strcpy(one, "a-b-c");
    CHECK(memrchr(b, '-', 5) == b + 3 && memmem(b, 5, "b-", 2) == b + 2);
    CHECK(mempcpy(b + 5, "de", 3) == b + 8 && stpncpy(b + 7, "f", 2) == b + 8);
    CHECK(strcmp(b, "a-b-cdef") == 0 && strcasestr(b, "CDE") == b + 4);
    CHECK(strchrnul(b, 'z') == b + 8 && strspn(b, "-ab") == 4 && strcspn(b, "c") == 4);
    CHECK(strpbrk(b, "dc") == b + 4);
    CHECK(getrandom(b, 8, 0) == 8);
    checked();
    sorted();
    mapped();
    printf("ok\n");
    return 0;
}
