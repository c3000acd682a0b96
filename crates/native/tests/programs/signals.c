// Handlers that wake a thread which waits, and one that a thread runs itself.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static sem_t s;
static int shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void h(int n) {
    got++;
    sem_post(&s);
}
static void *w(void *x) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&m);
        shared++;
        pthread_mutex_unlock(&m);
    }
    kill(getpid(), SIGUSR1);
    return 0;
}
int main() {
    struct sigaction a = {0};
    a.sa_handler = h;
    sigaction(SIGUSR1, &a, 0);
    sem_init(&s, 0, 0);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, w, 0);
    while (sem_wait(&s) != 0)
        ;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    raise(SIGUSR1);
    printf("shared %d got %d\n", shared, got >= 2);
    return 0;
}
