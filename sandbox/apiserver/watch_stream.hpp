#pragma once
// What one watch has still to send, as lines of JSON. No sockets; used by one thread at a time.

#include <cstdint>
#include <string>

#include "sandbox/apiserver/api_handler.hpp"

namespace plimsoll::sandbox {

class WatchStream {
 public:
  WatchStream(const ObjectStore& store, WatchPlan plan);

  // Appends what there is to send now, a bounded amount, to `out`. False: nothing more will come
  // (an ERROR event ends the stream). Call again until it appends nothing.
  bool fill(std::string& out);

  // Appends a bookmark if the client allows them and there is no initial state left to send.
  void bookmark(std::string& out) const;

  [[nodiscard]] const WatchPlan& plan() const { return plan_; }

 private:
  void append(std::string& out, const char* type, const std::string& object) const;
  void append_event(std::string& out, const StoreEvent& event) const;
  void append_bookmark(std::string& out, bool initial_events_end) const;

  const ObjectStore& store_;
  WatchPlan plan_;
  std::size_t next_initial_ = 0;
};

}  // namespace plimsoll::sandbox
