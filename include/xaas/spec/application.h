// The application spec: how an application is configured, built and installed, and its specialization points.
//
// Source: docs/application-spec.md and specs/schema/application.schema.json, which every document is checked
// against.
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

// What a value needs of a system. Everything that is given must hold.
struct Requirement {
  std::vector<std::string> cpu; // features, or exactly one ISA level
  struct Gpu {
    std::string vendor, arch, driver; // empty: any
    bool operator==(const Gpu&) const = default;
  };
  std::optional<Gpu> gpu;
  std::string mpi;                 // an ABI, such as "mpich-12"; empty: none
  enum class From { host, image }; // who has it
  struct Library {
    std::string name, version; // version: at least this one; empty: any. Of a library of the image: empty
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
  std::vector<std::string> arguments; // given to the build system, as they are
  Requirement requires_;
  bool from_source = false; // IR cannot serve it: configurations with it are built on the target
};

// "On such CPUs these values are better, best first."
struct Preference {
  // LLVM names of CPUs, in which `*` stands for any characters, or ISA levels: every CPU that has the level.
  std::vector<std::string> cpu;
  std::vector<std::string> values;
  // The first of `cpu` that speaks of this CPU, by any of its names; nullptr: none does.
  const std::string* find(const target::Cpu& on) const;
};

// True if a word of Preference::cpu is a level of any architecture, or names a CPU that LLVM knows.
bool names_a_cpu(const std::string& word);

// One build-time choice. Values are listed weakest first.
struct SpecializationPoint {
  std::string name;
  std::string category; // cpu, gpu, threading, communication, linear-algebra, fft, precision, other
  std::string default_; // empty: none
  std::vector<Value> values;
  std::vector<Preference> prefer;
  const Value* find(const std::string& value) const; // nullptr: no such value
};

enum class BuildSystem { cmake, autotools, make, meson, commands };
std::string to_string(BuildSystem system);

// One file that is installed by hand: `from` relative to the build directory, `to` relative to the prefix.
struct InstallFile {
  std::string from, to;
};

struct Build {
  BuildSystem system = BuildSystem::cmake;
  std::string directory; // of the build system's first file, relative to the sources; empty: theirs
  std::vector<std::string> arguments; // given to every configuration
  std::map<std::string, std::string> environment;
  std::vector<std::string> targets;                              // empty: the build system's own default
  bool copy = false;                                             // each configuration gets its own sources
  std::vector<InstallFile> install;                              // empty: the build system's own install
  bool install_target = false;                                   // its own install, and `install` after it
  std::string configure_command, build_command, install_command; // of "commands" only
};

struct Image {
  std::string base = "scratch";
  std::string prefix = "/usr/local"; // absolute, normalised
  std::vector<std::string> entrypoint;
  std::map<std::string, std::string> env;
};

// What the configurations of a source image are built with, on the target.
struct Toolchain {
  std::string base;                  // an image; empty: it is made of packages
  std::vector<std::string> packages; // Debian's, by name; empty: `base`
  std::string suite;                 // of the packages ("bookworm"); empty: the build machine's
  std::string c, cxx, fortran; // compilers: names on the toolchain's PATH, or paths; empty: gcc or clang
  std::string path;            // PATH of the build; empty: the base's, else the usual directories
  bool operator==(const Toolchain&) const = default;
};

// Something that may come from the host where that has it in the same ABI. The image brings its own all the
// same: it runs anywhere.
struct HostPreference {
  std::string what;                 // "mpi", or the name of a library: "fftw3"
  std::vector<std::string> sonames; // of the library; empty: those that are known to belong to the name
  bool operator==(const HostPreference&) const = default;
};
Json to_json(const HostPreference& preference); // a string where there are no sonames
// A name of a library or of its file: letters, digits and . _ + -, no path.
bool is_library_name(const std::string& name);
Result<HostPreference> parse_host_preference(const JsonReader& reader);

// A file that is got when a source image is built, so that the target needs no network.
struct Download {
  std::string url;     // http or https
  std::string sha256;  // of the file: 64 hexadecimal digits
  std::string to;      // relative to the sources
  bool unpack = false; // it is an archive, and `to` the directory that it becomes
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
  std::string source, revision; // where the sources are kept, and which they are; empty: not said
  Build build;
  std::vector<std::string>
      gpu; // architectures that device code is compiled for; empty: as the build itself says
  std::vector<SpecializationPoint> points; // the application's own, without the built-in `isa`
  std::optional<std::vector<std::string>>
      isa; // levels; absent: all of the architecture; empty: no such point
  std::vector<std::map<std::string, std::string>> exclude;
  std::vector<std::map<std::string, std::string>> configurations; // empty: all combinations
  std::vector<std::string> runtime; // absolute paths of files or directories that no ELF file names
  Image image;
  Toolchain toolchain;
  std::vector<std::string>
      include; // patterns of files that belong to a source image though .gitignore names them
  std::vector<Download> fetch;
  std::vector<HostPreference> host;
};

// Reads and validates a spec. Comments are allowed. Every error is a usage error that names `name` and the
// JSON pointer of the place: an unknown key (with a suggestion), a wrong type, a value that names no point, a
// default that is no value, a duplicate name, a cycle in `requires.values`, an install path that leaves the
// prefix.
Result<Application> parse_application(const std::string& text, const std::string& name);
Result<Application> read_application(const fs::path& path); // not_found if there is no such file

// The spec as JSON that parse_application reads back; keys in a fixed order, defaults written out.
Json to_json(const Application& application);

// The built-in point `isa` for these levels (weakest first): value V requires cpu V; default: the weakest; no
// arguments, because the compiler front door applies it.
SpecializationPoint isa_point(const std::vector<std::string>& levels);

// All points of an application on an architecture: its own, then `isa` if it has levels. `isa_override`, if
// not empty, replaces the spec's levels (given on the command line); an unknown level is a usage error.
// Levels come out weakest first, however they were written. Levels of the spec and values of its points that
// need another architecture's CPU are left out, and so is a point with no others; a default among them
// becomes the first value that stays.
Result<std::vector<SpecializationPoint>> all_points(const Application& application, const std::string& arch,
                                                    const std::vector<std::string>& isa_override);

Json to_json(const Requirement& required);
Result<Requirement> parse_requirement(const JsonReader& reader);

// Points as they appear in `inspect` and in a bundle.
Json to_json(const SpecializationPoint& point);
Result<SpecializationPoint> parse_point(const JsonReader& reader);

// The configurations to build, in point order with earlier points varying slowest and values in their listed
// order. `chosen` (from --config K=V,...) replaces the spec's `configurations`; in both, missing points take
// their default, else their first value. Combinations that `exclude` matches or that contradict a value's
// `requires.values` are left out; of `chosen` such a one is a usage error, because somebody asked for it by
// name. An entry of the spec whose `isa` is not among the levels of `points` is left out. Usage errors: an
// unknown point or value, nothing left, more than `limit` combinations (counted before they are made; the
// message names the limit and the option that raises it).
Result<std::vector<Configuration>> expand(const Application& application,
                                          const std::vector<SpecializationPoint>& points,
                                          const std::vector<std::map<std::string, std::string>>& chosen,
                                          size_t limit);

// The arguments of a configuration: those of the spec's build, then those of each point's value in point
// order.
std::vector<std::string> arguments_of(const Application& application,
                                      const std::vector<SpecializationPoint>& points,
                                      const Configuration& configuration);

// "K=V,K=V" into a map; usage error if malformed or if a key is given twice.
Result<std::map<std::string, std::string>> parse_assignments(const std::string& text);

} // namespace xaas::spec
