// Signals, for a program that replaces this process.
#pragma once

namespace xaas {

// Restores the signal handlers that install_interrupt_handler() (xaas/base/process.h) changed.
void restore_signals();

} // namespace xaas
