// Whether NVIDIA's assembler accepts an image's device code. Deploying would find out anyway, but later, on
// another machine, and perhaps for another person.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/device/assembler.h>
#include <xaas/image/bundle.h>
#include <xaas/store/content_store.h>

namespace xaas::build {

// Assembles every distinct IR module for GPUs once, for the highest of its architectures that the assembler
// knows, and keeps nothing. `content` has the modules and their libraries. Errors (failed) name the source
// and the architecture and include the assembler's output.
Result<void> check_device_code(const image::Bundle& bundle, const store::ContentStore& content,
                               const device::Assembler& assembler, unsigned jobs, Progress& progress);

} // namespace xaas::build
