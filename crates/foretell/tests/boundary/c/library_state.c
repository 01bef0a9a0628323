/* State of the C library and of others that orders threads, under a mutex. STATE 1: strtok_r,
 * 2: twalk, 3: lfind, 4: hsearch_r, 5: putenv, 6: regex, 7: glob, 8: iconv, 9: getdelim, 10:
 * fmemopen, 11: ungetc, 12: setvbuf, 13: tmpfile, 14: open_memstream, 15: obstack, 16: argz,
 * 17: qsort_r, 18: random_r, 19: wide stream, 20: insque, 21: freopen, 22: fscanf, 23: zlib,
 * 24: bz2, 25: getopt, 26: nl_langinfo, 27: ftw, 28: vsnprintf, 29: asprintf, 30: strdup and
 * strsep, 31: getaddrinfo, 32: envz, 33: fopencookie, 34: wordexp. */
#include "boundary.h"
#include <argz.h>
#include <envz.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <obstack.h>
#include <regex.h>
#include <search.h>
#include <stdarg.h>
#include <wchar.h>
#include <wordexp.h>
#if STATE == 23
#include <zlib.h>
#elif STATE == 24
#include <bzlib.h>
#endif
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free
static int data, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void setup(void) {}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
/* put() changes the state; got() tells whether it has been changed. */
#if STATE == 1
static char text[] = "a b", *rest;
static void put(void) { MUST(strtok_r(text, " ", &rest)); }
static int got(void) { return rest && strcmp(strtok_r(NULL, " ", &rest), "b") == 0; }
#elif STATE == 2
static void *root;
static int keys[3] = {3, 1, 2}, visited;
static void visit(const void *node, VISIT which, int depth) {
    (void)node;
    (void)depth;
    visited += which == leaf || which == postorder;
}
static void put(void) { for (int i = 0; i < 3; i++) tsearch(&keys[i], &root, compare); }
static int got(void) { visited = 0; twalk(root, visit); return visited == 3; }
#elif STATE == 3
static int array[4];
static size_t n;
static void put(void) { int key = 7; lsearch(&key, array, &n, sizeof *array, compare); }
static int got(void) { int key = 7; return lfind(&key, array, &n, sizeof *array, compare) != NULL; }
#elif STATE == 4
static struct hsearch_data table;
#define setup real_setup
static void setup(void) { hcreate_r(8, &table); }
static void put(void) { ENTRY e = {"k", "v"}, *r; hsearch_r(e, ENTER, &r, &table); }
static int got(void) { ENTRY e = {"k", NULL}, *r; return hsearch_r(e, FIND, &r, &table); }
#elif STATE == 5
static void put(void) { putenv("BOUNDARY=1"); }
static int got(void) { return getenv("BOUNDARY") != NULL; }
#elif STATE == 6
static regex_t *pattern;
static void put(void) {
    pattern = malloc(sizeof *pattern);
    MUST(regcomp(pattern, "a(b+)c", REG_EXTENDED) == 0);
}
static int got(void) {
    regmatch_t m[2];
    if (!pattern) return 0;
    int r = regexec(pattern, "xabbc", 2, m, 0) == 0;
    regfree(pattern);
    free(pattern);
    return r;
}
#elif STATE == 7
static glob_t found;
static void put(void) { MUST(glob("/dev/nul*", 0, NULL, &found) == 0); }
static int got(void) {
    if (!found.gl_pathc) return 0;
    int r = strcmp(found.gl_pathv[0], "/dev/null") == 0;
    globfree(&found);
    return r;
}
#elif STATE == 8
static iconv_t conversion;
static void put(void) { conversion = iconv_open("UTF-16LE", "UTF-8"); }
static int got(void) {
    if (!conversion) return 0;
    char in[] = "ab", out[8], *i = in, *o = out;
    size_t n = 2, m = 8;
    iconv(conversion, &i, &n, &o, &m);
    iconv_close(conversion);
    return m == 4;
}
#elif STATE == 9 || STATE == 11 || STATE == 12 || STATE == 13 || STATE == 21 || STATE == 22
static FILE *file;
static char buffer[256];
#define setup real_setup
static void setup(void) {
    MUST((file = tmpfile()));
#if STATE == 12
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
#elif STATE == 21
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    MUST((file = freopen(path, "r+", file)));
#endif
}
static void put(void) { fputs("7 x;rest", file); rewind(file); }
static int got(void) {
#if STATE == 9
    char *line = NULL;
    size_t n = 0;
    int r = getdelim(&line, &n, ';', file) == 4;
    free(line);
    return r;
#elif STATE == 11
    int c = getc(file);
    if (c == EOF) { clearerr(file); return 0; }
    ungetc('9', file);
    return getc(file) == '9';
#else
    int n = 0;
    if (fscanf(file, "%d", &n) == 1) return n == 7;
    clearerr(file);
    return 0;
#endif
}
#elif STATE == 10
static char memory[32];
static FILE *file;
#define setup real_setup
static void setup(void) { file = fmemopen(memory, sizeof memory, "w+"); }
static void put(void) { fprintf(file, "%d", 42); fflush(file); }
static int got(void) { return memory[0] == '4'; }
#elif STATE == 14
static char *text;
static size_t length;
static void put(void) {
    FILE *f = open_memstream(&text, &length);
    fprintf(f, "%s", "hello");
    fclose(f);
}
static int got(void) {
    int r = length == 5 && strcmp(text, "hello") == 0;
    if (r) free(text);
    return r;
}
#elif STATE == 15
static struct obstack stack;
#define setup real_setup
static void setup(void) { obstack_init(&stack); }
static char *top;
static void put(void) { top = obstack_copy0(&stack, "hello", 5); }
static int got(void) { return top && strcmp(top, "hello") == 0; }
#elif STATE == 16
static char *argz;
static size_t length;
static void put(void) { argz_create_sep("a:b:c", ':', &argz, &length); }
static int got(void) { return argz_count(argz, length) == 3; }
#elif STATE == 17
static int array[3] = {3, 1, 2};
static int by(const void *a, const void *b, void *count) { ++*(int *)count; return compare(a, b); }
static void put(void) { int n = 0; qsort_r(array, 3, sizeof *array, by, &n); }
static int got(void) { return array[0] == 1; }
#elif STATE == 18
static struct random_data state;
static char bytes[64];
static int32_t first;
static void put(void) { initstate_r(7, bytes, sizeof bytes, &state); random_r(&state, &first); }
static int got(void) {
    int32_t next;
    if (!first) return 0;
    random_r(&state, &next);
    return next != first;
}
#elif STATE == 19
static wchar_t *text;
static size_t length;
static void put(void) { FILE *f = open_wmemstream(&text, &length); fputws(L"hello", f); fclose(f); }
static int got(void) { return length == 5 && wcscmp(text, L"hello") == 0; }
#elif STATE == 20
struct element { struct element *next, *before; int value; };
static struct element head;
static void put(void) { struct element *e = calloc(1, sizeof *e); e->value = 7; insque(e, &head); }
static int got(void) {
    struct element *e = head.next;
    if (!e) return 0;
    remque(e);
    int r = e->value == 7;
    free(e);
    return r;
}
#elif STATE == 23
static z_stream stream;
static unsigned char packed[256], text[] = "a text that is a text that is a text";
static unsigned long length;
#define setup real_setup
static void setup(void) { MUST(deflateInit(&stream, 6) == Z_OK); }
static void put(void) {
    stream.next_in = text, stream.avail_in = sizeof text, stream.next_out = packed,
        stream.avail_out = sizeof packed;
    MUST(deflate(&stream, Z_SYNC_FLUSH) == Z_OK);
    length = stream.total_out;
}
static int got(void) {
    if (!length) return 0;
    stream.avail_in = 0;
    MUST(deflate(&stream, Z_FINISH) == Z_STREAM_END && deflateEnd(&stream) == Z_OK);
    unsigned char out[64];
    unsigned long n = sizeof out;
    return uncompress(out, &n, packed, stream.total_out) == Z_OK && n == sizeof text;
}
#elif STATE == 24
static bz_stream stream;
static char packed[1024], text[] = "a text that is a text that is a text";
static int ready;
#define setup real_setup
static void setup(void) { MUST(BZ2_bzCompressInit(&stream, 1, 0, 0) == BZ_OK); }
static void put(void) {
    stream.next_in = text, stream.avail_in = sizeof text, stream.next_out = packed,
        stream.avail_out = sizeof packed;
    MUST(BZ2_bzCompress(&stream, BZ_RUN) == BZ_RUN_OK);
    ready = 1;
}
static int got(void) {
    if (!ready) return 0;
    MUST(BZ2_bzCompress(&stream, BZ_FINISH) == BZ_STREAM_END);
    int n = stream.total_out_lo32;
    return BZ2_bzCompressEnd(&stream) == BZ_OK && n > 0;
}
#elif STATE == 25
static void put(void) {
    char *arguments[] = {"p", "-a", "b", NULL};
    MUST(getopt(3, arguments, "a") == 'a');
}
static int got(void) { return optind == 2; }
#elif STATE == 26
static locale_t mine;
static void put(void) { mine = newlocale(LC_ALL_MASK, "C", (locale_t)0); }
static int got(void) {
    if (!mine) return 0;
    int r = nl_langinfo_l(RADIXCHAR, mine)[0] == '.';
    freelocale(mine);
    return r;
}
#elif STATE == 27
static char directory[] = "/tmp/boundary-XXXXXX";
static int entries;
static int each(const char *p, const struct stat *s, int f) {
    (void)p;
    (void)s;
    (void)f;
    entries++;
    return 0;
}
#define setup real_setup
static void setup(void) { MUST(mkdtemp(directory)); }
static void put(void) {
    char p[64];
    snprintf(p, sizeof p, "%s/x", directory);
    MUST(mkdir(p, 0700) == 0);
}
static int got(void) {
    entries = 0;
    ftw(directory, each, 4);
    if (entries == 2) {
        char p[64];
        snprintf(p, sizeof p, "%s/x", directory);
        rmdir(p);
        rmdir(directory);
    }
    return entries == 2;
}
#elif STATE == 28
static char text[64];
static void format(const char *f, ...) {
    va_list l;
    va_start(l, f);
    vsnprintf(text, sizeof text, f, l);
    va_end(l);
}
static void put(void) { format("%d-%s", 7, "x"); }
static int got(void) { int n; char c; return sscanf(text, "%d-%c", &n, &c) == 2 && n == 7; }
#elif STATE == 29
static char *text;
static void put(void) { MUST(asprintf(&text, "%s-%d", "a text that is long", 7) > 0); }
static int got(void) {
    if (!text) return 0;
    int r = strtol(strrchr(text, '-') + 1, NULL, 10) == 7;
    free(text);
    return r;
}
#elif STATE == 30
static char *text;
static void put(void) { text = strdup("a:b"); }
static int got(void) {
    if (!text) return 0;
    char *rest = text, *first = strsep(&rest, ":");
    int r = strcmp(first, "a") == 0 && strcmp(rest, "b") == 0;
    free(text);
    return r;
}
#elif STATE == 31
static struct addrinfo *list;
static void put(void) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    MUST(getaddrinfo("127.0.0.1", "80", &hints, &list) == 0);
}
static int got(void) {
    if (!list) return 0;
    int r = list->ai_family == 2;
    freeaddrinfo(list);
    return r;
}
#elif STATE == 32
static char *vector;
static size_t length;
static void put(void) { envz_add(&vector, &length, "key", "value"); }
static int got(void) {
    char *v = envz_get(vector, length, "key");
    return v && strcmp(v, "value") == 0;
}
#elif STATE == 33
static char store[64];
static size_t stored;
static ssize_t keep(void *c, const char *b, size_t n) {
    (void)c;
    memcpy(store + stored, b, n);
    stored += n;
    return n;
}
static FILE *file;
#define setup real_setup
static void setup(void) {
    cookie_io_functions_t f = {.write = keep};
    file = fopencookie(NULL, "w", f);
}
static void put(void) { fputs("hello", file); fflush(file); }
static int got(void) { return stored == 5 && memcmp(store, "hello", 5) == 0; }
#elif STATE == 34
static wordexp_t words;
static void put(void) { MUST(wordexp("a 'b c'", &words, WRDE_NOCMD) == 0); }
static int got(void) {
    if (words.we_wordc != 2) return 0;
    int r = strcmp(words.we_wordv[1], "b c") == 0;
    wordfree(&words);
    return r;
}
#endif
static void *producer(void *unused) {
    HAND_OVER(data = 42, { pthread_mutex_lock(&lock); put(); pthread_mutex_unlock(&lock); });
    return unused;
}
static void *consumer(void *unused) {
    for (int done = 0; !done; sched_yield()) {
        pthread_mutex_lock(&lock);
        done = got();
        pthread_mutex_unlock(&lock);
    }
    seen = data;
    return unused;
}
int main(void) {
    (void)compare;
    setup();
    run_both(producer, consumer);
    printf("%d\n", seen);
}
