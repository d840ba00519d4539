// What a driver's library that the tests made does, by the variable FAKE_DRIVER: nothing unusual, "hang",
// "crash", "exit", "error"; "crash-on-load" before it is asked anything.
#pragma once

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace fake {

inline bool is(const char* what) {
  const char* behavior = std::getenv("FAKE_DRIVER");
  return behavior && std::strcmp(behavior, what) == 0;
}

// At its first function. Returns an error's number, or 0.
inline int begin() {
  while (is("hang"))
    sleep(1000);
  if (is("crash"))
    std::raise(SIGSEGV);
  if (is("exit"))
    std::exit(0);
  return is("error") ? 9 : 0;
}

__attribute__((constructor)) inline void load() {
  if (is("crash-on-load"))
    std::raise(SIGSEGV);
}

// The GPUs of a variable, "A,B,C;A,B,C", as their parts.
inline std::vector<std::vector<std::string>> gpus(const char* variable) {
  std::vector<std::vector<std::string>> all(1, {""});
  const char* text = std::getenv(variable);
  if (!text || !*text)
    return {};
  for (; *text; ++text)
    if (*text == ';')
      all.push_back({""});
    else if (*text == ',')
      all.back().emplace_back();
    else
      all.back().back() += *text;
  return all;
}

} // namespace fake
