// Space in a log is reserved and filled in two critical sections of one lock; the flag says what is complete, too early.
// expect: violation of log_line on used
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[64];
static int used;

static int position(void) {
    pthread_mutex_lock(&lock);
    int at = used;
    pthread_mutex_unlock(&lock);
    return at;
}

static void fill(int at, const char *line, int length) {
    pthread_mutex_lock(&lock);
    memcpy(text + at, line, length);
    used = at + length;
    pthread_mutex_unlock(&lock);
}

static void log_line(const char *line) {
    int length = (int)strlen(line);
    int at = position();
    fill(at, line, length);
}

static void *writer(void *line) {
    log_line(line);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, "first;");
    pthread_create(&threads[1], NULL, writer, "second;");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d bytes\n", used);
    return 0;
}
