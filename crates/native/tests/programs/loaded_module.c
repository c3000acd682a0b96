// A library that threads load and unload.
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
static void *w(void *x) {
    void *h = dlopen("libm.so.6", RTLD_NOW);
    double (*f)(double) = dlsym(h, "cos");
    double v = f(0);
    dlclose(h);
    return v == 1 ? (void *)1 : 0;
}
int main() {
    pthread_t t[3];
    long s = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, w, 0);
    for (int i = 0; i < 3; i++) {
        void *r;
        pthread_join(t[i], &r);
        s += (long)r;
    }
    printf("%ld\n", s);
    return 0;
}
