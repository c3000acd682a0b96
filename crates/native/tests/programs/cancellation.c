// Threads that are cancelled while they wait: for a condition, for time, for a semaphore, for nothing.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int cleaned;
static sem_t s;
static void clean(void *x) {
    cleaned++;
    pthread_mutex_unlock(&m);
}
static void *w(void *x) {
    pthread_mutex_lock(&m);
    pthread_cleanup_push(clean, 0);
    while (1)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(1);
    return 0;
}
static void *z(void *x) {
    for (;;)
        sleep(1);
    return 0;
}
static void *y(void *x) {
    sem_wait(&s);
    return 0;
}
static void *t(void *x) {
    for (;;)
        pthread_testcancel();
    return 0;
}
static void *e(void *x) {
    pthread_exit((void *)7);
}
int main() {
    sem_init(&s, 0, 0);
    pthread_t a, b, d, f, g;
    pthread_create(&a, 0, w, 0);
    pthread_create(&b, 0, z, 0);
    pthread_create(&d, 0, y, 0);
    pthread_create(&f, 0, t, 0);
    pthread_create(&g, 0, e, 0);
    sleep(1);
    pthread_cancel(a);
    pthread_cancel(b);
    pthread_cancel(d);
    pthread_cancel(f);
    void *r1, *r2, *r3, *r4, *r5;
    pthread_join(a, &r1);
    pthread_join(b, &r2);
    pthread_join(d, &r3);
    pthread_join(f, &r4);
    pthread_join(g, &r5);
    printf("%d %d %d %d %d %ld\n", cleaned, r1 == PTHREAD_CANCELED, r2 == PTHREAD_CANCELED,
           r3 == PTHREAD_CANCELED, r4 == PTHREAD_CANCELED, (long)r5);
    return 0;
}
