package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type deviceFile struct {
	ID      string `json:"id"`
	Zones   []int  `json:"zones"` // none: the plugin names none
	Healthy bool   `json:"healthy"`
}

type pluginFile struct {
	Resource string       `json:"resource"`
	InOrder  bool         `json:"inOrder"` // it prefers devices that stand first in its list
	Devices  []deviceFile `json:"devices"`
}

// plugin is a device plugin whose devices are only names. What a container got is in its
// environment as DEVICES_<RESOURCE>.
type plugin struct {
	api.UnimplementedDevicePluginServer
	pluginFile
	folder  string
	mutex   sync.Mutex
	changed chan struct{} // closed when the health of a device changes
}

type plugins struct {
	folder string
	all    []*plugin
}

func newPlugins(folder string, files []pluginFile) *plugins {
	p := &plugins{folder: folder}
	for _, file := range files {
		p.all = append(p.all, &plugin{pluginFile: file, folder: folder, changed: make(chan struct{})})
	}
	return p
}

// run registers all plugins whenever a kubelet has made its socket anew.
func (p *plugins) run(ctx context.Context) {
	check(os.MkdirAll(p.folder, 0o755), "device plugins")
	watcher, err := fsnotify.NewWatcher()
	check(err, "inotify")
	check(watcher.Add(p.folder), "inotify")
	kubelet := filepath.Join(p.folder, filepath.Base(api.KubeletSocket))
	for {
		if _, err := os.Stat(kubelet); err == nil {
			for _, one := range p.all {
				if err := one.register(ctx, kubelet); err != nil {
					klog.ErrorS(err, "device plugin", "resource", one.Resource)
				}
			}
		}
		for created := false; !created; {
			select {
			case event := <-watcher.Events:
				created = event.Name == kubelet && event.Has(fsnotify.Create)
			case <-ctx.Done():
				return
			}
		}
	}
}

// register serves the plugin on a new socket, since a kubelet that starts removes all sockets, and
// tells the kubelet of it.
func (p *plugin) register(ctx context.Context, kubelet string) error {
	endpoint := strings.NewReplacer("/", "_", ".", "_").Replace(p.Resource) + ".sock"
	path := filepath.Join(p.folder, endpoint)
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: endpoint, ResourceName: p.Resource, Options: p.options()}
	for try := 0; ; try++ {
		_, err = api.NewRegistrationClient(connection).Register(ctx, request)
		if err == nil || try > 20 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (p *plugin) options() *api.DevicePluginOptions {
	return &api.DevicePluginOptions{GetPreferredAllocationAvailable: p.InOrder}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return p.options(), nil
}

func (p *plugin) list() (*api.ListAndWatchResponse, chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	response := &api.ListAndWatchResponse{}
	for _, device := range p.Devices {
		one := &api.Device{ID: device.ID, Health: api.Unhealthy}
		if device.Healthy {
			one.Health = api.Healthy
		}
		if len(device.Zones) > 0 {
			one.Topology = &api.TopologyInfo{}
			for _, zone := range device.Zones {
				one.Topology.Nodes = append(one.Topology.Nodes, &api.NUMANode{ID: int64(zone)})
			}
		}
		response.Devices = append(response.Devices, one)
	}
	return response, p.changed
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	for {
		response, changed := p.list()
		if err := stream.Send(response); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (p *plugins) setHealth(resource, id string, healthy bool) error {
	for _, one := range p.all {
		if one.Resource == resource && one.setHealth(id, healthy) {
			return nil
		}
	}
	return fmt.Errorf("no device %s of %s", id, resource)
}

// setHealth returns whether the plugin has the device.
func (p *plugin) setHealth(id string, healthy bool) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	at := slices.IndexFunc(p.Devices, func(d deviceFile) bool { return d.ID == id })
	if at < 0 {
		return false
	}
	p.Devices[at].Healthy = healthy
	close(p.changed)
	p.changed = make(chan struct{})
	return true
}

func (p *plugin) GetPreferredAllocation(_ context.Context, request *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	response := &api.PreferredAllocationResponse{}
	for _, container := range request.ContainerRequests {
		chosen := slices.Clone(container.MustIncludeDeviceIDs)
		for _, device := range p.Devices {
			if len(chosen) < int(container.AllocationSize) && !slices.Contains(chosen, device.ID) &&
				slices.Contains(container.AvailableDeviceIDs, device.ID) {
				chosen = append(chosen, device.ID)
			}
		}
		response.ContainerResponses = append(response.ContainerResponses,
			&api.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return response, nil
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	name := "DEVICES_" + strings.ToUpper(strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(p.Resource))
	for _, container := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{name: strings.Join(container.DevicesIds, ",")}})
	}
	return response, nil
}
