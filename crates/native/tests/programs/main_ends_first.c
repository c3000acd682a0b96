// Detached threads with small stacks, and one that goes on when the first thread has ended.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int left = 3;
static void *w(void *x) {
    pthread_mutex_lock(&m);
    if (--left == 0)
        pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return 0;
}
static void *last(void *x) {
    usleep(1000);
    puts("last");
    return 0;
}
int main() {
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&a, 65536);
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        pthread_create(&t, &a, w, 0);
    }
    pthread_mutex_lock(&m);
    while (left)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    puts("all");
    pthread_t t;
    pthread_create(&t, 0, last, 0);
    pthread_detach(t);
    pthread_exit(0);
}
