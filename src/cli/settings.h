// The settings of this run.
#pragma once

#include <xaas/config/settings.h>

#include <CLI/CLI.hpp>

namespace xaas::cli {

// Reads the settings before a command runs; `app` has parsed the command line. Settings that libraries and
// other programs read from the environment (TMPDIR, XAAS_CLANG, XAAS_FLANG) are exported. Warnings go to
// standard error unless `quiet`.
Result<void> read_settings(const CLI::App& app, bool quiet);

// Before read_settings(): the built-in values.
const config::Settings& settings();

// Number of parallel jobs: -j, the settings, or what the machine allows.
unsigned jobs();

// Outside a batch job, lowers the priority of this process (the setting `nice`).
void be_modest();

} // namespace xaas::cli
