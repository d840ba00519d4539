#include <xaas/base/huge_pages.h>
#include <xaas/cli/cli.h>
#include <xaas/frontdoor/front_door.h>

int main(int argc, char** argv) {
  xaas::use_huge_pages_for_heap();
  // Builds call this program by the names of compilers.
  if (argc > 0 && xaas::frontdoor::is_front_door(argv[0]))
    return xaas::frontdoor::run_front_door(argv[0], {argv + 1, argv + argc});
  return xaas::cli::run(argc, argv);
}
