/* Two threads count words. Each writes documents to its buffer, splits them, and counts the words
 * in its hash table of a few megabytes. After each document it adds its counts to shared ones under
 * a lock; every few documents it offers its most frequent words to a shared list. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, SLOTS = 1 << 17, DOCUMENT = 4096, WORD = 12, BEST = 8 };

struct entry {
    unsigned hash, count;
    char word[WORD];
};

struct worker {
    unsigned state;
    struct entry *table;
    char *text;
    unsigned words, used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_document, documents;
static unsigned long total_words, total_bytes, distinct;
static struct entry best[BEST];

static unsigned next_random(struct worker *w) {
    w->state = w->state * 1664525u + 1013904223u;
    return w->state >> 8;
}

/* Frequent words are short and few, rare ones many. */
static int write_word(struct worker *w, char *to) {
    unsigned r = next_random(w), range = 1u << (4 + r % 14), n = next_random(w) % range;
    int length = 0;
    do {
        to[length++] = 'a' + n % 26;
        n /= 26;
    } while (n && length < WORD - 1);
    return length;
}

static int write_document(struct worker *w) {
    int at = 0;
    while (at < DOCUMENT - WORD) {
        at += write_word(w, w->text + at);
        w->text[at++] = ' ';
    }
    w->text[at] = 0;
    return at;
}

static struct entry *find(struct worker *w, const char *word, int length, unsigned hash) {
    for (unsigned slot = hash;; slot++) {
        struct entry *e = &w->table[slot % SLOTS];
        if (e->count == 0 || (e->hash == hash && !memcmp(e->word, word, length) && !e->word[length])) return e;
    }
}

static void count_word(struct worker *w, const char *word, int length) {
    unsigned hash = 2166136261u;
    for (int i = 0; i < length; i++) hash = (hash ^ word[i]) * 16777619u;
    struct entry *e = find(w, word, length, hash);
    if (e->count++ == 0) {
        e->hash = hash;
        memcpy(e->word, word, length);
        e->word[length] = 0;
        w->used++;
    }
    w->words++;
}

static void read_document(struct worker *w) {
    const char *p = w->text;
    while (*p) {
        const char *start = p;
        while (*p != ' ') p++;
        count_word(w, start, p - start);
        p++;
    }
}

static void offer(const struct entry *e) {
    int at = BEST;
    while (at > 0 && best[at - 1].count < e->count) at--;
    if (at == BEST) return;
    for (int i = BEST - 1; i > at; i--) best[i] = best[i - 1];
    best[at] = *e;
}

static void *work(void *number) {
    struct worker w = { .state = (unsigned)(size_t)number };
    w.table = calloc(SLOTS, sizeof *w.table);
    w.text = malloc(DOCUMENT);
    for (;;) {
        pthread_mutex_lock(&lock);
        int document = next_document < documents ? next_document++ : -1;
        pthread_mutex_unlock(&lock);
        if (document < 0) break;
        int bytes = write_document(&w);
        read_document(&w);
        pthread_mutex_lock(&lock);
        total_bytes += bytes;
        total_words += w.words;
        w.words = 0;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    distinct += w.used;
    for (int i = 0; i < SLOTS; i += 64)
        if (w.table[i].count > 20) offer(&w.table[i]);
    pthread_mutex_unlock(&lock);
    free(w.text);
    free(w.table);
    return NULL;
}

int main(int argc, char **argv) {
    documents = argc > 1 ? atoi(argv[1]) : 3000;
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)(t + 1));
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%lu %lu\n", total_words > 0 ? 1ul : 0ul, (unsigned long)(total_bytes > total_words));
    return distinct == 0;
}
