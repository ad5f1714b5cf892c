#pragma once
// The queues in front of the API server, one for each class of writes. Each has its own window of
// requests under way (WriteWindow), so that no class waits behind another and each has its share of
// a slow server. Each write says itself what is retried, how often and after how long.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "informer/http/http_client.hpp"
#include "informer/http/write_fence.hpp"
#include "informer/write/refused_writes.hpp"
#include "informer/write/write_window.hpp"

namespace plimsoll::informer {

enum class WriteClass { kBind, kStatus, kEvent, kOther };
inline constexpr std::size_t kWriteClasses = 4;

struct WriteOptions {
  // The maximum number of requests under way, by WriteClass: binds, pod status, events, others. The
  // window finds the best number between this and the minimum, starting from `first_in_flight`; see
  // WriteWindow.
  std::array<std::size_t, kWriteClasses> in_flight{64, 16, 32, 16};
  // One write after the other, of whatever class, the oldest first: a simulation's, in which the
  // answers must not come in another order each time.
  bool one_at_a_time = false;
  std::size_t least_in_flight = 4;
  std::size_t first_in_flight = 16;
  // The maximum number of waiting events; further ones are dropped and counted. It is enough for a
  // burst of pods far above an API server's rate, so that each of them gets its event in the end.
  // (client-go's limit of 1000 covers only the events to which its dispatcher has not yet given a
  // goroutine; the goroutines are not limited.)
  std::size_t event_queue = 50'000;
  // The number of tries after a server error (500, 502, 503, 504), an unreachable server or a lost
  // answer. A bind is retried without limit: see ServerWriter::bind. After this many tries a bind
  // only leaves the window while it waits.
  int tries = 5;
  // 429: waits as long as the server asks (at most max_retry_after), this many times. Not for
  // binds.
  int throttled_tries = 10;
  std::chrono::milliseconds first_delay{100};  // doubling, with jitter
  std::chrono::milliseconds max_delay{5'000};
  std::chrono::milliseconds max_retry_after{30'000};
  // The number of tries of an event, and the delay between them (plus up to a quarter). Kubernetes:
  // maxTriesPerEvent and defaultSleepDuration of client-go's tools/events.
  int event_tries = 12;
  std::chrono::milliseconds event_delay{10'000};
  std::chrono::milliseconds timeout{15'000};  // of one try
  // Send bindings and events as protobuf, and request protobuf answers. If the server does not
  // accept it (415), JSON is used from then on.
  bool protobuf = false;
  std::string reporting_instance;  // "<name>-<host>"; empty: "<scheduler name>-<host name>"
  // Set if several replicas elect a leader. While the fence is closed, only GET requests are sent
  // (others: kCancelled), and no try lasts longer than the fence allows. It must outlive the
  // writer.
  const WriteFence* fence = nullptr;
};

// Counters; any thread may read them.
struct WriteStats {
  std::array<std::atomic<std::uint64_t>, kWriteClasses> done{};     // succeeded
  std::array<std::atomic<std::uint64_t>, kWriteClasses> failed{};   // gave up
  std::array<std::atomic<std::uint64_t>, kWriteClasses> retried{};  // tries after the first
  std::atomic<std::uint64_t> events_dropped{0};
  std::atomic<std::uint64_t> binds_recovered{
      0};  // the answer was lost, but the pod was bound as asked
};

// The current state of a class of writes.
struct WriteLoad {
  std::size_t window = 0;     // maximum number under way
  std::size_t in_flight = 0;  // sent, or about to be retried
  std::size_t waiting = 0;    // for their turn, or outside of the window for a retry
};

// One write from the call until its answer.
struct WriteJob {
  using Answer = std::function<void(Result<HttpResponse>)>;

  HttpRequest request;
  std::string what;   // "binding pod a/b"
  std::string merge;  // waiting jobs with the same key replace each other; empty: never
  // Called once: on the client's I/O thread, or on that of the caller of add() or stop().
  Answer done;
  // Set if the body is protobuf: returns the same body as JSON, in case the server refuses
  // protobuf.
  std::function<std::string()> as_json;
  // If set: only an answer that this accepts ends the job, however long that takes.
  bool (*definite)(const HttpResponse&) = nullptr;
  // If set: called before every retry, on the I/O thread. If it returns true, the job's content is
  // outdated, and the job ends as a success. Must not call the queue.
  std::function<bool()> superseded;
  // Jobs with the same one are sent one after the other, in the order of add(): the next when the
  // first try of the one before has ended, however it ended. It then overtakes no job that was
  // added before it. Empty: sent beside all others.
  std::string in_order;
  std::uint64_t place = 0;   // in the line, given by the queue: the lowest goes first
  bool urgent = false;       // sent before all jobs that are not urgent
  bool aged = false;         // a retry of an older write: yields to a waiting job with its key
  bool dropped = false;      // must not be sent any more, though still in the queue
  bool uncertain = false;    // a try ended without a definite answer: it may have been carried out
  WriteWindow::Time sent{};  // when the current try was sent
  int tries = 0;
  int throttled = 0;
  std::chrono::milliseconds delay{0};
};
using WriteJobRef = std::shared_ptr<WriteJob>;

// Whether the answer says that a write was carried out or refused.
[[nodiscard]] bool answers_write(const HttpResponse& response);

// All functions may be called from any thread and return at once, except drain(). Jobs keep it
// alive.
class WriteQueue : public std::enable_shared_from_this<WriteQueue> {
 public:
  // `binds` carries binds only, `others` everything else; both must outlive their callbacks.
  WriteQueue(HttpClient& binds, HttpClient& others, WriteOptions options);

  void add(WriteClass write_class, const WriteJobRef& job);

  // Removes the waiting job with this merge key from the queue; returns its `done` without calling
  // it.
  [[nodiscard]] WriteJob::Answer withdraw(WriteClass write_class, const std::string& merge);

  // See ServerWriter.
  bool drain(std::chrono::milliseconds timeout);
  [[nodiscard]] bool is_empty();
  void stop();

  [[nodiscard]] WriteLoad load(WriteClass write_class) const;

  // Whether bodies may be protobuf.
  [[nodiscard]] bool protobuf() const { return protobuf_.load(std::memory_order_relaxed); }

  [[nodiscard]] const WriteOptions& options() const { return options_; }
  [[nodiscard]] WriteStats& stats() { return stats_; }
  [[nodiscard]] const RefusedWrites& refused() const { return refused_; }

 private:
  // By place.
  using Line = std::map<std::uint64_t, WriteJobRef>;
  // One class of writes: its queue and its requests under way.
  struct Lane {
    HttpClient* client = nullptr;
    WriteWindow window;
    std::size_t under_way = 0;  // sent, or waiting for a retry within the window
    Line urgent;                // sent first
    Line queue;
    std::unordered_map<std::string, WriteJobRef> mergeable;  // waiting jobs, by merge key
    std::unordered_set<WriteJobRef> retrying;                // jobs that wait for a retry
    std::size_t given_way = 0;                               // retrying jobs outside of the window
    // By WriteJob::in_order, while the first try of a job is awaited: the jobs behind it.
    std::unordered_map<std::string, std::deque<WriteJobRef>> behind;
    std::size_t held_up = 0;  // their number
    void line_up(const WriteJobRef& job) {
      (job->urgent ? urgent : queue).insert_or_assign(job->place, job);
    }
    [[nodiscard]] Line& next_line() { return urgent.empty() ? queue : urgent; }
    [[nodiscard]] std::size_t waiting() const { return urgent.size() + queue.size() + held_up; }
    [[nodiscard]] bool empty() const { return waiting() == 0 && under_way == 0 && given_way == 0; }
  };

  [[nodiscard]] bool idle(std::initializer_list<WriteClass> classes);  // with mutex_ held
  [[nodiscard]] Lane& lane(WriteClass c) { return lanes_[static_cast<std::size_t>(c)]; }
  WriteJobRef enqueue(Lane& into, const WriteJobRef& job);
  [[nodiscard]] WriteClass next_class(WriteClass write_class);
  void let_next(WriteClass write_class, WriteJob& job);
  void pump(WriteClass write_class);
  [[nodiscard]] std::chrono::milliseconds allowed_time(const WriteJob& job) const;
  [[nodiscard]] std::optional<Result<HttpResponse>> end_unsent(const WriteJob& job) const;
  void transmit(WriteClass write_class, const WriteJobRef& job);
  void answered(WriteClass write_class, const WriteJobRef& job, Result<HttpResponse> result);
  bool repeat_after(std::chrono::milliseconds delay, WriteClass write_class,
                    const WriteJobRef& job);
  [[nodiscard]] bool gives_way(WriteClass write_class, const WriteJob& job) const;
  bool worth_repeating(WriteClass write_class, WriteJob& job,
                       const Result<HttpResponse>& result) const;
  std::optional<std::chrono::milliseconds> retry_delay(WriteClass write_class, WriteJob& job,
                                                       const Result<HttpResponse>& result);
  std::chrono::milliseconds jitter(std::chrono::milliseconds most);
  void finish(WriteClass write_class, WriteJob& job, Result<HttpResponse> result);
  void end(WriteClass write_class, WriteJob& job, Result<HttpResponse> result);

  void note_end(WriteClass write_class, const WriteJob& job, const Result<HttpResponse>& result);
  bool turn_to_json(WriteJob& job, const Result<HttpResponse>& result);

  const WriteOptions options_;
  std::atomic<bool> protobuf_;
  WriteStats stats_;
  RefusedWrites refused_;
  mutable std::mutex mutex_;  // guards all members from here on, and their content
  std::array<Lane, kWriteClasses> lanes_;
  std::uint64_t places_ = 0;         // given so far
  std::condition_variable changed_;  // a lane may have become empty, or the queue is stopped
  bool stopped_ = false;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace plimsoll::informer
