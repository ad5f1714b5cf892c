#pragma once
// The queues in front of the API server: one for each class of writes, with its own window of
// requests under way (WriteWindow) and its own place in line, so that no class waits behind another
// and each has its share of a server that is slow. What is tried again, how often and after how
// long goes by what a write says of itself.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "informer/http/http_client.hpp"
#include "informer/http/write_fence.hpp"
#include "informer/write/write_window.hpp"

namespace plimsoll::informer {

enum class WriteClass { kBind, kStatus, kEvent, kOther };
inline constexpr std::size_t kWriteClasses = 4;

struct WriteOptions {
  // Requests under way at most, by WriteClass: binds, pod status, events, others. How many it is
  // worth is found out between that and the next two; see WriteWindow.
  std::array<std::size_t, kWriteClasses> in_flight{64, 16, 32, 16};
  std::size_t least_in_flight = 4;
  std::size_t first_in_flight = 16;
  // Events waiting; one more is dropped and counted. Enough for a burst of pods far above what an
  // API server takes per second, so that each of them gets its event in the end. (client-go's 1000
  // are only those that its dispatcher has not yet given a goroutine; behind it there is no bound.)
  std::size_t event_queue = 50'000;
  // A server error (500, 502, 503, 504), an unreachable server or a lost answer: so many tries in
  // all. A bind is tried for ever: see ServerWriter::bind. After so many tries it only gives up its
  // place among the requests under way for as long as it waits.
  int tries = 5;
  // 429: waits as long as the server asks (at most max_retry_after), so many times. Not for binds.
  int throttled_tries = 10;
  std::chrono::milliseconds first_delay{100};  // doubling, with jitter
  std::chrono::milliseconds max_delay{5'000};
  std::chrono::milliseconds max_retry_after{30'000};
  // An event is tried so often, so far apart (and up to a quarter more). Kubernetes:
  // maxTriesPerEvent and defaultSleepDuration of client-go's tools/events.
  int event_tries = 12;
  std::chrono::milliseconds event_delay{10'000};
  std::chrono::milliseconds timeout{15'000};  // of one try
  // Bindings and events are written as protobuf, and their answers asked for in it; a server that
  // does not take it (415) is written JSON to from then on.
  bool protobuf = false;
  std::string reporting_instance;  // "<name>-<host>"; empty: "<scheduler name>-<host name>"
  // Set where several replicas elect a leader: nothing but a GET is sent while it is closed
  // (kCancelled), and no try lasts longer than it allows. It must outlive the writer.
  const WriteFence* fence = nullptr;
};

// Counters; any thread may read them.
struct WriteStats {
  std::array<std::atomic<std::uint64_t>, kWriteClasses> done{};     // succeeded
  std::array<std::atomic<std::uint64_t>, kWriteClasses> failed{};   // gave up
  std::array<std::atomic<std::uint64_t>, kWriteClasses> retried{};  // further tries
  std::atomic<std::uint64_t> events_dropped{0};
  std::atomic<std::uint64_t> binds_recovered{
      0};  // the answer was lost, but the pod was bound as asked
};

// A class of writes at this moment.
struct WriteLoad {
  std::size_t window = 0;     // as many may be under way
  std::size_t in_flight = 0;  // sent, or soon to be sent once more
  std::size_t waiting = 0;    // for their turn, or a longer while for their next try
};

// One write from being asked for to its answer.
struct WriteJob {
  using Answer = std::function<void(Result<HttpResponse>)>;

  HttpRequest request;
  std::string what;   // "binding pod a/b"
  std::string merge;  // jobs with the same key replace one another while they wait; empty: never
  Answer done;        // once: on the client's I/O thread, or on that of who adds or stops
  // Set if the body is protobuf: the same as JSON, should the server not take it.
  std::function<std::string()> as_json;
  // If set: only an answer that this accepts ends the job, however long it takes to get one.
  bool (*definite)(const HttpResponse&) = nullptr;
  // If set: asked before every further try, on the I/O thread; true: what the job says is no longer
  // true, and it ends as a success. Must not call the queue.
  std::function<bool()> superseded;
  bool urgent = false;       // goes ahead of all that is not
  bool aged = false;         // a further try of an older write: yields to what waits with its key
  bool dropped = false;      // not to be sent any more, though it is still in the queue
  bool uncertain = false;    // a try ended without such an answer: it may have been carried out
  WriteWindow::Time sent{};  // the try that is under way
  int tries = 0;
  int throttled = 0;
  std::chrono::milliseconds delay{0};
};
using WriteJobRef = std::shared_ptr<WriteJob>;

// Whether a write was carried out or turned down, as opposed to who knows.
[[nodiscard]] bool answers_write(const HttpResponse& response);

// All functions may be called from any thread and return at once, but drain(). Jobs keep it alive.
class WriteQueue : public std::enable_shared_from_this<WriteQueue> {
 public:
  // `binds` carries binds only, `others` everything else; both must outlive their callbacks.
  WriteQueue(HttpClient& binds, HttpClient& others, WriteOptions options);

  void add(WriteClass write_class, WriteJobRef job);

  // Takes what waits with this merge key out of the queue; returns its `done`, not yet called.
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

 private:
  // One class of writes: its queue and what is under way.
  struct Lane {
    HttpClient* client = nullptr;
    WriteWindow window;
    std::size_t under_way = 0;       // sent, or waiting to be sent again
    std::deque<WriteJobRef> urgent;  // sent first
    std::deque<WriteJobRef> queue;
    std::unordered_map<std::string, WriteJobRef> mergeable;  // those in the two lines
    std::unordered_set<WriteJobRef> retrying;                // those that wait to be sent again
    std::size_t given_way = 0;                               // of these: without a place
    [[nodiscard]] std::deque<WriteJobRef>& line_of(const WriteJob& job) {
      return job.urgent ? urgent : queue;
    }
    [[nodiscard]] std::deque<WriteJobRef>& next_line() { return urgent.empty() ? queue : urgent; }
    [[nodiscard]] std::size_t waiting() const { return urgent.size() + queue.size(); }
    [[nodiscard]] bool empty() const {
      return urgent.empty() && queue.empty() && under_way == 0 && given_way == 0;
    }
  };

  [[nodiscard]] bool idle(std::initializer_list<WriteClass> classes);  // with mutex_ held
  [[nodiscard]] Lane& lane(WriteClass c) { return lanes_[static_cast<std::size_t>(c)]; }
  static WriteJobRef enqueue(Lane& into, const WriteJobRef& job);
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
  mutable std::mutex mutex_;  // guards what follows and all that is inside of it
  std::array<Lane, kWriteClasses> lanes_;
  std::condition_variable changed_;  // a lane may have become empty, or the queue is stopped
  bool stopped_ = false;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace plimsoll::informer
