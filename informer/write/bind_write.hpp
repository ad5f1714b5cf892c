#pragma once
// One Binding from the call until its end, over as many requests as it takes.
//
// A Binding is valid for one version of the pod only, so any change of the pod makes void all
// requests still under way. A scheduler started after this one was killed uses that
// (BindingVoider), and so does this scheduler when it gives up the pod.

#include <memory>
#include <string>

#include "framework/port/api_writer.hpp"
#include "informer/write/pod_answer.hpp"
#include "informer/write/write_queue.hpp"

namespace plimsoll::informer {

// Kept alive by its jobs in the queue.
class BindWrite : public std::enable_shared_from_this<BindWrite> {
 public:
  BindWrite(std::shared_ptr<WriteQueue> queue, BindRequest request, ApiWriter::Done done);

  // Call it once. See ServerWriter::bind for the result that `done` receives.
  void send();

 private:
  // Why a try was refused, and whether an earlier try may still be carried out.
  struct Refusal {
    Error error;
    bool conflict = false;
    bool uncertain = false;
  };

  void answered(const Result<HttpResponse>& result, bool uncertain);
  void look(Refusal refusal);
  void looked(const PodAnswer& pod, Refusal refusal);
  void touch(Refusal refusal);
  [[nodiscard]] bool as_asked(const PodAnswer& pod) const;

  const std::shared_ptr<WriteQueue> queue_;
  BindRequest request_;
  const ApiWriter::Done done_;
  const std::string what_;
  int changes_ = 0;  // how often the pod had changed
};

}  // namespace plimsoll::informer
