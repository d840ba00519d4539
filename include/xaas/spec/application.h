// The application spec: how an application is configured, built and installed, and its specialization points.
//
// Source: docs/application-spec.md, and specs/schema/application.schema.json, which validates every document.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xaas::spec {

// What a value requires of a system. All given members must be met.
struct Requirement {
  std::vector<std::string> cpu; // features, or exactly one ISA level
  struct Gpu {
    std::string vendor, arch, driver; // empty: any
    bool or_cpu = false;              // without a GPU, kernels may run on the CPU
    bool operator==(const Gpu&) const = default;
  };
  std::optional<Gpu> gpu;
  std::string mpi;                 // an ABI, such as "mpich-12"; empty: none
  enum class From { host, image }; // who provides a library
  struct Library {
    std::string name, version; // version: the minimum; empty: any. Empty for a library of the image
    From from = From::host;
    bool operator==(const Library&) const = default;
  };
  std::vector<Library> libraries;
  std::map<std::string, std::string> values; // values of other points
  bool empty() const;
  bool operator==(const Requirement&) const = default;
};

struct Value {
  std::string value;
  std::vector<std::string> arguments; // passed to the build system unchanged
  Requirement requires_;
  bool from_source = false; // has no IR: configurations with it are built on the target
};

// "On these CPUs, these values are better, best first."
struct Preference {
  // CPUs by LLVM name, where `*` matches any characters, or ISA levels, which match every CPU that has the
  // level.
  std::vector<std::string> cpu;
  std::vector<std::string> values;
  // The first element of `cpu` that matches this CPU by any of its names; nullptr: none.
  const std::string* find(const target::Cpu& on) const;
};

// True if a word of Preference::cpu is an ISA level of any architecture or matches a CPU that LLVM knows.
bool names_a_cpu(const std::string& word);

// One build-time choice. Values are listed weakest first.
struct SpecializationPoint {
  std::string name;
  std::string category; // cpu, gpu, threading, communication, linear-algebra, fft, precision, other
  std::string default_; // empty: none
  std::vector<Value> values;
  std::vector<Preference> prefer;
  // Not a choice of its own: each ISA level has the last value whose CPU requirement it meets.
  bool follows_isa = false;
  const Value* find(const std::string& value) const; // nullptr: no such value
};

enum class BuildSystem { cmake, autotools, make, meson, commands };
std::string to_string(BuildSystem system);

// A file to install: `from` relative to the build directory, `to` relative to the prefix.
struct InstallFile {
  std::string from, to;
};

struct Build {
  BuildSystem system = BuildSystem::cmake;
  std::string
      directory; // of the build system's top file, relative to the sources; empty: the source directory
  std::vector<std::string> arguments; // for every configuration
  std::map<std::string, std::string> environment;
  std::vector<std::string> targets; // empty: the default of the build system
  bool copy = false;                // each configuration gets its own copy of the sources
  std::vector<InstallFile> install; // empty: the install step of the build system
  bool install_target = false;      // that install step, then `install`
  std::string configure_command, build_command, install_command; // only for "commands"
};

struct Image {
  std::string base = "scratch";
  std::string prefix = "/usr/local"; // absolute, normalized
  std::vector<std::string> entrypoint;
  std::map<std::string, std::string> env;
};

// The toolchain that builds the configurations of a source image on the target.
struct Toolchain {
  std::string base;                  // an image; empty: made from `packages`
  std::vector<std::string> packages; // names of Debian packages; empty: `base`
  std::string suite;                 // of the packages ("bookworm"); empty: that of the build machine
  std::string c, cxx, fortran; // compilers: names on the toolchain's PATH, or paths; empty: gcc or clang
  std::string path;            // PATH of the build; empty: that of the base, or the usual directories
  bool operator==(const Toolchain&) const = default;
};

// A library that may come from the host if the host has it with the same ABI. The image contains its own copy
// anyway, so it runs anywhere.
struct HostPreference {
  std::string what;                 // "mpi", or the name of a library: "fftw3"
  std::vector<std::string> sonames; // of the library; empty: the known sonames of that name
  bool operator==(const HostPreference&) const = default;
};
Json to_json(const HostPreference& preference); // a string if there are no sonames
// True for a name of a library or of its file: letters, digits and . _ + -, no path.
bool is_library_name(const std::string& name);
Result<HostPreference> parse_host_preference(const JsonReader& reader);

