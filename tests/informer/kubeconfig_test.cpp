// Kubeconfig files and service accounts: every usual form, and a sentence for everything that is
// wrong.

#include "informer/http/kubeconfig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/temp_dir.hpp"

namespace plimsoll::informer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kPem[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
// The same in base64.
constexpr char kPemBase64[] =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

class Kubeconfig : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
      ::unsetenv(name);
    }
    ::setenv("HOME", dir_.path().c_str(), 1);
  }

  std::string write(const std::string& name, const std::string& text) {
    const auto file = dir_ / name;
    std::filesystem::create_directories(file.parent_path());
    EXPECT_TRUE(plimsoll::test::write_file(file, text));
    return file.string();
  }

  // A kubeconfig with one cluster, user and context, whose bodies are given (as flow maps).
  std::string simple(const std::string& cluster, const std::string& user) {
    return write("config",
                 "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                 "clusters: [{name: k, cluster: " +
                     cluster + "}]\nusers: [{name: u, user: " + user +
                     "}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n");
  }

  Result<ServerAccess> load(const std::string& path, const std::string& context = {}) {
    KubeconfigOptions options;
    options.path = path;
    options.context = context;
    return load_server_access(options);
  }

  plimsoll::test::TempDir dir_;
};

TEST_F(Kubeconfig, ReadsAFileAsKubectlWritesIt) {
  write("pki/ca.crt", kPem);
  write("pki/tls.key", "-----BEGIN PRIVATE KEY-----\n");
  const std::string file = write("config", R"(
apiVersion: v1
kind: Config
current-context: dev
preferences: {}
clusters:
- name: one
  cluster:
    certificate-authority: pki/ca.crt
    server: https://10.0.0.1:6443/
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
contexts:
- name: dev
  context: {cluster: one, user: me, namespace: team}
- name: other
  context: {cluster: one, user: token}
users:
- name: me
  user:
    client-certificate-data: )" + std::string(kPemBase64) +
                                               R"(
    client-key: pki/tls.key
- name: token
  user: {token: "12345", as: jane, as-groups: [a, b]}
)");
  auto access = load(file);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->tls_server_name, "kubernetes");
  EXPECT_EQ(access->proxy_url, "http://proxy:3128");
  EXPECT_EQ(access->certificate_authority_pem, kPem);
  EXPECT_EQ(access->certificate_authority_file, (dir_ / "pki/ca.crt").string());
  EXPECT_EQ(access->client_certificate_pem, kPem);
  EXPECT_EQ(access->client_certificate_file, "");
  EXPECT_EQ(access->client_key_file, (dir_ / "pki/tls.key").string());
  EXPECT_EQ(access->default_namespace, "team");
  EXPECT_THAT(access->source, AllOf(HasSubstr("'dev'"), HasSubstr(file)));

  access = load(file, "other");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->token, "12345");
  EXPECT_THAT(
      access->impersonation_headers,
      ElementsAre("Impersonate-User: jane", "Impersonate-Group: a", "Impersonate-Group: b"));
}

TEST_F(Kubeconfig, ReadsJson) {
  const std::string file = write("config.json", R"({"current-context":"c",
    "clusters":[{"name":"k","cluster":{"server":"http://127.0.0.1:1"}}],
    "contexts":[{"name":"c","context":{"cluster":"k","user":""}}],"users":null})");
  const auto access = load(file);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "http://127.0.0.1:1");
}

