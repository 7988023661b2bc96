// benchserver is the yardstick of `make bench`: the least that a server on opamp-go can do. It keeps no state and
// answers every message with the instance uid only, over WebSocket and plain HTTP on one port. With -push it has a second
// port: the body of POST /push goes to every connection as a remote configuration. Not for tests: goserver.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	pb "github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"
)

// agents are the connections by their uid, if it is to push.
var agents sync.Map

func remember(ctx context.Context, c types.Connection, m *pb.AgentToServer) *pb.ServerToAgent {
	if _, known := agents.Load(c); !known {
		agents.Store(c, m.InstanceUid)
	}
	return answer(ctx, c, m)
}

func push(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	hash := sha256.Sum256(body)
	file := &pb.AgentConfigFile{Body: body, ContentType: "text/yaml"}
	config := &pb.AgentRemoteConfig{
		Config:     &pb.AgentConfigMap{ConfigMap: map[string]*pb.AgentConfigFile{"collector.yaml": file}},
		ConfigHash: hash[:],
	}
	agents.Range(func(c, uid any) bool {
		_ = c.(types.Connection).Send(r.Context(), &pb.ServerToAgent{InstanceUid: uid.([]byte), RemoteConfig: config})
		return true
	})
	w.Header().Set("Content-Length", "0")
}

func answer(_ context.Context, _ types.Connection, m *pb.AgentToServer) *pb.ServerToAgent {
	return &pb.ServerToAgent{InstanceUid: m.InstanceUid}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	gzip := flag.Bool("gzip", false, "accept and send compressed bodies and frames")
	pushing := flag.String("push", "", "address to take POST /push on")
	flag.Parse()
	each := types.ConnectionCallbacks{OnMessage: answer}
	if *pushing != "" {
		each.OnMessage = remember
		each.OnConnectionClose = func(c types.Connection) { agents.Delete(c) }
		control, err := net.Listen("tcp", *pushing)
		if err != nil {
			fmt.Fprintln(os.Stderr, "benchserver:", err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "pushing on", control.Addr())
		http.HandleFunc("POST /push", push)
		go http.Serve(control, nil)
	}
	start := server.StartSettings{ListenEndpoint: *listen}
	start.EnableCompression = *gzip
	start.Callbacks.OnConnecting = func(*http.Request) types.ConnectionResponse {
		return types.ConnectionResponse{Accept: true, ConnectionCallbacks: each}
	}
	o := server.New(nil)
	if err := o.Start(start); err != nil {
		fmt.Fprintln(os.Stderr, "benchserver:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "listening on", o.Addr())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
}
