package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerRuntime is a container runtime (CRI) whose sandboxes and containers are records. A
// container with the command ["exit", CODE, MILLISECONDS] ends by itself; others run until they are
// stopped. Images are there whatever their names.
type containerRuntime struct {
	api.UnimplementedRuntimeServiceServer
	api.UnimplementedImageServiceServer
	nri        string // see nodeFile
	mutex      sync.Mutex
	made       int
	sandboxes  map[string]*sandbox
	containers map[string]*container
}

type sandbox struct {
	config  *api.PodSandboxConfig
	state   api.PodSandboxState
	created int64
}

type container struct {
	number                     int // in the order of creation
	id, sandboxID              string
	sandbox                    *sandbox
	config                     *api.ContainerConfig
	linux                      *api.LinuxContainerResources // as last updated
	state                      api.ContainerState
	created, started, finished int64
	code                       int32
	given                      json.RawMessage // by plugins of NRI
}

// containerRecord is what tests see of a container.
type containerRecord struct {
	Pod         string            `json:"pod"` // namespace/name
	UID         string            `json:"uid"`
	Name        string            `json:"name"`
	State       string            `json:"state"` // created, running, exited
	Code        int32             `json:"code"`
	Cpus        string            `json:"cpus"` // cpuset.cpus
	Mems        string            `json:"mems"` // cpuset.mems
	Environment map[string]string `json:"environment"`
	Given       json.RawMessage   `json:"given,omitempty"` // by plugins of NRI
}

func newRuntime(nri string) *containerRuntime {
	return &containerRuntime{nri: nri, sandboxes: map[string]*sandbox{}, containers: map[string]*container{}}
}

func (r *containerRuntime) serve(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterRuntimeServiceServer(server, r)
	api.RegisterImageServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	return nil
}

// all returns the records of all containers that were not removed, in the order of their creation.
func (r *containerRuntime) all() []containerRecord {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	records := []containerRecord{}
	for _, c := range r.inOrder() {
		pod := c.sandbox.config.Metadata
		record := containerRecord{Pod: pod.Namespace + "/" + pod.Name, UID: pod.Uid, Name: c.config.Metadata.Name,
			State: stateNames[c.state], Code: c.code, Cpus: c.linux.GetCpusetCpus(), Mems: c.linux.GetCpusetMems(),
			Environment: map[string]string{}, Given: c.given}
		for _, e := range c.config.Envs {
			record.Environment[e.Key] = string(e.Value)
		}
		records = append(records, record)
	}
	return records
}

var stateNames = map[api.ContainerState]string{api.ContainerState_CONTAINER_CREATED: "created",
	api.ContainerState_CONTAINER_RUNNING: "running", api.ContainerState_CONTAINER_EXITED: "exited"}

// inOrder is called with the mutex.
func (r *containerRuntime) inOrder() []*container {
	all := make([]*container, 0, len(r.containers))
	for _, c := range r.containers {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *container) int { return cmp.Compare(a.number, b.number) })
	return all
}

// exit ends the running container of that name; false if there is none.
func (r *containerRuntime) exit(pod, name string, code int32) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, c := range r.containers {
		of := c.sandbox.config.Metadata
		if of.Namespace+"/"+of.Name == pod && c.config.Metadata.Name == name &&
			c.state == api.ContainerState_CONTAINER_RUNNING {
			c.end(code)
			return true
		}
	}
	return false
}

// end is called with the mutex.
func (c *container) end(code int32) {
	if c.state != api.ContainerState_CONTAINER_EXITED {
		c.state, c.code, c.finished = api.ContainerState_CONTAINER_EXITED, code, time.Now().UnixNano()
	}
}

// newID is called with the mutex.
func (r *containerRuntime) newID() string {
	r.made++
	return fmt.Sprintf("record-%d", r.made)
}