TEST_F(Kubeconfig, ReadsAnExecPlugin) {
  const std::string file = simple(
      "{server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec, extension: "
      "{audience: x, n: 3}}]}",
      "{exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [get, "
      "token], "
      "env: [{name: REGION, value: eu}], installHint: 'install login', interactiveMode: "
      "IfAvailable, provideClusterInfo: true}}");
  const auto access = load(file);
  ASSERT_TRUE(access) << access.error().message;
  ASSERT_TRUE(access->exec);
  EXPECT_EQ(access->exec->command, (dir_ / "bin/login").string());
  EXPECT_THAT(access->exec->args, ElementsAre("get", "token"));
  EXPECT_THAT(access->exec->env, ElementsAre(Pair("REGION", "eu")));
  EXPECT_EQ(access->exec->install_hint, "install login");
  EXPECT_TRUE(access->exec->provide_cluster_info);
  EXPECT_EQ(access->exec->cluster_config_json, R"({"audience":"x","n":3})");
}

TEST_F(Kubeconfig, MergesTheFilesOfTheEnvironment) {
  const std::string first =
      write("a", "clusters: [{name: k, cluster: {server: 'https://first'}}]\ncurrent-context: c\n");
  const std::string second =
      write("b",
            "clusters: [{name: k, cluster: {server: 'https://second'}}]\ncurrent-context: other\n"
            "contexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: "
            "{token: t}}]\n");
  ::setenv("KUBECONFIG", (first + ":" + (dir_ / "absent").string() + ":" + second).c_str(), 1);
  const auto access = load("");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://first");
  EXPECT_EQ(access->token, "t");
}

TEST_F(Kubeconfig, FallsBackToTheHomeDirectory) {
  write(".kube/config",
        "current-context: c\nclusters: [{name: k, cluster: {server: 'https://home'}}]\n"
        "contexts: [{name: c, context: {cluster: k}}]\n");
  const auto access = load("");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://home");
}

TEST_F(Kubeconfig, ReadsTheServiceAccount) {
  write("sa/ca.crt", kPem);
  write("sa/token", "tok");
  write("sa/namespace", "kube-system");
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  KubeconfigOptions options;
  options.service_account_dir = (dir_ / "sa").string();
  auto access = load_server_access(options);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->token_file, (dir_ / "sa/token").string());
  EXPECT_EQ(access->default_namespace, "kube-system");

  std::filesystem::remove(dir_ / "sa/token");
  access = load_server_access(options);
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message,
              AllOf(HasSubstr("sa/token"), HasSubstr("automountServiceAccountToken")));

  ::unsetenv("KUBERNETES_SERVICE_PORT");
  access = load_in_cluster_access(options.service_account_dir);
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message, HasSubstr("not inside a cluster"));
}

TEST_F(Kubeconfig, SkippingTlsVerificationIsRefused) {
  const auto refused = load(simple("{server: 'https://h', insecure-skip-tls-verify: true}", "{}"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("cluster 'k'"), HasSubstr("insecure-skip-tls-verify"),
                    HasSubstr("certificate-authority")));
}

TEST_F(Kubeconfig, SaysWhatIsMissing) {
  EXPECT_THAT(load((dir_ / "none").string()).error().message,
              AllOf(HasSubstr("none"), HasSubstr("No such file"), HasSubstr("check the path")));
  EXPECT_THAT(load(dir_.path().string()).error().message, HasSubstr("is a directory"));
  EXPECT_THAT(load("").error().message,
              AllOf(HasSubstr("no kubeconfig"), HasSubstr(".kube/config")));
  ::setenv("KUBECONFIG", "/nowhere/a:/nowhere/b", 1);
  EXPECT_THAT(load("").error().message, HasSubstr("none of the files in KUBECONFIG exists"));
}

