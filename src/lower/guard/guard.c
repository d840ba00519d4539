// The first code of a deployed program or library: checks that the CPU has the features that the file was
// lowered for. Without it, the program would end with SIGILL somewhere.
//
// It runs on CPUs that lack these features, so it is compiled for plain x86-64. It uses no library (a static
// program may have none) and makes its system calls itself. Sources: Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2, CPUID and XGETBV; psABI of x86-64, appendix A.2 (system calls).
typedef unsigned int u32;
typedef unsigned long u64;

// As cpu_guard.cpp writes them; sorted by leaf and subleaf.
struct feature {
  u32 leaf, subleaf;
  u32 word, bit;  // eax, ebx, ecx, edx; 0 to 31
  u32 state;      // bits of XCR0 that the system must have switched on
  char name[20];  // LLVM's
};
extern const struct feature xaas_features[] __attribute__((visibility("hidden")));
extern const u32 xaas_feature_count __attribute__((visibility("hidden")));
extern const char xaas_target[] __attribute__((visibility("hidden"))); // the CPU's name

static void ask(u32 leaf, u32 subleaf, u32 words[4]) {
  __asm__ volatile("cpuid" : "=a"(words[0]), "=b"(words[1]), "=c"(words[2]), "=d"(words[3]) : "0"(leaf), "2"(subleaf));
}

// The register state that the system saves; 0 if the CPU cannot tell.
static u32 enabled_state(void) {
  u32 words[4], low, high;
  ask(1, 0, words);
  if (!(words[2] >> 27 & 1)) // OSXSAVE
    return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

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
    const struct feature* feature = &xaas_features[i];
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
