/* A signal handler posts the semaphore that the workers wait for. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static sem_t go;
static void on_alarm(int n) { (void)n; sem_post(&go); sem_post(&go); }
static void *worker(void *unused)
{
    while (sem_wait(&go) != 0) { }
    return unused;
}
int main(void)
{
    pthread_t a, b;
    sem_init(&go, 0, 1);
    signal(SIGALRM, on_alarm);
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    ualarm(20000, 0);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
