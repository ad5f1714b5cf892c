#pragma once
// Services, and the controllers that own pods: from them follows which pods belong together where a
// pod says nothing itself (helper.DefaultSelector of kube-scheduler).

#include <plimsoll/plugin.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "plugins/builtin/census/match_index.hpp"

namespace plimsoll::builtin {

class Controllers {
 public:
  using Kind = sdk::Kind<plimsoll_pod_selector>;
  // What to watch.
  [[nodiscard]] static std::span<const Kind> kinds();

  // Of one of these kinds. An object that cannot be read selects nothing. It stays until the next
  // call for its name.
  Result<void> put(std::string_view resource, const plimsoll_pod_selector& object);
  void remove(std::string_view resource, std::string_view ns, std::string_view name);

  // The selectors, ANDed, of all services of the pod and of its controller; none: nobody selects
  // it. Valid until the next change.
  [[nodiscard]] std::vector<const plimsoll_label_selector*> selectors_of(sdk::Pod pod) const;
  // Whether they depend on this kind.
  [[nodiscard]] static bool rests_on(sdk::Pod pod, std::string_view resource);

 private:
  struct Service : Indexed {
    explicit Service(const SelectionSpec& selected) : selection(selected) {}
    [[nodiscard]] const SelectionSpec& spec() const { return selection.spec(); }
    const Selection selection;
  };
  using Key = std::pair<std::string, std::string>;  // namespace, name

  void put_service(const Key& key, const plimsoll_label_selector& selector);
  void remove_service(const Key& key);

  std::map<Key, std::unique_ptr<Service>> services_;
  MatchIndex<Service> index_;
  std::map<std::string, std::map<Key, const plimsoll_label_selector*>, std::less<>>
      owners_;  // by resource
  Namespaces no_namespaces_;
};

}  // namespace plimsoll::builtin
