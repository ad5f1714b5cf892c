#pragma once
// Writes PodScheduled conditions to the API server: only the newest one of a pod, and none that is
// outdated.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "framework/port/api_writer.hpp"
#include "informer/write/write_queue.hpp"

namespace plimsoll::informer {

// Any thread. The jobs in the queue keep it alive.
class ConditionWriter : public std::enable_shared_from_this<ConditionWriter> {
 public:
  explicit ConditionWriter(std::shared_ptr<WriteQueue> queue) : queue_(std::move(queue)) {}

  // See ServerWriter::patch_condition. A patch that changes the nomination is sent before those
  // that do not. It takes the queue position of an older waiting patch of its pod.
  void write(ConditionPatch patch, ApiWriter::Done done);

  // The pod is about to be bound: a waiting patch that says it cannot be placed is dropped (and
  // reports success), and a patch under way is not retried.
  void drop(const std::string& uid);

 private:
  // One condition patch from the call until its end, over as many tries as it takes.
  struct Write {
    ConditionPatch patch;
    ApiWriter::Done done;
    std::string what;
    std::string key;  // patches with the same key replace each other
    std::uint64_t serial = 0;
    int conflicts = 0;
  };
  using WriteRef = std::shared_ptr<Write>;
  // The patches of a key that have not ended: the newest, and their number.
  struct Newest {
    std::uint64_t serial = 0;
    std::size_t open = 0;
    std::shared_ptr<const ConditionPatch> patch;  // null: it has ended, or is not true any more
  };

  void supersede(const std::string& key);
  void send(const WriteRef& write);
  void renew(const WriteRef& write);
  void end(Write& write, Result<void> result);
  [[nodiscard]] bool is_newest(const Write& write);

  const std::shared_ptr<WriteQueue> queue_;
  std::mutex mutex_;
  std::unordered_map<std::string, Newest> newest_;  // guarded by mutex_
  std::uint64_t last_serial_ = 0;                   // guarded by mutex_
};

}  // namespace plimsoll::informer
