// Who uses which claims and volumes, after any row of events, against a count of everything
// that is there.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <plimsoll/fake_host.hpp>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "plugins/builtin/volumes/counted_volumes.hpp"
#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/builtin/volumes/storage.hpp"
#include "tests/plugins/builtin/volumes/objects_of_host.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::volumes {
namespace {

using Json = nlohmann::json;
using sdk::FakeHost;
using sdk::FakePod;

// What is known, as text: a line for each volume of a node with its uses, and so on.
constexpr int64_t kAttachment = 1000;  // one by a VolumeAttachment, beside those by pods
using Book = std::map<std::string, int64_t>;

class World {
 public:
  explicit World(uint32_t seed) : random_(seed) {}

  void step() {
    switch (pick(9)) {
      case 0:
      case 1:
        return put_pod();
      case 2:
        return remove_pod();
      case 3:
        return change(sdk::kPersistentVolumeClaims.resource, kNamespace, "c" + one_of(5),
                      [&] { return claim(); });
      case 4:
        return change(sdk::kPersistentVolumeClaims.resource, kNamespace, "p" + one_of(6) + "-v0",
                      [&] { return claim(); });
      case 5:
        return change(sdk::kPersistentVolumes.resource, "", "pv" + one_of(5),
                      [&] { return volume(); });
      case 6:
        return change(sdk::kStorageClasses.resource, "", "s" + one_of(3),
                      [&] { return storage_class(); });
      case 7:
        return change(sdk::kVolumeAttachments.resource, "", "a" + one_of(4),
                      [&] { return attachment(); });
      default:
        return change(sdk::kCsiNodes.resource, "", "n" + one_of(3), [&] { return csi_node(); });
    }
  }

  // Everything goes.
  void end() {
    for (const auto& [name, placed] : pods_) use_.remove("uid-" + name);
    pods_.clear();
    const auto forget = [&](std::string_view resource, std::string_view ns, const auto& kind) {
      std::vector<std::string> names;
      for (const auto& [key, object] : kind.all()) names.emplace_back(object->name());
      for (const std::string& name : names) {
        tell({sdk::ObjectEvent::kDelete, resource, name, ns, ""});
        use_.changed(resource, ns, name);
      }
    };
    forget(sdk::kPersistentVolumes.resource, "", store_.volumes());
    forget(sdk::kPersistentVolumeClaims.resource, kNamespace, store_.claims());
    forget(sdk::kVolumeAttachments.resource, "", store_.attachments());
    forget(sdk::kCsiNodes.resource, "", store_.csi_nodes());
  }

  [[nodiscard]] Book kept() const {
    Book book;
    for (const std::string node : {"n0", "n1", "n2"}) {
      const NodeVolumes* at = use_.node(node);
      if (at == nullptr) continue;
      std::map<std::string, int64_t> drivers;
      for (const auto& [volume, uses] : at->attached) {
        book[node + " has " + text(volume)] = uses.pods + kAttachment * uses.attachments;
        ++drivers[volume.driver];
        EXPECT_TRUE(use_.is_attached(volume));
      }
      EXPECT_EQ(drivers, (std::map<std::string, int64_t>(at->count.begin(), at->count.end())));
      if (at->uncounted != 0) book[node + " uncounted"] = static_cast<int64_t>(at->uncounted);
      if (at->csi_node) book[node + " has a CSINode"] = 1;
    }
    for (const std::string& key : keys()) {
      if (const size_t users = use_.users(key)) book["users of " + key] = users;
    }
    return book;
  }

  [[nodiscard]] Book counted_anew() {
    Book book;
    for (auto& [name, placed] : pods_) {
      const HeldVolumes held = held_volumes(*placed.pod, store_);
      for (const CsiVolume& volume : held.volumes) ++book[placed.node + " has " + text(volume)];
      if (held.uncounted != 0) book[placed.node + " uncounted"] += held.uncounted;
      std::set<std::string> claims;
      for (const plimsoll_volume& volume : volumes_of(*placed.pod)) {
        if (is_claim(volume)) claims.insert(key_of(kNamespace, sdk::view(volume.target)));
      }
      for (const std::string& key : claims) ++book["users of " + key];
    }
    for (const auto& [name, attachment] : store_.attachments().all()) {
      const VolumeRef volume = store_.volume(sdk::view(attachment->object->volume_name));
      const std::string attacher(sdk::view(attachment->object->attacher));
      if (volume == nullptr || attacher.empty()) continue;
      const std::string node(sdk::view(attachment->object->node_name));
      const std::string handle(sdk::view(volume->object->csi_handle));
      if (!handle.empty()) book[node + " has " + text({attacher, handle})] += kAttachment;
      if (!volume->readable()) ++book[node + " uncounted"];
    }
    for (const auto& [name, node] : store_.csi_nodes().all()) book[name + " has a CSINode"] = 1;
    return book;
  }

 private:
  static constexpr const char* kNamespace = "ns";

  struct Placed {
    std::unique_ptr<FakePod> pod;
    std::string node;
    bool is_reserved;
  };

  size_t pick(size_t below) { return random_() % below; }
  std::string one_of(size_t count) { return std::to_string(pick(count)); }
  static std::string text(const CsiVolume& volume) { return volume.driver + "|" + volume.handle; }
  static std::vector<std::string> keys() {
    std::vector<std::string> all;
    for (int i = 0; i < 6; ++i) {
      all.push_back("ns/c" + std::to_string(i));
      all.push_back("ns/p" + std::to_string(i) + "-v0");
    }
    return all;
  }

