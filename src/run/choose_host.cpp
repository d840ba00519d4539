#include "choose_host.h"

#include "host_libraries.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/run/preferred.h>
#include <xaas/runtimes/knowledge.h>
#include <xaas/system/system.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::run {

namespace {

const image::PreferredOfHost* preference_for(const HostQuestion& question, const std::string& what) {
  for (const image::PreferredOfHost& each : question.preferred)
    if (each.what == what)
      return &each;
  return nullptr;
}

bool prefers_mpi(const HostQuestion& question) {
  return question.mpi == Mpi::automatic && !question.libraries && preference_for(question, "mpi");
}

bool asks_for_mpi(const HostQuestion& question) {
  return question.mpi == Mpi::host ||
         (question.mpi == Mpi::automatic && (question.launched || prefers_mpi(question)));
}

class Choosing {
public:
  Choosing(const HostQuestion& question, HostLibraries& libraries)
      : question_(question), libraries_(libraries) {}

  Result<HostAnswer> run() {
    if (asks_for_mpi(question_)) {
      XAAS_CHECK(choose_mpi());
    } else if (question_.wants_abi) {
      XAAS_TRY(const Replaced replaced, libraries_.mpi_of_image());
      answer_.mpi_abi = replaced.abi;
    }
    if (question_.libraries) {
      for (const std::string& what : *question_.libraries)
        XAAS_CHECK(choose_named(what));
    } else {
      for (const image::PreferredOfHost& each : question_.preferred)
        if (each.what != "mpi")
          XAAS_CHECK(choose_preferred(each));
    }
    answer_.binds = libraries_.binds();
    return std::move(answer_);
  }

private:
  const system::SystemDescription& machine() {
    if (!machine_) {
      system::Probes probes;
      probes.runtime_versions = true; // only MPI's, for messages
      probes.path = {"/nonexistent"}; // no programs are looked for
      machine_ = system::detect(probes);
    }
    return *machine_;
  }

  Result<void> choose_mpi() {
    XAAS_TRY(const Replaced replaced, libraries_.mpi_of_image());
    answer_.mpi_abi = replaced.abi;
    if (replaced.abi.empty() && question_.mpi == Mpi::automatic)
      return {};
    const Result<std::string> taken = take_mpi(replaced);
    XAAS_CHECK(settle("mpi", "MPI", taken, question_.mpi == Mpi::host, "--mpi host"));
    answer_.mpi = bool(taken);
    return {};
  }

  // The MPI that was taken, for messages.
  Result<std::string> take_mpi(const Replaced& replaced) {
    const std::string hint = "`--mpi image` uses the MPI that the image brings";
    if (replaced.abi.empty())
      return make_error(ErrorKind::unsatisfied, "the image has no MPI library of a known ABI", hint);
    std::string others;
    const system::Mpi* chosen = nullptr;
    for (const system::Mpi& mpi : machine().mpi) {
      if (mpi.abi == replaced.abi && !chosen)
        chosen = &mpi;
      others += (others.empty() ? "" : ", ") + mpi.implementation + " (" + mpi.abi + ") in " + mpi.libdir;
    }
    XAAS_CHECK(check_interrupt());
    if (!chosen)
      return make_error(ErrorKind::unsatisfied,
                        "the image's MPI has the ABI " + replaced.abi + ", this machine has " +
                            (others.empty() ? "no MPI" : others),
                        hint);
    XAAS_TRY([[maybe_unused]] const std::string directory, libraries_.take(replaced, {chosen->libdir}));
    return trim(chosen->implementation + " " + chosen->version) + " in " + chosen->libdir;
  }

  Result<void> choose_named(const std::string& what) {
    const image::PreferredOfHost* const known = preference_for(question_, what);
    Replaced replaced = libraries_.named(what);
    if (replaced.libraries.empty()) { // the program is a script, for example
      const std::vector<std::string> self = {what};
      XAAS_TRY(replaced, libraries_.libraries_of_image(what, known ? known->sonames : self));
    }
    if (replaced.libraries.empty())
      return make_error(ErrorKind::unsatisfied,
                        "--host " + what + ": the image's program loads no library " + what,
                        "give the name of a library: `fftw3` or `libfftw3.so.3`");
    return settle(what, what, take(replaced), true, "--host " + what);
  }

