// nri-runtime is a container runtime for tests as a plugin of NRI sees it: with the library by which
// containerd and CRI-O serve plugins, and the one by which they put answers into a container's OCI
// specification. Its pods and containers are records.
//
//	nri-runtime FOLDER   serves plugins at FOLDER/nri.sock, and the test at FOLDER/control.sock: requests and answers are
//	                     lines of JSON. Another one that is started there later has the same containers.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/runtime-tools/generate"
	validator "github.com/containerd/nri/plugins/default-validator/builtin"
	"github.com/opencontainers/runtime-spec/specs-go"
	oci "github.com/opencontainers/runtime-tools/generate"
	"github.com/sirupsen/logrus"
)

type request struct {
	Do         string      `json:"do"`         // wait, create, remove, calls
	Plugins    int         `json:"plugins"`    // wait: until so many are connected
	Containers []container `json:"containers"` // create: all at once
	Uid        string      `json:"uid"`        // remove: the pod
}

type container struct {
	Uid         string            `json:"uid"` // of its pod
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"` // its pod's
	Variables   []string          `json:"variables"`   // "NAME=VALUE"
	Padding     int               `json:"padding"`     // bytes of arguments besides
}

// answer is what the container would be run with, or why it is not made.
type answer struct {
	Error       string            `json:"error"`
	Devices     []string          `json:"devices"` // "/dev/nvidia0 c 195:0"
	Rules       []string          `json:"rules"`   // of its cgroup: "allow c 195:0 rw"
	Variables   []string          `json:"variables"`
	Mounts      []string          `json:"mounts"` // "SOURCE DESTINATION OPTIONS"
	CDI         []string          `json:"cdi"`
	Annotations map[string]string `json:"annotations"`
}

type runtime struct {
	nri     *adaptation.Adaptation
	plugins chan int

	mutex      sync.Mutex
	pods       map[string]*api.PodSandbox // by UID
	containers map[string]*api.Container
	calls      map[string][]time.Duration // how long plugins took to answer, by method
	journal    *os.File                   // an entry for each change of both
}

type entry struct {
	Pod       *api.PodSandbox `json:"pod,omitempty"`
	Container *api.Container  `json:"container,omitempty"`
	Removed   string          `json:"removed,omitempty"` // UID of a pod
}

// note is called with the mutex.
func (r *runtime) note(e entry) {
	if e.Removed != "" {
		for id, c := range r.containers {
			if c.PodSandboxId == r.pods[e.Removed].GetId() {
				delete(r.containers, id)
			}
		}
		delete(r.pods, e.Removed)
		return
	}
	r.pods[e.Pod.Uid] = e.Pod
	r.containers[e.Container.Id] = e.Container
}

func (r *runtime) remember(path string) (err error) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return err
		}
		r.note(e)
	}
	r.journal, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return err
}

func (r *runtime) change(e entry) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.note(e)
	return json.NewEncoder(r.journal).Encode(e)
}

// The adaptation tells how many plugins are connected. It has one of its own: the validator.
func (r *runtime) UpdatePluginCount(count int)               { r.plugins <- count - 1 }
func (*runtime) RecordPluginInvocation(_, _ string, _ error) {}

func (r *runtime) RecordPluginLatency(plugin, operation string, latency time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.calls[operation] = append(r.calls[operation], latency)
}

func (*runtime) RecordPluginAdjustments(_, _ string, _ *adaptation.ContainerAdjustment, _, _ int) {}

func (r *runtime) start(socket string) (err error) {
	synchronize := func(ctx context.Context, tell adaptation.SyncCB) error {
		r.mutex.Lock()
		pods := slices.Collect(maps.Values(r.pods))
		containers := slices.Collect(maps.Values(r.containers))
		r.mutex.Unlock()
		_, err := tell(ctx, pods, containers)
		return err
	}
	update := func(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) {
		return nil, errors.New("containers are not updated here")
	}
	r.nri, err = adaptation.New("records", "2.3.0", synchronize, update, adaptation.WithSocketPath(socket),
		adaptation.WithPluginPath("/nonexistent"), adaptation.WithPluginConfigPath("/nonexistent"), adaptation.WithMetrics(r),
		adaptation.WithDefaultValidator(&validator.DefaultValidatorConfig{Enable: true}))
	if err != nil {
		return err
	}
	return r.nri.Start()
}

// wait returns when so many plugins are connected. The adaptation notices that one has gone when it
// has something to tell to it.
func (r *runtime) wait(plugins int) error {
	patience := time.After(time.Minute)
	for {
		select {
		case count := <-r.plugins:
			if count == plugins {
				return nil
			}
		case <-time.After(10 * time.Millisecond):
			go func() { _ = r.nri.StopPodSandbox(context.Background(), &api.StopPodSandboxRequest{}) }()
		case <-patience:
			return fmt.Errorf("there are not %d plugins", plugins)
		}
	}
}

