#pragma once

struct Options {
  int bodies = 1024;
  int grid = 96;
  int steps = 1000;
  int threads = 0; // 0: chosen by the run-time library
};

// Reads `--bodies N`, `--grid N`, `--steps N`, `--threads N`. False if the command line has anything else.
bool read_options(int count, char** arguments, Options& options);
