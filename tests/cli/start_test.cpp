// How `plimsoll run` starts and ends, and how often plugins are made on the way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <mutex>
#include <nlohmann/json.hpp>

#include "lab/sandbox/apiserver/api_server.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A server that takes connections and never answers.
class MuteServer {
 public:
  MuteServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, generic, size), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    EXPECT_EQ(::getsockname(socket_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~MuteServer() {
    ::close(connection_);
    ::close(socket_);
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] bool wait_for_a_connection() {
    pollfd waited{socket_, POLLIN, 0};
    if (::poll(&waited, 1, 60'000) != 1) return false;
    connection_ = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    return connection_ >= 0;
  }

 private:
  int socket_;
  int connection_ = -1;
  int port_ = 0;
};

class Start : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    EXPECT_TRUE(write_file(dir_ / name, text, mode));
    return (dir_ / name).string();
  }

  std::string kubeconfig(const std::string& server, const std::string& user = "{}") {
    return write("kubeconfig", "current-context: c\nclusters: [{name: k, cluster: {server: '" +
                                   server + "'}}]\nusers: [{name: u, user: " + user +
                                   "}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n");
  }

  // Two profiles with the plugin, one without.
  std::string profile(const std::string& more_args = {}, bool with_args = true) {
    std::string text =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: plain\n";
    for (const char* name : {"one", "two"}) {
      text += std::string("- schedulerName: ") + name +
              "\n  plugins: {multiPoint: {enabled: [{name: Berths}]}}\n";
      if (with_args) {
        text +=
            "  pluginConfig: [{name: Berths, args: {journal: " + journal() + more_args + "}}]\n";
      }
    }
    return write("profile.yaml", text);
  }

  std::string plain_profile() {
    return write("plain.yaml",
                 "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                 "leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: plain}]\n");
  }

  [[nodiscard]] std::string journal() const { return (dir_ / "journal").string(); }

  [[nodiscard]] static ChildOptions call(std::vector<std::string> arguments) {
    ChildOptions options;
    options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    return options;
  }

  static Finished finished(std::vector<std::string> arguments) {
    auto done = run(call(std::move(arguments)), 120s);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Finished{};
  }

  ChildProcess running(const std::string& kubeconfig_file, const std::string& profile_file) {
    auto started =
        ChildProcess::start(call({"run", "--config", profile_file, "--kubeconfig", kubeconfig_file,
                                  "--port", "0", "--socket", "none", "--plugin-dir", kBerths}));
    EXPECT_TRUE(started) << started.error().message;
    return std::move(*started);
  }

  static constexpr const char* kBerths = PLIMSOLL_BERTHS_MODULES;
  TempDir dir_;
};

TEST_F(Start, APluginWithARequiredArgumentIsValidatedWithIt) {
  const Finished good = finished({"validate", profile(), "--plugin-dir", kBerths});
  EXPECT_EQ(good.status, ExitStatus::exited(0)) << good.out;
  EXPECT_THAT(good.out, HasSubstr("valid, 3 profiles"));
  const Finished bad = finished({"validate", profile({}, false), "--plugin-dir", kBerths});
  EXPECT_EQ(bad.status, ExitStatus::exited(1));
  EXPECT_THAT(bad.out, AllOf(HasSubstr("args of plugin Berths.journal: Required value"),
                             HasSubstr("2 errors"), Not(HasSubstr("does not exist"))));
}

// What ./test and ./quickstart ask before they build plugins that would be refused.
TEST_F(Start, AClonesFolderThatAGroupMayWriteIsNamed) {
  const auto clone = dir_ / "clone";
  std::filesystem::create_directories(clone / "scripts");
  std::filesystem::create_directories(clone / "build/release/plugins");
  std::filesystem::copy_file("scripts/check-folder", clone / "scripts/check-folder");
  const auto check = [&](mode_t mode) {
    EXPECT_EQ(::chmod(clone.c_str(), mode), 0);
    EXPECT_EQ(::chmod((clone / "build/release/plugins").c_str(), 0775), 0);
    const auto done = run({.argv = {(clone / "scripts/check-folder").string()}}, 60s);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Finished{};
  };
  const Finished good = check(0755);
  EXPECT_EQ(good.status, ExitStatus::exited(0)) << good.out;
  EXPECT_EQ(std::filesystem::status(clone / "build/release/plugins").permissions(),
            std::filesystem::perms(0755))
      << "what another umask has made is mended";
  const Finished bad = check(0775);
  EXPECT_EQ(bad.status, ExitStatus::exited(1));
  EXPECT_THAT(bad.out, AllOf(HasSubstr("writable by its group"), HasSubstr("chmod go-w"),
                             HasSubstr(clone.string())));
}

