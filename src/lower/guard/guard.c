// The first code of a deployed program or library: checks that the CPU has the features that the file was
// lowered for. Without it, the program would end with SIGILL somewhere.
//
// It runs on CPUs that lack these features, so it is compiled for the weakest CPU of its architecture. It
// uses no library (a static program may have none) and makes its system calls itself.
#include <xaas/target/feature_query.h>
#include <xaas/target/system_calls.h>

typedef unsigned int u32;
typedef unsigned long u64;

// As cpu_guard.cpp writes them.
extern const struct cpu_feature xaas_features[] __attribute__((visibility("hidden")));
extern const u32 xaas_feature_count __attribute__((visibility("hidden")));
extern const char xaas_target[] __attribute__((visibility("hidden"))); // the CPU's name

// Written in one piece, because the ranks of a parallel program print at the same time.
struct line {
  u64 size;
  char text[1024];
};

static void add(struct line* line, const char* text) {
  while (*text && line->size < sizeof(line->text))
    line->text[line->size++] = *text++;
}

// `auxiliary`: see start_asking().
static void check(const char* program, const u64* auxiliary) {
  struct line line;
  line.size = 0;
  u32 missing = 0;
  struct cpu_answers answers;
  start_asking(&answers, auxiliary);
  for (u32 i = 0; i < xaas_feature_count; ++i) {
    const struct cpu_feature* feature = &xaas_features[i];
    if (has_feature(&answers, feature))
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
  write_file(2, line.text, line.size);
  leave_process(126);
}

// Entries of DT_PREINIT_ARRAY get the program's arguments and environment, behind which the kernel puts the
// auxiliary vector.
__attribute__((visibility("hidden"))) void xaas_guard_program(int count, char** arguments,
                                                              char** environment) {
  while (*environment)
    ++environment;
  // glibc removes variables of set-user-ID programs in place, which leaves more nulls.
  while (!*environment)
    ++environment;
  check(count > 0 && arguments ? arguments[0] : 0, (const u64*)environment);
}

// Not every C library passes them to entries of DT_INIT_ARRAY, so a library on AArch64 reads the auxiliary
// vector from /proc. Without /proc it is not checked.
__attribute__((visibility("hidden"))) void xaas_guard_library(void) {
#ifdef __x86_64__
  check(0, 0);
#elif defined(__aarch64__)
  u64 auxiliary[128];
  const long file = open_to_read("/proc/self/auxv");
  const long size = file < 0 ? file : read_file(file, auxiliary, sizeof auxiliary - 2 * sizeof *auxiliary);
  if (file >= 0)
    close_file(file);
  if (size <= 0)
    return;
  auxiliary[size / sizeof *auxiliary] = 0;
  check(0, auxiliary);
#endif
}
