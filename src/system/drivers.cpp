#include "drivers.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>

#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

namespace xaas::system {

namespace {

using Clock = std::chrono::steady_clock;

std::string to_text(const DriverAnswer& answer) {
  Json gpus = Json::array();
  for (const DriverGpu& gpu : answer.gpus)
    gpus.push_back({{"vendor", gpu.facts.vendor},
                    {"model", gpu.facts.model},
                    {"arch", gpu.facts.arch},
                    {"memory", gpu.facts.memory_bytes},
                    {"driver", gpu.facts.driver},
                    {"runtime", gpu.facts.runtime},
                    {"pci", gpu.facts.pci},
                    {"device", gpu.device},
                    {"integrated", gpu.integrated}});
  return Json({{"library", answer.library}, {"trouble", answer.trouble}, {"gpus", gpus}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<DriverAnswer> from_text(const std::string& text) {
  XAAS_TRY(const Json json, parse_json(text, "the answer of a driver's library"));
  const JsonReader reader(json, "#");
  DriverAnswer answer;
  XAAS_TRY(answer.library, reader.string_at("library"));
  XAAS_TRY(answer.trouble, reader.string_at("trouble"));
  XAAS_TRY(const JsonReader list, reader.at("gpus"));
  XAAS_TRY(const std::vector<JsonReader> items, list.items());
  for (const JsonReader& item : items) {
    DriverGpu gpu;
    XAAS_TRY(gpu.facts.vendor, item.string_at("vendor"));
    XAAS_TRY(gpu.facts.model, item.string_at("model"));
    XAAS_TRY(gpu.facts.arch, item.string_at("arch"));
    XAAS_TRY(gpu.facts.driver, item.string_at("driver"));
    XAAS_TRY(gpu.facts.runtime, item.string_at("runtime"));
    XAAS_TRY(gpu.facts.pci, item.string_at("pci"));
    XAAS_TRY(const JsonReader memory, item.at("memory"));
    XAAS_TRY(gpu.facts.memory_bytes, memory.size());
    XAAS_TRY(const JsonReader device, item.at("device"));
    XAAS_TRY(gpu.device, device.size());
    XAAS_TRY(gpu.integrated, item.boolean_or("integrated", false));
    answer.gpus.push_back(std::move(gpu));
  }
  return answer;
}

DriverAnswer ask(Driver driver, const std::vector<std::string>& libraries) {
  std::string unusable;
  for (const std::string& library : libraries) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* const reason = dlerror();
      const bool is_path = library.find('/') != std::string::npos; // else the loader finds none
      if (reason && is_path && access(library.c_str(), F_OK) == 0)
        unusable = reason;
      continue;
    }
    const SharedLibrary loaded(handle);
    DriverAnswer answer = driver == Driver::nvml         ? ask_nvml(loaded)
                          : driver == Driver::level_zero ? ask_level_zero(loaded)
                                                         : ask_opencl(loaded);
    answer.library = library;
    return answer;
  }
  DriverAnswer none;
  none.trouble = unusable;
  return none;
}

} // namespace

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

DriverQuestion::DriverQuestion(Driver driver, std::vector<std::string> libraries,
                               std::chrono::milliseconds limit)
    : deadline_(Clock::now() + limit), limit_(limit), name_(libraries.empty() ? "" : libraries.front()),
      helper_(std::make_unique<HelperProcess>([=] { return to_text(ask(driver, libraries)); })) {}

DriverAnswer DriverQuestion::answer() {
  while (!helper_->ended() && Clock::now() < deadline_)
    helper_->wait(static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count() + 1));
  DriverAnswer answer;
  if (!helper_->ended()) {
    answer.trouble = name_ + ": no answer within " + std::to_string(limit_.count() / 1000) + " s";
  } else if (!helper_->succeeded()) {
    answer.trouble = name_ + ": the process that asked it " + helper_->trouble();
  } else if (Result<DriverAnswer> parsed = from_text(helper_->text())) {
    answer = std::move(*parsed);
  } else {
    answer.trouble = parsed.error().message;
  }
  helper_.reset(); // ends it
  return answer;
}

std::string pci_address(unsigned domain, unsigned bus, unsigned device, unsigned function) {
  char text[64];
  std::snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

std::string pci_address(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (std::sscanf(text.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
    return {};
  return pci_address(domain, bus, device, function);
}

} // namespace xaas::system
