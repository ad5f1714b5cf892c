#pragma once
// The controllers of a cluster whose work scheduling decisions rest on, for an ObjectStore: those
// of volumes, with one external provisioner for all classes; of disruption budgets; and of the
// taints that follow a node's conditions. controller.hpp says what each does.
//
// They act at once, on one thread of their own, and write directly to the store. The public
// functions may be called from any thread.

#include <memory>

#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

class SimulatedControllers {
 public:
  // Has handled the existing objects when it returns. The store must outlive this object.
  explicit SimulatedControllers(ObjectStore& store);
  ~SimulatedControllers();  // stops
  SimulatedControllers(const SimulatedControllers&) = delete;
  SimulatedControllers& operator=(const SimulatedControllers&) = delete;

  // Whether every event of the store so far has been handled.
  [[nodiscard]] bool quiet() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::sandbox
