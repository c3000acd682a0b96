// Atomics of 128 bits, and variables that are not aligned.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
typedef struct {
    void *p;
    uint64_t tag;
} __attribute__((aligned(16))) pair;
static _Atomic pair top;
static __int128 wide;
static pair nodes[8];
struct __attribute__((packed)) odd {
    char c;
    uint64_t x;
    uint32_t y;
    uint16_t z;
};
static struct odd o[4];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *w(void *x) {
    long n = (long)x;
    for (int i = 0; i < 3; i++) {
        pair old = atomic_load(&top), new;
        do {
            new.p = &nodes[n];
            new.tag = old.tag + 1;
        } while (!atomic_compare_exchange_weak(&top, &old, new));
        __atomic_fetch_add((uint64_t *)&nodes[7].tag, 1, __ATOMIC_RELAXED);
        pthread_mutex_lock(&m);
        wide += ((__int128)1 << 70) + 1;
        for (int k = 0; k < 4; k++) {
            o[k].x += n;
            o[k].y += 1;
            o[k].z--;
        }
        o[0] = o[1];
        pthread_mutex_unlock(&m);
    }
    return 0;
}
int main() {
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, w, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    pair e = atomic_load(&top);
    printf("%lu %lu %lu %lu %u\n", e.tag, nodes[7].tag, (uint64_t)(wide >> 70), (uint64_t)wide, o[3].y);
    return 0;
}
