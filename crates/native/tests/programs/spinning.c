// Threads that wait by asking again.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_flag l = ATOMIC_FLAG_INIT;
static atomic_int go, turn;
static int n;
static void *w(void *x) {
    while (!atomic_load(&go))
        ;
    for (int i = 0; i < 5; i++) {
        while (atomic_flag_test_and_set(&l))
            ;
        n++;
        atomic_flag_clear(&l);
    }
    return 0;
}
static void *ticket(void *x) {
    int me = (int)(long)x;
    while (atomic_load(&turn) != me)
        sched_yield();
    atomic_fetch_add(&turn, 1);
    return 0;
}
int main() {
    pthread_t t[3], u[3];
    for (long i = 0; i < 3; i++) {
        pthread_create(&t[i], 0, w, 0);
        pthread_create(&u[i], 0, ticket, (void *)(2 - i));
    }
    atomic_store(&go, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], 0);
        pthread_join(u[i], 0);
    }
    printf("%d %d\n", n, (int)turn);
    return 0;
}
