// Semaphores, a barrier, a routine that runs once, a spin lock.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
static sem_t s, done;
static pthread_barrier_t b;
static int v[3], sum;
static pthread_once_t o = PTHREAD_ONCE_INIT;
static int inits;
static pthread_spinlock_t sp;
static void init(void) {
    inits++;
}
static void *w(void *x) {
    long n = (long)x;
    pthread_once(&o, init);
    v[n] = n + 1;
    int r = pthread_barrier_wait(&b);
    if (r == PTHREAD_BARRIER_SERIAL_THREAD)
        sem_post(&done);
    sem_wait(&s);
    sum += v[(n + 1) % 3];
    sem_post(&s);
    pthread_spin_lock(&sp);
    sum++;
    pthread_spin_unlock(&sp);
    pthread_barrier_wait(&b);
    return 0;
}
int main() {
    sem_init(&s, 0, 1);
    sem_init(&done, 0, 0);
    pthread_barrier_init(&b, 0, 3);
    pthread_spin_init(&sp, 0);
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, w, (void *)i);
    sem_wait(&done);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += 1;
    int r = sem_timedwait(&done, &ts);
    printf("inits %d timeout %d\n", inits, r == -1 && errno == ETIMEDOUT);
    int val;
    sem_getvalue(&s, &val);
    printf("sem %d\n", val);
    pthread_barrier_destroy(&b);
    return 0;
}
