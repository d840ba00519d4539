// The files of the machine that Clang's driver adds to every program.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <set>

namespace xaas::frontdoor {

// The digests of the start files (crt1.o, crtbeginS.o, ...), of the compiler's run-time library (libgcc.a,
// libgcc_eh.a), and of the part of the C library that every program has (libc_nonshared.a). Their code runs
// on every CPU of the architecture. All other code of the machine may choose instructions at run time, as
// libc.a does. A way of linking that this machine cannot do, because its files are not installed, adds none.
Result<std::set<Digest>> start_files(const session::Session& session);

} // namespace xaas::frontdoor