  void put_pod() {
    const std::string name = "p" + one_of(6);
    const bool is_reserved = pick(3) == 0;
    if (const auto known = pods_.find(name); known != pods_.end()) {
      // The same pod: confirmed, or moved, as the watch shows it.
      if (pick(2) == 0) known->second.node = "n" + one_of(3);
      known->second.is_reserved = false;
      return use_.assign(*known->second.pod, known->second.node);
    }
    auto pod = std::make_unique<FakePod>("ns/" + name);
    const size_t first = pick(4);
    if (first == 0) pod->volume("ephemeral", "");
    if (first == 1) pod->volume("awsElasticBlockStore", pick(3) == 0 ? "aws://z/bad" : "vol-1");
    if (first == 2) pod->volume("configMap", "");
    for (size_t more = pick(3); more > 0; --more) {
      pod->volume("persistentVolumeClaim", pick(6) == 0 ? name + "-v0" : "c" + one_of(5));
    }
    const std::string node = "n" + one_of(3);
    if (is_reserved) {
      use_.reserve(*pod, node);
    } else {
      use_.assign(*pod, node);
    }
    pods_[name] = {std::move(pod), node, is_reserved};
  }

  void remove_pod() {
    const std::string name = "p" + one_of(6);
    const auto found = pods_.find(name);
    const bool is_release = pick(2) == 0;
    if (!is_release) {
      use_.remove("uid-" + name);
      pods_.erase(name);
      return;
    }
    use_.release("uid-" + name);
    if (found != pods_.end() && found->second.is_reserved) pods_.erase(found);
  }

  template <typename Make>
  void change(std::string_view resource, std::string_view ns, const std::string& name,
              const Make& make) {
    const bool is_gone = pick(4) == 0;
    const std::string json = is_gone ? "" : pick(25) == 0 ? "[]" : make().dump();
    const auto type = is_gone ? sdk::ObjectEvent::kDelete : sdk::ObjectEvent::kUpsert;
    tell({type, resource, name, ns, json});
    const Book before = kept_by_node();
    const auto touched = use_.changed(resource, ns, name);
    const Book after = kept();
    // What a node is reported for must cover all that changed there.
    for (const std::string node : {"n0", "n1", "n2"}) {
      if (touched.contains(node)) continue;
      EXPECT_EQ(lines_of(before_, node), lines_of(after, node)) << resource << " " << name;
    }
    before_ = after;
  }
  void tell(const sdk::ObjectEvent& event) {
    objects_.change(event.resource, event.ns, event.name, event.json,
                    [&] { Storage::pass_on(storage_, host_.handle(), event); });
  }
  Book kept_by_node() { return before_ = kept(); }
  static Book lines_of(const Book& book, const std::string& node) {
    Book lines;
    for (const auto& [line, count] : book) {
      if (line.starts_with(node)) lines[line] = count;
    }
    return lines;
  }

  Json claim() {
    Json made = {{"spec", {{"storageClassName", "s" + one_of(4)}}}};
    if (pick(2) == 0) made["spec"]["volumeName"] = "pv" + one_of(6);
    if (pick(2) == 0) {
      made["metadata"]["ownerReferences"] = {
          {{"uid", "uid-p" + one_of(6)}, {"controller", pick(3) != 0}}};
    }
    return made;
  }
  Json volume() {
    if (pick(4) == 0) return {{"spec", {{"awsElasticBlockStore", {{"volumeID", "vol-1"}}}}}};
    if (pick(5) == 0) return {{"spec", {{"nfs", {{"path", "/"}}}}}};
    return {{"spec", {{"csi", {{"driver", "d" + one_of(2)}, {"volumeHandle", "h" + one_of(3)}}}}}};
  }
  Json storage_class() {
    static const char* const kProvisioners[] = {"d0", "d1", "kubernetes.io/aws-ebs",
                                                "kubernetes.io/azure-file"};
    return {{"provisioner", kProvisioners[pick(4)]}};
  }
  Json attachment() {
    return {{"spec",
             {{"attacher", "d" + one_of(2)},
              {"nodeName", "n" + one_of(3)},
              {"source", {{"persistentVolumeName", "pv" + one_of(5)}}}}}};
  }
  Json csi_node() {
    return {{"spec", {{"drivers", {{{"name", "d0"}, {"allocatable", {{"count", pick(3)}}}}}}}}};
  }

  std::mt19937 random_;
  FakeHost host_;
  volumes_test::ObjectsOfHost objects_{host_};
  Storage::Shared storage_ = Storage::shared(host_.handle());
  const StorageStore& store_ = storage_->objects;
  VolumeUse& use_ = storage_->use;
  std::map<std::string, Placed> pods_;
  Book before_;
};

TEST(VolumeUseProperty, IsWhatACountOfEverythingGives) {
  const uint32_t seed = test::test_seed();
  for (uint32_t life = 0; life < 15 && !::testing::Test::HasFailure(); ++life) {
    SCOPED_TRACE("life " + std::to_string(life));
    World world(seed + life);
    for (int step = 0; step < 250 && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      world.step();
      ASSERT_EQ(world.kept(), world.counted_anew());
    }
    world.end();
    EXPECT_EQ(world.kept(), Book());
  }
}

}  // namespace
}  // namespace plimsoll::volumes
