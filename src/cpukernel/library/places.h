// Part of checks.c: numbers of source places. Those with the same source have one number.
#pragma once

#include "checks.h"
#include "system.h"

static void* allocated(size_t size) {
  void* memory = calloc(1, size);
  if (!memory) {
    fputs("xaas: no memory for checks of kernels\n", stderr);
    abort();
  }
  return memory;
}

enum { most_places = 1 << 22 };
static struct xaas_source_place** places; // by number, from 1
static uint32_t place_count, place_room;
static uint32_t* place_heads; // by hash
static uint32_t* place_next;
enum { place_buckets = 4096 };
static pthread_mutex_t places_mutex = PTHREAD_MUTEX_INITIALIZER;

static int same_source(const struct xaas_source_place* a, const struct xaas_source_place* b) {
  return a->line == b->line && !strcmp(a->file, b->file) && (a->line || !strcmp(a->function, b->function));
}

static uint32_t hash_of(const struct xaas_source_place* place) {
  uint32_t hash = place->line * 2654435761u;
  for (const char* c = place->line ? place->file : place->function; *c; ++c)
    hash = (hash ^ (unsigned char)*c) * 16777619u;
  return hash % place_buckets;
}

static void grow_places(void) {
  place_room = place_room ? 2 * place_room : 1024;
  struct xaas_source_place** more = allocated(place_room * sizeof(*more));
  uint32_t* next = allocated(place_room * sizeof(*next));
  if (places) {
    memcpy(more, places, place_count * sizeof(*more) + sizeof(*more));
    memcpy(next, place_next, place_count * sizeof(*next) + sizeof(*next));
  } // others may still read the old array
  place_next = next;
  __atomic_store_n(&places, more, __ATOMIC_RELEASE);
}

static uint32_t number_of(struct xaas_source_place* place) {
  uint32_t number = __atomic_load_n(&place->number, __ATOMIC_ACQUIRE);
  if (number)
    return number;
  pthread_mutex_lock(&places_mutex);
  if (!place_heads)
    place_heads = allocated(place_buckets * sizeof(*place_heads));
  uint32_t* const head = &place_heads[hash_of(place)];
  number = *head;
  while (number && !same_source(places[number], place))
    number = place_next[number];
  if (!number) {
    if (place_count + 2 >= place_room)
      grow_places();
    if (place_count + 1 == most_places) {
      fputs("xaas: too many places for checks of kernels\n", stderr);
      abort();
    }
    number = ++place_count;
    places[number] = place;
    place_next[number] = *head;
    *head = number;
  }
  __atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&places_mutex);
  return number;
}

static const struct xaas_source_place* place_of(uint32_t number) {
  return __atomic_load_n(&places, __ATOMIC_ACQUIRE)[number];
}
