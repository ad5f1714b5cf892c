package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Set for the child: which namespaces it is in.
const insideVariable = "PLIMSOLL_REAL_KUBELET_INSIDE"

const (
	insideMounts = "mounts"
	insideUser   = "user" // a user namespace besides, where it is root
)

func isKubelet() bool       { return os.Getenv(insideVariable) != "" }
func inUserNamespace() bool { return os.Getenv(insideVariable) == insideUser }

// mayMount says whether this process has CAP_SYS_ADMIN.
func mayMount() bool {
	const sysAdmin = 21
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if value, found := strings.CutPrefix(line, "CapEff:"); found {
			capabilities, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return capabilities>>sysAdmin&1 == 1
		}
	}
	return false
}

// inNamespaces is this program again, in a mount namespace of its own and, without the right to
// mount, in a user namespace where it has it.
func inNamespaces(arguments ...string) *exec.Cmd {
	child := exec.Command("/proc/self/exe", arguments...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	inside := insideMounts
	if !mayMount() {
		inside = insideUser
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	child.Env = append(os.Environ(), insideVariable+"="+inside)
	child.SysProcAttr = attributes
	return child
}

// kubeletProcess is the child that can be killed and started again.
type kubeletProcess struct {
	mutex sync.Mutex
	child *exec.Cmd
	ended chan struct{}
}

func (k *kubeletProcess) start() error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.running() {
		return errors.New("it runs already")
	}
	child := inNamespaces(os.Args[1:]...)
	started, ended := make(chan error), make(chan struct{})
	go func() { // the child dies with the thread that started it: keep that thread
		runtime.LockOSThread()
		err := child.Start()
		started <- err
		if err == nil {
			_ = child.Wait()
			fmt.Fprintln(os.Stderr, "real-kubelet: the kubelet ended:", child.ProcessState)
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	k.child, k.ended = child, ended
	return nil
}

// running is called with the mutex.
func (k *kubeletProcess) running() bool {
	if k.ended == nil {
		return false
	}
	select {
	case <-k.ended:
		return false
	default:
		return true
	}
}

// stop sends the signal and waits for the end. Nothing happens if it does not run.
func (k *kubeletProcess) stop(signal syscall.Signal) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if !k.running() {
		return
	}
	_ = k.child.Process.Signal(signal)
	<-k.ended
}

// isRunning is false once the kubelet has ended, by itself or not.
func (k *kubeletProcess) isRunning() bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.running()
}

// checkNamespaces makes the namespaces and the mounts of a kubelet, and ends the program with status 1
// and the reason if it may not. In the namespaces, `dir` is a folder for them.
func checkNamespaces(dir string) {
	if isKubelet() {
		check(makeMounts(dir), "mounts")
		return
	}
	dir, err := os.MkdirTemp("", "real-kubelet-check")
	check(err, "temporary folder")
	err = inNamespaces("-check", dir).Run()
	_ = os.RemoveAll(dir)
	check(err, "user and mount namespaces are not allowed here")
}