func (r *containerRuntime) Version(context.Context, *api.VersionRequest) (*api.VersionResponse, error) {
	return &api.VersionResponse{Version: "0.1.0", RuntimeName: "records", RuntimeVersion: "2.1.0", RuntimeApiVersion: "v1"}, nil
}

func (r *containerRuntime) Status(context.Context, *api.StatusRequest) (*api.StatusResponse, error) {
	return &api.StatusResponse{Status: &api.RuntimeStatus{Conditions: []*api.RuntimeCondition{
		{Type: api.RuntimeReady, Status: true}, {Type: api.NetworkReady, Status: true}}}}, nil
}

func (r *containerRuntime) RuntimeConfig(context.Context, *api.RuntimeConfigRequest) (*api.RuntimeConfigResponse, error) {
	return &api.RuntimeConfigResponse{Linux: &api.LinuxRuntimeConfiguration{CgroupDriver: api.CgroupDriver_CGROUPFS}}, nil
}

func (r *containerRuntime) UpdateRuntimeConfig(context.Context, *api.UpdateRuntimeConfigRequest) (*api.UpdateRuntimeConfigResponse, error) {
	return &api.UpdateRuntimeConfigResponse{}, nil
}

func (r *containerRuntime) RunPodSandbox(_ context.Context, request *api.RunPodSandboxRequest) (*api.RunPodSandboxResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	id := r.newID()
	r.sandboxes[id] = &sandbox{config: request.Config, state: api.PodSandboxState_SANDBOX_READY, created: time.Now().UnixNano()}
	return &api.RunPodSandboxResponse{PodSandboxId: id}, nil
}

func (r *containerRuntime) StopPodSandbox(_ context.Context, request *api.StopPodSandboxRequest) (*api.StopPodSandboxResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.sandboxes[request.PodSandboxId]; s != nil {
		s.state = api.PodSandboxState_SANDBOX_NOTREADY
		for _, c := range r.containers {
			if c.sandbox == s {
				c.end(137)
			}
		}
	}
	return &api.StopPodSandboxResponse{}, nil
}

func (r *containerRuntime) RemovePodSandbox(_ context.Context, request *api.RemovePodSandboxRequest) (*api.RemovePodSandboxResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.sandboxes[request.PodSandboxId]; s != nil && r.nri != "" {
		_, _ = r.askNri(map[string]any{"do": "remove", "uid": s.config.Metadata.Uid})
	}
	delete(r.sandboxes, request.PodSandboxId)
	for id, c := range r.containers {
		if c.sandboxID == request.PodSandboxId {
			delete(r.containers, id)
		}
	}
	return &api.RemovePodSandboxResponse{}, nil
}

func (r *containerRuntime) PodSandboxStatus(_ context.Context, request *api.PodSandboxStatusRequest) (*api.PodSandboxStatusResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.sandboxes[request.PodSandboxId]
	if s == nil {
		return nil, status.Error(codes.NotFound, "no such sandbox")
	}
	namespaces := &api.Namespace{Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}
	return &api.PodSandboxStatusResponse{Status: &api.PodSandboxStatus{Id: request.PodSandboxId, Metadata: s.config.Metadata,
		State: s.state, CreatedAt: s.created, Network: &api.PodSandboxNetworkStatus{Ip: "127.0.0.1"}, Labels: s.config.Labels,
		Annotations: s.config.Annotations, Linux: &api.LinuxPodSandboxStatus{Namespaces: namespaces}}}, nil
}

// matches says whether the labels have all that the selector names.
func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func (r *containerRuntime) ListPodSandbox(_ context.Context, request *api.ListPodSandboxRequest) (*api.ListPodSandboxResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	response := &api.ListPodSandboxResponse{}
	filter := request.GetFilter()
	for id, s := range r.sandboxes {
		if filter.GetId() != "" && filter.GetId() != id || filter.GetState() != nil && filter.GetState().State != s.state ||
			!matches(filter.GetLabelSelector(), s.config.Labels) {
			continue
		}
		response.Items = append(response.Items, &api.PodSandbox{Id: id, Metadata: s.config.Metadata, State: s.state,
			CreatedAt: s.created, Labels: s.config.Labels, Annotations: s.config.Annotations})
	}
	return response, nil
}

