// IR modules, lowered in a worker as in `xaas deploy`: the result is an object or an error, even if the
// worker crashes.
#include "fuzz.h"

#include <xaas/lower/lower.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  lower::Job job;
  job.bitcode.assign(reinterpret_cast<const char*>(data), size);
  job.unit.source = "fuzz.c";
  job.unit.module = digest_of(job.bitcode);
  job.options.text["triple"] = "x86_64-pc-linux-gnu";
  job.options.codegen = {{"OptimizationLevel", 2}, {"UseInitArray", 1}};
  job.target = *target::cpu_by_name("x86_64", "haswell");
  for (const lower::Form form :
       {lower::Form::object, lower::Form::thin_lto, lower::Form::symbols, lower::Form::kernel_forms}) {
    job.form = form;
    size_t objects = 0;
    const auto done = lower::lower_all(
        1, [&](size_t) -> Result<lower::Job> { return job; },
        [&](size_t, const lower::Object&) -> Result<void> {
          ++objects;
          return {};
        },
        {.workers = 1, .memory = uint64_t(1) << 30, .cpu_seconds = 5});
    require(done ? objects == 1 : objects == 0, "an object or an error");
    require(done || done.error().message.find("fuzz.c (module sha256:") != std::string::npos,
            "the error names the module");
  }
  return 0;
}
