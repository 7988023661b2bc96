#!/bin/sh
# Makes this machine a host of the control plane at @URL@: fetches its agent, checks it, joins, and starts it.
# Usage: sh muster-join.sh JOIN-TOKEN [options of "muster agent join"]
set -eu

url='@URL@'
token=${1:-}
[ -n "$token" ] || { echo 'muster-join: give the join token as the first argument' >&2; exit 64; }
shift

authority='@AUTHORITY@'

hash_of() {
  case $1 in
@HASHES@
    *) return 1 ;;
  esac
}

arch=$(uname -m)
case $arch in
  amd64) arch=x86_64 ;;
  arm64) arch=aarch64 ;;
esac
[ "$(id -u)" = 0 ] || { echo 'muster-join: this needs root: run it with sudo' >&2; exit 77; }
[ "$(uname -s)" = Linux ] || { echo "muster-join: hosts run Linux, this is $(uname -s)" >&2; exit 69; }
hash=$(hash_of "$arch") || {
  echo "muster-join: $url has no agent for $arch: put one into its data directory as agents/muster-$arch" >&2
  exit 69
}

# The agent goes where it is kept at once, under another name until it is checked: /tmp may not allow programs.
into=${MUSTER_INSTALL_DIR:-/usr/local/bin}
mkdir -p "$into"
new=$into/.muster.$$
ca=$into/.muster-ca.$$
trap 'rm -f "$new" "$ca"' EXIT
fetch="curl -fsS --retry 5 --retry-connrefused"
if [ -n "$authority" ]; then
  printf '%s\n' "$authority" > "$ca"
  fetch="$fetch --cacert $ca"
fi
if [ -x "$into/muster" ] && echo "$hash  $into/muster" | sha256sum -c --quiet >/dev/null 2>&1; then
  echo "muster-join: the agent is here already"
else
  echo "muster-join: fetching the agent for $arch"
  $fetch "$url/api/agent/v1/binary/$arch" -o "$new"
  echo "$hash  $new" | sha256sum -c --quiet || { echo 'muster-join: the agent that came is not the one that was promised' >&2; exit 65; }
  chmod 755 "$new"
  mv -f "$new" "$into/muster"
fi

# The networks of all hosts are made of the same addresses, which the control plane chooses.
export MUSTER_AGENT_NETWORK_RANGE="${MUSTER_AGENT_NETWORK_RANGE:-@NETWORKS@}"
printf '%s' "$token" | MUSTER_CA_PEM="$authority" "$into/muster" agent join --server "$url" --token-stdin --start "$@"
