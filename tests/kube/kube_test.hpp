#pragma once
// The base of all GoogleTest suites that need a real API server.
//
//   class BindingTest : public plimsoll::test::KubeTest {};
//   TEST_F(BindingTest, ...) { KubeClient client(cluster().admin()); ... }
//
// The first test of a program starts one cluster with the custom resources installed; all its tests
// share it, each in a namespace of its own; it stops when the program ends. Cluster-scoped objects
// (nodes, NRTs, devices) are deleted after each test. Without kube-apiserver and etcd the tests are
// skipped with a loud line; with CI=true in the environment they fail. A test that fails prints the
// end of both servers' logs; the program's last words are all assertions that failed.

#include <gtest/gtest.h>

#include <string>

#include "tests/kube/kube_fixture.hpp"

namespace plimsoll::test {

class KubeTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // How the program's cluster is started: set in SetUpTestSuite, before the program's first test.
  static KubeClusterOptions& options();
  // Only within a test.
  static KubeCluster& cluster();
  // The namespace of this test, made by SetUp.
  [[nodiscard]] const std::string& ns() const { return namespace_; }
  // "/api/v1/namespaces/<ns()>/pods" and, with a name, that pod.
  [[nodiscard]] std::string pods_path(const std::string& name = {}) const;

 private:
  std::string namespace_;
};

}  // namespace plimsoll::test
