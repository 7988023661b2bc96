// goagent is a small agent on opamp-go's client library, for both transports (the URL's scheme decides).
// It reports description, health and effective config, applies remote configs and restarts on command.
// How it talks to the tests: ../../README.md, "How the programs talk".
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/open-telemetry/opamp-go/client"
	"github.com/open-telemetry/opamp-go/client/types"
	pb "github.com/open-telemetry/opamp-go/protobufs"
)

type options struct {
	url, name, instance, uid, token, ca, effective string
	interval                                       time.Duration
	gzip                                           bool
}

func parseFlags() options {
	var o options
	flag.StringVar(&o.url, "url", "", "OpAMP endpoint: ws, wss, http or https")
	flag.StringVar(&o.name, "name", "goagent", "service.name")
	flag.StringVar(&o.instance, "instance", "", "service.instance.id; the instance uid if empty")
	flag.StringVar(&o.uid, "uid", "", "instance uid as a UUID; a new version 7 if empty")
	flag.StringVar(&o.token, "token", "", "bearer token")
	flag.StringVar(&o.ca, "ca", "", "PEM file with the certificate authority to trust")
	flag.StringVar(&o.effective, "effective", "level: info\n", "text of the effective config until a remote one is applied")
	flag.DurationVar(&o.interval, "interval", 30*time.Second, "heartbeat (WebSocket) or polling (HTTP) interval")
	flag.BoolVar(&o.gzip, "gzip", false, "offer compression")
	flag.Parse()
	if o.uid == "" {
		o.uid = uuid.Must(uuid.NewV7()).String()
	}
	if o.instance == "" {
		o.instance = o.uid
	}
	return o
}

// agent is the managed thing: what it would tell a server about itself.
type agent struct {
	client    client.OpAMPClient
	mu        sync.Mutex
	started   time.Time
	effective *pb.AgentConfigMap
}

var printing sync.Mutex

