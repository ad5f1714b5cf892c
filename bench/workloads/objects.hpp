#pragma once
// Creates objects from templates. The names of each template are numbered from 0.

#include <map>
#include <mutex>
#include <string>

#include "bench/support/memory_api.hpp"
#include "bench/workloads/workload_file.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/result.hpp"

namespace plimsoll::bench {

inline constexpr const char* kSchedulerName = "default-scheduler";

// Any thread.
class ObjectMaker {
 public:
  ObjectMaker(const WorkloadFile& file, SymbolTable& symbols) : file_(file), symbols_(symbols) {}

  // The next object of the template, with `labels` on top of the template's.
  [[nodiscard]] Result<NodeRef> node(const std::string& from, const std::string& labels = "{}");
  [[nodiscard]] Result<NewPod> pod(const std::string& from, size_t group,
                                   const std::string& ns = "default");
  // Of a kind that object_kind() has.
  [[nodiscard]] RawRef object(const std::string& from, const std::string& ns = "default");

 private:
  struct Made {
    std::string name;
    std::string json;
  };
  // `ns`: empty: the kind has no namespaces.
  Made next(const std::string& from, const std::string& labels, const std::string& ns);

  const WorkloadFile& file_;
  SymbolTable& symbols_;
  std::mutex mutex_;
  std::map<std::string, size_t> numbers_;  // by template; guarded by mutex_
};

}  // namespace plimsoll::bench
