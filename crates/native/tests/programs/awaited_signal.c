// A thread that waits for a signal.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static void *waiter(void *x) {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    int n;
    sigwait(&s, &n);
    printf("got %d\n", n == SIGUSR2);
    return 0;
}
int main() {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &s, 0);
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    pthread_kill(t, SIGUSR2);
    pthread_join(t, 0);
    puts("done");
    return 0;
}
