/* What the launcher knows of the targets, in the form of its file. C and C++ read it. */
#ifndef XAAS_LAUNCHER_TABLE_H
#define XAAS_LAUNCHER_TABLE_H

#define LAUNCHER_MARK "xaas launcher 1" /* 15 characters and a zero */

enum { launcher_most_features = 128, launcher_most_targets = 64 };

/* Where CPUID reports a feature: target::CpuidBit. */
struct launcher_feature {
  unsigned int leaf, subleaf;
  unsigned int word, bit; /* eax, ebx, ecx, edx; 0 to 31 */
  unsigned int state;     /* bits of XCR0 that the system must have switched on */
  char name[20];          /* LLVM's; ends with a zero, as all text does */
};

struct launcher_target {
  char name[64], directory[64];
  char device[32];        /* a file that only systems with its GPU have; empty: it needs none */
  unsigned long needs[2]; /* features: bit I % 64 of word I / 64 */
};

struct launcher_table {
  char mark[16];
  unsigned int features, targets;
  char libraries[2048]; /* directories relative to the root, each with a zero after it; then another zero */
  struct launcher_feature feature[launcher_most_features]; /* sorted by leaf and subleaf */
  struct launcher_target target[launcher_most_targets];    /* best first */
};

#endif
