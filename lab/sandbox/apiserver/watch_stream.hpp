#pragma once
// The remaining output of one watch, as lines of JSON. No sockets; used by one thread at a time.

#include <cstdint>
#include <string>

#include "lab/sandbox/apiserver/api_handler.hpp"

namespace plimsoll::sandbox {

class WatchStream {
 public:
  WatchStream(const ObjectStore& store, WatchPlan plan);

  // Appends a bounded amount of what is ready to `out`. Returns false if nothing more follows (an
  // ERROR event ends the stream). Call it until it appends nothing.
  bool fill(std::string& out);

  // Appends a bookmark if the client allows bookmarks and no initial state is left to send.
  void bookmark(std::string& out) const;

  [[nodiscard]] const WatchPlan& plan() const { return plan_; }

 private:
  void append(std::string& out, const char* type, const std::string& object) const;
  bool append_event(std::string& out, const StoreEvent& event) const;  // false: not selected
  void append_bookmark(std::string& out, bool initial_events_end) const;

  const ObjectStore& store_;
  WatchPlan plan_;
  std::size_t next_initial_ = 0;
};

}  // namespace plimsoll::sandbox
