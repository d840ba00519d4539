#include <xaas/cli/cli.h>
#include <xaas/frontdoor/front_door.h>

#include <cstring>

int main(int argc, char** argv) {
  // Builds call this program by the names of compilers.
  if (argc > 0 && xaas::frontdoor::is_front_door(argv[0]))
    return xaas::frontdoor::run_front_door(argv[0], {argv + 1, argv + argc});
  if (argc > 1 && std::strcmp(argv[1], "cc") == 0)
    return xaas::frontdoor::run_front_door("xaas-cc", {argv + 2, argv + argc});
  return xaas::cli::run(argc, argv);
}
