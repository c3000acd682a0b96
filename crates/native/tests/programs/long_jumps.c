// Jumps out of several functions.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
static __thread jmp_buf j;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;
static void deep(int n) {
    if (n == 0)
        longjmp(j, 3);
    deep(n - 1);
}
static void *w(void *x) {
    for (int i = 0; i < 5; i++) {
        int r = setjmp(j);
        if (r == 0)
            deep(5 + i);
        else {
            pthread_mutex_lock(&m);
            total += r;
            pthread_mutex_unlock(&m);
        }
    }
    return 0;
}
int main() {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, w, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    printf("%d\n", total);
    return 0;
}