// A file to download when a source image is built, so that the target needs no network.
struct Download {
  std::string url;     // http or https
  std::string sha256;  // of the file: 64 hexadecimal digits
  std::string to;      // relative to the sources
  bool unpack = false; // unpack the archive into the directory `to`
  bool operator==(const Download&) const = default;
};

// One value for every specialization point. It chooses the IR.
class Configuration {
public:
  Configuration() = default;
  explicit Configuration(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  const std::map<std::string, std::string>& values() const { return values_; }
  const std::string* find(const std::string& point) const; // nullptr: no such point
  // `K=V` sorted by K and joined by `,`; "default" if there is no point.
  std::string id() const;
  auto operator<=>(const Configuration&) const = default;

private:
  std::map<std::string, std::string> values_;
};

struct Application {
  std::string name, version = "0", license;
  std::string source, revision; // location and revision of the sources; empty: unknown
  Build build;
  std::vector<std::string> gpu;                // architectures for device code; empty: those of the build
  std::vector<SpecializationPoint> points;     // the application's own, without the built-in `isa`
  std::optional<std::vector<std::string>> isa; // levels; nullopt: all of the architecture; empty: no point
  bool prepared = true;                        // store IR modules in prepared form, where they have one
  std::vector<std::map<std::string, std::string>> exclude;
  std::vector<std::map<std::string, std::string>> configurations; // empty: all combinations
  std::vector<std::string> runtime; // absolute paths of files or directories that no ELF file references
  Image image;
  Toolchain toolchain;
  std::vector<std::string> include; // patterns of files that a source image contains despite .gitignore
  std::vector<Download> fetch;
  std::vector<HostPreference> host;
};

// Reads and validates a spec. Comments are allowed. Every error is a usage error with `name` and the JSON
// pointer of the place: an unknown key (with a suggestion), a wrong type, a reference to an unknown point or
// value, a duplicate name, a cycle in `requires.values`, an install path outside the prefix.
Result<Application> parse_application(const std::string& text, const std::string& name);
Result<Application> read_application(const fs::path& path); // not_found: no such file

// The spec as JSON that parse_application reads; keys in a fixed order, with defaults.
Json to_json(const Application& application);
Json to_short_json(const Application& application); // without the keys that have their defaults

// The built-in point `isa` for these levels (weakest first). Each value requires its level; the weakest is
// the default. It has no arguments because the compiler front door applies it.
SpecializationPoint isa_point(const std::vector<std::string>& levels);

// All choices of an application for an architecture: its own points, except those that follow `isa`, then
// `isa` if it has levels, weakest first.
// `isa_override` (from the command line), if not empty, replaces the levels of the spec; an unknown level is
// a usage error. Levels and values that require a CPU of another architecture are left out, and so are points
// without other values. If that removes a default, the first remaining value becomes the default.
Result<std::vector<SpecializationPoint>> all_points(const Application& application, const std::string& arch,
                                                    const std::vector<std::string>& isa_override);

Json to_json(const Requirement& required);
Result<Requirement> parse_requirement(const JsonReader& reader);

// A point in the form of `inspect` and of a bundle.
Json to_json(const SpecializationPoint& point);
Result<SpecializationPoint> parse_point(const JsonReader& reader);

// The configurations to build, in point order: earlier points vary slowest, values in the order of the spec.
// `chosen` (from --config K=V,...) replaces the `configurations` of the spec; in both, a missing `isa` takes
// each level, and another missing point its default or else its first value. Combinations that `exclude`
// matches or that contradict `requires.values` are left out, but an element of `chosen` of which nothing is
// left is a usage error. Entries of the spec with values or levels that `points` lack are left out. Usage
// errors: an unknown point or value, no configuration left, more than `limit` combinations (counted before
// they are generated; the message has the option that raises the limit). The error for no configuration says
// which values excluded which.
Result<std::vector<Configuration>> expand(const Application& application,
                                          const std::vector<SpecializationPoint>& points,
                                          const std::vector<std::map<std::string, std::string>>& chosen,
                                          size_t limit);

// The arguments of a configuration: those of the build, then those of each value in point order. Points that
// follow `isa` have the value for `cpu`, or for the configuration's level (cpu_of()).
std::vector<std::string> arguments_of(const Application& application, const Configuration& configuration,
                                      const target::Cpu& cpu);

// The ISA level of a configuration as a CPU; the weakest of `arch` if the configuration has none.
Result<target::Cpu> cpu_of(const Configuration& configuration, const std::string& arch);

// "K=V,K=V" into a map; usage error if malformed or if a key is given twice.
Result<std::map<std::string, std::string>> parse_assignments(const std::string& text);

} // namespace xaas::spec
