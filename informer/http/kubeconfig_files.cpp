#include "informer/http/kubeconfig_files.hpp"

#include <filesystem>
#include <set>

#include "framework/base/yaml_bounds.hpp"
#include "informer/http/base64.hpp"
#include "informer/http/kubeconfig.hpp"
#include "informer/http/yaml_check.hpp"

namespace plimsoll::informer {

namespace fs = std::filesystem;

std::string text_of(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  return value.IsDefined() && value.IsScalar() ? value.Scalar() : std::string();
}

bool is_true(const YAML::Node& map, const char* key) {
  const std::string text = text_of(map, key);
  return text == "true" || text == "True" || text == "TRUE";
}

const KubeconfigEntry* find_entry(const KubeconfigEntries& entries, const std::string& name) {
  for (const auto& [key, entry] : entries) {
    if (key == name) return &entry;
  }
  return nullptr;
}

std::string names_of(const KubeconfigEntries& entries) {
  if (entries.empty()) return "there are none";
  std::string names = "there are: ";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    names += (i == 0 ? "'" : ", '") + entries[i].first + "'";
  }
  return names;
}

namespace {

// Appends the named entries of one list (`clusters`, ...). An entry of an earlier file wins.
Result<void> merge_list(const YAML::Node& root, const char* list, const char* body_key,
                        const std::string& file, KubeconfigEntries& into) {
  const YAML::Node entries = root[list];
  if (!entries.IsDefined() || entries.IsNull()) return {};
  const auto wrong = [&](const std::string& front, const std::string& what) {
    return fail(ErrorCode::kInvalid,
                "kubeconfig " + file + ": " + front + "'" + list + "' " + what);
  };
  if (!entries.IsSequence()) return wrong("", "must be a list");
  std::set<std::string> seen;
  for (const auto& entry : entries) {
    const std::string name = entry.IsMap() ? text_of(entry, "name") : std::string();
    if (name.empty()) return wrong("an entry of ", "has no name");
    const std::string quoted = "'" + name + "'";
    if (!seen.insert(name).second) {
      return wrong("", "names " + quoted + " twice; remove one of the two");
    }
    const YAML::Node body = entry[body_key];
    if (body.IsDefined() && !body.IsNull() && !body.IsMap()) {
      return wrong("'" + std::string(body_key) + "' of " + quoted + " in ", "must be a map");
    }
    if (find_entry(into, name) == nullptr) {
      into.emplace_back(
          name,
          KubeconfigEntry{body.IsDefined() && body.IsMap() ? body : YAML::Node(YAML::NodeType::Map),
                          file});
    }
  }
  return {};
}

}  // namespace

Result<void> merge_file(const std::string& file, Kubeconfig& merged) {
  auto text = read_file(file, "kubeconfig");
  if (!text) return fail(text.error());
  YAML::Node root;
  const auto not_yaml = [&file](const std::string& why) {
    return fail(ErrorCode::kInvalid,
                "kubeconfig " + file + " is neither YAML nor JSON: " + why +
                    "; check it with: kubectl config view --kubeconfig=" + file);
  };
  if (auto sound = check_yaml(*text); !sound) return not_yaml(sound.error().message);
  try {
    root = YAML::Load(with_end_marked(*text));
  } catch (const YAML::Exception& error) {
    return not_yaml(error.what());
  }
  if (root.IsNull()) root = YAML::Node(YAML::NodeType::Map);
  if (!root.IsMap()) {
    return fail(ErrorCode::kInvalid,
                "kubeconfig " + file +
                    " is not a kubeconfig: expected a map with clusters, users "
                    "and contexts");
  }
  const YAML::Node& view = root;  // operator[] of a non-const node would insert
  const std::string kind = text_of(view, "kind");
  if (!kind.empty() && kind != "Config") {
    return fail(ErrorCode::kInvalid, "kubeconfig " + file + ": kind is '" + kind +
                                         "', expected 'Config'; is this the right file?");
  }
  if (merged.current_context.empty()) merged.current_context = text_of(view, "current-context");
  merged.files += (merged.files.empty() ? "" : ", ") + file;
  if (auto done = merge_list(view, "clusters", "cluster", file, merged.clusters); !done)
    return done;
  if (auto done = merge_list(view, "contexts", "context", file, merged.contexts); !done)
    return done;
  return merge_list(view, "users", "user", file, merged.users);
}

std::string resolve(const std::string& path, const std::string& file) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(file).parent_path() / path).lexically_normal().string();
}

Result<Pem> load_pem(const KubeconfigEntry& entry, const std::string& key,
                     const std::string& where) {
  Pem pem;
  const std::string data = text_of(entry.body, (key + "-data").c_str());
  std::string what = where + ": " + key;
  if (!data.empty()) {
    what += "-data";
    auto decoded = decode_base64(data);
    if (!decoded) {
      return fail(ErrorCode::kInvalid, what + " is not base64: " + decoded.error().message);
    }
    pem.text = std::move(*decoded);
  } else {
    pem.file = resolve(text_of(entry.body, key.c_str()), entry.file);
    if (pem.file.empty()) return pem;
    auto text = read_file(pem.file, what);
    if (!text) return fail(text.error());
    pem.text = std::move(*text);
    what += " " + pem.file;
  }
  if (pem.text.find("-----BEGIN ") == std::string::npos) {
    return fail(ErrorCode::kInvalid,
                what + " is not in PEM format: expected a line that starts with -----BEGIN");
  }
  return pem;
}

}  // namespace plimsoll::informer
