#pragma once
// Corrects the annotation with a pod's zones where its node's report shows others: everyone who
// counts by annotations would see too much in one zone and too little in another, a scheduler after
// a restart, too. Loop only. One write at a time, and then a pause: nothing waits for them.

#include <deque>
#include <memory>
#include <plimsoll/host.hpp>
#include <string>

#include "plugins/topology/ask/questions.hpp"

namespace plimsoll::topology {

class AnnotationWriter : public std::enable_shared_from_this<AnnotationWriter> {
 public:
  // `ledger` lives as long as this.
  AnnotationWriter(sdk::Host host, const Questions& ledger);

  // The zones of this pod are not those of its annotation.
  void add(std::string uid);

 private:
  void write_next();
  // False: there is nothing to correct.
  bool write(const std::string& uid);

  sdk::Host host_;
  const Questions& ledger_;
  sdk::CounterMetric corrected_;
  std::deque<std::string> uids_;
  bool busy_ = false;
};

}  // namespace plimsoll::topology
