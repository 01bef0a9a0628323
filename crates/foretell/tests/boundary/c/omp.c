/* OpenMP. CONSTRUCT 1: critical, 2: barrier, 3: reduction, 4: tasks, 5: ordered, 6: single and
   sections, 7: locks, 8: atomic and parallel for, 9: taskwait. */
#include "boundary.h"
#include <omp.h>
int data, seen, parts[4];
int main(void) {
    omp_set_num_threads(2);
#if CONSTRUCT == 1
#pragma omp parallel
    for (int i = 0; i < 1000; i++) {
#ifndef BUG
#pragma omp critical
#endif
        data++;
    }
    seen = data;
#elif CONSTRUCT == 2
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        parts[me] = 21;
#ifndef BUG
#pragma omp barrier
#endif
        int other = parts[1 - me];
#pragma omp critical
        seen += other;
    }
#elif CONSTRUCT == 3
#ifdef BUG
#pragma omp parallel for
#else
#pragma omp parallel for reduction(+ : data)
#endif
    for (int i = 0; i < 2000; i++) data += 1;
    seen = data;
#elif CONSTRUCT == 4
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 4; i++) {
#ifdef BUG
#pragma omp task
#else
#pragma omp task depend(inout : data)
#endif
        for (int k = 0; k < 500; k++) data++;
    }
    seen = data;
#elif CONSTRUCT == 5
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 300; k++) parts[i]++;
#ifndef BUG
#pragma omp ordered
#endif
        data = data * 10 + i;
    }
    seen = data;
#elif CONSTRUCT == 6
#pragma omp parallel
    {
#ifdef BUG
#pragma omp single nowait
#else
#pragma omp single
#endif
        data = 21;
#pragma omp sections
        {
#pragma omp section
            parts[0] = data;
#pragma omp section
            parts[1] = data;
        }
    }
    seen = parts[0] + parts[1];
#elif CONSTRUCT == 7
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
        FORGOTTEN(omp_set_lock(&lock));
        data++;
        FORGOTTEN(omp_unset_lock(&lock));
    }
    omp_destroy_lock(&lock);
    seen = data;
#elif CONSTRUCT == 8
#pragma omp parallel for
    for (int i = 0; i < 2000; i++) {
#ifndef BUG
#pragma omp atomic
#endif
        data++;
    }
    seen = data;
#else
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        for (int k = 0; k < 300; k++) data++;
#ifndef BUG
#pragma omp taskwait
#endif
        for (int k = 0; k < 1500; k++) parts[0]++;
        seen = data;
    }
#endif
    printf("%d\n", seen);
}
