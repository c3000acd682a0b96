// Two critical sections of one lock, and a deposit that needs both to be one step: an update can be lost.
// expect: violation of bank_deposit on balance

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int get_balance(void) {
    pthread_mutex_lock(&lock);
    int seen = balance;
    pthread_mutex_unlock(&lock);
    return seen;
}

static void set_balance(int amount) {
    pthread_mutex_lock(&lock);
    balance = amount;
    pthread_mutex_unlock(&lock);
}

static void bank_deposit(int amount) {
    int seen = get_balance();
    set_balance(seen + amount);
}

static void *teller(void *argument) {
    bank_deposit(10);
    return argument;
}

int main(void) {
    pthread_t tellers[2];
    for (int i = 0; i < 2; i++) pthread_create(&tellers[i], NULL, teller, NULL);
    for (int i = 0; i < 2; i++) pthread_join(tellers[i], NULL);
    printf("balance %d\n", balance);
    return 0;
}
