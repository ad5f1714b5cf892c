package main

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"syscall"
)

// serveControl is what tests ask over HTTP on a unix socket:
//
//	GET  /containers                                all containers, in the order of their creation
//	POST /exit?pod=NAMESPACE/NAME&container=&code=  makes a container end
//	POST /health?resource=&id=&healthy=true         sets a device's health
//	GET  /kubelet                                   404 if the kubelet does not run
//	POST /kubelet?signal=9                          sends it a signal and waits for its end
//	POST /kubelet                                   starts it again
func serveControl(path string, runtime *containerRuntime, plugins *plugins, kubelet *kubeletProcess) {
	listener, err := net.Listen("unix", path)
	check(err, "control socket")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containers", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(runtime.all())
	})
	mux.HandleFunc("POST /exit", func(w http.ResponseWriter, q *http.Request) {
		code, _ := strconv.Atoi(q.FormValue("code"))
		if !runtime.exit(q.FormValue("pod"), q.FormValue("container"), int32(code)) {
			http.Error(w, "no such running container", http.StatusNotFound)
		}
	})
	mux.HandleFunc("POST /health", func(w http.ResponseWriter, q *http.Request) {
		if err := plugins.setHealth(q.FormValue("resource"), q.FormValue("id"), q.FormValue("healthy") == "true"); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
		}
	})
	mux.HandleFunc("GET /kubelet", func(w http.ResponseWriter, _ *http.Request) {
		if !kubelet.isRunning() {
			http.Error(w, "the kubelet does not run", http.StatusNotFound)
		}
	})
	mux.HandleFunc("POST /kubelet", func(w http.ResponseWriter, q *http.Request) {
		if number, _ := strconv.Atoi(q.FormValue("signal")); number != 0 {
			kubelet.stop(syscall.Signal(number))
		} else if err := kubelet.start(); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	_ = http.Serve(listener, mux)
}
