// kube-scheduler with the plugins Coscheduling and NodeResourceTopologyMatch of scheduler-plugins compiled in, as
// scheduler-plugins' own program has it: what bench/peers compares Plimsoll with.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // its metrics, as kube-scheduler's main has them
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // the plugin's args
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(
		app.WithPlugin(coscheduling.Name, coscheduling.New),
		app.WithPlugin(noderesourcetopology.Name, noderesourcetopology.New))))
}
