#include <xaas/base/json.h>
#include <xaas/image/kernels.h>
#include <xaas/ir/demangle.h>

#include <algorithm>
#include <functional>
#include <set>

namespace xaas::image {

namespace {

Json to_json(const CpuKernels& kernels, const std::function<bool(const CpuKernel&)>& has_room) {
  Json list = Json::array();
  for (const CpuKernel& each : kernels.kernels) {
    if (!has_room(each))
      continue;
    list.push_back({{"source", each.source}, {"name", each.name}, {"form", each.form}});
    if (!each.reason.empty())
      list.back()["reason"] = each.reason;
  }
  return {{"forms", kernels.forms}, {"kernels", std::move(list)}};
}

Result<CpuKernels> read_kernels(const JsonReader& reader) {
  CpuKernels kernels;
  XAAS_TRY(const JsonReader forms, reader.at("forms"));
  XAAS_TRY(const auto members, forms.members());
  for (const auto& [form, count] : members) {
    XAAS_TRY(kernels.forms[form], count.size());
  }
  XAAS_TRY(const JsonReader list, reader.at("kernels"));
  XAAS_TRY(const std::vector<JsonReader> items, list.items());
  for (const JsonReader& item : items) {
    CpuKernel kernel;
    XAAS_TRY(kernel.source, item.string_at("source"));
    XAAS_TRY(kernel.name, item.string_at("name"));
    XAAS_TRY(kernel.form, item.string_at("form"));
    XAAS_TRY(kernel.reason, item.string_or("reason", ""));
    if (!kernels.forms.contains(kernel.form))
      return make_error(ErrorKind::integrity,
                        item.where() + ": form \"" + kernel.form + "\" is not among those counted");
    kernels.kernels.push_back(std::move(kernel));
  }
  return kernels;
}

} // namespace

void demangle(std::vector<CpuKernel>& kernels) {
  std::set<std::string> names;
  for (const CpuKernel& each : kernels)
    names.insert(each.name);
  const std::map<std::string, std::string> demangled = ir::demangled(names);
  for (CpuKernel& each : kernels)
    each.demangled = each.name.empty() ? "(of an unknown name)" : demangled.at(each.name);
}

CpuKernels cpu_kernels(std::vector<CpuKernel> kernels) {
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  CpuKernels result;
  for (const CpuKernel& each : kernels)
    ++result.forms[each.form];
  result.kernels = std::move(kernels);
  return result;
}

std::string to_annotation(const CpuKernels& kernels, size_t limit) {
  const auto text = [&](const std::function<bool(const CpuKernel&)>& has_room) {
    return to_json(kernels, has_room).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string all = text([](const CpuKernel&) { return true; });
  for (const std::function<bool(const CpuKernel&)>& has_room :
       {std::function<bool(const CpuKernel&)>(
            [](const CpuKernel& each) { return each.form != kernel_loops; }),
        std::function<bool(const CpuKernel&)>(
            [](const CpuKernel& each) { return each.form == kernel_refused; }),
        std::function<bool(const CpuKernel&)>([](const CpuKernel&) { return false; })})
    if (all.size() > limit)
      all = text(has_room);
  return all;
}

Result<std::optional<CpuKernels>> cpu_kernels_of(const oci::Image& image) {
  const auto found = image.manifest().annotations.find(annotation::kernels);
  if (found == image.manifest().annotations.end())
    return std::optional<CpuKernels>();
  const std::string where = std::string("annotation ") + annotation::kernels;
  XAAS_TRY(const Json json, parse_json(found->second, where, false, ErrorKind::integrity));
  XAAS_TRY(CpuKernels kernels, read_kernels(JsonReader(json, where)));
  return std::optional(std::move(kernels));
}

} // namespace xaas::image
