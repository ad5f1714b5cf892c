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

template <typename Decoded>
void check(const volumes::Stored<Decoded>&) {}

void check(const volumes::PersistentVolume& volume) {
  if (!volume.readable()) require(volume.source().empty(), "what is not readable is empty");
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

void check(const volumes::PersistentVolumeClaim& claim) {
  const volumes::StorageStore nothing;
  const auto counted = volumes::counted(claim, nothing);
  require(counted.problem.empty() == claim.readable(), "what is not readable is not counted");
  require(!counted.volume, "a claim without a class is not counted");
}

// What the plugins make of what the framework has decoded.
template <typename Decoded>
void check_as(const sdk::Kind<Decoded>& kind, std::string_view input) {
  const ObjectRef object = decode_object(kind.resource, "ns", "name", input);
  require(object != nullptr, kind.resource, " is decoded");
  const auto read = volumes::read(*reinterpret_cast<const Decoded*>(object.get()));
  require(read.name() == "name", "an object keeps its name");
  check(read);
}

}  // namespace

void storage_object(std::string_view input) {
  check_as(sdk::kPersistentVolumes, input);
  check_as(sdk::kPersistentVolumeClaims, input);
  check_as(sdk::kStorageClasses, input);
  check_as(sdk::kCsiNodes, input);
  check_as(sdk::kCsiDrivers, input);
  check_as(sdk::kCsiStorageCapacities, input);
  check_as(sdk::kVolumeAttachments, input);
}

}  // namespace plimsoll::fuzz
