// Asks whether there is room, and puts, in two critical sections: the queue can be overfull, which an assertion notices.
// expect: failure
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { ROOM = 2, PRODUCERS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items[ROOM];
static int used;

static int has_room(void) {
    pthread_mutex_lock(&lock);
    int found = used < ROOM;
    pthread_mutex_unlock(&lock);
    return found;
}

static void put(int item) {
    pthread_mutex_lock(&lock);
    assert(used < ROOM);
    items[used++] = item;
    pthread_mutex_unlock(&lock);
}

static void *producer(void *item) {
    if (has_room())
        put((int)(long)item);
    return NULL;
}

int main(void) {
    pthread_t threads[PRODUCERS];
    for (long i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[i], NULL, producer, (void *)i);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    printf("%d used\n", used);
    return 0;
}
