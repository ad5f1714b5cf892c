// Storage objects in JSON: claims, volumes, classes and what CSI drivers say.

#include "fuzz/target.hpp"
#include "plugins/builtin/volumes/counted_volumes.hpp"
#include "plugins/builtin/volumes/csi_translation.hpp"
#include "plugins/builtin/volumes/storage_objects.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"

namespace plimsoll::fuzz {
namespace {

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
  check_volume(volumes::read_volume("name", input));
  check_claim(volumes::read_claim("ns", "name", input));
  check(volumes::read_storage_class("name", input).meta);
  check(volumes::read_csi_node("name", input).meta);
  check(volumes::read_csi_driver("name", input).meta);
  check(volumes::read_csi_storage_capacity("ns", "name", input).meta);
  check(volumes::read_volume_attachment("name", input).meta);
}

}  // namespace plimsoll::fuzz
