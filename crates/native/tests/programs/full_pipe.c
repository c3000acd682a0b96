// A writer that waits for its reader.
// producer/consumer over a full pipe
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int p[2];
static void *wr(void *x) {
    static char b[4096];
    for (int i = 0; i < 64; i++) {
        memset(b, i, sizeof b);
        if (write(p[1], b, sizeof b) != sizeof b)
            puts("short");
    }
    close(p[1]);
    return 0;
}
static void *rd(void *x) {
    static char b[1000];
    long s = 0;
    ssize_t n;
    while ((n = read(p[0], b, sizeof b)) > 0)
        s += n;
    return (void *)s;
}
int main() {
    pipe(p);
    pthread_t a, b;
    void *r;
    pthread_create(&a, 0, wr, 0);
    pthread_create(&b, 0, rd, 0);
    pthread_join(a, 0);
    pthread_join(b, &r);
    FILE *f = fdopen(dup(0), "r");
    int ch = f ? fgetc(f) : -2;
    printf("%ld %d\n", (long)r, ch == EOF);
    return 0;
}