TEST_F(Start, APluginWithARequiredArgumentIsListed) {
  const Finished listed = finished({"plugins", "--plugin-dir", kBerths});
  EXPECT_EQ(listed.status, ExitStatus::exited(0)) << listed.out;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("Berths"), HasSubstr("berths.so"),
                                ContainsRegex("berths\\.so +Filter\n"), Not(HasSubstr("Refused"))));
}

TEST_F(Start, APluginWithARequiredArgumentDecides) {
  const std::string pod =
      "spec: {schedulerName: one, containers: [{name: c, image: i, resources: {requests: {cpu: "
      "1}}}]}\n";
  const Finished simulated = finished(
      {"simulate", "--config", profile(), "--plugin-dir", kBerths, "--cluster",
       write("cluster.yaml",
             "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '8', "
             "memory: 16Gi, pods: '110'}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: b, "
             "labels: {berths: '1'}}\nstatus: {allocatable: {cpu: '1', memory: 16Gi, pods: "
             "'110'}}\n"),
       "--pods",
       write("pods.yaml",
             "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default, labels: "
             "{wants-berth: '1'}}\n" +
                 pod),
       "--expect", write("expected.yaml", "placed:\n- {pod: default/p, nodes: [b]}\n")});
  EXPECT_EQ(simulated.status, ExitStatus::exited(0)) << simulated.out;
}

TEST_F(Start, EachPluginIsMadeOnceForEachProfileThatUsesIt) {
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), profile());
  ASSERT_TRUE(scheduler.wait_for_output("does not answer yet", 60s)) << scheduler.output();
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
  EXPECT_EQ(*read_file(journal()), "made\nmade\nstarted\nstarted\n");
}

TEST_F(Start, EndsAtOnceWhilstItWaitsForAServer) {
  MuteServer server;
  ChildProcess scheduler = running(kubeconfig(server.url()), plain_profile());
  ASSERT_TRUE(server.wait_for_a_connection()) << scheduler.output();
  EXPECT_EQ(scheduler.stop(60s), ExitStatus::exited(0));
  EXPECT_THAT(scheduler.output(), AllOf(HasSubstr("stopping before the start is over"),
                                        Not(HasSubstr("does not answer yet"))));
}

TEST_F(Start, EndsAtOnceWhilstItWaitsForACredential) {
  const std::string plugin =
      write("login", "#!/bin/sh\necho $$ > " + journal() + "\nsleep 600\n", 0700);
  ChildProcess scheduler = running(
      kubeconfig("https://127.0.0.1:1",
                 "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
                 "command: " +
                     plugin + "}}"),
      plain_profile());
  while (!read_file(journal()) || read_file(journal())->empty()) {
    ASSERT_TRUE(scheduler.running()) << scheduler.output();
    std::this_thread::sleep_for(1ms);
  }
  const pid_t child = std::stoi(*read_file(journal()));
  EXPECT_EQ(scheduler.stop(60s), ExitStatus::exited(0));
  EXPECT_THAT(scheduler.output(), Not(HasSubstr("does not answer yet")));
  EXPECT_NE(::kill(child, 0), 0) << "nobody would end it any more";
}

TEST_F(Start, EndsAtOnceWhilstAPluginIsBeingMade) {
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), profile(", hangs: true"));
  while (!read_file(journal()) || read_file(journal())->empty()) {
    ASSERT_TRUE(scheduler.running()) << scheduler.output();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(scheduler.stop(60s), ExitStatus::exited(0)) << scheduler.output();
}

TEST_F(Start, EndsWhilstTheFirstListsAreUnanswered) {
  MuteServer server;
  ChildProcess scheduler = running(kubeconfig(server.url()), plain_profile());
  ASSERT_TRUE(server.wait_for_a_connection()) << scheduler.output();
  EXPECT_EQ(scheduler.stop(60s), ExitStatus::exited(0)) << scheduler.output();
}

// The number of lines that have the text.
int count_lines(const ChildProcess& of, std::string_view text) {
  int lines = 0;
  const std::string output = of.output();
  for (size_t at = output.find(text); at != std::string::npos; at = output.find(text, at + 1))
    ++lines;
  return lines;
}

