package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	utilfs "k8s.io/kubernetes/pkg/util/filesystem"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

const stateFolder = "/var/lib/kubelet" // parts of it are constants in the kubelet

// The kernel settings that a kubelet insists on. It sees files that are mounted over them, so that
// the machine's own stay what they are.
var kernelSettings = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10",
	"kernel/panic_on_oops": "1", "kernel/keys/root_maxkeys": "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// makeMounts gives the kubelet, in this mount namespace, dir/kubelet as its folder for state.
func makeMounts(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	kubelet := filepath.Join(dir, "kubelet")
	if err := os.MkdirAll(kubelet, 0o755); err != nil {
		return err
	}
	folder, err := os.Open(kubelet) // dir may lie below what is covered next: hold it open
	if err != nil {
		return err
	}
	defer folder.Close()
	if _, err := os.Stat(stateFolder); err != nil {
		if err := syscall.Mount("tmpfs", filepath.Dir(stateFolder), "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("tmpfs: %w", err)
		}
		if err := os.Mkdir(stateFolder, 0o755); err != nil {
			return err
		}
	}
	held := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
	if err := syscall.Mount(held, stateFolder, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("%s: %w", stateFolder, err)
	}
	if err := syscall.Mount("tmpfs", "/var/log", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("tmpfs on /var/log: %w", err)
	}
	return coverKernelSettings(filepath.Join(dir, "sysctl"))
}

func coverKernelSettings(folder string) error {
	for name, value := range kernelSettings {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, "/proc/sys/"+name, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("/proc/sys/%s: %w", name, err)
		}
	}
	return nil
}

// runKubelet is the child: the kubelet until the context ends.
func runKubelet(ctx context.Context, node *nodeFile) {
	check(makeMounts(node.Dir), "mounts")
	configFile := filepath.Join(node.Dir, "kubelet.json")
	check(os.WriteFile(configFile, node.Kubelet, 0o644), configFile)
	loader, err := configfiles.NewFsLoader(&utilfs.DefaultFs{}, configFile)
	check(err, "kubelet configuration")
	config, err := loader.Load(ctx)
	check(err, "kubelet configuration")
	config.ContainerRuntimeEndpoint = "unix://" + filepath.Join(node.Dir, "cri.sock")
	if inUserNamespace() { // no /dev/kmsg there
		if config.FeatureGates == nil {
			config.FeatureGates = map[string]bool{}
		}
		config.FeatureGates["KubeletInUserNamespace"] = true
	}

	flags := options.NewKubeletFlags()
	flags.RootDirectory = stateFolder
	flags.CertDirectory = filepath.Join(stateFolder, "pki")
	flags.HostnameOverride = node.Name
	flags.KubeConfig = node.Kubeconfig

	gate := utilfeature.DefaultMutableFeatureGate
	check(gate.SetFromMap(config.FeatureGates), "feature gates")
	server := &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *config}
	deps, err := app.UnsecuredDependencies(ctx, server, gate)
	check(err, "dependencies")
	// Nothing that touches the machine; all that decides stays the kubelet's own.
	deps.CAdvisorInterface = newMachine(node.Name, &node.Machine)
	deps.Mounter = mount.NewFakeMounter([]mount.MountPoint{{Device: "cgroup", Path: "/sys/fs/cgroup/cpu",
		Type: "cgroup", Opts: []string{"rw", "cpu", "cpuacct", "cpuset", "memory"}}})
	deps.Subpather = &subpath.FakeSubpath{}
	deps.HostUtil = hostutil.NewFakeHostUtil(nil)
	deps.OOMAdjuster = oom.NewFakeOOMAdjuster()
	check(app.Run(ctx, server, deps, gate), "kubelet")
}