  Result<void> choose_preferred(const image::PreferredOfHost& preferred) {
    XAAS_TRY(const Replaced replaced, libraries_.libraries_of_image(preferred.what, preferred.sonames));
    if (replaced.libraries.empty()) {
      answer_.choices.push_back({preferred.what, false, "", "the image has no such library"});
      return {};
    }
    return settle(preferred.what, preferred.what, take(replaced), false, "");
  }

  // The library that was taken, for messages.
  Result<std::string> take(const Replaced& replaced) {
    if (const runtimes::Interface* interface = runtimes::Knowledge::get().interface(replaced.what))
      return take_implementation(replaced, *interface);
    return take_from(replaced, replaced.libraries.front().names.front());
  }

  // The best implementation that fits, in place of all libraries of the image with this interface.
  Result<std::string> take_implementation(const Replaced& replaced, const runtimes::Interface& interface) {
    std::string refused;
    for (const std::string& implementation : interface.implementations) {
      Replaced by = replaced;
      for (Replaced::Library& each : by.libraries)
        each.of_host = {implementation};
      Result<std::string> taken = take_from(by, implementation);
      if (taken || taken.error().kind != ErrorKind::unsatisfied)
        return taken;
      if (refused.empty() && !libraries_.found_nothing())
        refused = implementation + ": " + taken.error().message;
    }
    return make_error(ErrorKind::unsatisfied,
                      refused.empty() ? "this machine has no " + join(interface.implementations, ", ")
                                      : refused,
                      "`--host none` uses the libraries that the image brings");
  }

  // `first` is the name of the file on the host by which the directory is known.
  Result<std::string> take_from(const Replaced& replaced, const std::string& first) {
    std::vector<std::string> directories = question_.library_path;
    for (const system::Named& library : machine().libraries) // also of modules and in vendors' directories
      if (fs::path(library.path).filename().string().starts_with(first))
        directories.push_back(fs::path(library.path).parent_path());
    XAAS_CHECK(check_interrupt());
    for (const std::string& directory : loader::directories_of("/", target::host_arch()).all())
      directories.push_back(directory);
    XAAS_TRY(const std::string directory, libraries_.take(replaced, directories));
    return directory + "/" + first;
  }

  // Decides about one library. `required`: an error if the host's does not fit; otherwise the image's is
  // used.
  Result<void> settle(const std::string& what, const std::string& name, const Result<std::string>& taken,
                      bool required, const std::string& option) {
    if (taken) {
      answer_.choices.push_back({what, true, *taken, "it fits"});
      answer_.notes.push_back(name + " of the host: " + *taken);
      return {};
    }
    if (taken.error().kind != ErrorKind::unsatisfied)
      return taken.error();
    if (required)
      return Error(taken.error()).in(option);
    answer_.choices.push_back({what, false, "", taken.error().message});
    answer_.notes.push_back(name + " of the image: " + taken.error().message);
    return {};
  }

  const HostQuestion& question_;
  HostLibraries& libraries_;
  std::optional<system::SystemDescription> machine_;
  HostAnswer answer_;
};

} // namespace

Json to_json(const HostChoice& choice) {
  return {{"what", choice.what},
          {"from", choice.host ? "host" : "image"},
          {"found", choice.found.empty() ? Json() : Json(choice.found)},
          {"reason", choice.reason}};
}

bool asks(const HostQuestion& question) {
  if (question.libraries ? !question.libraries->empty()
                         : std::any_of(question.preferred.begin(), question.preferred.end(),
                                       [](const auto& each) { return each.what != "mpi"; }))
    return true;
  return question.wants_abi || asks_for_mpi(question);
}

Result<HostAnswer> choose_host(const HostQuestion& question, loader::Loader& image,
                               const loader::Library* program) {
  XAAS_TRY(HostLibraries libraries,
           HostLibraries::open(image, program, target::host_arch(), question.library_path));
  return Choosing(question, libraries).run();
}

} // namespace xaas::run
