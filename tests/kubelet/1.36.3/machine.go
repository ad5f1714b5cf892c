package main

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
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

func (m *machine) MachineInfo() (*machineInfo, error) { return m.info, nil }

// Plenty of disk: no pod is evicted for want of it.
func (m *machine) RootFsInfo() (cadvisorapiv2.FsInfo, error) {
	return cadvisorapiv2.FsInfo{Capacity: 1 << 40, Available: 1 << 39, Usage: 1 << 39}, nil
}
func (m *machine) ImagesFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) { return m.RootFsInfo() }
func (m *machine) ContainerFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) {
	return m.RootFsInfo()
}
func (m *machine) GetDirFsInfo(string) (cadvisorapiv2.FsInfo, error) { return m.RootFsInfo() }
func (m *machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: "6.12.0", ContainerOsVersion: "synthetic"}, nil
}
