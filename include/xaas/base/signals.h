// Signals, for a program that this process becomes.
#pragma once

namespace xaas {

// Makes the signals that install_interrupt_handler() (xaas/base/process.h) changed what they were before.
void restore_signals();

} // namespace xaas
