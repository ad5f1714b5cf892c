package main

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"k8s.io/klog/v2"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// machineInfo is the part of a node file that describes the machine.
type machineInfo = cadvisorapi.MachineInfo

// machine is what cAdvisor would have found out.
type machine struct {
	cadvisortest.Fake
	info *machineInfo
}

func newMachine(node string, info *machineInfo) *machine {
	return &machine{Fake: cadvisortest.Fake{NodeName: node}, info: info}
}

func (m *machine) MachineInfo(klog.Logger) (*machineInfo, error) { return m.info, nil }

// Plenty of disk: no pod is evicted for want of it.
func (m *machine) RootFsInfo() (cadvisorapi.FsInfo, error) {
	return cadvisorapi.FsInfo{Capacity: 1 << 40, Available: 1 << 39, Usage: 1 << 39}, nil
}
func (m *machine) ImagesFsInfo(context.Context) (cadvisorapi.FsInfo, error) { return m.RootFsInfo() }
func (m *machine) ContainerFsInfo(context.Context) (cadvisorapi.FsInfo, error) {
	return m.RootFsInfo()
}
func (m *machine) GetDirFsInfo(string) (cadvisorapi.FsInfo, error) { return m.RootFsInfo() }
func (m *machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: "6.12.0", ContainerOsVersion: "synthetic"}, nil
}