bool wait_for_lines(ChildProcess& of, std::string_view text, int wanted) {
  for (int i = 0; i < 6000 && of.running(); ++i) {
    if (count_lines(of, text) >= wanted) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST_F(Start, AHangUpReadsTheProfileAgain) {
  const std::string file = plain_profile();
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), file);
  ASSERT_TRUE(scheduler.wait_for_output("does not answer yet", 60s)) << scheduler.output();
  scheduler.signal(SIGHUP);
  EXPECT_TRUE(wait_for_lines(scheduler, "means what it meant before", 1)) << scheduler.output();
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
  EXPECT_EQ(count_lines(scheduler, "plimsoll starts"), 1) << scheduler.output();
}

// Nobody has to say that the file is another one: a ConfigMap changes it without a word.
TEST_F(Start, AChangedProfileIsTakenIntoUseAndABadOneIsNot) {
  const std::string file = plain_profile();
  const std::string good = *read_file(file);
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), file);
  ASSERT_TRUE(scheduler.wait_for_output("does not answer yet", 60s)) << scheduler.output();
  const pid_t process = scheduler.pid();

  write("plain.yaml", good + "parallelism: many\n");
  EXPECT_TRUE(wait_for_lines(scheduler, "is refused; the one from before stays in force", 1))
      << scheduler.output();
  EXPECT_THAT(scheduler.output(), HasSubstr("parallelism"));

  write("plain.yaml", good + "percentageOfNodesToScore: 50\n");
  EXPECT_TRUE(wait_for_lines(scheduler, "plimsoll starts", 2)) << scheduler.output();
  EXPECT_TRUE(wait_for_lines(scheduler, "does not answer yet", 2)) << scheduler.output();
  EXPECT_EQ(scheduler.pid(), process);

  // As kubelets do it: the name stands for another folder at once.
  const std::string other = write("other.yaml", good);
  const std::string link = (dir_ / "link").string();
  std::filesystem::create_symlink(other, link);
  std::filesystem::rename(link, file);
  EXPECT_TRUE(wait_for_lines(scheduler, "plimsoll starts", 3)) << scheduler.output();
  EXPECT_TRUE(wait_for_lines(scheduler, "does not answer yet", 3)) << scheduler.output();
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

// What is not shown of a profile counts too. The texts are "first" and "second" in base64.
TEST_F(Start, OtherCertificatesOfAnExtenderAreAnotherProfile) {
  const std::string file = plain_profile();
  const std::string good = *read_file(file);
  const auto with = [&](const std::string& ca, const std::string& cert, const std::string& key) {
    write("plain.yaml", good +
                            "extenders: [{urlPrefix: 'https://127.0.0.1:1', filterVerb: filter, "
                            "tlsConfig: {caData: " +
                            ca + ", certData: " + cert + ", keyData: " + key + "}}]\n");
  };
  with("Zmlyc3Q=", "Zmlyc3Q=", "Zmlyc3Q=");
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), file);
  int starts = 1;
  const auto starts_anew = [&] {
    ++starts;
    return wait_for_lines(scheduler, "plimsoll starts", starts) &&
           wait_for_lines(scheduler, "does not answer yet", starts);
  };
  ASSERT_TRUE(wait_for_lines(scheduler, "does not answer yet", 1)) << scheduler.output();
  with("c2Vjb25k", "Zmlyc3Q=", "Zmlyc3Q=");
  ASSERT_TRUE(starts_anew()) << scheduler.output();
  with("c2Vjb25k", "c2Vjb25k", "Zmlyc3Q=");
  ASSERT_TRUE(starts_anew()) << scheduler.output();
  with("c2Vjb25k", "c2Vjb25k", "c2Vjb25k");
  ASSERT_TRUE(starts_anew()) << scheduler.output();
  EXPECT_EQ(count_lines(scheduler, "second"), 0) << scheduler.output();
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

// ---- Beside kube-scheduler

