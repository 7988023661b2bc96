// goserver is an OpAMP server on opamp-go's server package, WebSocket and plain HTTP on one port, for tests of our client.
// It prints every AgentToServer and every connection's end as a JSON line. Lines on stdin act on all agents:
//
//	config FILE   offer the file as remote config (map entry "")
//	restart       send the restart command (WebSocket only)
//	fullstate     ask each agent for its full state with the next answer
//	newuid        give each agent a new instance uid with the next answer
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/google/uuid"
	pb "github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"
	"google.golang.org/protobuf/encoding/protojson"
)

const capabilities = uint64(pb.ServerCapabilities_ServerCapabilities_AcceptsStatus |
	pb.ServerCapabilities_ServerCapabilities_OffersRemoteConfig | pb.ServerCapabilities_ServerCapabilities_AcceptsEffectiveConfig)

// known is what the server remembers of one agent.
type known struct {
	described bool
	hash      string // of the last remote config that the agent reported
	ask       uint64 // flags for the next answer
	renew     bool   // a new instance uid with the next answer
}

type recorder struct {
	mu     sync.Mutex
	live   map[types.Connection][]byte // connection -> instance uid of its last message
	agents map[string]*known
	offer  *pb.AgentRemoteConfig
}

func emit(line map[string]any) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func (r *recorder) onMessage(_ context.Context, c types.Connection, m *pb.AgentToServer) *pb.ServerToAgent {
	r.mu.Lock()
	defer r.mu.Unlock()
	uid := hex.EncodeToString(m.InstanceUid)
	// Encoded by protojson, which knows the oneofs; its spacing varies on purpose, so nobody may compare texts.
	message, _ := protojson.Marshal(m)
	emit(map[string]any{"event": "message", "uid": uid, "message": json.RawMessage(message)})
	r.live[c] = m.InstanceUid
	a := r.agents[uid]
	if a == nil {
		a = &known{}
		r.agents[uid] = a
	}
	a.described = a.described || m.AgentDescription != nil
	if m.RemoteConfigStatus != nil {
		a.hash = string(m.RemoteConfigStatus.LastRemoteConfigHash)
	}
	answer := &pb.ServerToAgent{InstanceUid: m.InstanceUid, Capabilities: capabilities, Flags: a.ask}
	a.ask = 0
	if !a.described && m.AgentDisconnect == nil {
		answer.Flags = uint64(pb.ServerToAgentFlags_ServerToAgentFlags_ReportFullState)
	}
	if r.offer != nil && a.hash != string(r.offer.ConfigHash) {
		answer.RemoteConfig = r.offer
	}
	if a.renew {
		a.renew = false
		fresh := uuid.Must(uuid.NewV7())
		answer.AgentIdentification = &pb.AgentIdentification{NewInstanceUid: fresh[:]}
		emit(map[string]any{"event": "new_uid_given", "uid": uid, "new": hex.EncodeToString(fresh[:])})
	}
	return answer
}

func (r *recorder) onClose(c types.Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	emit(map[string]any{"event": "closed", "uid": hex.EncodeToString(r.live[c])})
	delete(r.live, c)
}

func (r *recorder) push(fill func(*pb.ServerToAgent)) {
	for c, uid := range r.live {
		message := &pb.ServerToAgent{InstanceUid: uid, Capabilities: capabilities}
		fill(message)
		_ = c.Send(context.Background(), message)
	}
}

func (r *recorder) command(line string) error {
	word, argument, _ := strings.Cut(line, " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	switch word {
	case "config":
		body, err := os.ReadFile(argument)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(body)
		r.offer = &pb.AgentRemoteConfig{ConfigHash: hash[:], Config: &pb.AgentConfigMap{
			ConfigMap: map[string]*pb.AgentConfigFile{"": {Body: body, ContentType: "text/yaml"}},
		}}
		r.push(func(m *pb.ServerToAgent) { m.RemoteConfig = r.offer })
	case "restart":
		r.push(func(m *pb.ServerToAgent) {
			*m = pb.ServerToAgent{InstanceUid: m.InstanceUid, Command: &pb.ServerToAgentCommand{Type: pb.CommandType_CommandType_Restart}}
		})
	case "fullstate":
		for _, a := range r.agents {
			a.ask = uint64(pb.ServerToAgentFlags_ServerToAgentFlags_ReportFullState)
		}
	case "newuid":
		for _, a := range r.agents {
			a.renew = true
		}
	default:
		return fmt.Errorf("unknown command %q", word)
	}
	return nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	token := flag.String("token", "", "demand this bearer token")
	gzip := flag.Bool("gzip", false, "accept compression")
	cert := flag.String("cert", "", "PEM certificate; together with -key it turns TLS on")
	key := flag.String("key", "", "PEM key")
	flag.Parse()
	r := &recorder{live: map[types.Connection][]byte{}, agents: map[string]*known{}}
	each := types.ConnectionCallbacks{OnMessage: r.onMessage, OnConnectionClose: r.onClose}
	start := server.StartSettings{ListenEndpoint: *listen}
	start.EnableCompression = *gzip
	start.Callbacks.OnConnecting = func(q *http.Request) types.ConnectionResponse {
		if *token != "" && q.Header.Get("Authorization") != "Bearer "+*token {
			emit(map[string]any{"event": "refused"})
			return types.ConnectionResponse{HTTPStatusCode: http.StatusUnauthorized}
		}
		return types.ConnectionResponse{Accept: true, ConnectionCallbacks: each}
	}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			fmt.Fprintln(os.Stderr, "goserver:", err)
			os.Exit(1)
		}
		start.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	o := server.New(nil)
	if err := o.Start(start); err != nil {
		fmt.Fprintln(os.Stderr, "goserver:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "listening on", o.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := r.command(in.Text()); err != nil {
			fmt.Fprintln(os.Stderr, "goserver:", err)
		}
	}
	select {} // stdin closed: nobody steers any more, but the server goes on
}
