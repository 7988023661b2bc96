"""The Compose files that the tests deploy. They use what people use: several services, health checks, an order of start,
two networks, a volume, a secret, published ports, limits; and only images of images.py.
"""

WEB_PORT, ADMIN_PORT = 8080, 8081
PASSWORD = "correct horse"
# What lies beside the shop's file.
SHOP_FILES = {"db_password.txt": PASSWORD}
# How the images of lab/web show that they are well, and how long they may take to stop.
WELL = """\
    healthcheck:
      test: [CMD-SHELL, "wget -q -O /dev/null http://127.0.0.1/healthz"]
      interval: 1s
      timeout: 2s
      retries: 3
      start_period: 1s
    stop_grace_period: 2s
"""


def shop(version="v1", web="", services=""):
    """A shop: web in front, a worker behind, a database that both use. The database is reached from the network `back`
    alone; it keeps an id on its volume, made once, and serves it on port 5432. `web` and `services` are further lines."""
    return f"""\
name: shop
services:
  web:
    image: lab/web:{version}
    ports: ["{WEB_PORT}:80"]
    networks: [front, back]
    depends_on:
      db: {{condition: service_healthy}}
{WELL}{web}
  worker:
    image: lab/busybox:1
    command: ["sh", "-c", "n=0; while :; do n=$$((n+1)); echo order $$n with $$(cat /run/secrets/db_password | wc -c) letters; sleep 0.2; done"]
    networks: [back]
    secrets: [db_password]
    environment:
      QUEUE: orders
    depends_on: [db]
    deploy:
      resources:
        limits: {{memory: 64M, pids: 64}}
    stop_grace_period: 1s
  db:
    image: lab/busybox:1
    command: ["sh", "-c", "test -s /data/id || cat /proc/sys/kernel/random/uuid >/data/id; exec httpd -f -p 5432 -h /data"]
    networks: [back]
    volumes: ["data:/data"]
    secrets: [db_password]
    healthcheck:
      test: ["CMD", "wget", "-q", "-O", "/dev/null", "http://127.0.0.1:5432/id"]
      interval: 1s
      timeout: 2s
      retries: 3
    stop_grace_period: 1s
{services}
networks:
  front: {{}}
  back: {{}}
volumes:
  data: {{}}
secrets:
  db_password: {{file: ./db_password.txt}}
"""


def page(version="v1", project="page", port=ADMIN_PORT, replicas=1, extra=""):
    """One stateless service on a published port."""
    return f"""\
name: {project}
services:
  web:
    image: lab/web:{version}
    ports: ["{port}:80"]
{WELL}    deploy: {{replicas: {replicas}}}
{extra}
"""


def kept(version="v1", project="kept", port=ADMIN_PORT, extra=""):
    """The page with a volume: the old replica stops before the new one starts."""
    return page(version, project, port, extra='    volumes: ["data:/data"]\n' + extra) + "volumes:\n  data: {}\n"
