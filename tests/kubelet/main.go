// real-kubelet runs one real kubelet for tests: the kubelet's own main function with all its
// managers (topology, CPU, memory, devices), its pod-resources API and its state files, on a machine
// that a file describes and with containers that are only records.
//
//	real-kubelet [klog flags] FILE   runs until SIGTERM; FILE is a nodeFile as JSON
//	real-kubelet -check              says whether this machine lets it make its namespaces
//
// The first process is the container runtime, the device plugins and a control socket. The kubelet
// is a child in a mount namespace of its own, so that it can be killed and started again while the
// containers live on, and so that many of them run beside each other.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/klog/v2"
)

type nodeFile struct {
	Name       string          `json:"name"`
	Dir        string          `json:"dir"` // Dir/kubelet is its /var/lib/kubelet
	Kubeconfig string          `json:"kubeconfig"`
	Machine    machineInfo     `json:"machine"` // what cAdvisor would find out
	Kubelet    json.RawMessage `json:"kubelet"` // a KubeletConfiguration
	Plugins    []pluginFile    `json:"plugins"`
	Nri        string          `json:"nri"` // the control socket of tests/node/runtime; empty: there is no NRI
}

// check ends the program if there is an error.
func check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "real-kubelet: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	klog.InitFlags(nil)
	onlyCheck := flag.Bool("check", false, "only say whether this machine lets it make its namespaces")
	flag.Parse()
	if *onlyCheck {
		checkNamespaces(flag.Arg(0))
		return
	}
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: real-kubelet [klog flags] FILE | real-kubelet -check")
		os.Exit(2)
	}
	text, err := os.ReadFile(flag.Arg(0))
	check(err, "node file")
	var node nodeFile
	check(json.Unmarshal(text, &node), "node file")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if isKubelet() {
		runKubelet(ctx, &node)
		return
	}
	runtime := newRuntime(node.Nri)
	check(runtime.serve(filepath.Join(node.Dir, "cri.sock")), "container runtime")
	plugins := newPlugins(filepath.Join(node.Dir, "kubelet", "device-plugins"), node.Plugins)
	go plugins.run(ctx)
	kubelet := &kubeletProcess{}
	check(kubelet.start(), "kubelet")
	go serveControl(filepath.Join(node.Dir, "control.sock"), runtime, plugins, kubelet)
	<-ctx.Done()
	kubelet.stop(syscall.SIGTERM)
}
