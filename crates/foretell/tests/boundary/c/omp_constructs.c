/* OpenMP. CONSTRUCT 1: dependences of tasks, 2: taskgroup, 3: lastprivate, 4: copyprivate, 5:
 * nested lock, 6: dynamic schedule, 7: threadprivate, 8: doacross, 9: nested regions, 10: flag
 * with atomics, 11: taskloop, 12: master and barrier, 13: named criticals, 14: array reduction,
 * 15: capture, 16: sections and firstprivate, 17: user reduction, 18: for nowait on the same
 * schedule, 19: heap in tasks, 20: pthread beside OpenMP. */
#include "boundary.h"
#include <omp.h>
static int values[64], sum, first, second;
#if CONSTRUCT == 7
static int own;
#pragma omp threadprivate(own)
#endif
static void *beside(void *u) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 8; i++) values[i] = i;
    return u;
}
int main(void) {
    (void)beside;
#if CONSTRUCT == 1
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task depend(out: first)
        first = 40;
#ifdef BUG
#pragma omp task
#else
#pragma omp task depend(in: first) depend(out: second)
#endif
        second = first + 2;
#pragma omp taskwait
        sum = second;
    }
#elif CONSTRUCT == 2
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#ifndef BUG
#pragma omp taskgroup
#endif
        {
#pragma omp task
            values[0] = 42;
        }
        sum = values[0];
    }
#elif CONSTRUCT == 3
    int last = 0;
#pragma omp parallel for lastprivate(last) num_threads(3)
    for (int i = 0; i < 43; i++) last = i;
    sum = last;
#elif CONSTRUCT == 4
#pragma omp parallel num_threads(3)
    {
        int *p;
#pragma omp single copyprivate(p)
        { p = malloc(sizeof *p); *p = 14; }
#pragma omp atomic
        sum += *p;
#pragma omp barrier
#pragma omp single
        free(p);
    }
#elif CONSTRUCT == 5
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 14; i++) {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        sum++;
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
    }
    omp_destroy_nest_lock(&lock);
#elif CONSTRUCT == 6
#pragma omp parallel for schedule(dynamic, 2) reduction(+: sum) num_threads(3)
    for (int i = 0; i < 42; i++) { values[i] = i; sum++; }
#elif CONSTRUCT == 7
#pragma omp parallel num_threads(3)
    {
        own = 14;
#pragma omp critical
        sum += own;
    }
#elif CONSTRUCT == 8
#pragma omp parallel for ordered(1) num_threads(3)
    for (int i = 1; i < 42; i++) {
#pragma omp ordered depend(sink: i - 1)
        values[i] = values[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    sum = values[41] + 1;
#elif CONSTRUCT == 9
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int local = 0;
#pragma omp parallel num_threads(2) reduction(+: local)
        local += 10;
#pragma omp critical
        sum += local;
    }
    sum += 2;
#elif CONSTRUCT == 10
    int flag = 0;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            first = 42;
#pragma omp atomic write seq_cst
            flag = 1;
        }
#pragma omp section
        {
            for (int f = 0; !f;) {
#pragma omp atomic read seq_cst
                f = flag;
            }
            sum = first;
        }
    }
#elif CONSTRUCT == 11
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskloop grainsize(4)
    for (int i = 0; i < 42; i++) values[i] = 1;
    for (int i = 0; i < 42; i++) sum += values[i];
#elif CONSTRUCT == 12
#pragma omp parallel num_threads(3)
    {
#pragma omp master
        first = 14;
#ifndef BUG
#pragma omp barrier
#endif
#pragma omp atomic update
        sum += first;
    }
#elif CONSTRUCT == 13
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 7; i++) {
#pragma omp critical(a)
        first++;
#pragma omp critical(b)
        second++;
    }
    sum = first + second;
#elif CONSTRUCT == 14
    int parts[2] = {0, 0};
#pragma omp parallel for reduction(+: parts[:2]) num_threads(3)
    for (int i = 0; i < 42; i++) parts[i % 2]++;
    sum = parts[0] + parts[1];
#elif CONSTRUCT == 15
    int next = 0;
#pragma omp parallel num_threads(3)
    for (;;) {
        int mine;
#pragma omp atomic capture
        mine = next++;
        if (mine >= 42) break;
        values[mine] = 1;
    }
    for (int i = 0; i < 42; i++) sum += values[i];
#elif CONSTRUCT == 16
    int base = 20;
#pragma omp parallel sections firstprivate(base) num_threads(2)
    {
#pragma omp section
        first = base + 1;
#pragma omp section
        second = base + 1;
    }
    sum = first + second;
#elif CONSTRUCT == 17
#pragma omp declare reduction(most: int: omp_out = omp_in > omp_out ? omp_in : omp_out) \
    initializer(omp_priv = 0)
#pragma omp parallel for reduction(most: sum) num_threads(3)
    for (int i = 0; i < 43; i++) if (i > sum) sum = i;
#elif CONSTRUCT == 18
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < 42; i++) values[i] = 1;
#pragma omp for schedule(static) reduction(+: sum)
        for (int i = 0; i < 42; i++) sum += values[i];
    }
#elif CONSTRUCT == 19
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < 6; i++) {
        int *p = malloc(sizeof *p);
        *p = 7;
#pragma omp task firstprivate(p)
        {
#pragma omp critical
            sum += *p;
            free(p);
        }
    }
#elif CONSTRUCT == 20
    pthread_t t;
    pthread_create(&t, NULL, beside, NULL);
    FORGOTTEN(pthread_join(t, NULL));
    beside(NULL);
    sum = values[7] + 35;
#endif
    printf("%d\n", sum);
}