TEST_F(Start, PodsOfDefaultSchedulerAreNotServedBesideKubeScheduler) {
  const std::string file =
      write("default.yaml",
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n");
  const std::vector<std::string> words{
      "run",    "--config", file,       "--kubeconfig", kubeconfig("http://127.0.0.1:1"),
      "--port", "0",        "--socket", "none"};
  for (const char* flag : {"--leader-elect-resource-name=plimsoll", "--leader-elect=false"}) {
    std::vector<std::string> beside = words;
    beside.emplace_back(flag);
    const Finished refused = finished(beside);
    EXPECT_EQ(refused.status, ExitStatus::exited(1)) << flag;
    EXPECT_THAT(refused.out, HasSubstr("both would bind the same pods"));
    beside.emplace_back("--without-kube-scheduler");
    auto insists = ChildProcess::start(call(beside));
    ASSERT_TRUE(insists) << insists.error().message;
    EXPECT_TRUE(insists->wait_for_output("does not answer yet", 60s)) << insists->output();
    EXPECT_EQ(insists->stop(30s), ExitStatus::exited(0));
  }
  auto shares = ChildProcess::start(call(words));
  ASSERT_TRUE(shares) << shares.error().message;
  EXPECT_TRUE(shares->wait_for_output("does not answer yet", 60s)) << shares->output();
  EXPECT_EQ(shares->stop(30s), ExitStatus::exited(0));
}

TEST_F(Start, AProfileThatTakesDefaultSchedulersPodsIsRefusedByAReload) {
  const std::string file = plain_profile();
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), file);
  ASSERT_TRUE(scheduler.wait_for_output("does not answer yet", 60s)) << scheduler.output();
  std::string text = *read_file(file);
  text.replace(text.find("schedulerName: plain"), std::string("schedulerName: plain").size(),
               "schedulerName: default-scheduler");
  write("plain.yaml", text);
  EXPECT_TRUE(wait_for_lines(scheduler, "is refused; the one from before stays in force", 1))
      << scheduler.output();
  EXPECT_THAT(scheduler.output(), HasSubstr("--without-kube-scheduler"));
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

// ---- With an API server

class StartWithServer : public Start {
 protected:
  StartWithServer() {
    server_->set_request_hook([this](const sandbox::RequestRecord& request) {
      const std::lock_guard lock(mutex_);
      if (request.resource == "configmaps") kept_.push_back(request);
    });
  }

  // By a lease of its own.
  ChildProcess elected(const std::string& file, const std::vector<std::string>& more = {}) {
    port_ = free_port().value_or(0);
    std::vector<std::string> words{"run",
                                   "--config",
                                   file,
                                   "--kubeconfig",
                                   kubeconfig(server_->url()),
                                   "--port",
                                   std::to_string(port_),
                                   "--socket",
                                   "none",
                                   "--leader-elect"};
    words.insert(words.end(), more.begin(), more.end());
    auto started = ChildProcess::start(call(words));
    EXPECT_TRUE(started) << started.error().message;
    return std::move(*started);
  }

  [[nodiscard]] std::string ask(const std::string& path) const {
    return web_get("http://127.0.0.1:" + std::to_string(port_) + path).body;
  }

