// The deposit is one critical section.
// expect: clean
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void deposit(int amount) {
    pthread_mutex_lock(&lock);
    int seen = balance;
    balance = seen + amount;
    pthread_mutex_unlock(&lock);
}

static void *teller(void *argument) {
    deposit(10);
    return argument;
}

int main(void) {
    pthread_t tellers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&tellers[i], NULL, teller, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(tellers[i], NULL);
    printf("balance %d\n", balance);
    return 0;
}
