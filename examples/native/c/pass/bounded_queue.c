// A queue with two conditions: who waits asks again, and asking and acting are one critical section.
// expect: clean
#include <pthread.h>
#include <stdio.h>

enum { ROOM = 1, ITEMS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int items[ROOM];
static int used;

static void put(int item) {
    pthread_mutex_lock(&lock);
    while (used == ROOM)
        pthread_cond_wait(&not_full, &lock);
    items[used++] = item;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static int take(void) {
    pthread_mutex_lock(&lock);
    while (used == 0)
        pthread_cond_wait(&not_empty, &lock);
    int item = items[--used];
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return item;
}

static void *producer(void *argument) {
    for (int i = 1; i <= ITEMS; i++)
        put(i);
    return argument;
}

int main(void) {
    pthread_t thread;
    int sum = 0;
    pthread_create(&thread, NULL, producer, NULL);
    for (int i = 0; i < ITEMS; i++)
        sum += take();
    pthread_join(thread, NULL);
    printf("sum %d\n", sum);
    return 0;
}
