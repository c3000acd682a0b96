// What threads.h has, thread-local variables with destructors included.
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
static mtx_t m;
static cnd_t c;
static once_flag f = ONCE_FLAG_INIT;
static tss_t key;
static int ready, inits;
static _Thread_local int tl;
static atomic_int count;
static void init(void) {
    inits++;
}
static void destroy(void *p) {
    atomic_fetch_add(&count, *(int *)p);
    
}
static int values[4] = {1, 2, 3, 4};
static int w(void *x) {
    call_once(&f, init);
    tl++;
    tss_set(key, &values[(long)x]);
    mtx_lock(&m);
    while (!ready)
        cnd_wait(&c, &m);
    mtx_unlock(&m);
    thrd_yield();
    return 10 + (int)(long)x + tl;
}
int main() {
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    tss_create(&key, destroy);
    thrd_t t[4];
    for (long i = 0; i < 4; i++)
        thrd_create(&t[i], w, (void *)i);
    mtx_lock(&m);
    ready = 1;
    cnd_broadcast(&c);
    mtx_unlock(&m);
    int s = 0, r;
    for (int i = 0; i < 4; i++) {
        thrd_join(t[i], &r);
        s += r;
    }
    mtx_t rec;
    mtx_init(&rec, mtx_recursive | mtx_timed);
    mtx_lock(&rec);
    printf("try %d\n", mtx_trylock(&rec) == thrd_success);
    mtx_unlock(&rec);
    mtx_unlock(&rec);
    printf("%d %d %d\n", s, inits, (int)count);
    thrd_sleep(&(struct timespec){.tv_nsec = 1000000}, 0);
    return 0;
}
