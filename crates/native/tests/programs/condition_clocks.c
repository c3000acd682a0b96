// Conditions with both clocks, with and without a wake-up.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t real = PTHREAD_COND_INITIALIZER, mono;
static int ready, q[16], head, tail;
static void *prod(void *x) {
    for (int i = 1; i <= 8; i++) {
        pthread_mutex_lock(&m);
        q[tail++] = i;
        pthread_cond_signal(&real);
        pthread_mutex_unlock(&m);
    }
    return 0;
}
static void *cons(void *x) {
    long s = 0;
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&m);
        while (head == tail) {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_sec += 1;
            pthread_cond_timedwait(&real, &m, &t);
        }
        s += q[head++];
        pthread_mutex_unlock(&m);
    }
    return (void *)s;
}
int main() {
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&mono, &a);
    pthread_t p, c1, c2;
    pthread_create(&c1, 0, cons, 0);
    pthread_create(&c2, 0, cons, 0);
    pthread_create(&p, 0, prod, 0);
    void *r1, *r2;
    pthread_join(c1, &r1);
    pthread_join(c2, &r2);
    pthread_join(p, 0);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += 2;
    pthread_mutex_lock(&m);
    int r = 0;
    while (!ready && r == 0)
        r = pthread_cond_timedwait(&mono, &m, &t);
    pthread_mutex_unlock(&m);
    printf("sum %ld timeout %d\n", (long)r1 + (long)r2, r == ETIMEDOUT);
    return 0;
}
