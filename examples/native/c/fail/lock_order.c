// Two threads take two locks in different orders.
// expect: deadlock
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static int moved;

static void *forward(void *argument) {
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    moved++;
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    return argument;
}

static void *backward(void *argument) {
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    moved--;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return argument;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, forward, NULL);
    pthread_create(&other, NULL, backward, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("moved %d\n", moved);
    return 0;
}
