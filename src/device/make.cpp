#include <xaas/device/make.h>

#include "cpu.h"
#include "images.h"
#include "linking.h"

namespace xaas::device {

std::set<Digest> modules_to_read(const image::Bundle& bundle, const DevicePlan& plan,
                                 const std::set<Digest>& host_units) {
  std::set<Digest> modules;
  const auto add = [&](const Digest& unit) { modules.insert(image::stored_module(bundle, unit)); };
  for (const DeviceJob& job : plan.jobs(host_units))
    add(job.unit);
  for (const auto& [gpu, planned] : plan.linked)
    for (const auto& [host, job] : planned)
      add(job.unit);
  for (const auto& [record, parts] : plan.links)
    for (const DeviceLink& part : parts)
      for (const Digest& unit : units_for_host(bundle, part))
        add(unit);
  for (const auto& [host, unit] : plan.kernels)
    add(unit);
  return modules;
}

Result<DeviceCode> make_device_code(const DeviceInputs& inputs) {
  DeviceCode made;
  if (inputs.plan.on_cpu)
    XAAS_CHECK(make_kernels(inputs, made));
  else
    XAAS_CHECK(make_images(inputs, made));
  XAAS_CHECK(link_device_code(inputs, made));
  return made;
}

} // namespace xaas::device
