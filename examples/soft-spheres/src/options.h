#pragma once

struct Options {
  int bodies = 1024;
  int grid = 96;
  int steps = 1000;
  int threads = 0; // 0: what the run-time library chooses
};

// Reads `--bodies N`, `--grid N`, `--steps N`, `--threads N`. False: there is something else on the command
// line.
bool read_options(int count, char** arguments, Options& options);
