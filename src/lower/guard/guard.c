// The first code of a deployed program or library: checks that the CPU has the features that the file was
// lowered for. Without it, the program would end with SIGILL somewhere.
//
// It runs on CPUs that lack these features, so it is compiled for plain x86-64. It uses no library (a static
// program may have none) and makes its system calls itself. Source: psABI of x86-64, appendix A.2 (system
// calls).
#include <xaas/target/cpuid_query.h>

typedef unsigned int u32;
typedef unsigned long u64;

// As cpu_guard.cpp writes them.
extern const struct cpuid_feature xaas_features[] __attribute__((visibility("hidden")));
extern const u32 xaas_feature_count __attribute__((visibility("hidden")));
extern const char xaas_target[] __attribute__((visibility("hidden"))); // the CPU's name

static u64 call(u64 number, u64 a, u64 b, u64 c) {
  u64 result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

// Written in one piece, because the ranks of a parallel program print at the same time.
struct line {
  u64 size;
  char text[1024];
};

static void add(struct line* line, const char* text) {
  while (*text && line->size < sizeof(line->text))
    line->text[line->size++] = *text++;
}

static void check(const char* program) {
  struct line line;
  line.size = 0;
  const u32 state = enabled_state();
  u32 words[4] = {0, 0, 0, 0}, leaf = 0xffffffff, subleaf = 0, missing = 0;
  for (u32 i = 0; i < xaas_feature_count; ++i) {
    const struct cpuid_feature* feature = &xaas_features[i];
    if (feature->leaf != leaf || feature->subleaf != subleaf) {
      leaf = feature->leaf;
      subleaf = feature->subleaf;
      ask(leaf & 0x80000000, 0, words); // how many leaves there are
      if (words[0] < leaf)
        words[0] = words[1] = words[2] = words[3] = 0;
      else
        ask(leaf, subleaf, words);
    }
    if ((words[feature->word] >> feature->bit & 1) && (state & feature->state) == feature->state)
      continue;
    if (missing++ == 0) {
      if (program) {
        add(&line, program);
        add(&line, ": ");
      }
      add(&line, "this CPU lacks ");
    } else {
      add(&line, ", ");
    }
    add(&line, feature->name);
  }
  if (missing == 0)
    return;
  add(&line, "; it was deployed for ");
  add(&line, xaas_target);
  add(&line, "\nhint: deploy it for this machine with `xaas deploy`\n");
  call(1, 2, (u64)line.text, line.size); // write
  call(231, 126, 0, 0);                  // exit_group
}

// Entries of DT_PREINIT_ARRAY get the program's arguments.
__attribute__((visibility("hidden"))) void xaas_guard_program(int count, char** arguments) {
  check(count > 0 && arguments ? arguments[0] : 0);
}

// Not every C library gives them to those of DT_INIT_ARRAY.
__attribute__((visibility("hidden"))) void xaas_guard_library(void) {
  check(0);
}
