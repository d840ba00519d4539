/* The launcher's knowledge of the targets, in the form of its file. C and C++ read it. */
#ifndef XAAS_LAUNCHER_TABLE_H
#define XAAS_LAUNCHER_TABLE_H

#include <xaas/target/feature_query.h>

#define LAUNCHER_MARK "xaas launcher 1" /* 15 characters and a zero */

enum { launcher_most_features = 128, launcher_most_targets = 64 };

struct launcher_target {
  char name[64], directory[64];
  char device[32];        /* a file that only systems with its GPU have; empty: it needs none */
  unsigned long needs[2]; /* features: bit I % 64 of word I / 64 */
};

struct launcher_table {
  char mark[16];
  unsigned int features, targets;
  char libraries[2048]; /* directories relative to the root, each with a zero after it; then another zero */
  struct cpu_feature feature[launcher_most_features];
  struct launcher_target target[launcher_most_targets]; /* best first */
};

#endif