  template <typename Condition>
  static bool eventually(ChildProcess& while_running, Condition holds) {
    for (int i = 0; i < 6000 && while_running.running(); ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  // An event of that reason; null: there is none.
  nlohmann::json event(const std::string& reason) {
    const auto all = store_.list(sandbox::kEvents);
    if (!all) return {};
    for (const auto& each : all->objects) {
      nlohmann::json object = each->parse();
      if (object.value("reason", "") == reason) return object;
    }
    return {};
  }

  std::vector<sandbox::RequestRecord> kept() {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

  sandbox::ObjectStore store_{{.seed = 1}};
  std::mutex mutex_;
  std::vector<sandbox::RequestRecord> kept_;
  std::unique_ptr<sandbox::ApiServer> server_ = sandbox::ApiServer::start(store_).value();
  std::uint16_t port_ = 0;
};

// `kubectl describe lease` finds events by the uid, and shows one line of them.
TEST_F(StartWithServer, ARefusedProfileIsToldAtTheLease) {
  const std::string file = plain_profile();
  ChildProcess scheduler = elected(file);
  ASSERT_TRUE(scheduler.wait_for_output("scheduling server=", 60s)) << scheduler.output();
  write("plain.yaml", *read_file(file) + "parallelism: many\nsurprise: 1\n");
  ASSERT_TRUE(eventually(scheduler, [&] { return !event("ProfileRefused").is_null(); }))
      << scheduler.output();
  const nlohmann::json told = event("ProfileRefused");
  const auto lease = store_.get(sandbox::kLeases, {"kube-system", "plimsoll"});
  ASSERT_TRUE(lease);
  const nlohmann::json about = told.at("involvedObject");
  EXPECT_EQ(about.at("uid"), (*lease)->uid);
  EXPECT_EQ(about.at("kind"), "Lease");
  EXPECT_EQ(about.at("name"), "plimsoll");
  const auto text = told.at("message").get<std::string>();
  EXPECT_THAT(text, AllOf(HasSubstr("stays in force: " + file + ":"), HasSubstr("parallelism"),
                          HasSubstr("surprise"), Not(HasSubstr("\n"))));
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

// A replica that a drain or its memory ends while the file is broken comes back.
TEST_F(StartWithServer, AReplicaStartsWithTheLastGoodProfileWhileTheFileIsBroken) {
  const std::string file = plain_profile();
  const std::string good = *read_file(file);
  const std::string fallback = (dir_ / "last-good.yaml").string();
  const std::vector<std::string> flags{"--keep-config-in", "kube-system/kept", "--fallback-config",
                                       fallback};
  {
    ChildProcess scheduler = elected(file, flags);
    ASSERT_TRUE(eventually(scheduler, [&] { return !kept().empty(); })) << scheduler.output();
    EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
  }
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].method, "PATCH");
  EXPECT_THAT(kept()[0].target, HasSubstr("/api/v1/namespaces/kube-system/configmaps/kept"));
  const auto patch = nlohmann::json::parse(kept()[0].body);
  EXPECT_EQ(patch, (nlohmann::json{{"data", {{"profile.yaml", good}}}}));
  write("last-good.yaml", patch.at("data").at("profile.yaml"));

  // Even one that crashes or hangs a plugin would be noticed: the check is a process of its own.
  write("plain.yaml", good + "parallelism: many\n");
  ChildProcess scheduler = elected(file, flags);
  ASSERT_TRUE(scheduler.wait_for_output("scheduling server=", 60s)) << scheduler.output();
  EXPECT_THAT(scheduler.output(), AllOf(HasSubstr("starting with the last good one"),
                                        HasSubstr("scheduler_names=plain")));
  ASSERT_TRUE(eventually(scheduler, [&] { return !event("ProfileRefused").is_null(); }))
      << scheduler.output();
  EXPECT_THAT(event("ProfileRefused").at("message").get<std::string>(),
              AllOf(HasSubstr("the last good profile is in force: "), HasSubstr("parallelism")));
  EXPECT_THAT(ask("/readyz/profile"),
              AllOf(HasSubstr("the last good profile is in force: "), HasSubstr("parallelism")));
  EXPECT_THAT(ask("/metrics"), HasSubstr("plimsoll_profile_refused 1\n"));
  EXPECT_EQ(kept().size(), 1U) << "what is kept stays";

  write("plain.yaml", good);  // as before: taken into use all the same
  EXPECT_TRUE(wait_for_lines(scheduler, "plimsoll starts", 2)) << scheduler.output();
  EXPECT_TRUE(eventually(scheduler, [&] { return ask("/readyz/profile") == "ok"; }));
  EXPECT_TRUE(eventually(scheduler, [&] { return kept().size() == 2; }));
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

// Nor does one from before stay, which would not be the last good one.
TEST_F(StartWithServer, AProfileWithAPrivateKeyIsNotKept) {
  const std::string file =
      write("plain.yaml", *read_file(plain_profile()) +
                              "extenders: [{urlPrefix: 'https://127.0.0.1:1', filterVerb: filter, "
                              "tlsConfig: {certData: Zmlyc3Q=, keyData: Zmlyc3Q=}}]\n");
  ChildProcess scheduler = elected(file, {"--keep-config-in", "kube-system/kept"});
  ASSERT_TRUE(eventually(scheduler, [&] { return !kept().empty(); })) << scheduler.output();
  EXPECT_EQ(kept()[0].body, R"({"data":{"profile.yaml":null}})");
  EXPECT_THAT(scheduler.output(), HasSubstr("name a keyFile instead"));
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

TEST_F(StartWithServer, WithoutAFallbackABrokenFileEndsTheStart) {
  const std::string file =
      write("broken.yaml", *read_file(plain_profile()) + "parallelism: many\n");
  ChildProcess scheduler = elected(file, {"--fallback-config", (dir_ / "nothing").string()});
  EXPECT_EQ(scheduler.wait(60s), ExitStatus::exited(1)) << scheduler.output();
  EXPECT_THAT(scheduler.output(), HasSubstr("the profile file is not usable"));
}

// What the alert PlimsollForbidden counts; and a rollout must not go on with such a replica.
TEST_F(StartWithServer, ARefusedLeaseIsCountedAndInReadyz) {
  server_->inject({.resource = "leases",
                   .count = 1'000'000,
                   .status = {403, "Forbidden", "the lease is not yours"}});
  ChildProcess scheduler = elected(plain_profile());
  ASSERT_TRUE(scheduler.wait_for_output("the leader lease is refused to this process", 60s))
      << scheduler.output();
  EXPECT_TRUE(eventually(scheduler, [&] {
    return ask("/readyz/lease-accepted").find("the lease is not yours") != std::string::npos;
  })) << ask("/readyz?verbose");
  EXPECT_THAT(ask("/metrics"),
              ContainsRegex("rest_client_requests_total\\{code=\"403\",[^}]*\\} [1-9]"));
  EXPECT_EQ(ask("/livez"), "ok") << "a restart would not help";
  server_->clear_faults();
  EXPECT_TRUE(scheduler.wait_for_output("scheduling server=", 60s)) << scheduler.output();
  EXPECT_TRUE(eventually(scheduler, [&] { return ask("/readyz/lease-accepted") == "ok"; }));
  EXPECT_EQ(scheduler.stop(30s), ExitStatus::exited(0)) << scheduler.output();
}

// What a plugin does to itself over a new profile, it does to the check.
// The page's files, its three questions, and nothing else; only for whoever has the address, and
// not under another name.
TEST_F(StartWithServer, ThePageIsServedToWhoeverHasItsAddress) {
  ASSERT_TRUE(store_.create(sandbox::kNodes, {{"apiVersion", "v1"},
                                              {"kind", "Node"},
                                              {"metadata", {{"name", "n1"}}},
                                              {"status", {{"allocatable", {{"cpu", "4"}}}}}}));
  const std::string socket = (dir_ / "place/control.sock").string();
  const auto none = finished({"ui", "--socket", socket});
  EXPECT_EQ(none.status.code, 1);
  EXPECT_THAT(none.out, HasSubstr("plimsoll ui: "));
  auto scheduler =
      ChildProcess::start(call({"run", "--config", plain_profile(), "--kubeconfig",
                                kubeconfig(server_->url()), "--port", "0", "--socket", socket}));
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  ASSERT_TRUE(scheduler->wait_for_output("scheduling server=", 60s)) << scheduler->output();
  auto page = ChildProcess::start(call({"ui", "--socket", socket}));
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_TRUE(page->wait_for_output("/debug/ui/\n", 60s)) << page->output();
  const std::string out = page->output();
  const std::size_t at = out.rfind("http://", out.find("/debug/ui/\n"));
  const std::string address = out.substr(at, out.find('\n', at) - at);
  const std::string below = address.substr(0, address.size() - 3);

  EXPECT_EQ(web_get(address).content_type, "text/html; charset=utf-8");
  EXPECT_EQ(web_get(address + "app.js").status, 200);
  EXPECT_THAT(web_get(below + "top?pods").body, HasSubstr(R"("node":"n1","pods":[])"));
  EXPECT_THAT(web_get(below + "queue").body, HasSubstr("loopMilliseconds"));
  EXPECT_EQ(web_get(below + "explain?pod=a/b").status, 404);
  EXPECT_EQ(web_get(below + "explain").status, 400);
  EXPECT_EQ(web_get(below + "dump").status, 404);
  EXPECT_EQ(web_request("PUT", below + "flags/v", "debug").status, 405);
  EXPECT_EQ(web_request("POST", below + "top").status, 405);
  const std::string host = address.substr(0, address.find('/', 7));
  EXPECT_EQ(web_get(host + "/debug/ui/").status, 404);
  EXPECT_EQ(web_get(host + "/" + std::string(32, '0') + "/debug/top").status, 404);
  EXPECT_EQ(web_request("GET", address, {}, {}, {.headers = {"Host: evil.example"}}).status, 403);

  EXPECT_EQ(scheduler->stop(30s), ExitStatus::exited(0)) << scheduler->output();
  EXPECT_EQ(web_get(below + "top").status, 502);
  EXPECT_EQ(page->stop(30s), ExitStatus::exited(0)) << page->output();
}

TEST_F(Start, AProfileThatAPluginHangsOnIsGivenUpWithTheProcess) {
  const std::string file = profile();
  ChildProcess scheduler = running(kubeconfig("http://127.0.0.1:1"), file);
  ASSERT_TRUE(scheduler.wait_for_output("does not answer yet", 60s)) << scheduler.output();
  const size_t made = read_file(journal()).value_or("").size();
  profile(", hangs: true");
  while (read_file(journal()).value_or("").size() <= made) {
    ASSERT_TRUE(scheduler.running()) << scheduler.output();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(scheduler.stop(60s), ExitStatus::exited(0)) << scheduler.output();
}

}  // namespace
}  // namespace plimsoll::test
