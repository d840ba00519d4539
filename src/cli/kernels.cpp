#include "kernels.h"
#include "terminal.h"

#include <algorithm>
#include <cstdint>

namespace xaas::cli {

Json kernels_json(const std::vector<image::CpuKernel>& kernels) {
  Json json = Json::array();
  for (const image::CpuKernel& kernel : kernels)
    json.push_back(Json{{"name", kernel.name},
                        {"demangled", kernel.demangled},
                        {"source", kernel.source},
                        {"form", kernel.form},
                        {"reason", kernel.reason}});
  return json;
}

std::string forms_text(const Json& forms) {
  std::string text;
  const auto add = [&](const std::string& form, const Json& count) {
    text += (text.empty() ? "" : ", ") + count.dump() + " " + form;
  };
  if (forms.contains(image::kernel_loops)) // the best first, the worst last
    add(image::kernel_loops, forms[image::kernel_loops]);
  for (const auto& [form, count] : forms.items())
    if (form != image::kernel_loops && form != image::kernel_refused)
      add(form, count);
  if (forms.contains(image::kernel_refused))
    add(image::kernel_refused, forms[image::kernel_refused]);
  return text.empty() ? "none" : text;
}

std::string kernels_text(const Json& forms, const Json& kernels, bool all) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& kernel : kernels) {
    const auto text = [&](const char* key) { return kernel[key].get<std::string>(); };
    if (text("form") == image::kernel_loops && !all)
      continue;
    rows.push_back({"  " + text("form"), text("source") + ": " + text("demangled") +
                                             (text("reason").empty() ? "" : ": " + text("reason"))});
  }
  uint64_t left_out = 0;
  for (const auto& [form, count] : forms.items())
    left_out += form != image::kernel_loops || all ? count.get<uint64_t>() : 0;
  left_out -= std::min<uint64_t>(left_out, rows.size());
  return "kernels on the CPU: " + forms_text(forms) + "\n" + table(rows) +
         (left_out ? "  and " + std::to_string(left_out) + " that the image does not name\n" : "");
}

} // namespace xaas::cli
