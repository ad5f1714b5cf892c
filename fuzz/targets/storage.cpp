// Storage objects in JSON: claims, volumes, classes and what CSI drivers say.

#include <plimsoll/kinds.hpp>

#include "framework/objects/kinds.hpp"
#include "fuzz/target.hpp"
#include "plugins/builtin/volumes/counted_volumes.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/storage/csi_translation.hpp"
#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::fuzz {
namespace {

// What the plugins make of what the framework has decoded.
template <typename Decoded>
auto read_as(const sdk::Kind<Decoded>& kind, std::string_view input) {
  const ObjectRef object = decode_object(kind.resource, "ns", "name", input);
  require(object != nullptr, kind.resource, " is decoded");
  return volumes::read(*reinterpret_cast<const Decoded*>(object.get()));
}

void check(const volumes::Meta& meta) {
  require(meta.name == "name", "an object keeps its name");
}

void check_volume(const volumes::PersistentVolume& volume) {
  check(volume.meta);
  if (!volume.meta.readable()) require(volume.source.empty(), "what is not readable is empty");
  const auto translated = volumes::translate(volume);
  if (!translated) return require(!translated.error().message.empty(), "an error says something");
  require(!translated->driver.empty(), "a translated volume has a driver");
  require(volume.affinity == nullptr || translated->affinity != nullptr,
          "a translated volume is not on more nodes");
  if (volume.affinity == nullptr) return;
  const auto again = volumes::VolumeAffinity::read(volume.affinity->json());
  require(again.has_value() && (*again)->json() == volume.affinity->json(),
          "an affinity that is printed can be read again");
}

void check_claim(const volumes::PersistentVolumeClaim& claim) {
  check(claim.meta);
  const volumes::StorageStore nothing;
  const auto counted = volumes::counted(claim, nothing);
  require(counted.problem.empty() == claim.meta.readable(), "what is not readable is not counted");
  require(!counted.volume, "a claim without a class is not counted");
}

}  // namespace

void storage_object(std::string_view input) {
  check_volume(read_as(sdk::kPersistentVolumes, input));
  check_claim(read_as(sdk::kPersistentVolumeClaims, input));
  check(read_as(sdk::kStorageClasses, input).meta);
  check(read_as(sdk::kCsiNodes, input).meta);
  check(read_as(sdk::kCsiDrivers, input).meta);
  check(read_as(sdk::kCsiStorageCapacities, input).meta);
  check(read_as(sdk::kVolumeAttachments, input).meta);
}

}  // namespace plimsoll::fuzz
