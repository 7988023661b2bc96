// benchserver is the yardstick of `make bench`: the least that a server on opamp-go can do. It keeps no state and
// answers every message with the instance uid only, over WebSocket and plain HTTP on one port. Not for tests: goserver.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	pb "github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"
)

func answer(_ context.Context, _ types.Connection, m *pb.AgentToServer) *pb.ServerToAgent {
	return &pb.ServerToAgent{InstanceUid: m.InstanceUid}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	gzip := flag.Bool("gzip", false, "accept and send compressed bodies and frames")
	flag.Parse()
	each := types.ConnectionCallbacks{OnMessage: answer}
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
