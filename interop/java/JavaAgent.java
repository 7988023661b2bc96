// A small agent on io.opentelemetry.contrib's OpAMP client, WebSocket or plain HTTP by the URL's scheme: remote config,
// its status and the effective config. How it talks to the tests: ../README.md, "How the programs talk".
// No health and no commands: this version of the library has neither. Its transports live in packages named "internal".
import io.opentelemetry.opamp.client.OpampClient;
import io.opentelemetry.opamp.client.internal.connectivity.http.OkHttpSender;
import io.opentelemetry.opamp.client.internal.connectivity.websocket.OkHttpWebSocket;
import io.opentelemetry.opamp.client.internal.request.delay.PeriodicDelay;
import io.opentelemetry.opamp.client.internal.request.service.HttpRequestService;
import io.opentelemetry.opamp.client.internal.request.service.WebSocketRequestService;
import io.opentelemetry.opamp.client.internal.response.MessageData;
import io.opentelemetry.opamp.client.internal.state.State;
import io.opentelemetry.opamp.client.request.service.RequestService;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.OkHttpClient;
import okio.ByteString;
import opamp.proto.AgentConfigFile;
import opamp.proto.AgentConfigMap;
import opamp.proto.AgentRemoteConfig;
import opamp.proto.RemoteConfigStatus;
import opamp.proto.RemoteConfigStatuses;
import opamp.proto.ServerErrorResponse;

public final class JavaAgent implements OpampClient.Callbacks {
  /** The effective configuration; the library sends it whenever it is told of a change. */
  private static final class Effective extends State.EffectiveConfig {
    private volatile AgentConfigMap files = new AgentConfigMap(new HashMap<>());

    void set(AgentConfigMap changed) {
      files = changed;
      notifyUpdate();
    }

    @Override
    public opamp.proto.EffectiveConfig get() {
      return new opamp.proto.EffectiveConfig.Builder().config_map(files).build();
    }
  }

  /** How many HTTP requests have ended. */
  private static final AtomicInteger answers = new AtomicInteger();

  private final Effective effective = new Effective();
  private boolean connected;

  public static void main(String[] args) throws Exception {
    Map<String, String> options = new HashMap<>(Map.of("--interval", "30", "--name", "javaagent"));
    for (int i = 0; i + 1 < args.length; i += 2) options.put(args[i], args[i + 1]);
    String url = options.get("--url");
    OkHttpClient transport = transport(options.get("--token"), options.get("--ca"));
    PeriodicDelay poll = PeriodicDelay.ofFixedDuration(Duration.ofMillis((long) (1000 * Double.parseDouble(options.get("--interval")))));
    RequestService service = url.startsWith("ws")
        ? WebSocketRequestService.create(OkHttpWebSocket.create(url, transport))
        : HttpRequestService.create(OkHttpSender.create(url, transport), poll, HttpRequestService.DEFAULT_DELAY_BETWEEN_RETRIES);
    JavaAgent agent = new JavaAgent();
    String name = options.get("--name");
    OpampClient client = OpampClient.builder().setRequestService(service)
        .putIdentifyingAttribute("service.name", name)
        .putIdentifyingAttribute("service.version", "1.0.0")
        .putIdentifyingAttribute("service.instance.id", name + "-" + ProcessHandle.current().pid())
        .putNonIdentifyingAttribute("os.type", "linux")
        .putNonIdentifyingAttribute("host.name", InetAddress.getLocalHost().getHostName())
        .putNonIdentifyingAttribute("process.pid", ProcessHandle.current().pid())
        .enableRemoteConfig().enableEffectiveConfigReporting().setEffectiveConfigState(agent.effective)
        .build(agent);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(client)));
    // An application that has read its configuration a moment later. Over WebSocket something like it has to happen: the
    // library takes a demand for the full state as a note for its next message, and by itself never sends a next one.
    Thread.sleep(1000);
    agent.effective.set(new AgentConfigMap(Map.of("", new AgentConfigFile.Builder()
        .body(ByteString.encodeUtf8("level: info\n")).content_type("text/yaml").build())));
    Thread.currentThread().join();
  }

  /**
   * Over HTTP close() leaves the agent_disconnect to the next poll, and loses it if a poll is under way at that moment. So
   * it is called right after one, and the process lives on until the next has been answered.
   */
  private static void stop(OpampClient client) {
    try {
      awaitAnswer();
      client.close();
      awaitAnswer();
    } catch (Exception e) {
      e.printStackTrace();
    }
    say("stopped", Map.of());
  }

  /** Waits until one more HTTP request has ended and its answer was read; over WebSocket there are none: a moment only. */
  private static void awaitAnswer() throws InterruptedException {
    int before = answers.get();
    for (int i = 0; i < (before > 1 ? 40 : 3) && answers.get() == before; i++) Thread.sleep(50);
    Thread.sleep(100);
  }

  private static OkHttpClient transport(String token, String ca) throws Exception {
    OkHttpClient.Builder builder = new OkHttpClient.Builder();
    builder.addInterceptor(chain -> {
      try {
        return chain.proceed(chain.request());
      } finally {
        answers.incrementAndGet();
      }
    });
    if (token != null) {
      builder.addInterceptor(chain -> chain.proceed(
          chain.request().newBuilder().header("Authorization", "Bearer " + token).build()));
    }
    if (ca != null) {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      try (InputStream in = Files.newInputStream(Path.of(ca))) {
        for (Certificate c : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
          trusted.setCertificateEntry("ca" + trusted.size(), c);
        }
      }
      TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(trusted);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, factory.getTrustManagers(), null);
      builder.sslSocketFactory(context.getSocketFactory(), (X509TrustManager) factory.getTrustManagers()[0]);
    }
    return builder.build();
  }

  private static void say(String event, Map<String, String> more) {
    StringBuilder line = new StringBuilder("{\"event\":\"" + event + "\"");
    more.forEach((key, value) -> line.append(",\"").append(key).append("\":\"")
        .append(value.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\s", " ")).append('"'));
    System.out.println(line.append('}'));
  }

  @Override
  public void onConnect(OpampClient client) {
    if (!connected) say("connected", Map.of());
    connected = true;
  }

  @Override
  public void onConnectFailed(OpampClient client, Throwable error) {
    connected = false;
    say("connect_failed", Map.of("error", String.valueOf(error)));
  }

  @Override
  public void onErrorResponse(OpampClient client, ServerErrorResponse error) {
    say("server_error", Map.of("type", error.type.name(), "message", error.error_message));
  }

  @Override
  public void onMessage(OpampClient client, MessageData message) {
    AgentRemoteConfig offer = message.getRemoteConfig();
    if (offer == null) return;
    boolean failed = false;
    for (AgentConfigFile file : offer.config.config_map.values()) failed |= file.body.utf8().contains("fail");
    // Over WebSocket every setter sends a message of its own: the status first, so that the server learns the hash.
    client.setRemoteConfigStatus(new RemoteConfigStatus.Builder()
        .last_remote_config_hash(offer.config_hash)
        .status(failed ? RemoteConfigStatuses.RemoteConfigStatuses_FAILED : RemoteConfigStatuses.RemoteConfigStatuses_APPLIED)
        .error_message(failed ? "told to fail" : "")
        .build());
    if (!failed) effective.set(offer.config);
    say("remote_config", Map.of("hash", offer.config_hash.hex(), "status", failed ? "failed" : "applied"));
  }
}
