// Everything by which threads of POSIX wait for each other, used as it is meant to be.
// expect: clean
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t recursive, checked;
static pthread_cond_t never;
static sem_t free_slots;
static int table[4], initialised, spun, nested;
static atomic_int flag;
static pthread_key_t key;
static int destroyed;

static void initialise(void) { initialised++; }

static void forget(void *value) {
    pthread_mutex_lock(&recursive);
    destroyed += *(int *)value;
    pthread_mutex_unlock(&recursive);
    free(value);
}

static void nest(int depth) {
    pthread_mutex_lock(&recursive);
    nested++;
    if (depth > 0)
        nest(depth - 1);
    pthread_mutex_unlock(&recursive);
}

static void wait_in_vain(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = 0;
    until.tv_sec += 1;
    pthread_mutex_lock(&recursive);
    pthread_cond_timedwait(&never, &recursive, &until);
    pthread_mutex_unlock(&recursive);
}

static void *worker(void *argument) {
    int number = (int)(long)argument;
    int *own = malloc(sizeof *own);
    *own = 1;
    pthread_setspecific(key, own);
    pthread_once(&once, initialise);
    sem_wait(&free_slots);
    pthread_rwlock_wrlock(&table_lock);
    table[number] = number + 1;
    pthread_rwlock_unlock(&table_lock);
    sem_post(&free_slots);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    nest(2);
    pthread_barrier_wait(&barrier);
    pthread_rwlock_rdlock(&table_lock);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += table[i];
    pthread_rwlock_unlock(&table_lock);
    usleep(1000);
    return (void *)(long)sum;
}

static void *spinner(void *argument) {
    while (!atomic_load(&flag))
        ;
    return argument;
}

int main(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_cond_init(&never, NULL);
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_key_create(&key, forget);
    sem_init(&free_slots, 0, 1);
    pthread_mutex_lock(&checked);
    int again = pthread_mutex_lock(&checked);
    pthread_mutex_unlock(&checked);
    pthread_t threads[3], spinning;
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    long sums = 0;
    for (int i = 0; i < 3; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        sums += (long)sum;
    }
    pthread_create(&spinning, NULL, spinner, NULL);
    wait_in_vain();
    atomic_store(&flag, 1);
    pthread_join(spinning, NULL);
    char copy[16];
    memset(copy, 0, sizeof copy);
    strcpy(copy, "done");
    printf("%s: %ld %d %d %d %d %s\n", copy, sums, initialised, spun, nested, destroyed, strerror(again));
    return 0;
}
