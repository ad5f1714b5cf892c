#!/usr/bin/env python3
"""The page in a real browser: every view, by keyboard, in dark and light, on a phone, with 12 and 5,000 nodes, with names
that are scripts, of a running scheduler, and over a connection that is lost. axe-core looks at every view.

  tests/ui/ui_test.py [TEST...]     PLIMSOLL_BIN_DIR: the programs (build/release/bin)
                                    AXE: axe.min.js; PICTURES: a folder for screenshots
"""
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

from webdriver import ARROW_DOWN, ARROW_LEFT, ARROW_RIGHT, END, ENTER, HOME, TAB, Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PLIMSOLL_BIN_DIR", ROOT / "build/release/bin"))
SAMPLE = ROOT / "examples/clusters/quickstart"
CLAIMS = ROOT / "examples/clusters/claims"
PICTURES = os.environ.get("PICTURES")
SCRIPT = "<img src=x onerror=hacked=1></script><script>hacked=1</script>"
DATA = re.compile(r'(id="data">)(.*?)(</script>)', re.S)


def simulate(folder, *flags, page="run.html", said=False):
    page = folder / page
    done = subprocess.run([BIN / "plimsoll-lab", "simulate", "--config", ROOT / "examples/profiles/topology.yaml", "--cluster",
                    SAMPLE / "cluster.yaml", "--pods", SAMPLE / "pods.yaml", "--html", page, *flags],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout if said else page


def with_data(page, change, name):
    """A copy of the page with other data. The policy is about scripts and styles only."""
    text = page.read_text()
    data = json.loads(DATA.search(text)[2])
    changed = json.dumps(change(data)).replace("<", "\\u003c")
    copy = page.with_name(name)
    copy.write_text(DATA.sub(lambda found: found[1] + changed + found[3], text, count=1))
    return copy


def many_nodes(data, count):
    """Copies of the nodes of a run; none of its pods."""
    nodes = data["top"]["nodes"]
    data["top"]["nodes"] = [dict(nodes[i % len(nodes)], node=f"node-{i:05d}", labels={"pool": f"p{i % 7}"})
                            for i in range(count)]
    data["simulation"].update(pods=[], runs=[])
    data["explanations"] = []
    return data


VIEWS = {
    "nodes": ("#nodes", "12 nodes"),
    "zones": ("#nodes?by=nvidia.com%2Fgpu&sort=zone&group=topology.kubernetes.io%2Fzone", "eu-1a"),
    "map": ("#nodes?look=map", "80–100 %"),
    "table": ("#nodes?look=table", "free by zone"),
    "then": ("#nodes?t=0", "pods with something of the zone"),
    "queue": ("#queue", "10 pods wait"),
    "run": ("#run", "40 of 50 pods"),
    "node": ("#node/gpu-a2", "Zone 1"),
    "pod": ("#pod/default/gpu-too-many", "need 3200, 1200 free of 1600"),
    "bound": ("#pod/default/train-0", "2 of 12 nodes fit"),
    "kubelet": ("#node/gpu-a1", "What its kubelet would do next"),
    "file": ("#whatif", "A file cannot answer"),
}


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.page = simulate(pathlib.Path(cls.folder.name))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def quiet(self, browser):
        said = [entry for entry in browser.console() if "favicon" not in entry["message"]]
        self.assertEqual(said, [])

    def axe(self, browser, where):
        if not os.environ.get("AXE"):
            self.skipTest("AXE is not set")
        browser.js(pathlib.Path(os.environ["AXE"]).read_text() + ";window.axe = axe;")
        found = browser.later("const done = arguments[0]; axe.run().then((r) => done(r.violations.map((v) =>"
                              " v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.failureSummary).join(' | '))))")
        self.assertEqual(found, [], where)

    def show(self, browser, address, text, page=None):
        browser.open((page or self.page).as_uri() + address)
        browser.wait("return document.getElementById('main').textContent.includes(arguments[0])", text)

    def test_every_view_says_what_it_should_and_asks_nobody(self):
        with Browser() as browser:
            for name, (address, text) in VIEWS.items():
                self.show(browser, address, text)
                if PICTURES:
                    browser.picture(f"{PICTURES}/{name}.png")
            asked = [url for url in browser.requests() if not url.startswith((self.page.as_uri(), "data:"))]
            self.assertEqual(asked, [])
            self.quiet(browser)

    def test_every_view_can_be_used_by_all(self):
        for dark, width in ((False, 1280), (True, 1280), (False, 390)):
            with Browser(width, 900, dark) as browser:
                for name, (address, text) in VIEWS.items():
                    self.show(browser, address, text)
                    self.axe(browser, (name, dark, width))
                    if PICTURES and (dark or width == 390):
                        browser.picture(f"{PICTURES}/{name}-{'dark' if dark else 'phone'}.png")
                    self.assertEqual(browser.js("const m = document.getElementById('main'); return m.scrollWidth - m.clientWidth"), 0, name)
                    self.assertEqual(browser.js("return document.documentElement.scrollWidth - innerWidth"), 0, name)

    def test_dark_is_dark(self):
        shades = []
        for dark in (False, True):
            with Browser(dark=dark) as browser:
                self.show(browser, *VIEWS["nodes"])
                shades.append(browser.js("return getComputedStyle(document.body).backgroundColor"))
        light, dark = (sum(map(int, re.findall(r"\d+", shade))) for shade in shades)
        self.assertGreater(light, 600)
        self.assertLess(dark, 150)

    def test_by_keyboard_alone(self):
        with Browser() as browser:
            self.show(browser, "", "12 nodes")
            focus = "return document.activeElement.dataset.key || document.activeElement.textContent"
            browser.keys(TAB)
            self.assertEqual(browser.js(focus), "Skip to the content")
            for _ in range(4):
                browser.keys(TAB)
            self.assertEqual(browser.js(focus), "Run")
            for _ in range(20):  # the controls, then one stop for all nodes
                browser.keys(TAB)
                if browser.js(focus) == "bare-1":
                    break
            self.assertEqual(browser.js(focus), "bare-1")
            browser.keys(ARROW_RIGHT, ARROW_RIGHT, ARROW_LEFT)
            self.assertEqual(browser.js(focus), "batch-1")
            browser.keys(END)
            self.assertEqual(browser.js(focus), "gpu-b1")
            browser.keys(HOME, ARROW_DOWN)
            self.assertEqual(browser.js("return document.querySelectorAll('.tiles a[tabindex=\"0\"]').length"), 1)
            browser.keys(ENTER)
            self.assertIn("Node cpu-", browser.wait("return document.querySelector('h2').textContent.includes('Node') && document.body.innerText"))
            self.show(browser, "#queue", "10 pods wait")
            browser.js("document.querySelectorAll('summary')[1].focus()")
            browser.keys(ENTER)
            self.assertTrue(browser.js("return document.querySelectorAll('details')[1].open"))
            self.show(browser, "#nodes", "12 nodes")
            browser.js("document.getElementById('time').focus()")
            browser.keys(HOME)
            self.assertIn("t=0", browser.js("return location.hash"))
            self.assertEqual(browser.js("return document.activeElement.id"), "time")
            self.quiet(browser)

    def test_filters_are_in_the_address(self):
        with Browser() as browser:
            self.show(browser, "", "12 nodes")
            browser.js("document.querySelector('[data-key=\"c-q\"]').focus()")
            browser.keys(*"gpu-")
            browser.wait("return document.body.textContent.includes('3 of 12 nodes')")
            self.assertEqual(browser.js("return location.hash"), "#nodes?q=gpu-")
            self.assertEqual(browser.js("return document.activeElement.value"), "gpu-")
            self.show(browser, "#nodes?q=zone%3Deu-1b", "4 of 12 nodes")
            self.show(browser, "#nodes?q=train-0", "1 of 12 nodes")
            self.show(browser, "#nodes?by=nvidia.com%2Fgpu&sort=zone&min=4", "2 of 12 nodes")
            self.show(browser, "#nodes?q=nobody", "No node matches the filter.")
            for odd in ("#constructor?look=constructor&sort=constructor&group=__proto__&by=toString&t=x&min=x", "#node", "#pod/%",
                        "#queue?t=-1", "#run?q=%"):
                self.show(browser, odd, "")
                self.assertGreater(browser.js("return document.getElementById('main').textContent.length"), 10, odd)
            self.quiet(browser)

    def test_two_simulations_side_by_side(self):
        def move(data):
            pod = next(pod for pod in data["simulation"]["pods"] if pod["pod"] == "default/api-0")
            pod.update(node="<b>elsewhere", bound=pod["created"] + 7)
            return data

        other = with_data(self.page, move, "other.html")
        plain = self.page.with_name("other.json")
        plain.write_text(json.dumps(json.loads(DATA.search(self.page.read_text())[2])["simulation"]))
        with Browser() as browser:
            self.show(browser, "#run", "Compare with")
            browser.choose("input[type=file]", other)
            browser.wait("return document.body.textContent.includes('1 of 50 pods differ')")
            row = browser.js("return [...document.querySelectorAll('tr')].find((r) => r.textContent.includes('elsewhere')).innerText")
            self.assertEqual(row.split("\t"), ["default/api-0", "cpu-b1", "<b>elsewhere", "0 ms", "7 s"])
            self.axe(browser, "side by side")
            browser.choose("input[type=file]", plain)
            browser.wait("return document.body.textContent.includes('Every pod is in the same place')")
            browser.choose("input[type=file]", __file__)
            browser.wait("return document.body.textContent.includes('is no page of simulate --html')")
            self.quiet(browser)

    def test_figures_as_csv(self):
        run = (self.page.parent, "--until", "100", "--report")
        page = simulate(*run, page="hours.html")
        printed = simulate(*run, "-o", "csv", page="again.html", said=True)
        self.assertIn("\nhours nvidia.com/gpu,", printed)
        with Browser() as browser:
            self.show(browser, "#run", "The figures as CSV", page)
            href = browser.js("return document.querySelector('a[download]').href")
            self.assertEqual(urllib.parse.unquote(href.removeprefix("data:text/csv;charset=utf-8,")), printed)

    def test_devices_of_claims(self):
        folder = self.page.parent
        page = folder / "claims.html"
        subprocess.run([BIN / "plimsoll-lab", "simulate", "--config", ROOT / "examples/profiles/default-scheduler.yaml", "--cluster",
                        CLAIMS / "cluster.yaml", "--pods", CLAIMS / "pods.yaml", "--html", page],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Browser() as browser:
            self.show(browser, "#node/n1", "claim ", page)
            held = browser.js("return [...document.querySelectorAll('tr')].map((r) => r.innerText).filter((t) => t.includes('claim '))")
            self.assertTrue(any("bound" in row and "default/" in row for row in held), held)
            self.axe(browser, "claims")
            if PICTURES:
                browser.picture(f"{PICTURES}/claims.png")
            self.show(browser, "#node/n1?t=0", "Node n1", page)
            self.quiet(browser)

    def test_5000_nodes(self):
        big = with_data(self.page, lambda data: many_nodes(data, 5000), "big.html")
        with Browser() as browser:
            for look, most in (("map", 9000), ("tiles", 9000), ("table", 3000)):
                browser.open("about:blank")
                self.show(browser, "#nodes?look=" + look, "5000 nodes", big)
                painted, elements = browser.js(
                    "return [performance.getEntriesByType('navigation')[0].domComplete, document.querySelectorAll('*').length]")
                print(f"5,000 nodes, {look}: {painted:.0f} ms from the begin of the load, {elements} elements", file=sys.stderr)
                self.assertLess(elements, most, "only what is visible exists")
                browser.js("document.querySelector('.rows a[tabindex=\"0\"]').focus()")
                browser.keys(END)
                self.assertEqual(browser.js("return document.activeElement.dataset.key"), "node-04999")
                self.assertLess(browser.js("return document.querySelectorAll('*').length"), most)
            self.show(browser, "#nodes?q=node-0123", "10 of 5000 nodes", big)
            self.show(browser, "#nodes?group=pool", "p0", big)
            if PICTURES:
                self.show(browser, "#nodes?look=map", "5000 nodes", big)
                browser.picture(f"{PICTURES}/big.png")
            steps = browser.later("""
                const done = arguments[0], main = document.getElementById('main'), frames = [];
                let last = performance.now(), n = 0;
                (function step(now) {
                  frames.push(now - last); last = now; main.scrollTop += 400;
                  if (++n < 60) requestAnimationFrame(step); else done(frames.slice(1).sort((a, b) => a - b));
                })(last);""")
            print(f"scrolling: half of the frames within {steps[len(steps) // 2]:.0f} ms, 95 of 100 within "
                  f"{steps[int(len(steps) * .95)]:.0f} ms", file=sys.stderr)
            self.quiet(browser)

    def test_names_that_are_scripts_are_texts(self):
        def spoil(value):
            if isinstance(value, str):
                return value if value.startswith("plimsoll.io/") else value + SCRIPT
            if isinstance(value, list):
                return [spoil(one) for one in value]
            if isinstance(value, dict):
                return {key: spoil(one) for key, one in value.items()}
            return value

        bad = with_data(self.page, spoil, "bad.html")
        quoted = urllib.parse.quote(SCRIPT, safe="")
        with Browser() as browser:
            for address in ("#nodes", "#nodes?look=map", "#nodes?look=table", "#nodes?group=kubernetes.io%2Fos", "#queue", "#run",
                            "#node/gpu-a2" + quoted, "#pod/default/train-0" + quoted, "#pod/default/gpu-too-many" + quoted,
                            "#node/" + quoted, "#nodes?q=" + quoted):
                self.show(browser, address, SCRIPT if "?" not in address else "nodes", bad)
                self.assertIsNone(browser.js("return typeof hacked === 'undefined' ? null : 1"), address)
                self.assertEqual(browser.js("return document.querySelectorAll('main img, main script').length"), 0, address)
            self.quiet(browser)


    def test_files_opened_without_a_scheduler(self):
        data = json.loads(DATA.search(self.page.read_text())[2])
        plain = self.page.with_name("plain.json")
        plain.write_text(json.dumps(data["simulation"]))
        broken = self.page.with_name("broken.html")
        broken.write_text(DATA.sub(lambda found: found[1] + '{"simulation":{"simulatedSeconds":1}}' + found[3],
                                   self.page.read_text(), count=1).replace("<script>", "<script>hacked=1;", 1))
        with Browser() as browser:
            for files, views in (([self.page], VIEWS.values()), ([plain], [VIEWS[name] for name in ("nodes", "run", "queue")]),
                                 ([SAMPLE / "cluster.yaml", "--pods", SAMPLE / "pods.yaml"], [VIEWS["nodes"], ("#pod/default/gpu-too-many", "need 3200")]),
                                 ([SAMPLE / "cluster.yaml", SAMPLE / "pods.yaml"], [("#queue", "11 pods wait")]),
                                 ([broken], [("", "This file cannot be read")])):
                _, address = begin(self, BIN / "plimsoll", "ui", *files, until=r"(http://127\S+)")
                for where, text in views:
                    browser.open("about:blank")
                    browser.open(address + where)
                    browser.wait("return document.getElementById('main').textContent.includes(arguments[0])", text)
                asked = [url for url in browser.requests() if not url.startswith((address, "data:", "about:"))]
                self.assertEqual(asked, [])
                self.assertEqual(browser.js("return typeof hacked"), "undefined")
                self.quiet(browser)


def begin(test, *command, until):
    """Starts a program and waits for a line of it."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    test.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close()))
    for line in process.stdout:
        if found := re.search(until, line):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, found[1]
    test.fail(f"{command[0]} ended")


class Live(unittest.TestCase):
    """`plimsoll run` and `plimsoll ui` beside a simulation that goes at the speed of the clock."""

    def begin(self, *command, until):
        return begin(self, *command, until=until)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        profile = (ROOT / "examples/profiles/topology.yaml").read_text()
        (self.folder / "live.yaml").write_text(profile.replace("topo-aware-scheduler", "live"))
        _, self.api = self.begin(BIN / "plimsoll-lab", "simulate", "--config", ROOT / "examples/profiles/topology.yaml",
                                 "--cluster", SAMPLE / "cluster.yaml", "--pods", SAMPLE / "pods.yaml", "--speed", 1,
                                 "--until", 100000, "--timeout", 3600, until=r"API server: (http\S+)")
        (self.folder / "kubeconfig").write_text(json.dumps({
            "current-context": "c", "clusters": [{"name": "k", "cluster": {"server": self.api}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
        socket = self.folder / "place/control.sock"
        self.run_scheduler()
        self.ui, self.address = self.begin(BIN / "plimsoll", "ui", "--socket", socket, until=r"(http://127\S+)")

    def run_scheduler(self):
        self.scheduler, _ = self.begin(
            BIN / "plimsoll", "run", "--config", self.folder / "live.yaml", "--kubeconfig", self.folder / "kubeconfig",
            "--leader-elect=false", "--port", 0, "--socket", self.folder / "place/control.sock", until="(scheduling).*server=")

    def same_as_the_whole(self, browser):
        """The picture that changes have made is the one that a whole answer makes."""
        browser.wait("""
            const whole = new XMLHttpRequest();
            whole.open("GET", "../top", false);
            whole.send();
            const text = (nodes) => JSON.stringify([...nodes].sort((a, b) => a.name < b.name ? -1 : 1));
            return text(state.nodes) === text(JSON.parse(whole.responseText).nodes.map(nodeOf));""")

    def test_where_a_pasted_pod_would_go(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": SCRIPT}, "spec": {"schedulerName": "live", "containers": [
            {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}
        deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team}\nspec:\n  template:\n" \
                     "    spec:\n      schedulerName: live\n      containers: [{name: c, resources: {requests: {nvidia.com/gpu: 99}}}]\n"
        ask = "const form = document.querySelector('form.whatif'); form.elements[0].value = arguments[0]; form.requestSubmit();"
        with Browser() as browser:
            browser.open(self.address + "#whatif")
            browser.wait("return document.querySelector('form.whatif')")
            browser.js(ask, json.dumps(pod))
            said = browser.wait("const main = document.getElementById('main').textContent; return main.includes('nodes fit') && main")
            self.assertIn("Pod default/" + SCRIPT, said)
            self.assertIn("not there", said)
            self.assertEqual(browser.js("return typeof hacked + document.querySelectorAll('main img').length"), "undefined0")
            browser.js(ask, deployment)
            browser.wait("return document.getElementById('main').textContent.includes('Pod team/what-if')")
            if PICTURES:
                browser.picture(f"{PICTURES}/whatif.png")
            self.assertIn("12 nodes are refused", browser.text())
            for wrong, why in (("kind: [", "not valid YAML"), ("apiVersion: v1\nkind: Node\nmetadata: {name: node}\n", "a Node makes no pods"),
                               ("x" * 20000, "too large")):
                browser.js(ask, wrong)
                browser.wait("return document.getElementById('main').textContent.includes(arguments[0])", why)
            browser.js("location.hash = '#queue'")
            browser.wait("return document.body.textContent.includes('pods wait')")
            self.assertNotIn("what-if", browser.text())
            browser.js("location.hash = '#whatif'")
            self.assertEqual(browser.js("return document.querySelector('textarea').value"), "x" * 20000)

    def create_pods(self, count, name="live", cpu="1m"):
        server = http.client.HTTPConnection(urllib.parse.urlparse(self.api).netloc)
        for i in range(count):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{i}", "namespace": "default"},
                   "spec": {"schedulerName": "live", "containers": [
                       {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "1Mi"}}}]}}
            server.request("POST", "/api/v1/namespaces/default/pods", json.dumps(pod), {"Content-Type": "application/json"})
            answer = server.getresponse()
            self.assertEqual(answer.status, 201, answer.read())
            answer.read()
            time.sleep(1 / 200)

    def test_a_running_scheduler_and_a_lost_connection(self):
        with Browser() as browser:
            browser.open(self.address)
            browser.wait("return document.body.textContent.includes('12 nodes')")
            self.assertIn("live, as of", browser.text())
            self.assertEqual(browser.js("const noon = new Date(2026, 0, 1, 12); return [freshness({behind: 1240, age: 41.2}, noon), freshness({behind: 0, drawn: 3}, noon)]"),
                             ["live, as of 12:00:00; 1,240 nodes up to 42 s old", "live, as of 11:59:57"])
            # What the user is at stays as it is when an answer comes.
            browser.js("window.form = document.querySelector('form'); form.elements[1].focus(); window.row = document.querySelector('.row')")
            browser.wait("return !row.isConnected")
            self.assertTrue(browser.js("return form.isConnected && document.activeElement === form.elements[1]"))
            browser.wait("return state.history.length > 1")
            self.same_as_the_whole(browser)
            browser.requests()
            pods = threading.Thread(target=self.create_pods, args=(600,))
            pods.start()
            browser.wait("return state.history.length > 4")
            self.assertTrue([url for url in browser.requests() if re.search(r"top\?since=[^&]+&first=.*bare-1", url)])
            browser.js("location.hash = '#node/bare-1'")
            browser.wait("return /live-\\d/.test(document.getElementById('main').textContent)")
            pods.join()
            browser.js("location.hash = '#nodes'")
            self.same_as_the_whole(browser)
            browser.js("location.hash = '#history'")
            told = "return state.history.filter((one) => one.waiting !== undefined).length > arguments[0]"
            browser.wait(told, 1)
            browser.wait("return state.said.past === true")
            self.assertTrue([url for url in browser.requests() if "top?history" in url])
            # Of the hour before, the scheduler has kept less than the page was told since.
            browser.js("""takePast(state, {samples: Array.from({length: 60}, (_, i) => ({at: state.history[0].at - 60000 * (60 - i),
                waiting: i === 20 ? 77 : 30 - Math.abs(30 - i), longest: 40 * i % 900,
                refusedBy: {NodePorts: i === 20 ? 70 : 25 - Math.abs(30 - i) / 2},
                totals: {cpu: {used: 20 + i % 7, allocatable: 80}}}))}); draw()""")
            self.assertIn("Pods that wait: now 0, at least 0, at most 77", browser.text())
            self.assertIn("Pods that NodePorts refused at their last try: now 0, at least 0, at most 70", browser.text())
            self.create_pods(5, "too-large", "999")
            browser.wait(told, 64)
            self.assertIn("Pods that NodeResourcesFit refused at their last try: now 5, at least 0, at most 5", browser.text())
            self.assertEqual(browser.js("return document.querySelectorAll('#main figure').length"), 8)
            if PICTURES:
                browser.picture(f"{PICTURES}/history.png")
            browser.js("location.hash = '#queue'")
            browser.wait("return document.body.textContent.includes('pods wait')")
            browser.js("location.hash = '#pod/default/live-1'")
            browser.wait("return document.body.textContent.includes('nodes fit')")
            browser.js("location.hash = '#pod/default/nobody'")
            browser.wait("return document.body.textContent.includes('is not known here')")
            self.assertTrue(all(url.startswith((self.address.removesuffix("ui/"), "data:")) for url in browser.requests()))
            browser.console()
            browser.js("location.hash = '#nodes'")
            browser.wait("return document.body.textContent.includes('12 nodes')")
            self.scheduler.terminate()
            browser.wait("return document.getElementById('banner').textContent.includes('The scheduler says')")
            if PICTURES:
                browser.picture(f"{PICTURES}/lost.png")
            before = browser.js("return state.mark")
            self.run_scheduler()
            browser.wait("return !document.getElementById('banner').textContent && state.mark !== arguments[0]", before)
            self.same_as_the_whole(browser)
            self.ui.terminate()
            browser.wait("return document.getElementById('banner').textContent.includes('The connection is lost')")
            self.assertIn("12 nodes", browser.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
