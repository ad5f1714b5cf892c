#!/usr/bin/env python3
"""What tests/packaging/upgrade asks of the API server.

upgrade_cluster.py SERVER CA TOKEN COMMAND ...
  prepare EXAMPLES NODES     kinds and rights as the package ships them, and nodes
  transitions                how often the lease has changed hands
  load PODS SECONDS          makes pods at a steady pace
  all-bound PODS             whether they all have a node
  judge PODS TRANSITIONS VERSION NEXT AUDIT LOG...   the table; exit status 1 on any deviation
"""

import collections
import concurrent.futures
import datetime
import http.client
import json
import pathlib
import re
import ssl
import sys
import threading
import time

NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll"


class Api:
    """One connection per thread."""

    def __init__(self, server, ca, token):
        self.address = server.removeprefix("https://")
        self.context = ssl.create_default_context(cafile=ca)
        self.headers = {"Authorization": f"Bearer {token}"}
        self.own = threading.local()

    def ask(self, method, path, body=None, kind="application/json"):
        if not hasattr(self.own, "connection"):
            self.own.connection = http.client.HTTPSConnection(self.address, context=self.context, timeout=60)
        text = json.dumps(body) if isinstance(body, dict) else body
        self.own.connection.request(method, path, text, self.headers | {"Content-Type": kind})
        answer = self.own.connection.getresponse()
        content = answer.read().decode()
        if answer.status >= 300:
            sys.exit(f"upgrade: {method} {path}: HTTP {answer.status}: {content}")
        return json.loads(content)


def create_yaml(api, file):
    for document in re.split(r"^---$", file.read_text(), flags=re.M):
        found = dict(re.findall(r"^(apiVersion|kind): *(\S+)$", document, re.M))
        if not found:
            continue
        version = found["apiVersion"]
        path = ("/apis/" if "/" in version else "/api/") + version
        if found["kind"] in ("Role", "RoleBinding", "ServiceAccount"):
            path += "/namespaces/kube-system"
        api.ask("POST", f"{path}/{found['kind'].lower()}s", document, "application/yaml")


def prepare(api, examples, nodes):
    examples = pathlib.Path(examples)
    for file in sorted(examples.glob("crds/*.yaml")) + [examples / "rbac.yaml"]:
        create_yaml(api, file)
    size = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    for number in range(int(nodes)):
        name = f"node-{number}"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
        api.ask("POST", "/api/v1/nodes", node)
        status = {"status": {"capacity": size, "allocatable": size}}
        api.ask("PATCH", f"/api/v1/nodes/{name}/status", status, "application/merge-patch+json")


def transitions(api):
    return api.ask("GET", LEASE)["spec"].get("leaseTransitions", 0)


def load(api, pods, seconds):
    begin = time.monotonic()

    def create(number):
        time.sleep(max(0.0, begin + seconds * number / pods - time.monotonic()))
        container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
        spec = {"schedulerName": "topo-aware-scheduler", "containers": [container]}
        api.ask("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec})

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(pods)))


def bound(api):
    return {pod["metadata"]["name"] for pod in api.ask("GET", PODS)["items"] if pod["spec"].get("nodeName")}


def read_audit(file):
    """Bindings made per pod and per version, and those refused by HTTP status; the longest pause between two."""
    made, versions, refused, times = collections.Counter(), collections.Counter(), collections.Counter(), []
    for line in pathlib.Path(file).read_text().splitlines():
        event = json.loads(line)
        if event["stage"] != "ResponseComplete" or event["objectRef"].get("subresource") != "binding":
            continue
        code = event["responseStatus"]["code"]
        if code != 201:
            refused[code] += 1
            continue
        made[event["objectRef"]["name"]] += 1
        versions[event["userAgent"].removeprefix("plimsoll/")] += 1
        times.append(datetime.datetime.fromisoformat(event["stageTimestamp"].replace("Z", "+00:00")).timestamp())
    times.sort()
    pause = max((after - before for before, after in zip(times, times[1:])), default=0.0)
    return made, versions, refused, pause


def read_logs(files):
    """Errors, and what is no record at all; warnings by their text."""
    errors, warnings = [], collections.Counter()
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                errors.append(line)
                continue
            if record["level"] in ("error", "critical"):
                errors.append(line)
            elif record["level"] == "warning":
                warnings[record.get("msg", line)] += 1
    return errors, warnings


def judge(api, pods, before, version, following, audit, *logs):
    made, versions, refused, pause = read_audit(audit)
    errors, warnings = read_logs(logs)
    changes = transitions(api) - int(before)
    with_node = bound(api)
    names = {f"pod-{number}" for number in range(int(pods))}
    rows = [  # what, how many, whether that is as it must be
        ("pods made", len(names), True),
        ("pods with a node", len(with_node), with_node == names),
        ("pods bound exactly once", sum(made[name] == 1 for name in names), all(made[name] == 1 for name in names)),
        ("pods bound more than once", sum(count > 1 for count in made.values()), max(made.values(), default=0) <= 1),
        ("bindings of other pods", len(set(made) - names), set(made) <= names),
        (f"bindings by {version}", versions[version], versions[version] > 0),
        (f"bindings by {following}", versions[following], versions[following] > 0),
        ("bindings by others", sum(versions.values()) - versions[version] - versions[following],
         set(versions) <= {version, following}),
        ("bindings refused", dict(refused) or 0, True),
        ("changes of the lease", changes, changes <= 1),
        ("longest pause between bindings", f"{pause:.1f} s", True),
        ("errors in the logs", len(errors), not errors),
        ("warnings in the logs", sum(warnings.values()), True),
    ]
    for what, value, good in rows:
        print(f"  {what:<32} {value!s:>10}  {'' if good else 'WRONG'}".rstrip())
    for line in errors[:20]:
        print(f"  error: {line}")
    for text, count in warnings.most_common(20):
        print(f"  warning ({count}): {text}")
    return 0 if all(good for _, _, good in rows) else 1


def main():
    server, ca, token, command, *rest = sys.argv[1:]
    api = Api(server, ca, token)
    if command == "prepare":
        prepare(api, *rest)
    elif command == "transitions":
        print(transitions(api))
    elif command == "load":
        load(api, int(rest[0]), float(rest[1]))
    elif command == "all-bound":
        return 0 if len(bound(api)) == int(rest[0]) else 1
    elif command == "judge":
        return judge(api, *rest)
    else:
        sys.exit(f"upgrade: unknown command '{command}'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
