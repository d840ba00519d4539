// What a deployed image is for, as annotations of its manifest and of its entry in an index say; and the
// choice among images for several targets under one name.
#pragma once

#include <xaas/oci/image.h>
#include <xaas/target/cpu.h>
#include <xaas/target/gpu.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xaas::image {

namespace annotation {
inline constexpr const char* cpu = "dev.xaas.cpu";           // LLVM's name
inline constexpr const char* features = "dev.xaas.features"; // joined by `,`
inline constexpr const char* gpu = "dev.xaas.gpu";           // architectures, joined by `,`; "none"; "cpu"
// Of a file tree for several targets: the directories below /.xaas/targets, weakest first, joined by `,`
inline constexpr const char* targets = "dev.xaas.targets";
} // namespace annotation

using Annotations = std::map<std::string, std::string>;

// The features that the image was deployed for, that its programs check for at the start, and that `host`
// lacks. None without annotations.
std::vector<std::string> lacking(const Annotations& annotations, const target::Cpu& host);

// The GPUs of the node. Asking takes time, and is done only where the images differ in their device code.
using FindGpus = std::function<std::vector<target::Gpu>()>;

// Of images whose features `host` has, those whose device code suits the node best: code that runs on one of
// its GPUs, kernels that run on the CPU, no device code, code for other GPUs. Of these, the one with the most
// features; of equals the first. If there is none, the first of all, or unsatisfied with the features that
// each needs. Integrity error if an annotation about device code is malformed.
enum class IfNoneFits { fail, first };
oci::Chooser best_for(const target::Cpu& host, const FindGpus& gpus,
                      IfNoneFits if_none_fits = IfNoneFits::fail);

} // namespace xaas::image
