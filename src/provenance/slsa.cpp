#include "package_url.h"

#include <xaas/image/application_image.h>
#include <xaas/provenance/slsa.h>

#include <algorithm>
#include <cctype>

namespace xaas::provenance {

namespace {

constexpr const char* statement_type = "https://in-toto.io/Statement/v1";
constexpr const char* predicate_type = "https://slsa.dev/provenance/v1";
constexpr const char* build_type = "https://xaas.dev/build/v1"; // docs/provenance.md describes it

std::string annotation(const Inventory& inventory, const char* key) {
  const auto found = inventory.annotations.find(key);
  return found == inventory.annotations.end() ? std::string() : found->second;
}

void set_if_known(Json& json, const char* key, const std::string& value) {
  if (!value.empty())
    json[key] = value;
}

// Git's names of commits: SHA-1 or SHA-256. A tree with changes is not what the commit names.
bool is_commit(const std::string& revision) {
  return (revision.size() == 40 || revision.size() == 64) &&
         std::all_of(revision.begin(), revision.end(), [](unsigned char c) { return std::isxdigit(c); });
}

std::optional<Json> sources_of(const Inventory& inventory) {
  const std::string source = annotation(inventory, image::annotation::source);
  const std::string revision = annotation(inventory, image::annotation::revision);
  if (source.empty() && revision.empty())
    return std::nullopt;
  Json json = {{"name", "sources"}};
  if (!source.empty())
    json["uri"] = (is_commit(revision) && !source.starts_with("git+") ? "git+" : "") + source +
                  (revision.empty() ? "" : "@" + revision);
  if (is_commit(revision))
    json["digest"] = {{"gitCommit", revision}};
  else if (!revision.empty())
    json["annotations"] = {{"revision", revision}};
  return json;
}

std::optional<Json> base_of(const Inventory& inventory) {
  const Result<Digest> digest = Digest::parse(annotation(inventory, image::annotation::base_digest));
  if (!digest)
    return std::nullopt;
  Json json = {{"name", "base image"}, {"digest", {{"sha256", digest->hex()}}}};
  if (const std::string name = annotation(inventory, image::annotation::base_name); !name.empty())
    json["annotations"] = {{"reference", name}};
  return json;
}

Json dependency(const image::PackageUse& use) {
  Json json = {{"name", use.package.name}};
  set_if_known(json, "uri", package_url(use.package));
  if (use.file)
    json["digest"] = {{"sha256", use.file->hex()}};
  return json;
}

} // namespace

bool is_uri(const std::string& text) {
  const size_t colon = text.find(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < text.size() &&
         std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; }) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 127; });
}

std::optional<Builder> builder_of_job(const std::function<std::string(const char* name)>& environment) {
  const std::string server = environment("GITHUB_SERVER_URL"), workflow = environment("GITHUB_WORKFLOW_REF");
  if (environment("GITHUB_ACTIONS") == "true" && !server.empty() && !workflow.empty()) {
    const std::string repository = environment("GITHUB_REPOSITORY"), run = environment("GITHUB_RUN_ID");
    Builder builder{server + "/" + workflow, {}};
    if (!repository.empty() && !run.empty())
      builder.invocation = server + "/" + repository + "/actions/runs/" + run;
    const std::string attempt = environment("GITHUB_RUN_ATTEMPT");
    if (!builder.invocation.empty() && !attempt.empty())
      builder.invocation += "/attempts/" + attempt;
    return builder;
  }
  const std::string project = environment("CI_PROJECT_URL"), runner = environment("CI_RUNNER_ID");
  if (environment("GITLAB_CI") == "true" && !project.empty() && !runner.empty())
    return Builder{project + "/-/runners/" + runner, environment("CI_JOB_URL")};
  return std::nullopt;
}

Json to_slsa(const Inventory& inventory, const std::vector<std::string>& configurations,
             const Builder& builder) {
  Json parameters = {{"kind", inventory.kind}};
  set_if_known(parameters, "application", annotation(inventory, image::annotation::title));
  set_if_known(parameters, "version", annotation(inventory, image::annotation::version));
  set_if_known(parameters, "source", annotation(inventory, image::annotation::source));
  set_if_known(parameters, "revision", annotation(inventory, image::annotation::revision));
  parameters["configurations"] = configurations;

  Json dependencies = Json::array();
  for (const std::optional<Json>& each : {sources_of(inventory), base_of(inventory)})
    if (each)
      dependencies.push_back(*each);
  for (const image::PackageUse& use : inventory.packages)
    dependencies.push_back(dependency(use));

  Json tools = {{"xaas", annotation(inventory, image::annotation::tool)}};
  set_if_known(tools, "llvm", annotation(inventory, image::annotation::llvm));
  Json run = {{"builder", {{"id", builder.id}, {"version", std::move(tools)}}}};
  if (!builder.invocation.empty())
    run["metadata"] = {{"invocationId", builder.invocation}};

  const std::string title = annotation(inventory, image::annotation::title);
  return {{"_type", statement_type},
          {"subject", Json::array({{{"name", title.empty() ? "image" : title},
                                    {"digest", {{"sha256", inventory.image.hex()}}}}})},
          {"predicateType", predicate_type},
          {"predicate",
           {{"buildDefinition",
             {{"buildType", build_type},
              {"externalParameters", std::move(parameters)},
              {"resolvedDependencies", std::move(dependencies)}}},
            {"runDetails", std::move(run)}}}};
}

} // namespace xaas::provenance
