// Runs a fuzz target over seeds and damaged copies of them, the same in every run: with bytes changed, pieces
// cut out or repeated, and pieces of other seeds put in.
//
//   fuzz_targets NAME DIRECTORY [COPIES]
//
// An input that crashes the target is left in the file `crash-NUMBER` of the working directory.
#include "fuzz.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#define FUZZ_TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t size);
XAAS_FUZZ_TARGETS
#undef FUZZ_TARGET

namespace {

using Target = int (*)(const uint8_t* data, size_t size);

const std::map<std::string, Target> targets = {
#define FUZZ_TARGET(name) {#name, fuzz_##name},
    XAAS_FUZZ_TARGETS
#undef FUZZ_TARGET
};

std::string current; // input, for the handler
unsigned number = 0;

void keep_input(int signal) {
  char name[32] = "crash-";
  std::snprintf(name, sizeof(name), "crash-%u", number);
  const int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file < 0 || write(file, current.data(), current.size()) < 0)
    std::abort();
  std::fprintf(stderr, "signal %d; the input is in %s\n", signal, name);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(Target target, std::string input) {
  current = std::move(input);
  ++number;
  target(reinterpret_cast<const uint8_t*>(current.data()), current.size());
}

class Mutator {
public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string damaged(std::string input) {
    for (size_t changes = 1 + below(6); changes > 0 && !input.empty(); --changes)
      change(input);
    return input;
  }

private:
  size_t below(size_t limit) { return random_() % limit; } // as good as even, and the same everywhere

  void change(std::string& input) {
    const size_t at = below(input.size());
    const size_t length = std::min(input.size() - at, 1 + below(64));
    switch (below(6)) {
    case 0:
      input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
      break;
    case 1:
      input[at] = static_cast<char>(below(256));
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(at, length));
      break;
    case 4: {
      const char extremes[] = {'\0', '\x7f', '\xff', '\x80'};
      std::fill_n(input.begin() + static_cast<std::ptrdiff_t>(at), std::min<size_t>(length, 8),
                  extremes[below(4)]);
      break;
    }
    default: {
      const std::string& other = seeds_[below(seeds_.size())];
      const size_t from = below(other.size());
      input.replace(at, length, other, from, length);
    }
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937 random_{1};
};

} // namespace

int main(int argc, char** argv) {
  const auto target = targets.find(argc > 1 ? argv[1] : "");
  if (target == targets.end() || argc < 3) {
    std::cerr << "usage: " << argv[0] << " NAME DIRECTORY [COPIES]\n";
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2]))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& path : files) {
    std::ifstream stream(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    if (seeds.back().empty()) {
      std::cerr << path << ": an empty seed\n";
      return 1;
    }
  }
  if (seeds.empty()) {
    std::cerr << argv[2] << ": no seeds\n";
    return 1;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, keep_input);
  const unsigned copies = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 600;
  Mutator mutator(seeds);
  for (const std::string& seed : seeds) {
    run(target->second, seed);
    for (unsigned i = 0; i < copies; ++i)
      run(target->second, mutator.damaged(seed));
  }
  std::cout << number << " inputs\n";
}
