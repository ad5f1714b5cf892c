#pragma once
// One Binding from being asked for to its end, over as many requests as it takes.
//
// It holds for one version of the pod only, so that whoever changes the pod makes void all that is
// still under way: a scheduler that is started after this one was killed (BindingVoider), and this
// one itself, should it give the pod up.

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

  // Once. See ServerWriter::bind for what `done` hears.
  void send();

 private:
  // Why a try was turned down, and whether one before it may still be carried out.
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
  int changes_ = 0;  // so often the pod had changed
};

}  // namespace plimsoll::informer
