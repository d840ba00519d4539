// What the run-time library needs of the C library and of Linux, declared here and not by their headers.
//
// Problem: a machine that builds the project has the headers of a C library for its own architecture at most,
// and makes the library's IR for each. Headers also bind a program to their own release: with those of glibc
// 2.38, strtol() is the symbol __isoc23_strtol, which the older C library of an image does not have.
//
// Approach: the names of C11 and POSIX, with the values that they have on x86-64 and AArch64. All of it is
// part of an ABI that programs rely on, so it does not change:
//
// - Functions have plain names, which glibc and musl define. Their parameters are integers, pointers and
//   types that have one size on both architectures.
// - Constants of Linux are those of include/uapi/asm-generic, which both architectures use. The numbers of
//   sysconf() are the same in glibc and musl.
// - Types of threads are storage, at least as large and as aligned as in glibc and musl. In both, a mutex and
//   a condition variable start with all bits 0.
//
// A test compares this file with the headers of the C libraries at hand (tests/unit/cpukernel).
//
// Rejected: headers of a cross C library, which few machines have; the headers of the build machine for
// another architecture, whose types of threads are smaller (a mutex has 40 bytes on x86-64, 48 on AArch64).
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define errno (*__errno_location())
int* __errno_location(void);
enum { EFAULT = 14 };

// stdio.h. Clang knows the functions as C's if FILE is known.
typedef struct FILE FILE;
extern FILE *stdout, *stderr;
int fclose(FILE*);
int fflush(FILE*);
FILE* fopen(const char*, const char*);
int fprintf(FILE*, const char*, ...) __attribute__((format(printf, 2, 3)));
int fputs(const char*, FILE*);
int fscanf(FILE*, const char*, ...) __attribute__((format(scanf, 2, 3)));
size_t fwrite(const void*, size_t, size_t, FILE*);
int snprintf(char*, size_t, const char*, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char*, size_t, const char*, va_list) __attribute__((format(printf, 3, 0)));

// stdlib.h
_Noreturn void abort(void);
void* aligned_alloc(size_t, size_t);
int atexit(void (*)(void));
void* calloc(size_t, size_t);
_Noreturn void exit(int);
void free(void*);
char* getenv(const char*);
void* malloc(size_t);
long strtol(const char*, char**, int);
unsigned long long strtoull(const char*, char**, int);

// string.h
int memcmp(const void*, const void*, size_t);
void* memcpy(void*, const void*, size_t);
void* memmove(void*, const void*, size_t);
void* memset(void*, int, size_t);
char* strchr(const char*, int);
int strcmp(const char*, const char*);
char* strcpy(char*, const char*);
char* strerror(int);
int strncmp(const char*, const char*, size_t);

// time.h, unistd.h
struct timespec {
  long tv_sec, tv_nsec;
};
enum { CLOCK_MONOTONIC = 1 };
int clock_gettime(int, struct timespec*);
typedef int pid_t;
pid_t getpid(void);
// Of the caches, musl does not know the size, and glibc on AArch64 not always.
enum {
  _SC_PAGESIZE = 30,
  _SC_PHYS_PAGES = 85,
  _SC_AVPHYS_PAGES = 86,
  _SC_LEVEL2_CACHE_SIZE = 191,
  _SC_LEVEL3_CACHE_SIZE = 194
};
long sysconf(int);
enum { F_OK = 0 };
int access(const char*, int);
_Noreturn void _exit(int);
long write(int, const void*, size_t);

// sys/mman.h
enum {
  PROT_NONE = 0,
  PROT_READ = 1,
  PROT_WRITE = 2,
  MAP_PRIVATE = 0x2,
  MAP_ANONYMOUS = 0x20,
  MAP_NORESERVE = 0x4000,
  MADV_HUGEPAGE = 14
};
#define MAP_FAILED ((void*)-1)
int madvise(void*, size_t, int);
void* mmap(void*, size_t, int, int, int, long);
int mprotect(void*, size_t, int);
int munmap(void*, size_t);

// sched.h
typedef struct {
  unsigned long words[16]; // 1024 CPUs
} cpu_set_t;
int sched_getaffinity(pid_t, size_t, cpu_set_t*);
int sched_yield(void);
static inline int CPU_COUNT(const cpu_set_t* set) {
  int count = 0;
  for (int i = 0; i < 16; ++i)
    count += __builtin_popcountl(set->words[i]);
  return count;
}

// signal.h. The C library's sigaction, not Linux's.
enum { SIGSEGV = 11, SA_SIGINFO = 4, SA_ONSTACK = 0x08000000, SS_DISABLE = 2 };
typedef struct {
  unsigned long words[16];
} sigset_t;
typedef struct {
  int si_signo, si_errno, si_code;
  void* si_addr;
  char rest[104];
} siginfo_t;
struct sigaction {
  void (*sa_sigaction)(int, siginfo_t*, void*);
  sigset_t sa_mask;
  int sa_flags;
  void (*sa_restorer)(void);
};
typedef struct {
  void* ss_sp;
  int ss_flags;
  size_t ss_size;
} stack_t;
int sigaction(int, const struct sigaction*, struct sigaction*);
int sigaltstack(const stack_t*, stack_t*);
int sigemptyset(sigset_t*);

// pthread.h
typedef unsigned long pthread_t;
typedef struct {
  uint64_t storage[8];
} pthread_attr_t, pthread_mutex_t, pthread_cond_t;
#define PTHREAD_MUTEX_INITIALIZER {{0}}
#define PTHREAD_COND_INITIALIZER {{0}}
enum { PTHREAD_CREATE_DETACHED = 1 };
int pthread_attr_destroy(pthread_attr_t*);
int pthread_attr_init(pthread_attr_t*);
int pthread_attr_setdetachstate(pthread_attr_t*, int);
int pthread_cond_broadcast(pthread_cond_t*);
int pthread_cond_init(pthread_cond_t*, const void*);
int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*);
int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int pthread_mutex_init(pthread_mutex_t*, const void*);
int pthread_mutex_lock(pthread_mutex_t*);
int pthread_mutex_unlock(pthread_mutex_t*);
