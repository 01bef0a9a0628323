/* Functions that give out, read and write memory: the results are the library's. */
#include "check.h"
#include <malloc.h>
#include <strings.h>

static char a[600], b[600];

int main(void) {
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
    strcpy(b, "one");
    strcat(b, " two");
    strncat(b, " three four", 6);
    CHECK(strcmp(b, "one two three") == 0 && strstr(b, "two") == b + 4);
    CHECK(stpcpy(b, "ab") == b + 2 && strchr(b, 'b') == b + 1 && strrchr(b, 'a') == b);
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
    printf("ok\n");
    return 0;
}
