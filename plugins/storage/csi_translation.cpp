#include "plugins/storage/csi_translation.hpp"

#include <plimsoll/views.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "framework/base/json_field.hpp"
#include "framework/base/split.hpp"
#include "plugins/storage/volume_affinity.hpp"

namespace plimsoll::volumes {
namespace {

using Json = nlohmann::json;
using sdk::view;

constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kZoneDelimiter = "__";
constexpr const char* kUnspecified = "UNSPECIFIED";

constexpr std::array<InTreePlugin, 7> kPlugins{{
    {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone",
     true},
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com",
     "topology.ebs.csi.aws.com/zone", true},
    {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com", "", true},
    {"azureFile", "kubernetes.io/azure-file", "file.csi.azure.com", "", false},
    {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org",
     "topology.cinder.csi.openstack.org/zone", true},
    {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com", "", true},
    {"vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "", false},
}};

// ---- handles

std::string gce_handle(std::string_view scope, std::string_view place, std::string_view disk) {
  return std::string("projects/") + kUnspecified + "/" + std::string(scope) + "/" +
         std::string(place) + "/disks/" + std::string(disk);
}

Result<std::string> region_of(const std::vector<std::string>& zones) {
  std::set<std::string> regions;
  for (const std::string& zone : zones) {
    const std::vector<std::string> parts = split(zone, "-");
    if (parts.size() != 3) {
      return fail(ErrorCode::kInvalid,
                  "zone in unexpected format, expected: {locale}-{region}-{zone}, got: " + zone);
    }
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() != 1) {
    return fail(ErrorCode::kInvalid, "the zones are in different regions");
  }
  return *regions.begin();
}

std::string_view label(const PersistentVolume& volume, std::string_view key) {
  const plimsoll_str* value = volume.label(key);
  return value == nullptr ? std::string_view() : view(*value);
}

Result<std::string> gce_handle(const PersistentVolume& volume, std::string_view disk) {
  std::string_view zones_label = label(volume, kBetaZone);
  if (zones_label.empty()) zones_label = label(volume, kZone);
  if (zones_label.empty()) return gce_handle("zones", kUnspecified, disk);
  const std::vector<std::string> zones = split(zones_label, kZoneDelimiter);
  if (zones.size() == 1) return gce_handle("zones", zones.front(), disk);
  auto region = region_of(zones);
  if (!region) return fail(region.error().within("failed to get region from zones"));
  return gce_handle("regions", *region, disk);
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto is_hex = [&](size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    if (!is_hex(i + 1) || !is_hex(i + 2)) return std::nullopt;
    decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return decoded;
}

// "vol-1", or the same in "aws://zone/vol-1" and "aws:///vol-1".
Result<std::string> ebs_handle(std::string_view id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return std::string(id);
  const std::string_view rest = id.substr(kScheme.size(), id.find_first_of("?#") - kScheme.size());
  const size_t slash = rest.find('/');
  auto path = percent_decoded(slash == rest.npos ? std::string_view() : rest.substr(slash));
  if (path) {
    const size_t first = std::min(path->find_first_not_of('/'), path->size());
    path = path->substr(first, path->find_last_not_of('/') + 1 - first);
  }
  if (!path || !path->starts_with("vol-") || path->find('/') != path->npos) {
    return fail(ErrorCode::kInvalid, "invalid format for AWS volume (" + std::string(id) + ")");
  }
  return *std::move(path);
}

Result<std::string> azure_disk_handle(std::string_view uri, std::string_view kind, bool has_kind) {
  std::string lower(kind);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (has_kind && lower != "managed") {
    return fail(ErrorCode::kInvalid,
                "kind(" + std::string(kind) + ") is not supported in csi migration");
  }
  return std::string(uri);
}

// `volume`: whose labels name the zones of a GCE disk; null: none does.
Result<std::string> handle_of(const InTreePlugin& plugin, const plimsoll_volume& source,
                              const PersistentVolume* volume) {
  const std::string_view id = view(source.target);
  if (plugin.source == "gcePersistentDisk") {
    return volume == nullptr ? gce_handle("zones", kUnspecified, id) : gce_handle(*volume, id);
  }
  if (plugin.source == "awsElasticBlockStore") return ebs_handle(id);
  if (plugin.source == "azureDisk") {
    const bool has_kind = PLIMSOLL_HAS(&source, details) && source.details.count != 0;
    return azure_disk_handle(id, has_kind ? view(sdk::Strings(source.details)[0]) : "", has_kind);
  }
  return std::string(id);  // cinder, portworxVolume
}

Result<CsiVolume> translate(const InTreePlugin& plugin, const plimsoll_volume& source,
                            const PersistentVolume* volume) {
  auto handle = handle_of(plugin, source, volume);
  if (!handle) return fail(handle.error());
  return CsiVolume{std::string(plugin.driver), *std::move(handle)};
}

// ---- affinity

// Calls `visit` for each match expression of each term, and leaves out what is none.
template <typename Visit>
void each_expression(Json& terms, const Visit& visit) {
  for (Json& term : terms) {
    if (!term.is_object() || !term.contains("matchExpressions")) continue;
    for (Json& expression : term["matchExpressions"]) {
      if (expression.is_object()) visit(expression);
    }
  }
}

bool uses(Json& terms, std::string_view key) {
  bool found = false;
  each_expression(terms, [&](Json& each) { found = found || text_at(each, "key") == key; });
  return found;
}

// Replaces the key in all expressions, whatever their operator is (getTopologyValues and
// replaceTopology). False: none of them has values, and nothing is replaced.
bool replace_key(Json& terms, std::string_view from, std::string_view to) {
  bool found = false;
  each_expression(terms, [&](Json& each) {
    const auto values = each.find("values");
    found = found || (text_at(each, "key") == from && values != each.end() && !values->empty());
  });
  if (!found) return false;
  each_expression(terms, [&](Json& each) {
    if (text_at(each, "key") == from) each["key"] = to;
  });
  return true;
}

void require_zones(Json& terms, std::string_view key, std::string_view zones_label) {
  std::set<std::string> zones;
  for (const std::string& part : split(zones_label, kZoneDelimiter)) {
    constexpr const char* kSpaces = " \t\n\v\f\r";
    const size_t first = part.find_first_not_of(kSpaces);
    if (first == part.npos) continue;
    zones.insert(part.substr(first, part.find_last_not_of(kSpaces) + 1 - first));
  }
  if (zones.empty()) return;
  if (terms.empty()) terms.push_back(Json::object());
  for (Json& term : terms) {
    if (!term.is_object()) term = Json::object();
    Json& expressions = term["matchExpressions"];
    if (!expressions.is_array()) expressions = Json::array();
    expressions.push_back({{"key", key}, {"operator", "In"}, {"values", zones}});
  }
}

// Whether the beta labels of topology count: those in the affinity go before those of the volume.
bool uses_beta_labels(Json& terms, const PersistentVolume& volume) {
  if (uses(terms, kZone)) return false;
  if (uses(terms, kBetaZone)) return true;
  return volume.label(kZone) == nullptr && volume.label(kBetaZone) != nullptr;
}

// Empty: none.
std::string text_of(const AffinityRef& affinity) {
  return affinity == nullptr ? std::string() : affinity->json();
}

// Kubernetes: translateTopologyFromInTreeToCSI. Returns the JSON of `required`; empty: none.
std::string translated_affinity(const PersistentVolume& volume, std::string_view zone_key) {
  const std::string text = text_of(volume.affinity);
  Json required = text.empty() ? Json::object() : Json::parse(text, nullptr, false);
  Json terms = required.value("nodeSelectorTerms", Json::array());
  const bool beta = uses_beta_labels(terms, volume);
  const std::string_view zone = beta ? kBetaZone : kZone;
  if (!replace_key(terms, zone, zone_key)) require_zones(terms, zone_key, label(volume, zone));
  if (beta) replace_key(terms, kBetaRegion, kRegion);
  if (text.empty() && terms.empty()) return {};
  required["nodeSelectorTerms"] = std::move(terms);
  return required.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

const InTreePlugin* in_tree_plugin_of(std::string_view source) {
  const auto found = std::find_if(kPlugins.begin(), kPlugins.end(),
                                  [&](const auto& each) { return each.source == source; });
  return found == kPlugins.end() ? nullptr : found;
}

const InTreePlugin* in_tree_plugin_named(std::string_view name) {
  const auto found = std::find_if(kPlugins.begin(), kPlugins.end(),
                                  [&](const auto& each) { return each.name == name; });
  return found == kPlugins.end() ? nullptr : found;
}

std::string_view migrated_plugins(const CsiNode& node) {
  const plimsoll_str* names = node.annotation("storage.alpha.kubernetes.io/migrated-plugins");
  return names == nullptr ? std::string_view() : view(*names);
}

bool is_migrated_on(const InTreePlugin& plugin, const CsiNode* node) {
  if (!plugin.is_switched_on || node == nullptr) return false;
  for (std::string_view named = migrated_plugins(*node);;) {
    const size_t end = std::min(named.find(','), named.size());
    if (named.substr(0, end) == plugin.name) return true;
    if (end == named.size()) return false;
    named.remove_prefix(end + 1);
  }
}

Result<TranslatedVolume> translate(const PersistentVolume& volume) {
  const InTreePlugin* plugin = in_tree_plugin_of(volume.source());
  if (plugin == nullptr || !plugin->is_switched_on) {
    return fail(ErrorCode::kInvalid, "it is not a volume of a migrated in-tree plugin");
  }
  auto as_csi = translate(*plugin, *volume.object->source, &volume);
  if (!as_csi) return fail(as_csi.error());
  TranslatedVolume made{*std::move(as_csi), volume.affinity};
  if (plugin->zone_key.empty()) return made;
  const std::string text = translated_affinity(volume, plugin->zone_key);
  if (text.empty() || text == text_of(volume.affinity)) return made;
  auto affinity = VolumeAffinity::read(text);
  if (!affinity) return fail(affinity.error().within("failed to translate topology"));
  made.affinity = *std::move(affinity);
  return made;
}

Result<CsiVolume> translate(const plimsoll_volume& volume) {
  const InTreePlugin* plugin = in_tree_plugin_of(view(volume.kind));
  if (plugin == nullptr) {
    return fail(ErrorCode::kInvalid, "it is not a volume of a migrated in-tree plugin");
  }
  return translate(*plugin, volume, nullptr);
}

}  // namespace plimsoll::volumes
