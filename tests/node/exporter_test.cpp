// plimsoll-node's work, against a kubelet's folder and the sandbox's API server.

#include "node/exporter/exporter.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "config/text/yaml_document.hpp"
#include "framework/base/json_path.hpp"
#include "lab/sandbox/apiserver/api_server.hpp"
#include "node/exporter/doctor.hpp"
#include "node/exporter/report_kind.hpp"
#include "node/exporter/settings_source.hpp"
#include "node/report/node_kind.hpp"
#include "plugins/topology/report/facts.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "plugins/topology/report/nrt_object.hpp"
#include "tests/node/fake_kubelet.hpp"
#include "tests/node/fake_machine.hpp"
#include "tests/node/real_runtime.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;
using sandbox::kDevices;
using sandbox::kNodeResourceTopologies;
using sandbox::kNodes;
using sandbox::kPods;
using test::FakeKubelet;
using test::FakeMachine;
using test::kGpu;
using test::RealRuntime;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class ExporterTest : public ::testing::Test {
 protected:
  ExporterTest() {
    make(kNodes, {{"metadata", {{"name", "n"}}},
                  {"status",
                   {{"capacity", {{kGpu, "2"}}}, {"nodeInfo", {{"kubeletVersion", "v1.37.2"}}}}}});
  }
  ~ExporterTest() override { stop(); }

  void make(const sandbox::ResourceName& resource, json object) {
    const auto made = store_.create(resource, std::move(object));
    ASSERT_TRUE(made) << made.error().message;
  }
  // A pod on the node, as the API server knows it. Returns its UID.
  std::string pod(const std::string& name, bool started = true,
                  const std::string& phase = "Running") {
    json status = {{"phase", started ? phase : "Pending"}};
    if (started) status["startTime"] = "2026-01-01T00:00:00Z";
    const auto made =
        store_.create(kPods, {{"metadata", {{"name", name}, {"namespace", "default"}}},
                              {"spec", {{"nodeName", "n"}, {"containers", json::array()}}},
                              {"status", status}});
    EXPECT_TRUE(made) << made.error().message;
    return (*made)->uid;
  }
  void remove_pod(const std::string& name) {
    ASSERT_TRUE(store_.remove(kPods, {"default", name}, {}));
  }
  // The node has a running pod with these CPUs.
  void run(const std::string& name, const std::set<std::uint32_t>& cpus,
           const std::string& gpu = {}) {
    kubelet_.admit(name, pod(name), cpus, gpu);
  }

  [[nodiscard]] ExporterOptions options() const {
    ExporterOptions options;
    options.node = "n";
    options.kubelet = kubelet_.paths();
    options.hardware = [this] {
      if (breaks_) throw std::runtime_error("broken \xff");
      return FakeKubelet::hardware();
    };
    options.settings = [this](const std::stop_token&) {
      while (busy_) std::this_thread::yield();
      return settings_from_file(kubelet_.paths().root / "config.yaml");
    };
    options.settle = settle_;
    options.devices = devices_;
    return options;
  }
  void start() {
    informer::ServerAccess access;
    access.server = server_->url();
    access.source = "the test";
    client_ = std::move(
        informer::HttpClient::create(access, std::make_shared<informer::CredentialSource>(access))
            .value());
    registry_ = std::make_unique<metrics::Registry>();
    exporter_ = std::move(Exporter::create(options(), *client_, registry_.get()).value());
  }
  void start_running() {
    start();
    thread_ = std::jthread([this](const std::stop_token& stop) { exporter_->run(stop); });
  }
  void stop() {
    busy_ = false;
    thread_ = {};
    exporter_.reset();
    client_.reset();
  }

  // The published object; null if there is none.
  json object() const {
    const auto found = store_.get(kNodeResourceTopologies, {"", "n"});
    return found ? (*found)->parse() : json();
  }
  std::string version() const {
    const json now = object();
    return now.is_null() ? "" : now["metadata"].value("resourceVersion", "");
  }
  // `what` ("available") of the resource in each zone, joined: "3 3".
  std::string amounts(const std::string& resource, const char* what = "available") const {
    std::string all;
    const json now = object();
    if (now.is_null()) return all;
    for (const json& zone : now["zones"]) {
      for (const json& each : zone["resources"]) {
        if (each["name"] == resource) {
          all += (all.empty() ? "" : " ") + each[what].get<std::string>();
        }
      }
    }
    return all;
  }
  // The report says that the kubelet is away.
  [[nodiscard]] static bool is_away(const json& report) {
    const auto parsed = topology::parse_nrt(report.dump());
    return parsed && parsed->kubelet_away;
  }
  // What a reader of the node facts complains of.
  std::vector<std::string> problems() const {
    const auto parsed = topology::parse_nrt(object().dump());
    if (!parsed) return {"not a NodeResourceTopology"};
    ResourceIndex resources;
    topology::kubelet::FactsReader reader(
        [&](std::string_view name) { return resources.of(std::string(name)); });
    return reader.read(*parsed).problems;
  }

  template <typename Condition>
  [[nodiscard]] static bool eventually(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }
  [[nodiscard]] bool settled() const {
    return eventually([&] { return exporter_->trouble().empty(); });
  }
  [[nodiscard]] bool in_trouble(const std::string& text) const {
    return eventually([&] { return exporter_->trouble().find(text) != std::string::npos; });
  }
  double count(const std::string& name, const std::string& outcome) const {
    return registry_->counters({name, "", {"outcome"}}).with({outcome}).value();
  }
  // The kubelet has been read again.
  [[nodiscard]] bool looked_again() const {
    const double before = count("plimsoll_node_kubelet_reads_total", "done");
    return eventually([&] { return count("plimsoll_node_kubelet_reads_total", "done") > before; });
  }

  sandbox::ObjectStore store_{{.seed = 1}};
  std::unique_ptr<sandbox::ApiServer> server_ = sandbox::ApiServer::start(store_).value();
  FakeKubelet kubelet_;
  std::chrono::milliseconds settle_{60'000};
  std::optional<DeviceReporterOptions> devices_;
  std::atomic<bool> busy_ = false;    // the exporter waits for the kubelet's settings
  std::atomic<bool> breaks_ = false;  // nobody foresaw that reading the machine throws
  std::unique_ptr<informer::HttpClient> client_;
  std::unique_ptr<metrics::Registry> registry_;
  std::unique_ptr<Exporter> exporter_;
  std::jthread thread_;
};

TEST_F(ExporterTest, PublishesWhatTheKubeletSays) {
  kubelet_.add_gpu("gpu-0");
  kubelet_.add_gpu("gpu-1");
  run("web", {1, 2}, "gpu-1");
  start_running();
  ASSERT_TRUE(settled()) << exporter_->trouble();
  EXPECT_EQ(amounts("cpu", "capacity"), "4 4");
  EXPECT_EQ(amounts("cpu", "allocatable"), "3 3");
  EXPECT_EQ(amounts("cpu"), "1 3");
  EXPECT_EQ(amounts(kGpu), "1") << "only zone 0 has any";
  const json made = object();
  const json owner = made["metadata"]["ownerReferences"][0];
  EXPECT_EQ(owner["uid"], (*store_.get(kNodes, {"", "n"}))->uid);
  EXPECT_EQ(owner["kind"], "Node");
  std::map<std::string, std::string> attributes;
  for (const json& each : made["attributes"]) attributes[each["name"]] = each["value"];
  EXPECT_EQ(attributes["topologyManagerPolicy"], "single-numa-node");
  EXPECT_EQ(attributes["kubeletVersion"], "v1.37");
  EXPECT_EQ(attributes["cpuManagerPolicy"], "static") << "the file says none, the kubelet static";
  EXPECT_EQ(attributes[std::string(topology::kFingerprintMethodAttribute)], "all");
  EXPECT_EQ(attributes[std::string(topology::kFingerprintAttribute)],
            topology::pod_fingerprint({{"default", "web"}}));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(ExporterTest, WritesWhenAPodComesAndGoesAndOnlyThen) {
  start_running();
  ASSERT_TRUE(settled());
  run("web", {5});
  ASSERT_TRUE(eventually([&] { return amounts("cpu") == "3 2"; }));
  kubelet_.end("web");
  remove_pod("web");
  // The files still name it.
  ASSERT_TRUE(eventually([&] { return amounts("cpu") == "3 3"; }));
  ASSERT_TRUE(settled());
  const std::string before = version();
  kubelet_.write_again();
  ASSERT_TRUE(looked_again());
  ASSERT_TRUE(settled());
  EXPECT_EQ(version(), before);
  EXPECT_EQ(count("plimsoll_node_report_writes_total", "failed"), 0);
}

TEST_F(ExporterTest, APodWithoutItsOwnCpusChangesTheFingerprint) {
  start_running();
  ASSERT_TRUE(settled());
  const auto fingerprint = [&] {
    return object()["metadata"]["annotations"].value(topology::kFingerprintAnnotation, "");
  };
  const std::string before = fingerprint();
  run("shared", {});
  EXPECT_TRUE(eventually([&] { return fingerprint() != before; }));
}

TEST_F(ExporterTest, APodThatIsBeingAdmittedIsNotCountedYet) {
  start_running();
  ASSERT_TRUE(settled());
  const std::string before = version();
  kubelet_.admit("new", pod("new", false), {});
  kubelet_.admit("also-new", pod("also-new", false), {5});
  ASSERT_TRUE(looked_again());
  ASSERT_TRUE(settled());
  EXPECT_EQ(version(), before) << "neither its name nor its CPUs";
  const auto started = store_.modify(kPods, {"default", "also-new"}, {}, [](json& object) {
    object["status"]["startTime"] = "2026-01-01T00:00:00Z";
    return sandbox::ApiResult<void>();
  });
  ASSERT_TRUE(started);
  EXPECT_TRUE(eventually([&] { return amounts("cpu") == "3 2"; }));
}

TEST_F(ExporterTest, APodThatTheApiServerDoesNotKnowIsCounted) {
  start_running();
  ASSERT_TRUE(settled());
  kubelet_.admit("static-n", "hash", {5});
  EXPECT_TRUE(eventually([&] { return amounts("cpu") == "3 2"; }));
}

TEST_F(ExporterTest, AKubeletThatComesBackIsAwaited) {
  kubelet_.add_gpu("gpu-0");
  run("web", {1, 2}, "gpu-0");
  start_running();
  ASSERT_TRUE(settled());
  json before = object();
  kubelet_.kill();
  ASSERT_TRUE(eventually([&] { return is_away(object()); }));
  ASSERT_TRUE(in_trouble("cannot be read"));
  const std::string told = version();
  kubelet_.start();
  ASSERT_TRUE(in_trouble("has started, but the kubelet does not list it"));
  kubelet_.list_all();
  ASSERT_TRUE(in_trouble("has not registered again"));
  EXPECT_EQ(version(), told) << "what it does not know yet is not published";
  EXPECT_EQ(amounts("cpu"), "1 3");
  kubelet_.add_gpu("gpu-0");
  ASSERT_TRUE(settled());
  json after = object();
  for (json* each : {&before, &after}) (*each)["metadata"].erase("resourceVersion");
  EXPECT_EQ(after, before) << "everything is as it was";
}

// It has its CPUs, whatever of it runs.
TEST_F(ExporterTest, APodWhoseInitContainersRunIsAwaitedToo) {
  kubelet_.admit("init", pod("init", true, "Pending"), {1, 2}, "");
  start_running();
  ASSERT_TRUE(settled());
  kubelet_.kill();
  ASSERT_TRUE(eventually([&] { return is_away(object()); }));
  kubelet_.start();
  ASSERT_TRUE(in_trouble("pod default/init has started, but the kubelet does not list it"));
  kubelet_.list_all();
  ASSERT_TRUE(settled());
  EXPECT_EQ(amounts("cpu"), "1 3");
}

// Its CPUs are in the file until the next pod comes or the CPU manager looks again.
TEST_F(ExporterTest, AKubeletWithoutPodsIsAwaitedUntilItsStateHasNone) {
  run("web", {1, 2});
  start_running();
  ASSERT_TRUE(settled());
  kubelet_.kill();
  ASSERT_TRUE(eventually([&] { return is_away(object()); }));
  remove_pod("web");
  kubelet_.start();
  ASSERT_TRUE(in_trouble("it lists no pods, but its state has pods with CPUs"));
  EXPECT_TRUE(is_away(object()));
  kubelet_.clean();
  ASSERT_TRUE(settled());
  EXPECT_FALSE(is_away(object()));
  EXPECT_EQ(amounts("cpu"), "3 3");
}

// Whoever serves the socket may close a connection on which nothing is asked.
TEST_F(ExporterTest, AConnectionThatEndsIsNoKubeletThatEnds) {
  run("web", {1, 2});
  start_running();
  ASSERT_TRUE(settled());
  const std::string before = version();
  kubelet_.drop_connections();
  ASSERT_TRUE(looked_again());
  ASSERT_TRUE(settled());
  EXPECT_EQ(version(), before);
}

TEST_F(ExporterTest, AStaticPodWhoseMirrorGoesHoldsWhatItHas) {
  make(kPods, {{"metadata",
                {{"name", "static"},
                 {"namespace", "default"},
                 {"annotations", {{"kubernetes.io/config.hash", "hash-1"}}}}},
               {"spec", {{"nodeName", "n"}, {"containers", json::array()}}},
               {"status", {{"phase", "Running"}, {"startTime", "2026-01-01T00:00:00Z"}}}});
  kubelet_.admit("static", "hash-1", {1, 2}, "");
  start_running();
  ASSERT_TRUE(settled());
  const auto facts = [&] {
    const auto parsed = topology::parse_nrt(object().dump());
    return parsed ? std::string(parsed->free_facts) : std::string();
  };
  EXPECT_THAT(facts(), HasSubstr(" c=1-2"));
  remove_pod("static");
  EXPECT_TRUE(eventually([&] { return facts().find("hash-1 c=1-2") != std::string::npos; }));
  EXPECT_EQ(amounts("cpu"), "1 3");
}

TEST_F(ExporterTest, AKubeletIsNotAwaitedForEver) {
  settle_ = 200ms;
  pod("never-started");  // Running, as the API server says
  start_running();
  ASSERT_TRUE(settled());
  EXPECT_EQ(amounts("cpu"), "3 3");
}

TEST_F(ExporterTest, AnUnhealthyDeviceKeepsItsPlace) {
  kubelet_.add_gpu("gpu-0");
  kubelet_.add_gpu("gpu-1");
  start_running();
  ASSERT_TRUE(eventually([&] { return amounts(kGpu) == "2"; }));
  kubelet_.lose_gpu("gpu-0");
  ASSERT_TRUE(eventually([&] { return amounts(kGpu) == "1"; }));
  EXPECT_EQ(amounts(kGpu, "capacity"), "2");
  stop();
  // The next one knows it from the report.
  start_running();
  ASSERT_TRUE(settled());
  EXPECT_EQ(amounts(kGpu, "capacity"), "2");
  kubelet_.add_gpu("gpu-0");
  EXPECT_TRUE(eventually([&] { return amounts(kGpu) == "2"; }));
}

TEST_F(ExporterTest, WhatAnotherProgramWritesIsPutRight) {
  start_running();
  ASSERT_TRUE(settled());
  const auto spoil = [&] {
    const auto done = store_.modify(kNodeResourceTopologies, {"", "n"}, {}, [](json& object) {
      object["zones"] = json::array();
      object["metadata"]["labels"]["of"] = "another";
      return sandbox::ApiResult<void>();
    });
    ASSERT_TRUE(done);
  };
  spoil();
  ASSERT_TRUE(eventually([&] { return amounts("cpu") == "3 3"; }));
  EXPECT_EQ(object()["metadata"]["labels"]["of"], "another") << "what is not ours stays";
  spoil();
  EXPECT_TRUE(in_trouble("another program writes")) << "two that write do not chase each other";
  ASSERT_TRUE(eventually([&] { return amounts("cpu") == "3 3"; }));
  ASSERT_TRUE(store_.remove(kNodeResourceTopologies, {"", "n"}, {}));
  EXPECT_TRUE(eventually([&] { return amounts("cpu") == "3 3"; }));
}

TEST_F(ExporterTest, SaysWhatIsMissing) {
  ASSERT_TRUE(store_.remove(kNodes, {"", "n"}, {}));
  start_running();
  ASSERT_TRUE(in_trouble("there is no Node named 'n'"));
  make(kNodes, {{"metadata", {{"name", "n"}}}});
  EXPECT_TRUE(settled());
  stop();
  std::filesystem::remove(kubelet_.paths().root / "config.yaml");
  start_running();
  EXPECT_TRUE(in_trouble("--kubelet-config"));
}

TEST_F(ExporterTest, SaysThatTheKindIsNotInstalled) {
  ASSERT_TRUE(store_.remove_kind(kNodeResourceTopologies));
  start_running();
  EXPECT_TRUE(in_trouble("install the custom resource definition"));
}

TEST_F(ExporterTest, ANewNodeOfTheNameOwnsTheReport) {
  start_running();
  ASSERT_TRUE(settled());
  ASSERT_TRUE(store_.remove(kNodes, {"", "n"}, {}));
  make(kNodes, {{"metadata", {{"name", "n"}}}});
  const std::string uid = (*store_.get(kNodes, {"", "n"}))->uid;
  EXPECT_TRUE(eventually([&] {
    const json owners = object()["metadata"]["ownerReferences"];
    return owners.size() == 1 && owners[0]["uid"] == uid;
  }));
}

TEST_F(ExporterTest, PrintsWithoutWriting) {
  run("web", {1});
  start();
  const auto printed = exporter_->preview(60s, {});
  ASSERT_TRUE(printed) << printed.error().message;
  EXPECT_THAT(*printed, HasSubstr("single-numa-node"));
  EXPECT_TRUE(object().is_null());
}

// ---- devices

class DeviceExporterTest : public ExporterTest {
 protected:
  DeviceExporterTest() {
    machine_.make_dgx();
    devices_.emplace().finder = machine_.options();
    devices_->boot = "boot-1";
    devices_->period = 20ms;
  }
  ~DeviceExporterTest() override { stop(); }

  [[nodiscard]] json published() const {
    const auto found = store_.get(kDevices, {"", "n"});
    return found ? (*found)->parse() : json();
  }
  // Of the GPU with this minor: "" if it is healthy, else why not; "none": there is none.
  [[nodiscard]] std::string gpu(int minor) const {
    const json now = published();
    for (const json& each : now.is_null() ? now : now["spec"]["devices"]) {
      if (each["type"] != "gpu" || each["minor"] != minor) continue;
      return each["health"] == true ? "" : each["conditions"][0]["reason"].get<std::string>();
    }
    return "none";
  }
  [[nodiscard]] std::string annotation(const char* name) const {
    return text_in(published(), {"metadata", "annotations", name});
  }
  [[nodiscard]] std::string on_node(const char* list, const char* resource) const {
    return text_in((*store_.get(kNodes, {"", "n"}))->parse(), {"status", list, resource});
  }

  // The exporter with the hook, connected, which knows of the devices.
  void start_with(RealRuntime& runtime, std::chrono::milliseconds patience = {}) {
    runtime.start();
    if (IsSkipped() || HasFatalFailure()) return;
    devices_->hook.emplace(
        HookOptions{runtime.socket(),
                    {machine_.sys(), machine_.proc(), machine_.sys().parent_path()},
                    {{"records", {2, 3}}},
                    patience,
                    1ms});
    start_running();
    runtime.wait_for(1);
    ASSERT_TRUE(eventually([&] { return gpu(7).empty(); }));
  }
  // A container of that pod comes to be refused with this reason, and has nothing until then.
  bool refused(RealRuntime& runtime, const std::string& uid, const json& annotations,
               const std::string& why) {
    return eventually([&] {
      const json answer = runtime.create(uid, annotations);
      EXPECT_TRUE(answer["devices"].is_null());
      return answer["error"].get<std::string>().find(why) != std::string::npos;
    });
  }

  FakeMachine machine_;
};

TEST_F(DeviceExporterTest, PublishesTheDevicesAndWhatTheNodeHas) {
  start_running();
  ASSERT_TRUE(settled()) << exporter_->trouble();
  ASSERT_TRUE(eventually([&] { return gpu(7).empty(); }));
  EXPECT_EQ(published()["spec"]["devices"].size(), 12U);
  EXPECT_EQ(published()["metadata"]["ownerReferences"][0]["uid"],
            (*store_.get(kNodes, {"", "n"}))->uid);
  EXPECT_THAT(annotation("plimsoll.io/device-links"), HasSubstr("NVSwitch"));
  ASSERT_TRUE(eventually([&] { return !on_node("capacity", "koordinator.sh/gpu-core").empty(); }))
      << "once the object is there: who asks for amounts is given devices of it";
  for (const char* list : {"capacity", "allocatable"}) {
    EXPECT_EQ(on_node(list, "koordinator.sh/gpu-core"), "800") << list;
    EXPECT_EQ(on_node(list, "koordinator.sh/gpu-memory"), std::to_string(8 * 17179869184)) << list;
    EXPECT_EQ(on_node(list, "koordinator.sh/rdma"), "400") << list;
  }
  EXPECT_EQ(on_node("capacity", kGpu), "2") << "the kubelet's own";
  machine_.fault("0000:13:00.0", 79);
  EXPECT_TRUE(eventually([&] { return gpu(7) == "Xid79"; }));
  EXPECT_TRUE(eventually([&] { return on_node("capacity", "koordinator.sh/gpu-core") == "700"; }));
  for (const char* address : {"0000:15:00.0", "0000:25:00.0", "0000:35:00.0", "0000:45:00.0"}) {
    machine_.remove(address);
  }
  EXPECT_TRUE(eventually([&] { return on_node("capacity", "koordinator.sh/rdma").empty(); }));
  // A kubelet that starts may set them to nothing.
  ASSERT_TRUE(store_.modify(kNodes, {"", "n"}, {}, [](json& node) {
    node["status"]["capacity"]["koordinator.sh/gpu-core"] = "0";
    return sandbox::ApiResult<void>();
  }));
  EXPECT_TRUE(eventually([&] { return on_node("capacity", "koordinator.sh/gpu-core") == "700"; }));
}

TEST_F(DeviceExporterTest, AFaultOutlivesTheProgramAndEndsWithTheMachinesRun) {
  start_running();
  ASSERT_TRUE(eventually([&] { return gpu(7).empty(); }));
  machine_.fault("0000:13:00.0", 79);
  ASSERT_TRUE(eventually([&] { return gpu(7) == "Xid79"; }));
  stop();
  start_running();
  machine_.set_card("0000:23:00.0", "fail", "nvmlDeviceGetUUID");
  ASSERT_TRUE(eventually([&] { return gpu(5) == "Unreadable"; })) << "it has looked again";
  EXPECT_EQ(gpu(7), "Xid79");
  ASSERT_TRUE(store_.remove(kDevices, {"", "n"}, {}));
  EXPECT_TRUE(eventually([&] { return gpu(7).empty(); })) << "somebody has looked after it";
  machine_.fault("0000:13:00.0", 79);
  ASSERT_TRUE(eventually([&] { return gpu(7) == "Xid79"; }));
  stop();
  devices_->boot = "boot-2";
  start_running();
  EXPECT_TRUE(eventually([&] { return gpu(7).empty(); }));
}

TEST_F(DeviceExporterTest, WhatNobodyForesawCostsAPassAndNotTheProgram) {
  breaks_ = true;
  start_running();
  ASSERT_TRUE(in_trouble("broken ?"));
  ASSERT_TRUE(eventually([&] { return gpu(7).empty(); })) << "devices do not wait for the rest";
  breaks_ = false;
  EXPECT_TRUE(settled()) << exporter_->trouble();
  machine_.set("0000:15:00.0", "physfn", "->physfn");  // a link to itself
  ASSERT_TRUE(in_trouble("the devices cannot be reported"));
  std::filesystem::remove(machine_.sys() / "bus/pci/devices/0000:15:00.0/physfn");
  EXPECT_TRUE(settled()) << exporter_->trouble();
}

TEST_F(DeviceExporterTest, WhatTheKubeletGaveIsSaidOfPodsWithoutAnnotation) {
  machine_.set_card("0000:13:00.0", "uuid", "gpu-0");  // as the kubelet's plugin calls it
  kubelet_.add_gpu("gpu-0");
  run("foreign", {}, "gpu-0");
  start_running();
  const char* checkpoints = "node.koordinator.sh/devices-checkpoints";
  ASSERT_TRUE(
      eventually([&] { return annotation(checkpoints).find("gpu-0") != std::string::npos; }));
  const std::string uid = (*store_.get(kPods, {"default", "foreign"}))->uid;
  EXPECT_THAT(annotation(checkpoints), AllOf(HasSubstr(uid), HasSubstr(kGpu)));
  machine_.remove_card("0000:13:00.0");
  EXPECT_TRUE(eventually([&] { return gpu(7) == "Gone"; })) << "the pod holds it";
  remove_pod("foreign");
  kubelet_.end("foreign");
  EXPECT_TRUE(eventually([&] { return gpu(7) == "none"; }));
  EXPECT_TRUE(eventually([&] { return annotation(checkpoints).empty(); }));
}

TEST_F(DeviceExporterTest, NeitherReportWaitsForTheOther) {
  const auto settings = kubelet_.paths().root / "config.yaml";
  std::filesystem::rename(settings, settings.string() + ".away");
  start_running();
  EXPECT_TRUE(eventually([&] { return gpu(7).empty(); }));
  stop();
  ASSERT_TRUE(store_.remove_kind(kDevices));
  std::filesystem::rename(settings.string() + ".away", settings);
  start_running();
  EXPECT_TRUE(in_trouble("deploy/crds/devices.yaml"));
  EXPECT_TRUE(eventually([&] { return amounts("cpu") == "3 3"; }));
}

TEST_F(DeviceExporterTest, TwoThatWriteDoNotChaseEachOther) {
  start_running();
  ASSERT_TRUE(eventually([&] { return gpu(7).empty(); }));
  const auto spoil = [&] {
    ASSERT_TRUE(store_.modify(kDevices, {"", "n"}, {}, [](json& object) {
      object["spec"]["devices"] = json::array();
      object["metadata"]["annotations"] = {{"of", "another"}};
      return sandbox::ApiResult<void>();
    }));
  };
  spoil();
  ASSERT_TRUE(eventually([&] { return gpu(7).empty(); }));
  EXPECT_EQ(annotation("of"), "another") << "what is not ours stays";
  spoil();
  EXPECT_TRUE(in_trouble("another program writes this node's Device"));
}

// The object would not name them any more.
TEST_F(DeviceExporterTest, ResourcesLeaveTheNodeThoughTheFirstWriteFails) {
  start_running();
  ASSERT_TRUE(eventually([&] { return !on_node("capacity", "koordinator.sh/rdma").empty(); }));
  sandbox::Fault fault;
  fault.verb = "patch";
  fault.resource = "nodes/status";
  fault.count = 3;
  server_->inject(fault);
  for (const char* address : {"0000:15:00.0", "0000:25:00.0", "0000:35:00.0", "0000:45:00.0"}) {
    machine_.remove(address);
  }
  EXPECT_TRUE(eventually([&] { return on_node("capacity", "koordinator.sh/rdma").empty(); }));
  EXPECT_TRUE(eventually([&] { return published()["spec"]["devices"].size() == 8; }));
}

TEST_F(DeviceExporterTest, TheNodesAmountsAreNotFoughtFor) {
  start_running();
  ASSERT_TRUE(eventually([&] { return !on_node("capacity", "koordinator.sh/rdma").empty(); }));
  const auto spoil = [&] {
    EXPECT_TRUE(store_.modify(kNodes, {"", "n"}, {}, [](json& node) {
      node["status"]["capacity"]["koordinator.sh/rdma"] = "1";
      return sandbox::ApiResult<void>();
    }));
  };
  const auto is_right = [&] { return on_node("capacity", "koordinator.sh/rdma") == "400"; };
  for (int i = 0; i < 2; ++i) {
    spoil();
    ASSERT_TRUE(eventually(is_right)) << i;
  }
  spoil();
  EXPECT_TRUE(in_trouble("writes other amounts of the devices' resources into the Node"));
}

TEST_F(DeviceExporterTest, WhatWasPublishedIsTakenBack) {
  start_running();
  ASSERT_TRUE(eventually([&] { return gpu(7).empty(); }));
  stop();
  devices_->remove = true;
  start_running();
  ASSERT_TRUE(eventually([&] { return published().is_null(); }));
  for (const char* list : {"capacity", "allocatable"}) {
    EXPECT_EQ(on_node(list, "koordinator.sh/gpu-core"), "") << list;
    EXPECT_EQ(on_node(list, "koordinator.sh/rdma"), "") << list;
  }
  EXPECT_EQ(on_node("capacity", kGpu), "2");
  make(kDevices, {{"metadata", {{"name", "n"}}}, {"spec", {{"devices", json::array()}}}});
  EXPECT_TRUE(in_trouble("is another program's"));
  EXPECT_FALSE(published().is_null());
}

TEST_F(DeviceExporterTest, AnAnnotationThatAnybodyMayWriteGivesNothing) {
  RealRuntime runtime;
  ASSERT_NO_FATAL_FAILURE(start_with(runtime, 10min));
  if (IsSkipped()) return;
  const json forged = {{kAllocatedAnnotation, R"({"gpu":[{"minor":7}]})"}};
  make(kPods,
       {{"metadata", {{"name", "forged"}, {"namespace", "default"}, {"annotations", forged}}},
        {"spec", {{"nodeName", "n"}, {"containers", json::array()}}}});
  const std::string uid = (*store_.get(kPods, {"default", "forged"}))->uid;
  EXPECT_TRUE(refused(runtime, uid, forged, "apply deploy/node-hook.yaml"));
  EXPECT_TRUE(refused(runtime, pod("none"), forged, "the API server does not show"));
}

// The objects of this kind that are deployed.
std::vector<json> deployed(const std::string& kind, const std::string& path = "deploy/node.yaml") {
  std::ifstream file(path);
  const config::ParsedText parsed =
      config::parse_documents(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_TRUE(parsed.problems.empty());
  std::vector<json> found;
  for (const config::Value& document : parsed.documents) {
    json object = json::parse(config::to_json(document));
    if (object.value("kind", "") == kind) found.push_back(std::move(object));
  }
  return found;
}

// Of a pod that was made after the policy by which only the scheduler's binding could say it.
TEST_F(DeviceExporterTest, WhatTheSchedulerSaysOfAPodIsGiven) {
  const auto made = [](json object, const char* when) {
    object["metadata"]["creationTimestamp"] = when;
    return object;
  };
  std::vector<sandbox::ResourceName> guards;
  for (const char* kind : {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}) {
    guards.emplace_back("admissionregistration.k8s.io", sandbox::guess_plural(kind));
    store_.serve_kind({guards.back(), kind, {"v1"}, false, false});
    const json guard = deployed(kind, "deploy/node-hook.yaml").at(0);
    ASSERT_TRUE(store_.create(guards.back(), made(guard, "2026-01-01T00:00:00Z"), true));
  }
  const auto uid_of = [&](const char* name, const char* when) {
    const json pod = {{"metadata",
                       {{"name", name},
                        {"namespace", "default"},
                        {"annotations", {{kAllocatedAnnotation, R"({"gpu":[{"minor":7}]})"}}}}},
                      {"spec", {{"nodeName", "n"}, {"containers", json::array()}}}};
    return (*store_.create(kPods, made(pod, when), true))->uid;
  };
  machine_.make_dgx_nodes();
  const std::string early = uid_of("early", "2026-01-01T00:00:59Z");
  const std::string late = uid_of("late", "2026-01-01T00:01:00Z");
  const json says = {{kAllocatedAnnotation, R"({"gpu":[{"minor":7}]})"}};
  RealRuntime runtime;
  ASSERT_NO_FATAL_FAILURE(start_with(runtime));
  if (IsSkipped()) return;
  EXPECT_TRUE(refused(runtime, early, says, "older than the admission policy"));
  EXPECT_THAT(runtime.create(late, says)["devices"].dump(), HasSubstr("/dev/nvidia7 c 195:7"));
  EXPECT_EQ(annotation("plimsoll.io/device-hook"), "plimsoll");
  const std::string share =
      R"({"gpu":[{"minor":7,"resources":{"koordinator.sh/gpu-memory-ratio":"50"}}]})";
  make(kPods, {{"metadata",
                {{"name", "share"},
                 {"namespace", "default"},
                 {"labels", {{kIsolationLabel, "MPS"}}},
                 {"annotations", {{kAllocatedAnnotation, share}}}}},
               {"spec", {{"nodeName", "n"}, {"containers", json::array()}}}});
  const std::string held = (*store_.get(kPods, {"default", "share"}))->uid;
  EXPECT_TRUE(
      refused(runtime, held, {{kAllocatedAnnotation, share}}, "nothing is known here of MPS"));
  // A pod that comes is known at once, whatever keeps the exporter from its next report, and CDI
  // files are seen.
  const std::filesystem::path folder = machine_.sys().parent_path() / "etc/cdi";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "broken.json") << "{";
  std::ofstream(folder / "nvidia.yaml")
      << "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: GPU-7\n";
  EXPECT_TRUE(eventually([&] { return runtime.create(late, says)["cdi"].size() == 1; }));
  EXPECT_EQ(runtime.create(late, says)["cdi"], json({"nvidia.com/gpu=GPU-7"}));
  busy_ = true;
  kubelet_.kill();
  kubelet_.start();
  const std::string next = uid_of("next", "2026-01-01T00:01:00Z");
  EXPECT_TRUE(eventually([&] { return runtime.create(next, says)["error"] == ""; }));
  busy_ = false;
  for (const auto& guard : guards) {
    const json before = (*store_.get(guard, {"", "plimsoll-device-allocated"}))->parse();
    ASSERT_TRUE(store_.remove(guard, {"", "plimsoll-device-allocated"}, {}));
    EXPECT_TRUE(eventually([&] {
      const std::string why = runtime.create(late, says)["error"];
      return why.find("apply deploy/node-hook.yaml") != std::string::npos;
    }));
    ASSERT_TRUE(store_.create(guard, before, true));
    EXPECT_TRUE(eventually([&] { return runtime.create(late, says)["error"] == ""; }));
  }
}

TEST_F(DeviceExporterTest, AContainerThatTheHookMissedIsToldAtItsPod) {
  RealRuntime runtime;
  runtime.start();
  if (IsSkipped() || HasFatalFailure()) return;
  runtime.create("missed", {{kAllocatedAnnotation, R"({"gpu":[{"minor":7}]})"}});
  runtime.create("other", json::object());
  runtime.kill();
  ASSERT_NO_FATAL_FAILURE(start_with(runtime));
  if (IsSkipped()) return;
  const auto events = [&] { return (*store_.list(sandbox::kEvents, "default")).objects; };
  ASSERT_TRUE(eventually([&] { return !events().empty(); }));
  runtime.kill();
  ASSERT_NO_FATAL_FAILURE(runtime.start());  // it tells the same again
  runtime.wait_for(1);
  machine_.fault("0000:13:00.0", 79);
  EXPECT_TRUE(eventually([&] { return gpu(7) == "Xid79"; }));
  ASSERT_EQ(events().size(), 1U);
  const json event = events().front()->parse();
  EXPECT_EQ(event["reason"], "DevicesMissed");
  EXPECT_EQ(event["involvedObject"]["uid"], "missed");
  EXPECT_EQ(event["involvedObject"]["name"], "name-missed");
  EXPECT_THAT(event["message"].get<std::string>(), HasSubstr("container main was made without"));
}

TEST_F(DeviceExporterTest, TheDoctorSaysWhatIsThereAndWhatIsLacking) {
  kubelet_.add_gpu("gpu-0");
  machine_.set_card("0000:13:00.0", "fail", "nvmlDeviceGetMemoryInfo");
  start();
  const auto ask = [&] { return diagnose(options(), devices_->finder, *client_, {}); };
  Diagnosis told = ask();
  EXPECT_FALSE(told.lacks) << told.text;
  EXPECT_THAT(told.text,
              AllOf(HasSubstr("8 CPUs in 2 zones"), HasSubstr("single-numa-node"),
                    HasSubstr("its Device object: there is none"),
                    HasSubstr("gpu 6  GPU-6  0000:14:00.0  zone 0  0000:11:00.0  healthy"),
                    HasSubstr("nvmlDeviceGetMemoryInfo: GPU is lost"),
                    HasSubstr("7 of 8 to choose from; not now"),
                    HasSubstr(std::string(kGpu) + " is given some of 1")));
  EXPECT_TRUE(published().is_null()) << "it writes nothing";
  EXPECT_THAT(told.text, testing::Not(HasSubstr("CDI")));
  devices_->hook.emplace().files.root = machine_.sys().parent_path();
  const std::filesystem::path folder = machine_.sys().parent_path() / "var/run/cdi";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "nic.json") << R"({"kind": "a/b", "devices": [{"name": "1"}]})";
  EXPECT_THAT(ask().text, HasSubstr("what CDI files name: 1 now"));
  kubelet_.kill();
  ASSERT_TRUE(store_.remove_kind(kDevices));
  told = ask();
  EXPECT_TRUE(told.lacks);
  EXPECT_THAT(told.text, AllOf(HasSubstr("LACKS  the kubelet: "),
                               HasSubstr("apply deploy/crds/devices.yaml")));
}

// ---- what it sees of a node, as it is deployed

const std::set<std::string> kHidden{"pods", "pki", "plugins", "plugins_registry", "checkpoints"};
constexpr const char* kKubeletRoot = "/var/lib/kubelet";

// The file of the node that the container finds at `path`; empty: none, but an empty folder's.
std::string on_the_node(const json& pod, const std::string& path) {
  std::string mount;
  std::string volume;
  for (const json& each : pod.at("containers").at(0).at("volumeMounts")) {
    const std::string at = each.at("mountPath");
    EXPECT_TRUE(each.value("readOnly", false)) << at;
    if ((path == at || path.starts_with(at + "/")) && at.size() > mount.size()) {
      mount = at;
      volume = each.at("name");
    }
  }
  for (const json& each : pod.at("volumes")) {
    if (each.at("name") != volume || !each.contains("hostPath")) continue;
    return each.at("hostPath").at("path").get<std::string>() + path.substr(mount.size());
  }
  return {};
}

TEST(NodeDeployment, TheContainerSeesWhatIsReadAndNothingOfPodsOrKeys) {
  const std::vector<json> sets = deployed("DaemonSet");
  ASSERT_EQ(sets.size(), 1U);
  const json& pod = sets.front().at("spec").at("template").at("spec");
  const KubeletPaths paths;
  for (const auto& path : {paths.cpu_state(), paths.memory_state(), paths.device_state(),
                           paths.socket(), paths.root / "config.yaml"}) {
    EXPECT_EQ(on_the_node(pod, path.string()), path.string());
    // Its folder is not a mount of the file: that would go on showing a file that was replaced.
    for (const json& mount : pod.at("containers").at(0).at("volumeMounts"))
      EXPECT_NE(mount.at("mountPath"), path.string());
  }
  for (const std::string& hidden : kHidden) {
    EXPECT_EQ(on_the_node(pod, std::string(kKubeletRoot) + "/" + hidden + "/uid/token"), "");
  }
}

// The Device objects of the sample cluster are what plimsoll-node makes of these machines: by root
// complex the zone, the number of cards, and whether there is a NIC.
TEST(QuickStart, ItsDevicesAreTheReportersOwn) {
  struct Complex {
    int zone;
    int cards;
    bool nic = false;
  };
  const std::map<std::string, std::vector<Complex>> machines{
      {"gpu-a1", {{0, 2}, {1, 2}}},
      {"gpu-a2", {{0, 2, true}, {0, 2}, {1, 2, true}, {1, 2}}},
      {"gpu-b1", {{0, 4, true}, {1, 4}, {2, 4, true}, {3, 4}}}};
  std::map<std::string, json> examples;
  for (const json& each : deployed("Device", "examples/clusters/quickstart/cluster.yaml")) {
    examples[each["metadata"]["name"]] = each;
  }
  EXPECT_EQ(examples.size(), machines.size());
  for (const auto& [name, complexes] : machines) {
    FakeMachine machine;
    Hardware hardware;
    int minor = 0;
    for (std::size_t i = 0; i < complexes.size(); ++i) {
      const auto& [zone, cards, nic] = complexes[i];
      const std::string bus = std::to_string(i + 1);
      const auto at = [&](int slot) {
        const std::string number = std::to_string(slot);
        return std::vector<std::string>{"pci0000:" + bus + "0",
                                        "0000:" + bus + "0:0" + number + ".0",
                                        "0000:" + bus + number + ":00.0"};
      };
      for (int card = 1; card <= cards; ++card, ++minor) {
        const std::string number = std::to_string(minor);
        machine.add_card(at(card), zone,
                         {{"uuid", "GPU-" + name + (minor < 10 ? "-0" : "-") + number},
                          {"minor", number},
                          {"memory", std::to_string(80LL << 30)},
                          {"name", "NVIDIA_A100-SXM4-80GB"}});
      }
      if (nic) {
        machine.add(at(5), {{"vendor", "0x15b3"},
                            {"class", "0x020700"},
                            {"numa_node", std::to_string(zone)},
                            {"infiniband/mlx5_" + bus + "/ports/1/state", "4: ACTIVE"}});
      }
      const auto column = static_cast<std::size_t>(zone);
      if (hardware.zones.size() > column) continue;
      hardware.zones.emplace_back().id = zone;
      hardware.cpus.push_back({.id = zone, .zone = column, .socket = zone});
    }
    DeviceFinder finder(machine.options(), [] {});
    const DeviceReport report = report_devices(finder.find(&hardware), json::object(), {}, "");
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_EQ(report.annotations,
              (std::map<std::string, std::string>{{"plimsoll.io/device-links", ""}}));
    const json made = {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
                       {"kind", "Device"},
                       {"metadata", {{"name", name}, {"labels", report.labels}}},
                       {"spec", {{"devices", report.devices}}}};
    EXPECT_EQ(examples[name], made) << made.dump();
  }
}

TEST(NodeDeployment, TheServiceSeesNoMore) {
  std::ifstream unit("packaging/plimsoll-node.service");
  std::set<std::string> hidden;
  for (std::string line; std::getline(unit, line);) {
    const std::string key = "InaccessiblePaths=";
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    // The '-': nothing is wrong with a node that has no such folder.
    for (std::string word; words >> word;) hidden.insert(word);
  }
  for (const std::string& folder : kHidden)
    EXPECT_TRUE(hidden.contains("-" + std::string(kKubeletRoot) + "/" + folder)) << folder;
}

TEST(NodeDeployment, OnlyItsPortLetsAnybodyIn) {
  const std::vector<json> policies = deployed("NetworkPolicy");
  ASSERT_EQ(policies.size(), 1U);
  const json& spec = policies.front().at("spec");
  const json set = deployed("DaemonSet").front();
  EXPECT_EQ(policies.front()["metadata"]["namespace"], set["metadata"]["namespace"]);
  EXPECT_EQ(spec["podSelector"]["matchLabels"], set["spec"]["template"]["metadata"]["labels"]);
  EXPECT_EQ(spec["policyTypes"], json({"Ingress", "Egress"}));
  const json& served = set["spec"]["template"]["spec"]["containers"][0]["ports"][0];
  EXPECT_EQ(spec["ingress"],
            json({{{"ports", {{{"port", served["containerPort"]}, {"protocol", "TCP"}}}}}}));
  std::set<int> out;
  for (const json& rule : spec["egress"]) {
    for (const json& port : rule.at("ports")) out.insert(port.at("port").get<int>());
  }
  EXPECT_EQ(out, (std::set<int>{53, 443, 6443, 10250}));
}

}  // namespace
}  // namespace plimsoll::node
