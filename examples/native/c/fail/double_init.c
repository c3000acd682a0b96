// Looks under a lock, and initialises under the lock without looking again: two threads can do so.
// expect: violation of get_config on config
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
    int limit;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *config;
static int loaded;

static struct config *look(void) {
    pthread_mutex_lock(&lock);
    struct config *found = config;
    pthread_mutex_unlock(&lock);
    return found;
}

static void load(void) {
    struct config *fresh = malloc(sizeof *fresh);
    fresh->limit = 7;
    pthread_mutex_lock(&lock);
    config = fresh;
    loaded++;
    pthread_mutex_unlock(&lock);
}

static int get_config(void) {
    if (!look())
        load();
    return look()->limit;
}

static void *worker(void *argument) {
    get_config();
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("loaded %d\n", loaded);
    return 0;
}