// say prints one event. Pairs are key, value, key, value.
func say(event string, pairs ...string) {
	line := map[string]string{"event": event}
	for i := 0; i+1 < len(pairs); i += 2 {
		line[pairs[i]] = pairs[i+1]
	}
	printing.Lock()
	defer printing.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

func text(key, value string) *pb.KeyValue {
	return &pb.KeyValue{Key: key, Value: &pb.AnyValue{Value: &pb.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *pb.KeyValue {
	return &pb.KeyValue{Key: key, Value: &pb.AnyValue{Value: &pb.AnyValue_IntValue{IntValue: value}}}
}

func describe(o options) *pb.AgentDescription {
	host, _ := os.Hostname()
	return &pb.AgentDescription{
		IdentifyingAttributes: []*pb.KeyValue{
			text("service.name", o.name), text("service.version", "1.0.0"), text("service.instance.id", o.instance),
		},
		NonIdentifyingAttributes: []*pb.KeyValue{
			text("os.type", "linux"), text("host.name", host), number("process.pid", int64(os.Getpid())),
		},
	}
}

func (a *agent) health() *pb.ComponentHealth {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &pb.ComponentHealth{
		Healthy: true, Status: "StatusOK",
		StartTimeUnixNano: uint64(a.started.UnixNano()), StatusTimeUnixNano: uint64(time.Now().UnixNano()),
		ComponentHealthMap: map[string]*pb.ComponentHealth{"worker": {Healthy: true, Status: "StatusOK"}},
	}
}

func (a *agent) effectiveConfig(context.Context) (*pb.EffectiveConfig, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &pb.EffectiveConfig{ConfigMap: a.effective}, nil
}

func (a *agent) onMessage(ctx context.Context, m *types.MessageData) {
	if m.AgentIdentification != nil {
		say("new_uid", "uid", hex.EncodeToString(m.AgentIdentification.NewInstanceUid))
	}
	if m.RemoteConfig == nil {
		return
	}
	status := &pb.RemoteConfigStatus{LastRemoteConfigHash: m.RemoteConfig.ConfigHash, Status: pb.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED}
	word := "applied"
	for _, file := range m.RemoteConfig.Config.GetConfigMap() {
		if strings.Contains(string(file.Body), "fail") {
			word, status.Status, status.ErrorMessage = "failed", pb.RemoteConfigStatuses_RemoteConfigStatuses_FAILED, "told to fail"
		}
	}
	if word == "applied" {
		a.mu.Lock()
		a.effective = m.RemoteConfig.Config
		a.mu.Unlock()
		_ = a.client.UpdateEffectiveConfig(ctx)
	}
	_ = a.client.SetRemoteConfigStatus(status)
	say("remote_config", "hash", hex.EncodeToString(m.RemoteConfig.ConfigHash), "status", word)
}

func (a *agent) onCommand(_ context.Context, c *pb.ServerToAgentCommand) error {
	say("command", "type", c.Type.String())
	a.mu.Lock()
	a.started = time.Now()
	a.mu.Unlock()
	return a.client.SetHealth(a.health())
}

func settings(o options, a *agent) (types.StartSettings, error) {
	s := types.StartSettings{
		OpAMPServerURL: o.url, Header: http.Header{}, InstanceUid: types.InstanceUid(uuid.MustParse(o.uid)),
		HeartbeatInterval: &o.interval, EnableCompression: o.gzip,
		Callbacks: types.Callbacks{
			OnConnect:       func(context.Context) { say("connected") },
			OnConnectFailed: func(_ context.Context, err error) { say("connect_failed", "error", err.Error()) },
			OnError: func(_ context.Context, e *pb.ServerErrorResponse) {
				say("server_error", "type", e.Type.String(), "message", e.ErrorMessage)
			},
			GetEffectiveConfig: a.effectiveConfig, OnMessage: a.onMessage, OnCommand: a.onCommand,
		},
	}
	if o.token != "" {
		s.Header.Set("Authorization", "Bearer "+o.token)
	}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return s, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return s, fmt.Errorf("no certificate in %s", o.ca)
		}
		s.TLSConfig = &tls.Config{RootCAs: pool}
	}
	return s, nil
}

func run(o options) error {
	a := &agent{started: time.Now(), effective: &pb.AgentConfigMap{ConfigMap: map[string]*pb.AgentConfigFile{
		"": {Body: []byte(o.effective), ContentType: "text/yaml"},
	}}}
	a.client = client.NewWebSocket(nil)
	if strings.HasPrefix(o.url, "http") {
		a.client = client.NewHTTP(nil)
	}
	capabilities := pb.AgentCapabilities_AgentCapabilities_ReportsStatus |
		pb.AgentCapabilities_AgentCapabilities_AcceptsRemoteConfig | pb.AgentCapabilities_AgentCapabilities_ReportsRemoteConfig |
		pb.AgentCapabilities_AgentCapabilities_ReportsEffectiveConfig | pb.AgentCapabilities_AgentCapabilities_ReportsHealth |
		pb.AgentCapabilities_AgentCapabilities_AcceptsRestartCommand | pb.AgentCapabilities_AgentCapabilities_ReportsHeartbeat
	if err := a.client.SetAgentDescription(describe(o)); err != nil {
		return err
	}
	// Before the capabilities: the library refuses ReportsHealth while there is no health.
	if err := a.client.SetHealth(a.health()); err != nil {
		return err
	}
	if err := a.client.SetCapabilities(&capabilities); err != nil {
		return err
	}
	start, err := settings(o, a)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := a.client.Start(context.Background(), start); err != nil {
		return err
	}
	<-signals
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	defer say("stopped")
	return a.client.Stop(ctx)
}

func main() {
	if err := run(parseFlags()); err != nil {
		fmt.Fprintln(os.Stderr, "goagent:", err)
		os.Exit(1)
	}
}