TEST_F(Kubeconfig, SaysWhatIsWrongWithAFile) {
  const std::string contexts = "\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n";
  struct Case {
    std::string text;
    const char* error;
  };
  const Case cases[] = {
      {"a: [", "neither YAML nor JSON"},
      {"just text", "is not a kubeconfig"},
      {"kind: Pod", "kind is 'Pod'"},
      {"clusters: 5", "'clusters' must be a list"},
      {"clusters: [{cluster: {}}]", "has no name"},
      {"clusters: [{name: a}, {name: a}]", "names 'a' twice"},
      {"clusters: [{name: a, cluster: 7}]", "must be a map"},
      {"kind: Config", "has no current-context"},
      {"current-context: x" + contexts, "no context 'x'; there are: 'c'"},
      {"current-context: c" + contexts, "cluster 'k', which is not defined; there are none"},
      {"current-context: c\nclusters: [{name: k, cluster: {server: 'https://h'}}]" + contexts,
       "user 'u', which is not defined"},
  };
  for (const Case& c : cases) {
    const auto access = load(write("config", c.text));
    ASSERT_FALSE(access) << c.text;
    EXPECT_THAT(access.error().message, HasSubstr(c.error)) << c.text;
    EXPECT_THAT(access.error().message, HasSubstr("config")) << c.text;
  }
}

TEST_F(Kubeconfig, SaysWhatIsWrongWithAnEntry) {
  write("text", "no pem");
  const std::string good = "{server: 'https://h'}";
  const std::string exec = "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1";
  struct Case {
    std::string cluster, user;
    const char* error;
  };
  const Case cases[] = {
      {"{}", "{}", "has no 'server'"},
      {"{server: 'ftp://h'}", "{}", "must be a URL"},
      {"{server: 'https://h', certificate-authority: gone.crt}", "{}", "gone.crt"},
      {"{server: 'https://h', certificate-authority: text}", "{}", "not in PEM format"},
      {"{server: 'https://h', certificate-authority-data: '!!'}", "{}", "not base64"},
      {good, "{client-certificate-data: " + std::string(kPemBase64) + "}", "no client-key"},
      {good, "{client-key-data: " + std::string(kPemBase64) + "}", "no client-certificate"},
      {good, "{tokenFile: gone}", "gone"},
      {good, "{token: a, username: b}", "both a token and a username"},
      {good, "{auth-provider: {name: gcp}}", "removed in 1.26"},
      {good, "{as-groups: [a]}", "without 'as'"},
      {good, "{exec: {apiVersion: client.authentication.k8s.io/v1}}", "has no 'command'"},
      {good, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}",
       "exec.apiVersion is"},
      {good, exec + "}}", "interactiveMode must be set"},
      {good, exec + ", interactiveMode: Always}}", "has no terminal"},
      {good, exec + ", interactiveMode: Odd}}", "'Odd' is unknown"},
      {good, exec + ", interactiveMode: Never}, token: a}", "'exec' and also a token"},
      {good, exec + ", interactiveMode: Never, env: [{value: v}]}}", "exec.env has no name"},
  };
  for (const Case& c : cases) {
    const auto access = load(simple(c.cluster, c.user));
    ASSERT_FALSE(access) << c.cluster << c.user;
    EXPECT_THAT(access.error().message, HasSubstr(c.error));
  }
}

// client-go's rules (DefaultServerURL, ClientConfig).
TEST_F(Kubeconfig, AServerWithoutASchemeIsSpokenToOverTlsIfThereIsAnythingForIt) {
  const std::string pem = "-data: " + std::string(kPemBase64);
  struct Case {
    std::string cluster, user;
    const char* server;
  };
  const Case cases[] = {
      {"{server: 'h:6443'}", "{}", "http://h:6443"},
      {"{server: 'h:6443'}", "{token: t}", "http://h:6443"},
      {"{server: 'h:6443', certificate-authority" + pem + "}", "{token: t}", "https://h:6443"},
      {"{server: h}", "{client-certificate" + pem + ", client-key" + pem + "}", "https://h"},
      {"{server: 'http://h', certificate-authority" + pem + "}", "{}", "http://h"},
  };
  for (const Case& c : cases) {
    KubeconfigOptions options;
    options.path = simple(c.cluster, c.user);
    const auto access = load_server_access(options);
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->server, c.server) << c.cluster << c.user;
  }
  EXPECT_THAT(load(simple("{server: 'h/path'}", "{}")).error().message, HasSubstr("must be a URL"));
}

