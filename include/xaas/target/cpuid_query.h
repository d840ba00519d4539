/* Asking CPUID without a C library: for the guard of deployed programs and the launcher of file trees. C
   reads all of it, C++ the structure. Sources: Intel 64 and IA-32 Architectures Software Developer's Manual,
   volume 2, CPUID and XGETBV. */
#ifndef XAAS_TARGET_CPUID_QUERY_H
#define XAAS_TARGET_CPUID_QUERY_H

/* target::CpuidBit, in a table sorted by leaf and subleaf. */
struct cpuid_feature {
  unsigned int leaf, subleaf;
  unsigned int word, bit; /* eax, ebx, ecx, edx; 0 to 31 */
  unsigned int state;     /* bits of XCR0 that the system must have switched on */
  char name[20];          /* LLVM's; ends with a zero */
};

#ifndef __cplusplus

static void ask(unsigned int leaf, unsigned int subleaf, unsigned int words[4]) {
  __asm__ volatile("cpuid"
                   : "=a"(words[0]), "=b"(words[1]), "=c"(words[2]), "=d"(words[3])
                   : "0"(leaf), "2"(subleaf));
}

/* The register state that the system saves; 0 if the CPU cannot tell. */
static unsigned int enabled_state(void) {
  unsigned int words[4], low, high;
  ask(1, 0, words);
  if (!(words[2] >> 27 & 1)) /* OSXSAVE */
    return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

#endif
#endif
