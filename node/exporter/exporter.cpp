#include "node/exporter/exporter.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "framework/base/log.hpp"
#include "informer/watch/backoff.hpp"
#include "node/devices/sys_tree.hpp"
#include "node/exporter/compose.hpp"
#include "node/exporter/file_events.hpp"
#include "node/exporter/known_devices.hpp"
#include "node/exporter/node_watch.hpp"
#include "node/exporter/object_writer.hpp"
#include "node/exporter/report_kind.hpp"
#include "node/kubelet/kubelet_line.hpp"

namespace plimsoll::node {
namespace {

using informer::Backoff;
using nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kThrottledPause{200};  // the kubelet's socket serves others too
constexpr milliseconds kAdmission{30};        // of one pod
constexpr int kLooksAtAdmission = 3;
constexpr milliseconds kStranger{2'000};
constexpr milliseconds kReturning{500};
const std::string kAwayTrouble = "the kubelet has ended";

// Wakes a thread that polls.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Bell() { close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() const { eventfd_write(fd_, 1); }
  [[nodiscard]] bool take() const {
    eventfd_t count = 0;
    return eventfd_read(fd_, &count) == 0;
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

struct Metrics {
  explicit Metrics(metrics::Registry& r)
      : reads(r.counters({"plimsoll_node_kubelet_reads_total",
                          "Reads of the kubelet's files and API, by outcome (done, throttled, "
                          "failed).",
                          {"outcome"}})),
        writes(r.counters({"plimsoll_node_report_writes_total",
                           "Writes of the report, by outcome (done, conflict, failed).",
                           {"outcome"}})),
        delay(r.histograms({"plimsoll_node_report_delay_seconds",
                            "From the first event that a report answers to the end of its write.",
                            {}},
                           {.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60})
                  .with({})),
        current(r.gauges({"plimsoll_node_report_current",
                          "1 while the published report is known to be true.",
                          {}})
                    .with({})) {}
  Metrics() = default;

  metrics::Family<metrics::Counter> reads, writes;
  metrics::Histogram delay;
  metrics::Gauge current;
};

void count(const metrics::Family<metrics::Counter>& family, std::string_view outcome) {
  if (family) family.with({outcome}).add();
}

}  // namespace

struct Exporter::Impl {
  Impl(ExporterOptions given, informer::HttpClient& client, FileEvents files,
       metrics::Registry* registry)
      : options(std::move(given)),
        files(std::move(files)),
        line(options.kubelet.socket()),
        metrics(registry == nullptr ? Metrics() : Metrics(*registry)),
        writer(client, {kReportGroup, kReportVersion, kReportPlural}, options.node,
               "NodeResourceTopology", options.period, options.settle),
        devices(options.devices
                    ? std::make_unique<DeviceReporter>(*options.devices, options.node, client,
                                                       registry, [this] { bell.ring(); })
                    : nullptr),
        watch(
            client, options.node, options.devices.has_value(), [this] { bell.ring(); },
            [this](const std::string& uid, const AllocatedPod* pod) {
              if (devices) devices->know(uid, pod);
            }) {}

  // What a pass comes to: all is done, or why not and when to try again at the latest.
  struct Outcome {
    std::string trouble;
    milliseconds again;
    bool finished = true;  // false: only a step on the way
  };

  Outcome pass(const std::stop_token& stop) {
    files.follow();
    notice_return();
    const ClusterView cluster = watch.view();
    if (std::string missing = missing_of(cluster); !missing.empty()) {
      return {std::move(missing), options.period};
    }
    if (!cluster.complete) return {trouble_now(), options.period, false};  // the lists come in
    if (!restored && !cluster.report.text.empty()) known.restore(cluster.report.text);
    restored = true;
    if (auto told = tell_away(cluster, stop)) return *told;
    if (auto done = read_rare(stop); !done) {
      return {done.error().message, unreadable.next(Clock::now(), options.period)};
    }
    auto view = read_kubelet(options.kubelet);
    if (!view) return not_read(view.error(), cluster, stop);
    count(metrics.reads, "done");
    if (!take_out_starting(*view, cluster, known_strangers(*view, cluster))) {
      return {trouble_now(), kAdmission, false};
    }
    if (!is_consistent(*view, cluster.uids) && ++looks <= kLooksAtAdmission) {
      return {trouble_now(), kAdmission, false};  // files and API are not of one moment
    }
    looks = 0;
    if (std::string reason = still_returning(*view, cluster); !reason.empty()) {
      return {"the kubelet has come back: " + reason, kReturning};
    }
    return publish(*view, cluster, stop);
  }

  // The API server tells of a pod at about the time when the kubelet learns of it. One that it does
  // not tell of for long is a static pod.
  PodNames known_strangers(const KubeletView& view, const ClusterView& cluster) {
    const PodNames now = strangers_of(view, cluster);
    std::erase_if(strangers, [&](const auto& known) { return !now.contains(known.first); });
    PodNames known;
    for (const auto& name : now) {
      const auto since = strangers.try_emplace(name, Clock::now()).first->second;
      if (Clock::now() - since > kStranger) known.insert(name);
    }
    return known;
  }

  // A kubelet makes its socket again when it starts.
  void notice_return() {
    const std::uint64_t found = identity_of(options.kubelet.socket());
    const bool there = line.hold();
    if (there && found == socket) return;
    settle_until = Clock::now() + options.settle;
    away = away || socket != 0;
    if (found == socket) return;
    if (socket != 0 && found != 0) log_info("the kubelet has come back");
    socket = found;
    hardware.reset();
    settings.reset();
  }

  // If the kubelet is away, the published report says so from now on. Empty: nothing is to be told.
  std::optional<Outcome> tell_away(const ClusterView& cluster, const std::stop_token& stop) {
    if (!away || cluster.report.text.empty()) return {};
    json object = json::parse(cluster.report.text, nullptr, false);
    if (!object.is_object() || preview_only) return {};
    const json published = object;
    mark_away(object);
    if (object == published) return {};
    if (writer.not_echoed(cluster.report)) {
      return Outcome{kAwayTrouble, ObjectWriter::kEcho, false};
    }
    Outcome outcome = write(object, "away", cluster, stop);
    if (outcome.trouble.empty()) outcome = {kAwayTrouble, options.pause, false};
    return outcome;
  }

  [[nodiscard]] std::string missing_of(const ClusterView& cluster) const {
    if (!cluster.report_served) {
      return "the API server does not know NodeResourceTopology objects; install the custom "
             "resource definition deploy/crds/noderesourcetopologies.yaml";
    }
    if (std::string why = watch.trouble(); !why.empty()) return why;
    if (cluster.complete && cluster.node_uid.empty()) {
      return "there is no Node named '" + options.node +
             "'; name this machine's Node by --node-name or NODE_NAME";
    }
    return {};
  }

  Result<void> read_rare(const std::stop_token& stop) {
    if (!hardware) {
      auto read = options.hardware();
      if (!read) return fail(read.error().within("reading this machine"));
      hardware = std::move(*read);
    }
    if (!settings) {
      auto read = options.settings(stop);
      if (!read) return fail(read.error());
      settings = std::move(*read);
    }
    return {};
  }

  Outcome not_read(const Error& error, const ClusterView& cluster, const std::stop_token& stop) {
    if (error.code == ErrorCode::kThrottled) {
      count(metrics.reads, "throttled");
      return {trouble_now(), kThrottledPause, false};
    }
    count(metrics.reads, "failed");
    // A socket that nobody serves: the kubelet is down, and returns with little knowledge.
    settle_until = Clock::now() + options.settle;
    notice_return();
    if (auto told = tell_away(cluster, stop)) return *told;
    return {"the kubelet cannot be read: " + error.message,
            unreadable.next(Clock::now(), options.period)};
  }

  std::string still_returning(const KubeletView& view, const ClusterView& cluster) {
    if (!settle_until) return {};
    std::string reason = not_back_yet(view, cluster);
    if (!reason.empty() && Clock::now() < *settle_until) return reason;
    if (!reason.empty()) {
      log_warn("publishing although the kubelet may not know everything", {{"reason", reason}});
    }
    settle_until.reset();
    away = false;
    return {};
  }

  // The policies in the state files are what the kubelet works by; its configuration file lacks
  // what flags say. Its version is in the Node.
  [[nodiscard]] KubeletSettings effective(const KubeletView& view,
                                          const ClusterView& cluster) const {
    KubeletSettings effective = *settings;
    if (!view.cpus.policy.empty()) effective.cpu_manager_policy = view.cpus.policy;
    if (!view.memory.policy.empty()) effective.memory_manager_policy = view.memory.policy;
    effective.version = cluster.kubelet_version;
    return effective;
  }

  Outcome publish(const KubeletView& view, const ClusterView& cluster,
                  const std::stop_token& stop) {
    const auto counted = counted_uids(view, cluster.uids);
    held = view.devices.entries;
    std::erase_if(*held, [&](const auto& entry) { return !counted.contains(entry.pod_uid); });
    const NodeReport report = compose(*hardware, effective(view, cluster), view, cluster, known);
    if (writer.not_echoed(cluster.report)) return {trouble_now(), ObjectWriter::kEcho, false};
    const json published = json::parse(cluster.report.text, nullptr, false);
    json object = published.is_object() ? published : json::object();
    write_object(object, options.node, cluster.node_uid, report);
    if (preview_only) {
      previewed = object.dump(2);
      return {"", options.period};
    }
    if (object == published) return {"", options.period};
    json content = json::object();
    write_object(content, options.node, cluster.node_uid, report);
    return write(object, content.dump(), cluster, stop);
  }

  Outcome write(const json& object, std::string content, const ClusterView& cluster,
                const std::stop_token& stop) {
    using End = ObjectWriter::End;
    const auto done = writer.write(object, std::move(content), cluster.report, stop);
    if (done.end == End::kHeldBack) return {done.trouble, done.again};
    count(metrics.writes, done.end == End::kDone       ? "done"
                          : done.end == End::kConflict ? "conflict"
                                                       : "failed");
    if (done.end == End::kConflict) return {trouble_now(), done.again, false};
    if (done.end == End::kDone) unreadable.reset();
    return {done.trouble, done.again};
  }

  [[nodiscard]] std::string trouble_now() const {
    const std::lock_guard lock(mutex);
    return trouble;
  }

  // What nobody foresaw costs this pass, not the program.
  Outcome safe_pass(const std::stop_token& stop) {
    try {
      return pass(stop);
    } catch (const std::exception& error) {
      return {"the node cannot be reported: " + plain_text(error.what()),
              unreadable.next(Clock::now(), options.period)};
    }
  }
  DeviceReporter::Outcome safe_device_pass(const std::stop_token& stop) {
    try {
      return devices->pass(watch.view(), hardware ? &*hardware : nullptr, held, stop);
    } catch (const std::exception& error) {
      return {"the devices cannot be reported: " + plain_text(error.what()), options.period};
    }
  }

  // The devices have their own say: neither report waits for the other.
  void report_devices(Outcome& outcome, const std::stop_token& stop) {
    if (!devices || preview_only) return;
    auto done = safe_device_pass(stop);
    if (done.trouble.empty()) done.trouble = devices->hook_trouble();
    if (stop.stop_requested()) return;
    outcome.again = std::min(outcome.again, done.again);
    const std::lock_guard lock(mutex);
    if (done.trouble != device_trouble && !done.trouble.empty()) {
      log_warn("the devices are not reported", {{"reason", done.trouble}});
    }
    device_trouble = done.trouble;
  }

  void finish(const Outcome& outcome) {
    const std::lock_guard lock(mutex);
    last_pass = Clock::now();
    if (outcome.trouble == trouble) return;
    trouble = outcome.trouble;
    metrics.current.set(trouble.empty() ? 1 : 0);
    if (trouble.empty()) {
      log_info("the report is true");
    } else {
      log_warn("the report is not kept up", {{"reason", trouble}});
    }
  }

  enum class Event : std::uint8_t { kNone, kChange, kEnd };
  // Waits for an event, `until` at the latest.
  [[nodiscard]] Event wait(Clock::time_point until) const {
    std::array<pollfd, 3> fds{
        {{files.fd(), POLLIN, 0}, {bell.fd(), POLLIN, 0}, {line.fd(), POLLRDHUP, 0}}};
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (fds[2].revents != 0) return Event::kEnd;
    return fds[0].revents != 0 || fds[1].revents != 0 ? Event::kChange : Event::kNone;
  }

  // Does nothing for so long, or until the kubelet ends.
  void rest(milliseconds length) const {
    pollfd ended{line.fd(), POLLRDHUP, 0};
    poll(&ended, 1, static_cast<int>(length.count()));
  }

  // Passes until `done` says so after one.
  template <typename Done>
  void loop(const std::stop_token& stop, const Done& done) {
    const std::stop_callback wake(stop, [this] { bell.ring(); });
    constexpr auto kNone = Clock::time_point::max();
    auto since = kNone;  // the first event that no report has answered
    Clock::time_point next = Clock::now();
    while (!stop.stop_requested()) {
      const Event event = wait(next);
      if (event == Event::kChange) {
        const bool files_changed = files.take();
        const bool told = bell.take();
        if (!files_changed && !told) continue;
        since = std::min(since, Clock::now());
        rest(options.gather);
        (void)files.take();
        (void)bell.take();
      }
      Outcome outcome = safe_pass(stop);
      report_devices(outcome, stop);
      finish(outcome);
      if (done(outcome)) return;
      if (outcome.trouble.empty() && outcome.finished) {
        if (since != kNone) {
          metrics.delay.observe(std::chrono::duration<double>(Clock::now() - since).count());
        }
        since = kNone;
      }
      rest(std::min(options.pause, outcome.again));
      next = Clock::now() + outcome.again;
    }
  }

  const ExporterOptions options;
  FileEvents files;
  KubeletLine line;
  Metrics metrics;
  Bell bell;

  std::uint64_t socket = 0;
  bool away = false;  // the kubelet ended, and the next one has not taken up its pods
  std::optional<Hardware> hardware;
  std::optional<KubeletSettings> settings;
  std::optional<Clock::time_point> settle_until;
  KnownDevices known;
  bool restored = false;  // `known` has those of the report that was there before
  int looks = 0;          // at files and API that are not of one moment
  std::map<std::pair<std::string, std::string>, Clock::time_point> strangers;  // since when
  std::optional<std::vector<DeviceState::Entry>> held;  // what the kubelet gave to pods that count
  ObjectWriter writer;
  bool preview_only = false;
  std::string previewed;
  Backoff unreadable{{milliseconds(250), milliseconds(5'000)}};

  mutable std::mutex mutex;  // guards the next three
  std::string trouble = "starting";
  std::string device_trouble;
  Clock::time_point last_pass = Clock::now();

  std::unique_ptr<DeviceReporter> devices;  // these two ring the bell until they are gone
  NodeWatch watch;                          // last: it calls `devices`
};

Exporter::Exporter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Exporter::~Exporter() = default;

Result<std::unique_ptr<Exporter>> Exporter::create(ExporterOptions options,
                                                   informer::HttpClient& client,
                                                   metrics::Registry* registry) {
  auto files = FileEvents::create(options.kubelet);
  if (!files) return fail(files.error());
  return std::unique_ptr<Exporter>(new Exporter(
      std::make_unique<Impl>(std::move(options), client, std::move(*files), registry)));
}

void Exporter::run(const std::stop_token& stop) {
  impl_->loop(stop, [](const auto&) { return false; });
}

Result<std::string> Exporter::preview(milliseconds patience, const std::stop_token& stop) {
  impl_->preview_only = true;
  const auto until = Clock::now() + patience;
  std::string trouble = "stopped";
  impl_->loop(stop, [&](const auto& outcome) {
    trouble = outcome.trouble;
    return !impl_->previewed.empty() || Clock::now() >= until;
  });
  if (impl_->previewed.empty()) return fail(ErrorCode::kUnavailable, trouble);
  return impl_->previewed;
}

std::string Exporter::trouble() const {
  const std::lock_guard lock(impl_->mutex);
  const bool both = !impl_->trouble.empty() && !impl_->device_trouble.empty();
  return impl_->trouble + (both ? "; " : "") + impl_->device_trouble;
}

Clock::duration Exporter::since_last_pass() const {
  const std::lock_guard lock(impl_->mutex);
  return Clock::now() - impl_->last_pass;
}

}  // namespace plimsoll::node
