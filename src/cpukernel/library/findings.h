// Part of checks.c: settings and messages.
#pragma once

#include "cells.h"

#include <stdarg.h>

static struct {
  int ends;   // at the first finding
  int status; // of a program with findings; -1: its own
} settings = {0, -1};

static void refuse_setting(const char* name, const char* value, const char* wanted) {
  fprintf(stderr, "xaas: %s=%s: must be %s\n", name, value, wanted);
  exit(2);
}

static void read_settings(void) {
  const char* name = "XAAS_KERNEL_CHECKS";
  const char* value = getenv(name);
  if (value && *value && strcmp(value, "report") && strcmp(value, "abort"))
    refuse_setting(name, value, "report or abort");
  settings.ends = value && !strcmp(value, "abort");
  name = "XAAS_KERNEL_CHECKS_STATUS";
  value = getenv(name);
  if (value && *value) {
    char* end;
    const long number = strtol(value, &end, 10);
    if (*end || number < 0 || number > 255)
      refuse_setting(name, value, "a number from 0 to 255");
    settings.status = (int)number;
  }
}

static int is_used; // some kernel with checks ran
static void read_settings_once(void) {
  if (__atomic_load_n(&is_used, __ATOMIC_ACQUIRE))
    return;
  pthread_mutex_lock(&places_mutex);
  if (!is_used)
    read_settings();
  __atomic_store_n(&is_used, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&places_mutex);
}

enum check { memcheck, initcheck, racecheck, synccheck, checks };
static const char* const check_names[] = {"memcheck", "initcheck", "racecheck", "synccheck"};
static uint64_t counts[checks];
enum { most_findings = 1 << 14 };
static uint64_t findings[2 * most_findings]; // a hash table
static uint32_t finding_count;

static void end_program(int aborts) {
  uint64_t all = 0, found[checks]; // other threads may still find some
  for (int i = 0; i < checks; ++i)
    all += found[i] = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);
  if (!__atomic_load_n(&is_used, __ATOMIC_ACQUIRE))
    return;
  if (all)
    fprintf(stderr,
            "xaas: checks of kernels: %llu finding%s (memcheck %llu, initcheck %llu, racecheck %llu, "
            "synccheck %llu)\n",
            (unsigned long long)all, all == 1 ? "" : "s", (unsigned long long)found[memcheck],
            (unsigned long long)found[initcheck], (unsigned long long)found[racecheck],
            (unsigned long long)found[synccheck]);
  else
    fputs("xaas: checks of kernels: no findings\n", stderr);
  if (all && settings.status >= 0) {
    fflush(NULL);
    _exit(settings.status);
  }
  if (aborts) {
    fflush(NULL);
    abort();
  }
}
__attribute__((destructor(101))) static void end_checks(void) {
  end_program(0);
}

// True the first time. `kind` tells findings of a check apart.
static int is_new(enum check check, uint32_t kind, uint32_t place, uint32_t other) {
  const uint64_t key = (uint64_t)(check + 1) << 60 | (uint64_t)kind << 44 | (uint64_t)place << 22 | other;
  size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 40) % (2 * most_findings);
  for (;;) {
    uint64_t found = __atomic_load_n(&findings[at], __ATOMIC_RELAXED);
    if (found == key)
      return 0;
    if (!found) {
      if (__atomic_load_n(&finding_count, __ATOMIC_RELAXED) >= most_findings)
        return 0;
      if (__atomic_compare_exchange_n(&findings[at], &found, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&finding_count, 1, __ATOMIC_RELAXED);
        return 1;
      }
      if (found == key)
        return 0;
    }
    at = (at + 1) % (2 * most_findings);
  }
}

struct text {
  char bytes[2048];
  size_t length;
};
__attribute__((format(printf, 2, 3))) static void add(struct text* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written =
      vsnprintf(text->bytes + text->length, sizeof(text->bytes) - text->length, format, arguments);
  va_end(arguments);
  text->length += written > 0 ? (size_t)written : 0;
  if (text->length >= sizeof(text->bytes))
    text->length = sizeof(text->bytes) - 1;
}

static void add_place(struct text* text, const struct xaas_source_place* place) {
  if (place->line)
    add(text, "%s:%u", place->file, place->line);
  else
    add(text, "function %s", place->function);
}

static void add_thread(struct text* text, const struct xaas_block* b, uint32_t t) {
  add(text, "thread (%u,%u,%u)", t % b->size[0], t / b->size[0] % b->size[1], t / b->size[0] / b->size[1]);
}

// xaas: memcheck: app.cu:12:
static void begin(struct text* text, enum check check, const struct xaas_source_place* place) {
  text->length = 0;
  add(text, "xaas: %s: ", check_names[check]);
  add_place(text, place);
  add(text, ": ");
}

static void add_context(struct text* text, const struct xaas_checked_block* c, uint32_t t) {
  const struct xaas_block* b = c->block;
  add(text, "\n  kernel %s, block (%u,%u,%u), ", c->kernel->checks->name, b->index[0], b->index[1],
      b->index[2]);
  add_thread(text, b, t);
}

static void print(struct text* text, enum check check) {
  add(text, "\n");
  text->bytes[text->length - 1] = '\n';
  fflush(stdout); // so that the output stays in order
  fwrite(text->bytes, 1, text->length, stderr);
  __atomic_fetch_add(&counts[check], 1, __ATOMIC_RELAXED);
  if (settings.ends)
    end_program(1);
}

// The shared variable that an address lies in, or NULL.
static const struct xaas_shared_place* shared_variable(const struct xaas_checked_block* c, uint64_t offset,
                                                       uint64_t size, uint64_t* start, uint64_t* bytes) {
  const struct xaas_checks* own = c->kernel->checks;
  for (uint32_t i = 0; i < own->shared_count; ++i) {
    const struct xaas_shared_place* each = &own->shared[i];
    *bytes = each->size ? each->size : c->block->dynamic_size;
    *start = each->offset;
    if (offset >= each->offset && size <= *bytes && offset - each->offset <= *bytes - size)
      return each;
  }
  return NULL;
}

static void add_space(struct text* text, const struct xaas_checked_block* c, const char* address,
                      int is_shared) {
  uint64_t start, bytes;
  if (!is_shared) {
    add(text, "global memory at %p", (const void*)address);
    return;
  }
  const uint64_t offset = (uint64_t)(address - c->block->shared);
  const struct xaas_shared_place* variable = shared_variable(c, offset, 1, &start, &bytes);
  if (variable)
    add(text, "shared memory (%s + %llu)", variable->name, (unsigned long long)(offset - start));
  else
    add(text, "shared memory");
}
