#pragma once
// PodScheduled conditions on their way to the API server: the newest word about a pod is what it
// gets, and none that is no longer true.

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

  // See ServerWriter::patch_condition. A patch that changes the nomination goes ahead of those that
  // do not, and takes the place of an older one of its pod that still waits.
  void write(ConditionPatch patch, ApiWriter::Done done);

  // The pod is about to be bound: what waits to say that it cannot be placed is dropped (and hears
  // success), and what is under way is not tried again.
  void drop(const std::string& uid);

 private:
  // One condition patch from being asked for to its end, over as many tries as it takes.
  struct Write {
    ConditionPatch patch;
    ApiWriter::Done done;
    std::string what;
    std::string key;  // what it replaces, and is replaced by
    std::uint64_t serial = 0;
    int conflicts = 0;
  };
  using WriteRef = std::shared_ptr<Write>;
  // The patches of a key that have not ended: the newest, and how many there are.
  struct Newest {
    std::uint64_t serial = 0;
    std::size_t open = 0;
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
