// The sources of volumes, in pods and in PersistentVolumes.
#include <string>
#include <vector>

#include "framework/api/decode/decoder.hpp"
#include "framework/api/lists.hpp"

namespace plimsoll {
namespace {

// The field of a volume source that says which volume it is; empty if no plugin asks.
std::string_view identifying_field(std::string_view kind) {
  if (kind == "persistentVolumeClaim") return "claimName";
  if (kind == "gcePersistentDisk") return "pdName";
  if (kind == "iscsi") return "iqn";
  if (kind == "azureDisk") return "diskURI";
  if (kind == "vsphereVolume") return "volumePath";
  if (kind == "csi") return "driver";
  if (kind == "image") return "reference";
  const bool by_id = kind == "awsElasticBlockStore" || kind == "cinder" || kind == "portworxVolume";
  return by_id ? "volumeID" : std::string_view();
}

}  // namespace

bool Decoder::volume_source(std::string_view kind, WireValue& value, plimsoll_volume* out) {
  if (kind == "rbd") return rbd_source(value, out);
  const std::string_view target = identifying_field(kind);
  if (target.empty()) return true;
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == target) return text(field, &out->target, Keep::kPlain);
    if (key == "readOnly") return flag(field, &out->read_only);
    if (key != "kind" || kind != "azureDisk" || field.is_null()) return true;
    std::vector<plimsoll_str> disk_kind(1);
    if (!text(field, disk_kind.data(), Keep::kPlain)) return false;
    out->details = arena().list(disk_kind);
    return true;
  });
}

bool Decoder::rbd_source(WireValue& value, plimsoll_volume* out) {
  plimsoll_str pool = str("rbd");
  plimsoll_str image{};
  plimsoll_list monitors{};
  const auto one = [&](std::string_view key, WireValue& field) {
    if (key == "pool") return text(field, &pool, Keep::kPlain);
    if (key == "image") return text(field, &image, Keep::kPlain);
    if (key == "monitors") return texts(field, &monitors, Keep::kPlain);
    if (key == "readOnly") return flag(field, &out->read_only);
    return true;
  };
  if (!value.fields(one)) return false;
  std::vector<plimsoll_str> details = {pool, image};
  for (const plimsoll_str& monitor : items<plimsoll_str>(monitors)) details.push_back(monitor);
  out->details = arena().list(details);
  const std::string joined = std::string(view(pool)) + "/" + std::string(view(image));
  const std::vector<char> bytes(joined.begin(), joined.end());
  const plimsoll_list kept = arena().list(bytes);
  out->target = str({static_cast<const char*>(kept.data), kept.count});
  return true;
}

}  // namespace plimsoll
