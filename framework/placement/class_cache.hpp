#pragma once
// The classes of pods that are worth remembering: a ClassTable per signature, the least recently
// used dropped first. Scheduler loop only.
//
// A signature is compared byte by byte on every hit, never by its hash alone. A table is made when
// a signature comes for the second time: pods that are all different cost nothing but their
// signature. One that is very long is not kept.

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/placement/class_table.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

struct ClassCacheOptions {
  bool enabled = true;
  // One decision in so many is made again without the tables, and compared; 0: none, 1: all.
  uint32_t check_every = 1000;
  size_t most_bytes = size_t{256} << 20;  // of all tables; at least one is kept
};

class ClassCache {
 public:
  struct Stats {
    size_t tables = 0;
    size_t bytes = 0;        // of these, and the room that they share
    uint64_t hits = 0;       // decisions from a table that was there
    uint64_t misses = 0;     // signatures without a table
    uint64_t dropped = 0;    // tables, for want of room
    uint64_t checked = 0;    // decisions that were made again
    uint64_t different = 0;  // of these
  };

  explicit ClassCache(ClassCacheOptions options) : options_(options) {}
  ClassCache(const ClassCache&) = delete;
  ClassCache& operator=(const ClassCache&) = delete;

  // The table of the pod's class; null: there is none (yet). Valid until the next call.
  [[nodiscard]] ClassTable* find(Framework& framework, const plimsoll_pod& pod);
  // Whether this decision is one of those to be made again.
  [[nodiscard]] bool check_now();
  // Of so many rows, those that the check under way asks about one by one besides, so that the
  // columns are held against the nodes, too. In a large cluster that takes ten times as long, so
  // each check takes the next 64th.
  struct Part {
    size_t begin;
    size_t count;
  };
  [[nodiscard]] Part one_by_one(size_t rows) const;
  // The same for plugins that may only be asked about all nodes together: all of them, now and
  // then.
  [[nodiscard]] bool all_one_by_one() const { return stats_.checked % kParts == 1; }
  // From here on nothing that the plugin says is kept. kNoPlugin: it is not known which one it was;
  // the tables begin anew.
  void distrust(const Framework& framework, PluginIndex plugin);
  void note_difference() { ++stats_.different; }

  [[nodiscard]] const Stats& stats() const { return stats_; }

 private:
  struct Entry {
    std::string signature;
    const Framework* framework;
    ClassTable table;
    size_t bytes = 0;  // as last measured
  };
  using Entries = std::list<Entry>;  // the most recently used first
  static constexpr size_t kParts = 64;
  // Pods of one controller differ in nothing; what is larger is not worth being kept for the next.
  static constexpr size_t kLongestSignature = size_t{8} << 10;

  void measure(Entry& entry);
  void drop_last();
  [[nodiscard]] bool seen_before(size_t hash);

  ClassCacheOptions options_;
  ClassTable::Room room_;
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> by_signature_;
  std::map<const Framework*, PluginMask> distrusted_;
  std::array<size_t, 4096> seen_{};  // hashes of signatures without a table, the last of each place
  std::string signature_;            // room for one, kept
  uint64_t decisions_ = 0;
  size_t table_bytes_ = 0;
  Stats stats_;
};

}  // namespace plimsoll
