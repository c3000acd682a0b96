/* What only the author of a program knows: which code is meant to run as one step, and what variables are called.
 *
 * Without `untorn cc` all of it is nothing. Copy this file to where your compiler finds it; `untorn cc --untorn-header`
 * prints it. Free to copy, with or without changes. */
#ifndef UNTORN_H
#define UNTORN_H

#ifdef __UNTORN__

#ifdef __cplusplus
extern "C" {
#endif
void untorn_atomic_begin(const char *name);
void untorn_atomic_end(void);
void untorn_shared(const void *object, unsigned long bytes, const char *name);
#ifdef __cplusplus
}
#endif

/* Everything up to the UNTORN_ATOMIC_END of the same function is meant to be one step. Blocks may be nested. */
#define UNTORN_ATOMIC_BEGIN(name) untorn_atomic_begin(name)
#define UNTORN_ATOMIC_END() untorn_atomic_end()

/* What lies there is called so in findings. For memory that was allocated; global variables have names. */
#define UNTORN_SHARED(object) untorn_shared(&(object), sizeof(object), #object)

#else

#define UNTORN_ATOMIC_BEGIN(name) ((void)0)
#define UNTORN_ATOMIC_END() ((void)0)
#define UNTORN_SHARED(object) ((void)0)

#endif
#endif
