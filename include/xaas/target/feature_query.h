/* Asking a CPU for features without a C library: for the guard of deployed programs and the launcher of file
   trees. C reads all of it, C++ the structure. Sources: Intel 64 and IA-32 Architectures Software Developer's
   Manual, volume 2, CPUID and XGETBV; Linux, Documentation/arch/arm64/elf_hwcaps.rst. */
#ifndef XAAS_TARGET_FEATURE_QUERY_H
#define XAAS_TARGET_FEATURE_QUERY_H

/* target::FeatureBit, in a table sorted by leaf and subleaf. */
struct cpu_feature {
  unsigned int leaf, subleaf;
  unsigned int word, bit; /* eax, ebx, ecx, edx; 0 to 63 */
  unsigned int state;     /* bits of XCR0 that the system must have switched on */
  char name[20];          /* LLVM's; ends with a zero */
};

#ifndef __cplusplus
#ifdef __x86_64__

/* The last answer: a virtual machine takes long for each question. */
struct cpu_answers {
  unsigned int leaf, subleaf, words[4];
  unsigned int range, last; /* of leaves */
  unsigned int state;       /* the register state that the system saves; 0 if the CPU cannot tell */
};

static void ask(unsigned int leaf, unsigned int subleaf, unsigned int words[4]) {
  __asm__ volatile("cpuid"
                   : "=a"(words[0]), "=b"(words[1]), "=c"(words[2]), "=d"(words[3])
                   : "0"(leaf), "2"(subleaf));
}

/* `auxiliary`: pairs of a type and a value, which only AArch64 reads; may be null on x86-64. */
static void start_asking(struct cpu_answers* answers, const unsigned long* auxiliary) {
  unsigned int low, high;
  (void)auxiliary;
  answers->leaf = answers->subleaf = answers->range = 0xffffffff;
  answers->state = 0;
  ask(1, 0, answers->words);
  if (answers->words[2] >> 27 & 1) { /* OSXSAVE */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    answers->state = low;
  }
}

static int has_feature(struct cpu_answers* answers, const struct cpu_feature* feature) {
  unsigned int* const words = answers->words;
  if (feature->leaf != answers->leaf || feature->subleaf != answers->subleaf) {
    answers->leaf = feature->leaf;
    answers->subleaf = feature->subleaf;
    if (answers->range != (feature->leaf & 0x80000000)) {
      answers->range = feature->leaf & 0x80000000;
      ask(answers->range, 0, words);
      answers->last = words[0];
    }
    if (answers->last < feature->leaf)
      words[0] = words[1] = words[2] = words[3] = 0;
    else
      ask(feature->leaf, feature->subleaf, words);
  }
  return (words[feature->word] >> feature->bit & 1) && (answers->state & feature->state) == feature->state;
}

#elif defined(__aarch64__)

struct cpu_answers {
  const unsigned long* auxiliary;
};

static void start_asking(struct cpu_answers* answers, const unsigned long* auxiliary) {
  answers->auxiliary = auxiliary;
}

static int has_feature(struct cpu_answers* answers, const struct cpu_feature* feature) {
  const unsigned long* entry = answers->auxiliary;
  while (entry[0] && entry[0] != feature->leaf)
    entry += 2;
  return entry[0] ? (int)(entry[1] >> feature->bit & 1) : 0;
}

#else
#error "no way to ask this architecture for its features"
#endif
#endif
#endif