TEST_F(Kubeconfig, WithoutTlsNoCredentialIsSent) {
  write("token", "t");
  const std::string pem = "-data: " + std::string(kPemBase64);
  for (const std::string& user :
       {std::string("{token: t, as: jane}"), std::string("{tokenFile: token, as: jane}"),
        std::string("{username: a, password: b, as: jane}"),
        "{client-certificate" + pem + ", client-key" + pem + ", as: jane}",
        std::string("{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                    "interactiveMode: Never}, as: jane}")}) {
    const auto access = load(simple("{server: 'http://h:1', proxy-url: 'http://p'}", user));
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->token + access->token_file + access->username + access->password, "") << user;
    EXPECT_EQ(access->client_certificate_pem + access->client_key_pem, "") << user;
    EXPECT_FALSE(access->exec) << user;
    EXPECT_EQ(access->proxy_url, "http://p");
    EXPECT_THAT(access->impersonation_headers, ElementsAre("Impersonate-User: jane"));
  }
}

TEST_F(Kubeconfig, NoTextBeginsAnotherHeader) {
  for (const char* user :
       {R"({token: "secret\r\nHost: elsewhere"})", R"({as: "secret\nA: b"})",
        R"({as: a, as-uid: "secret\r"})", R"({as: a, as-groups: ["secret\0"]})"}) {
    const auto access = load(simple("{server: 'https://h:1'}", user));
    ASSERT_FALSE(access) << user;
    EXPECT_THAT(access.error().message, AllOf(HasSubstr("user 'u'"), HasSubstr("control character"),
                                              Not(HasSubstr("secret"))));
  }
}

TEST_F(Kubeconfig, AliasesOfAliasesAreBounded) {
  std::string text = "current-context: c\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 6; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    text += "]\n";
  }
  text +=
      "clusters: [{name: k, cluster: {server: 'https://h', extensions: [{name: "
      "client.authentication.k8s.io/exec, extension: *a5}]}}]\n"
      "contexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {exec: "
      "{apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}}}]\n";
  const auto loaded = load(write("config", text));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message,
              AllOf(HasSubstr("aliases expand to too many values"), HasSubstr("line ")));
  const auto deep = load(write("config", std::string(300, '[') + std::string(300, ']')));
  EXPECT_THAT(deep.error().message, HasSubstr("nested too deeply"));
}

TEST_F(Kubeconfig, TextThatIsNotUtf8IsAnError) {
  const auto loaded = load(write("config", "current-context: c\nusers: \"\xff\"\n"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(loaded.error().message, HasSubstr("line 2 is not valid UTF-8"));
}

TEST_F(Kubeconfig, ATabIsCalledByItsName) {
  const auto loaded = load(write("config", "clusters:\n\t- name: k\n"));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("line 2: a tab: YAML wants blanks"));
}

// What makes a YAML parser run in circles, or hand out a graph that does.
TEST_F(Kubeconfig, TextThatNeverEndsIsAnError) {
  for (const char* text :
       {", a", "]", "}", "a: 1\n---\n, a", "{a: 1} ]", "clusters: [\n, a",
        "clusters: &c\n- name: k\n  cluster: {extensions: *c}\n", "current-context: &a [*a]",
        "current-context: 'a\nusers: []\n", "current-context: \"a\nusers: []\n"}) {
    const auto loaded = load(write("config", text));
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid) << text;
    EXPECT_THAT(loaded.error().message,
                AllOf(HasSubstr("config is neither YAML nor JSON: "), HasSubstr("line ")))
        << text;
  }
}

TEST_F(Kubeconfig, AliasesAreFollowed) {
  const auto loaded = load(write("config", R"(
current-context: c
clusters: [{name: k, cluster: &one {server: "https://a:1"}}, {name: l, cluster: *one}]
contexts: [{name: c, context: {cluster: l}}]
)"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->server, "https://a:1");
}

}  // namespace
}  // namespace plimsoll::informer
