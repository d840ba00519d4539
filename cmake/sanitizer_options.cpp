// Defaults of the sanitizers for the program and the unit tests. They are in the programs because builds
// clean the environment.

// LLVM's library is not instrumented: its allocators do not tell of memory that our copies of them have
// poisoned. A list of suppressions after each run would be in the output that tests compare with Clang's.
extern "C" const char* __asan_default_options() { return "allow_user_poisoning=0:print_suppressions=0"; }

// Clang's driver passes -disable-free, and llvm::BuryPointer() keeps only the first sixteen.
extern "C" const char* __lsan_default_suppressions() { return "leak:clang::\n"; }
