#include <xaas/base/progress.h>

namespace xaas {

Progress& no_progress() {
  class Silent : public Progress {
    void start(const std::string&, uint64_t) override {}
    void advance(uint64_t) override {}
    void finish() override {}
    void note(const std::string&) override {}
  };
  static Silent silent;
  return silent;
}

} // namespace xaas
