// Whether NVIDIA's assembler takes an image's device code. Deploying finds out anyway, but elsewhere, later,
// and perhaps somebody else.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/device/assembler.h>
#include <xaas/image/bundle.h>
#include <xaas/store/content_store.h>

namespace xaas::build {

// Makes machine code of every distinct IR module for GPUs once, for the highest of its architectures that the
// assembler knows, and keeps none of it. `content` has the modules and their libraries. Errors (failed) name
// source and architecture, and have the assembler's words.
Result<void> check_device_code(const image::Bundle& bundle, const store::ContentStore& content,
                               const device::Assembler& assembler, unsigned jobs, Progress& progress);

} // namespace xaas::build