// askNri lets plugins of NRI decide on a container, or tells them that a pod is gone.
func (r *containerRuntime) askNri(request map[string]any) (json.RawMessage, error) {
	connection, err := net.Dial("unix", r.nri)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	var said struct {
		Answers []json.RawMessage
		Error   string
	}
	if err := json.NewEncoder(connection).Encode(request); err != nil {
		return nil, err
	}
	if err := json.NewDecoder(connection).Decode(&said); err != nil {
		return nil, err
	}
	if said.Error != "" {
		return nil, errors.New(said.Error)
	}
	if len(said.Answers) == 0 { // nothing was asked for
		return nil, nil
	}
	var refused struct{ Error string }
	if err := json.Unmarshal(said.Answers[0], &refused); err != nil {
		return nil, err
	}
	if refused.Error != "" {
		return nil, errors.New(refused.Error)
	}
	return said.Answers[0], nil
}

func (r *containerRuntime) CreateContainer(_ context.Context, request *api.CreateContainerRequest) (*api.CreateContainerResponse, error) {
	var given json.RawMessage
	if r.nri != "" {
		pod := request.SandboxConfig
		asked := map[string]any{"uid": pod.Metadata.Uid, "name": request.Config.Metadata.Name, "annotations": pod.Annotations}
		var err error
		if given, err = r.askNri(map[string]any{"do": "create", "containers": []any{asked}}); err != nil {
			return nil, status.Error(codes.Unknown, err.Error())
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s := r.sandboxes[request.PodSandboxId]
	if s == nil {
		return nil, status.Error(codes.NotFound, "no such sandbox")
	}
	id := r.newID()
	r.containers[id] = &container{number: r.made, id: id, sandboxID: request.PodSandboxId, sandbox: s,
		config: request.Config, linux: request.Config.GetLinux().GetResources(),
		state: api.ContainerState_CONTAINER_CREATED, created: time.Now().UnixNano(), given: given}
	return &api.CreateContainerResponse{ContainerId: id}, nil
}

func (r *containerRuntime) StartContainer(_ context.Context, request *api.StartContainerRequest) (*api.StartContainerResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	c := r.containers[request.ContainerId]
	if c == nil {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	c.state = api.ContainerState_CONTAINER_RUNNING
	c.started = time.Now().UnixNano()
	if command := c.config.Command; len(command) == 3 && command[0] == "exit" {
		code, _ := strconv.Atoi(command[1])
		after, _ := strconv.Atoi(command[2])
		time.AfterFunc(time.Duration(after)*time.Millisecond, func() {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			c.end(int32(code))
		})
	}
	return &api.StartContainerResponse{}, nil
}

func (r *containerRuntime) StopContainer(_ context.Context, request *api.StopContainerRequest) (*api.StopContainerResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if c := r.containers[request.ContainerId]; c != nil {
		c.end(137)
	}
	return &api.StopContainerResponse{}, nil
}

func (r *containerRuntime) RemoveContainer(_ context.Context, request *api.RemoveContainerRequest) (*api.RemoveContainerResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.containers, request.ContainerId)
	return &api.RemoveContainerResponse{}, nil
}

func (r *containerRuntime) ListContainers(_ context.Context, request *api.ListContainersRequest) (*api.ListContainersResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	response := &api.ListContainersResponse{}
	filter := request.GetFilter()
	for id, c := range r.containers {
		if filter.GetId() != "" && filter.GetId() != id ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.sandboxID ||
			filter.GetState() != nil && filter.GetState().State != c.state ||
			!matches(filter.GetLabelSelector(), c.config.Labels) {
			continue
		}
		response.Containers = append(response.Containers, &api.Container{Id: id, PodSandboxId: c.sandboxID,
			Metadata: c.config.Metadata, Image: c.config.Image, ImageRef: c.config.Image.GetImage(), State: c.state,
			CreatedAt: c.created, Labels: c.config.Labels, Annotations: c.config.Annotations})
	}
	return response, nil
}

func (r *containerRuntime) ContainerStatus(_ context.Context, request *api.ContainerStatusRequest) (*api.ContainerStatusResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	c := r.containers[request.ContainerId]
	if c == nil {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	reason := ""
	if c.state == api.ContainerState_CONTAINER_EXITED {
		reason = "Completed"
		if c.code != 0 {
			reason = "Error"
		}
	}
	return &api.ContainerStatusResponse{Status: &api.ContainerStatus{Id: c.id, Metadata: c.config.Metadata, State: c.state,
		CreatedAt: c.created, StartedAt: c.started, FinishedAt: c.finished, ExitCode: c.code, Image: c.config.Image,
		ImageRef: c.config.Image.GetImage(), Reason: reason, Labels: c.config.Labels, Annotations: c.config.Annotations,
		Resources: &api.ContainerResources{Linux: c.linux},
		// There is none, but a kubelet removes what begins with this path.
		LogPath: filepath.Join(c.sandbox.config.LogDirectory, c.config.LogPath)}}, nil
}

func (r *containerRuntime) UpdateContainerResources(_ context.Context, request *api.UpdateContainerResourcesRequest) (*api.UpdateContainerResourcesResponse, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	c, update := r.containers[request.ContainerId], request.GetLinux()
	if c == nil || update == nil {
		return &api.UpdateContainerResourcesResponse{}, nil
	}
	linux := &api.LinuxContainerResources{}
	if c.linux != nil { // an answer with the old one may be on its way
		linux = proto.Clone(c.linux).(*api.LinuxContainerResources)
	}
	if update.CpusetCpus != "" { // what is empty stays, as runc has it
		linux.CpusetCpus = update.CpusetCpus
	}
	if update.CpusetMems != "" {
		linux.CpusetMems = update.CpusetMems
	}
	c.linux = linux
	return &api.UpdateContainerResourcesResponse{}, nil
}

func (r *containerRuntime) ListContainerStats(context.Context, *api.ListContainerStatsRequest) (*api.ListContainerStatsResponse, error) {
	return &api.ListContainerStatsResponse{}, nil
}

func (r *containerRuntime) ListPodSandboxStats(context.Context, *api.ListPodSandboxStatsRequest) (*api.ListPodSandboxStatsResponse, error) {
	return &api.ListPodSandboxStatsResponse{}, nil
}

func (r *containerRuntime) ListImages(context.Context, *api.ListImagesRequest) (*api.ListImagesResponse, error) {
	return &api.ListImagesResponse{}, nil
}

func (r *containerRuntime) ImageStatus(_ context.Context, request *api.ImageStatusRequest) (*api.ImageStatusResponse, error) {
	name := request.Image.GetImage()
	return &api.ImageStatusResponse{Image: &api.Image{Id: name, RepoTags: []string{name}, Size: 1, Uid: &api.Int64Value{}}}, nil
}

func (r *containerRuntime) PullImage(_ context.Context, request *api.PullImageRequest) (*api.PullImageResponse, error) {
	return &api.PullImageResponse{ImageRef: request.Image.GetImage()}, nil
}

func (r *containerRuntime) ImageFsInfo(context.Context, *api.ImageFsInfoRequest) (*api.ImageFsInfoResponse, error) {
	usage := []*api.FilesystemUsage{{Timestamp: time.Now().UnixNano(), FsId: &api.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes: &api.UInt64Value{Value: 1}, InodesUsed: &api.UInt64Value{Value: 1}}}
	return &api.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
