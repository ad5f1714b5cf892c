#include "bench/support/loop_thread.hpp"

#include <pthread.h>
#include <time.h>

#include <future>
#include <utility>

namespace plimsoll::bench {

LoopThread::LoopThread(std::unique_ptr<Scheduler> scheduler)
    : scheduler_(std::move(scheduler)), loop_([this] {
        ::pthread_setname_np(::pthread_self(), "loop");  // for perf
        scheduler_->run();
      }) {}

LoopThread::~LoopThread() {
  stop();
}

void LoopThread::stop() {
  scheduler_->stop();
  if (loop_.joinable()) loop_.join();
}

void LoopThread::on_loop(const std::function<void()>& task) {
  std::promise<void> done;
  scheduler_->post(Task{[&] {
    task();
    done.set_value();
  }});
  done.get_future().wait();
}

void LoopThread::all_synced() {
  for (const WantedKind& kind : scheduler_->wanted_kinds()) {
    scheduler_->post(KindSynced{kind.resource(), true});
  }
  scheduler_->post(KindSynced{"nodes", true});
  scheduler_->post(KindSynced{"pods", true});
}

double LoopThread::cpu_seconds() {
  clockid_t clock{};
  timespec now{};
  ::pthread_getcpuclockid(loop_.native_handle(), &clock);
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace plimsoll::bench