func (r *runtime) create(asked container) (made answer, err error) {
	ctx := context.Background()
	r.mutex.Lock()
	pod, known := r.pods[asked.Uid]
	if !known {
		pod = &api.PodSandbox{Id: "sandbox-" + asked.Uid, Name: "name-" + asked.Uid, Uid: asked.Uid, Namespace: "default",
			Annotations: asked.Annotations, Linux: &api.LinuxPodSandbox{}}
	}
	r.mutex.Unlock()
	if !known {
		if err := r.nri.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Pod: pod}); err != nil {
			return made, err
		}
	}
	generator, err := oci.New("linux")
	if err != nil {
		return made, err
	}
	generator.Config.Process.Env = append([]string{"PATH=/bin"}, asked.Variables...)
	generator.Config.Mounts = nil
	generator.Config.Linux.Devices = nil
	generator.Config.Linux.Resources.Devices = []specs.LinuxDeviceCgroup{{Access: "rwm"}} // nothing, but for what is allowed below
	c := &api.Container{Id: asked.Uid + "-" + asked.Name, PodSandboxId: pod.Id, Name: asked.Name, Annotations: map[string]string{},
		Args: []string{strings.Repeat("x", asked.Padding)}, Env: slices.Clone(generator.Config.Process.Env),
		Linux: &api.LinuxContainer{Resources: &api.LinuxResources{}}}
	reply, err := r.nri.CreateContainer(ctx, &api.CreateContainerRequest{Pod: pod, Container: c})
	if err != nil {
		return made, err
	}
	inject := func(_ *specs.Spec, names []string) error { made.CDI = names; return nil }
	if err := generate.SpecGenerator(&generator, generate.WithCDIDeviceInjector(inject)).Adjust(reply.GetAdjust()); err != nil {
		return made, err
	}
	made.read(generator.Config)
	c.Annotations = made.Annotations
	return made, r.change(entry{Pod: pod, Container: c})
}

func (a *answer) read(spec *specs.Spec) {
	for _, d := range spec.Linux.Devices {
		a.Devices = append(a.Devices, fmt.Sprintf("%s %s %d:%d", d.Path, d.Type, d.Major, d.Minor))
	}
	for _, rule := range spec.Linux.Resources.Devices[1:] {
		verb := "deny"
		if rule.Allow {
			verb = "allow"
		}
		a.Rules = append(a.Rules, fmt.Sprintf("%s %s %d:%d %s", verb, rule.Type, *rule.Major, *rule.Minor, rule.Access))
	}
	for _, m := range spec.Mounts {
		a.Mounts = append(a.Mounts, m.Source+" "+m.Destination+" "+strings.Join(m.Options, ","))
	}
	a.Variables, a.Annotations = spec.Process.Env[1:], spec.Annotations
}

// createAll makes all containers at once.
func (r *runtime) createAll(asked []container) []answer {
	answers := make([]answer, len(asked))
	var all sync.WaitGroup
	for i := range asked {
		all.Go(func() {
			made, err := r.create(asked[i])
			if err != nil {
				made = answer{Error: cmp.Or(err.Error(), "?")}
			}
			answers[i] = made
		})
	}
	all.Wait()
	return answers
}

func (r *runtime) remove(uid string) error {
	r.mutex.Lock()
	pod := r.pods[uid]
	r.mutex.Unlock()
	if pod == nil {
		return fmt.Errorf("there is no pod %s", uid)
	}
	ctx := context.Background()
	if err := r.nri.StopPodSandbox(ctx, &api.StopPodSandboxRequest{Pod: pod}); err != nil {
		return err
	}
	if err := r.nri.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{Pod: pod}); err != nil {
		return err
	}
	return r.change(entry{Removed: uid})
}

// spread tells how many calls of each method plugins have answered, and how fast.
func (r *runtime) spread() map[string]string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	told := map[string]string{}
	for method, all := range r.calls {
		slices.Sort(all)
		told[method] = fmt.Sprintf("%d calls: median %v, p99 %v, longest %v", len(all), all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
	}
	return told
}

func (r *runtime) do(asked request) (answers []answer, calls map[string]string, err error) {
	switch asked.Do {
	case "wait":
		err = r.wait(asked.Plugins)
	case "create":
		answers = r.createAll(asked.Containers)
	case "calls":
		calls = r.spread()
	case "remove":
		err = r.remove(asked.Uid)
	default:
		err = fmt.Errorf("unknown request %q", asked.Do)
	}
	return answers, calls, err
}

// serve answers the requests of one connection.
func (r *runtime) serve(connection net.Conn) {
	in, out := json.NewDecoder(connection), json.NewEncoder(connection)
	for {
		var asked request
		if in.Decode(&asked) != nil {
			return
		}
		answers, calls, err := r.do(asked)
		said := map[string]any{"answers": answers, "calls": calls}
		if err != nil {
			said["error"] = err.Error()
		}
		_ = out.Encode(said)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "nri-runtime:", err)
		os.Exit(1)
	}
}

func main() {
	logrus.SetLevel(logrus.WarnLevel)
	folder := os.Args[1]
	r := &runtime{plugins: make(chan int, 1<<20), pods: map[string]*api.PodSandbox{}, containers: map[string]*api.Container{},
		calls: map[string][]time.Duration{}}
	check(r.remember(filepath.Join(folder, "records")))
	check(r.start(filepath.Join(folder, "nri.sock")))
	control := filepath.Join(folder, "control.sock")
	_ = os.Remove(control)
	listener, err := net.Listen("unix", control)
	check(err)
	fmt.Println("nri-runtime serves")
	for {
		connection, err := listener.Accept()
		check(err)
		go r.serve(connection)
	}
}
