// The settings of this run.
#pragma once

#include <xaas/config/settings.h>

#include <CLI/CLI.hpp>

namespace xaas::cli {

// Reads them, once, before a command runs; `app` has parsed the command line. What other programs and the
// libraries take from the environment (TMPDIR, XAAS_CLANG, XAAS_FLANG) is put there.
Result<void> read_settings(const CLI::App& app);

// Built-in values before read_settings().
const config::Settings& settings();

// How many jobs at once: -j, or the settings, or what the machine allows.
unsigned jobs();

// Outside a batch job others get the CPU first from now on (the setting `nice`).
void be_modest();

} // namespace xaas::cli
