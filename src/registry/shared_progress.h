#pragma once

#include <xaas/base/progress.h>

#include <mutex>
#include <string>

namespace xaas::registry {

// Progress of concurrent transfers.
class SharedProgress : public Progress {
public:
  explicit SharedProgress(Progress& progress) : progress_(progress) {}
  void start(const std::string& phase, uint64_t total) override {
    const std::lock_guard<std::mutex> one(mutex_);
    progress_.start(phase, total);
  }
  void start_bytes(const std::string& phase, uint64_t total) override {
    const std::lock_guard<std::mutex> one(mutex_);
    progress_.start_bytes(phase, total);
  }
  void advance(uint64_t steps) override {
    const std::lock_guard<std::mutex> one(mutex_);
    progress_.advance(steps);
  }
  void finish() override {
    const std::lock_guard<std::mutex> one(mutex_);
    progress_.finish();
  }
  void note(const std::string& text) override {
    const std::lock_guard<std::mutex> one(mutex_);
    progress_.note(text);
  }

private:
  std::mutex mutex_;
  Progress& progress_;
};

} // namespace xaas::registry
