// Mutexes of all types, a robust one whose owner dies, and ones with a time limit.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t normal, recursive, check, robust, timed = PTHREAD_MUTEX_INITIALIZER;
static int a, b, c, d;
static void *worker(void *x) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&normal);
        a++;
        pthread_mutex_unlock(&normal);
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        b++;
        pthread_mutex_unlock(&recursive);
        b++;
        pthread_mutex_unlock(&recursive);
        pthread_mutex_lock(&check);
        if (pthread_mutex_lock(&check) != EDEADLK)
            printf("bad\n");
        c++;
        pthread_mutex_unlock(&check);
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += 5;
        if (pthread_mutex_timedlock(&timed, &t) == 0) {
            d++;
            pthread_mutex_unlock(&timed);
        }
    }
    return 0;
}
static void *dies(void *x) {
    pthread_mutex_lock(&robust);
    return 0;
}
int main() {
    pthread_mutexattr_t at;
    pthread_mutexattr_init(&at);
    pthread_mutex_init(&normal, &at);
    pthread_mutexattr_settype(&at, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &at);
    pthread_mutexattr_settype(&at, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&check, &at);
    pthread_mutexattr_settype(&at, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&at, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &at);
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, worker, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    pthread_t z;
    pthread_create(&z, 0, dies, 0);
    pthread_join(z, 0);
    int r = pthread_mutex_lock(&robust);
    printf("owner dead %d\n", r == EOWNERDEAD);
    if (r == EOWNERDEAD)
        pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
    printf("unlock other: %d\n", pthread_mutex_unlock(&check) == EPERM);
    struct timespec past = {1, 0};
    pthread_mutex_lock(&timed);
    printf("timed self: %d\n", pthread_mutex_timedlock(&timed, &past) == ETIMEDOUT);
    pthread_mutex_unlock(&timed);
    printf("%d %d %d %d\n", a, b, c, d);
    return 0;
}
