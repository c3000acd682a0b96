// The count is atomic, but dropping it and looking at it are two steps: nobody, or both, may free the object.
// expect: violation of drop on count
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int count = 2;
static atomic_int freed;

static void drop(void) {
    atomic_fetch_sub(&count, 1);
    if (atomic_load(&count) == 0)
        atomic_fetch_add(&freed, 1);
}

static void *user(void *argument) {
    drop();
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, user, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("freed %d times\n", freed);
    return 0;
}
