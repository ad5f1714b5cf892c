#include "lab/simulate/input_files.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/manifest.hpp"
#include "config/pod_fields.hpp"

namespace plimsoll::cli {
namespace {

constexpr std::size_t kProblemsShown = 10;

// Kinds with a pod template, whose controllers nobody runs here.
constexpr std::array<std::string_view, 8> kMakers{
    "Deployment", "ReplicaSet", "StatefulSet",           "DaemonSet",
    "Job",        "CronJob",    "ReplicationController", "PodTemplate"};

void check(const config::ManifestObject& object, InputRole role,
           std::vector<std::string>& problems) {
  if (object.kind == "Pod" && object.api_version == "v1") {
    for (const std::string& field : config::unknown_pod_fields(object.json)) {
      problems.push_back(object.source() + ": " + field);
    }
    return;
  }
  if (role == InputRole::kPods && std::ranges::find(kMakers, object.kind) != kMakers.end()) {
    problems.push_back(object.source() + ": a " + object.kind +
                       " makes its pods in a cluster, and nobody makes them here: give the pods");
  }
}

}  // namespace

std::string sha256_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  std::string hex;
  for (const unsigned char byte : hash) {
    for (const int digit : {byte >> 4, byte & 15}) hex += "0123456789abcdef"[digit];
  }
  return hex;
}

Result<std::vector<std::string>> read_objects(const std::string& path, InputRole role, bool lenient,
                                              std::vector<std::string>& notes,
                                              std::string* digest) {
  std::vector<std::string> texts;
  if (path.empty()) return texts;
  const auto file = config::read_text_file(path);
  if (!file) return fail(file.error());
  if (digest != nullptr) *digest = sha256_of(*file);
  auto objects = config::parse_manifests(*file, path == "-" ? "<stdin>" : path);
  if (!objects) return fail(objects.error());
  std::vector<std::string> problems;
  if (objects->empty()) problems.push_back(path + ": there is no object in it");
  for (config::ManifestObject& object : *objects) {
    check(object, role, problems);
    texts.push_back(std::move(object.json));
  }
  if (lenient || problems.empty()) {
    notes.insert(notes.end(), problems.begin(), problems.end());
    return texts;
  }
  std::string message;
  for (std::size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i) {
    message += problems[i] + "\n";
  }
  if (problems.size() > kProblemsShown) {
    message += "and " + std::to_string(problems.size() - kProblemsShown) + " more\n";
  }
  return fail(ErrorCode::kInvalid, message +
                                       "--lenient takes it as it is (fields as of Kubernetes " +
                                       std::string(config::kPodFieldsVersion) + ")");
}

}  // namespace plimsoll::cli
