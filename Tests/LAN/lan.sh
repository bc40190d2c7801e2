#!/usr/bin/env bash
# lan.sh - a LAN of N machines on one host, for the demo and for the tests that
# need discovery and replication over real multicast. Needs root.
#
#   lan.sh up N             make nodes 1..N, start dbus-daemon and avahi-daemon on each
#   lan.sh exec I CMD...    run CMD on node I (its network, /run, hostname and pids)
#   lan.sh check [I J]      publish on I and J, find each from the other (default 1 2)
#   lan.sh link I up|down   plug or unplug the cable of node I
#   lan.sh cable I          plug a second cable into node I: eth1, with address I + 100
#   lan.sh avahi I kill|start  end node I's avahi-daemon with SIGKILL, or start it again
#   lan.sh split I J        drop every frame between I and J only; `join I J` undoes it
#   lan.sh mute I J         drop every frame from I to J, not those from J to I; `unmute I J` undoes it
#   lan.sh loss I PCT       drop PCT % of the frames to and from node I (0 ends it)
#   lan.sh rate I RATE      limit what node I sends, e.g. 10mbit (0 ends it)
#   lan.sh multicast        count multicast frames from now on; print "MDNS ALL" since the last time
#   lan.sh kill I           end node I at once, as a power cut would
#   lan.sh status           list the nodes and their addresses
#   lan.sh down             end everything
#
# Environment:
#   LAN_DIR    state and logs: a folder that `up` makes and `down` removes. It must
#              be given, e.g. LAN_DIR=$(mktemp -d)/lan; LANs with different folders
#              run side by side and do not see each other
#   LAN_NAMES  host names of the nodes, in order (default node1 node2 ...)
#   LAN_NET4   first three bytes of the IPv4 net (default 10.77.0); set it to the
#              empty string for a LAN with IPv6 link-local addresses only
#   LAN_AVAHI  0: only the network, no daemons
#   LAN_IFF_RUNNING  yes: avahi takes an unplugged cable as the network gone;
#              no (the default, as Debian's): it keeps what it knew
#   NFT        the nft program (package nftables), for split, join, mute and loss
#
# How it is built. Each node, and the switch joining them, is one holder process
# in its own network, mount, UTS and PID namespaces. Nothing is registered in
# /run/netns and no interface is made in the host's own network namespace, so
# killing the holder makes the kernel end every process of that node and remove
# its interfaces: nothing can be left behind, and no frame can get out.
# Each node has its own tmpfs on /run, so both daemons use their usual paths and
# a program run on the node needs no settings (no DBUS_SYSTEM_BUS_ADDRESS).
# Loss and partition are nft rules on the bridge, rate is tc tbf. Delay needs
# delaycable.py beside this file, because not every kernel has sch_netem.
set -euo pipefail

LAN_DIR=${LAN_DIR:-}
LAN_NAMES=${LAN_NAMES:-}
LAN_NET4=${LAN_NET4-10.77.0}
LAN_AVAHI=${LAN_AVAHI:-1}
LAN_IFF_RUNNING=${LAN_IFF_RUNNING:-no}
NFT=${NFT:-nft}

die() {
  echo "lan.sh: $*" >&2
  exit 1
}

# --- holders -----------------------------------------------------------------

# host_name NAME: what node I calls itself, to itself and by mDNS.
host_name() {
  local names i=${1#node}
  read -r -a names <<<"$LAN_NAMES"
  [[ $1 == switch || -z ${names[i - 1]:-} ]] && echo "$1" || echo "${names[i - 1]}"
}

# hold NAME: start the holder of a node (or of the switch), note its host pid.
hold() {
  local name=$1 dir=$LAN_DIR/$1
  mkdir -p "$dir"
  # The inner shell is pid 1 of the node: it reaps orphans, and when it dies the
  # kernel kills the rest. --kill-child makes it die with unshare.
  setsid unshare --net --mount --uts --pid --fork --kill-child --mount-proc \
    bash -c '
      hostname "$1"
      mount -t tmpfs -o mode=755 tmpfs /run
      mount -t sysfs sysfs /sys # /sys/class/net of this node, not of the host
      ip link set lo up
      touch "$2/ready"
      trap : HUP INT TERM
      while :; do sleep 3600 & wait $! || :; done
    ' holder "$(host_name "$name")" "$dir" </dev/null >"$dir/holder.log" 2>&1 &
  local unshare=$! i
  for ((i = 0; i < 500; i++)); do
    if [[ -e $dir/ready ]]; then
      # The namespaces are those of unshare's only child.
      tr -d ' ' <"/proc/$unshare/task/$unshare/children" >"$dir/pid"
      return
    fi
    sleep 0.01
  done
  kill -9 "$unshare" 2>/dev/null || true
  die "$name did not start: $(cat "$dir/holder.log")"
}

pid_of() { cat "$LAN_DIR/$1/pid" 2>/dev/null || die "no such node: $1"; }

# on NAME CMD...: run CMD inside all the namespaces of NAME.
on() { local p; p=$(pid_of "$1"); shift; nsenter -t "$p" -n -m -u -p -- "$@"; }

# net NAME CMD...: run CMD in its network only. `ip ... netns PID` needs this,
# since the kernel looks the pid up in the caller's PID namespace.
net() { local p; p=$(pid_of "$1"); shift; nsenter -t "$p" -n -- "$@"; }

# --- one node ----------------------------------------------------------------

plug() { # I [eth1]: a veth pair from the switch's port$I to the node's eth0, or from port$I-eth1 to its eth1
  local i=$1 name=${2:-eth0} port=port$1 host=$1
  [[ $name == eth0 ]] || port=$port-$name host=$((i + 100))
  net switch ip link add "$port" type veth peer name "$name" netns "$(pid_of "node$i")"
  net switch sysctl -qw "net.ipv6.conf.$port.disable_ipv6=1"
  net switch ip link set "$port" master br0 up
  # Without duplicate address detection fe80:: is usable at once, not in 1-2 s.
  net "node$i" sysctl -qw net.ipv6.conf.all.accept_dad=0 "net.ipv6.conf.$name.accept_dad=0"
  net "node$i" ip link set "$name" address "02:77:00:00:00:$(printf %02x "$host")" up
  [[ -n $LAN_NET4 ]] || return 0
  # Each address answers for itself, and on its own interface.
  net "node$i" sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 \
    net.ipv4.conf.all.rp_filter=0 "net.ipv4.conf.$name.rp_filter=0"
  net "node$i" ip addr add "$LAN_NET4.$host/24" dev "$name"
  [[ $name != eth0 ]] || net "node$i" ip route add 224.0.0.0/4 dev eth0
}

daemons() { # NAME: its message bus, then its avahi
  local name=$1 dir=$LAN_DIR/$1 i
  cat >"$dir/dbus.conf" <<-XML
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>unix:path=/run/dbus/system_bus_socket</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/><allow own="*"/>
	    <allow send_destination="*"/><allow receive_sender="*"/>
	  </policy>
	</busconfig>
	XML
  # No [rlimits] section: the nproc=3 of Debian's own file fails in containers.
  cat >"$dir/avahi.conf" <<-CONF
	[server]
	host-name=$(host_name "$name")
	allow-interfaces=eth0,eth1
	use-ipv4=$([[ -n $LAN_NET4 ]] && echo yes || echo no)
	use-ipv6=yes
	use-iff-running=$LAN_IFF_RUNNING
	[wide-area]
	enable-wide-area=no
	[publish]
	publish-hinfo=no
	publish-workstation=no
	CONF
  on "$name" mkdir -p /run/dbus
  on "$name" setsid dbus-daemon --config-file="$dir/dbus.conf" --nofork --nopidfile \
    </dev/null >"$dir/dbus.log" 2>&1 &
  for ((i = 0; i < 500; i++)); do
    [[ -S /proc/$(pid_of "$name")/root/run/dbus/system_bus_socket ]] && break
    sleep 0.01
  done
  start_avahi "$name"
}

start_avahi() { # NAME
  on "$1" setsid avahi-daemon -f "$LAN_DIR/$1/avahi.conf" \
    --no-drop-root --no-chroot --no-rlimits --no-proc-title \
    </dev/null >>"$LAN_DIR/$1/avahi.log" 2>&1 &
}

await_avahi() { # NAME: until avahi says RUNNING (2) on the node's bus
  local i
  for ((i = 0; i < 500; i++)); do
    on "$1" dbus-send --system --print-reply=literal --dest=org.freedesktop.Avahi \
      / org.freedesktop.Avahi.Server.GetState 2>/dev/null | grep -q 'int32 2' && return
    sleep 0.02
  done
  die "avahi on $1 does not run: $(tail -3 "$LAN_DIR/$1/avahi.log")"
}

# --- commands ----------------------------------------------------------------

# give_up CODE: an `up` that failed or was interrupted leaves nothing, nor a holder that is not yet
# noted ($!). The traps of signals call it themselves: bash 5.2 at times leaves its EXIT trap out.
give_up() {
  trap '' INT TERM
  trap - EXIT
  if [[ $1 != 0 ]]; then
    [[ -z ${!:-} ]] || kill -9 "$!" 2>/dev/null || true
    cmd_down
  fi
  exit "$1"
}

cmd_up() {
  local n=$1 i
  [[ $(id -u) == 0 ]] || die "must be root"
  [[ $n =~ ^[0-9]+$ && $n -ge 1 && $n -le 200 ]] || die "up: how many nodes (1-200)?"
  [[ ! -e $LAN_DIR ]] || die "$LAN_DIR exists: 'lan.sh down' first"
  mkdir -p "$LAN_DIR"
  trap 'give_up $?' EXIT
  trap 'give_up 130' INT
  trap 'give_up 143' TERM
  hold switch
  # Snooping would drop multicast for which the bridge has seen no IGMP/MLD join.
  net switch ip link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
  net switch sysctl -qw net.ipv6.conf.br0.disable_ipv6=1
  net switch ip link set br0 up
  for ((i = 1; i <= n; i++)); do hold "node$i"; plug "$i"; done
  [[ $LAN_AVAHI == 1 ]] || return 0
  for ((i = 1; i <= n; i++)); do daemons "node$i"; done
  for ((i = 1; i <= n; i++)); do await_avahi "node$i"; done
}

# The node's pid 1 is killed, not unshare: unshare then reaps it at once, where a
# slow host init would leave it a zombie for seconds.
end_holder() { # NAME
  local pid
  pid=$(cat "$LAN_DIR/$1/pid" 2>/dev/null) || return 0
  kill -9 "$pid" 2>/dev/null || true
  # An nsenter whose command was stopped has stopped itself, and would never reap it.
  pkill -CONT -f "^nsenter -t $pid " 2>/dev/null || true
  while [[ -e /proc/$pid ]]; do sleep 0.01; done
}

cmd_down() {
  local d
  for d in "$LAN_DIR"/*/; do
    [[ ! -e $d/pid ]] || end_holder "$(basename "$d")"
  done
  rm -rf "${LAN_DIR:?}"
}

# A killed daemon leaves its pid file: the next one finds that nobody has the pid.
cmd_avahi() { # I kill|start
  case $2 in
    kill)
      on "node$1" sh -c 'kill -9 "$(cat /run/avahi-daemon/pid)" && rm -f /run/avahi-daemon/pid' ||
        die "no avahi-daemon runs on node$1"
      ;;
    start)
      start_avahi "node$1"
      await_avahi "node$1"
      ;;
    *) die "avahi: kill or start?" ;;
  esac
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# see I J: publish a service on I, and time until a browser on J has resolved it.
# The two programs stay outside the nodes' PID namespaces (no -p), so that $! is
# their own pid and they can be ended by it.
see() {
  local i=$1 j=$2 name="probe-$1-$2-$$" start t pub browse fd line proto address
  exec {fd}< <(exec nsenter -t "$(pid_of "node$j")" -n -m -u -- \
    stdbuf -oL avahi-browse -rp _lantest._tcp 2>/dev/null)
  browse=$!
  sleep 0.5 # the browser is up and asking before the service comes
  start=$(now_ms)
  nsenter -t "$(pid_of "node$i")" -n -m -u -- \
    avahi-publish-service "$name" _lantest._tcp 4000 "id=$name" >/dev/null 2>&1 &
  pub=$!
  while read -r -t 20 -u "$fd" line && [[ $line != "="*";$name;"* ]]; do :; done
  t=$(($(now_ms) - start))
  kill "$pub" "$browse" 2>/dev/null || true
  wait "$pub" 2>/dev/null || true
  exec {fd}<&-
  [[ $line == "="*";$name;"* ]] || { echo "node$j did NOT see node$i"; return 1; }
  IFS=';' read -r _ _ proto _ _ _ _ address _ <<<"$line"
  echo "node$j saw node$i in $t ms ($proto $address)"
}

cmd_check() { see "$1" "$2" && see "$2" "$1"; }

# The drop rules live in one bridge table; nft is told of it only when needed.
rules() {
  net switch "$NFT" -f - <<-NFT
	table bridge lan {
	  chain forward { type filter hook forward priority 0; policy accept; }
	}
	$1
	NFT
}
drop_rules() { # TAG: delete the rules that carry this comment
  local h
  for h in $(net switch "$NFT" -a list table bridge lan 2>/dev/null |
    sed -n "s/.*comment \"$1\".*# handle //p"); do
    net switch "$NFT" delete rule bridge lan forward handle "$h"
  done
}

cmd_loss() {
  local i=$1 pct=$2
  drop_rules "loss$i"
  [[ $pct != 0 ]] || return 0
  rules "add rule bridge lan forward iifname port$i numgen random mod 1000 < $((pct * 10)) drop comment \"loss$i\"
	add rule bridge lan forward oifname port$i numgen random mod 1000 < $((pct * 10)) drop comment \"loss$i\""
}
cmd_split() {
  rules "add rule bridge lan forward iifname port$1 oifname port$2 drop comment \"split$1-$2\"
	add rule bridge lan forward iifname port$2 oifname port$1 drop comment \"split$1-$2\""
}
cmd_mute() { rules "add rule bridge lan forward iifname port$1 oifname port$2 drop comment \"mute$1-$2\""; }
# What a machine sends is counted once, where it comes into the switch.
cmd_multicast() {
  if net switch "$NFT" list table bridge counted >/dev/null 2>&1; then
    net switch "$NFT" reset counters table bridge counted |
      awk '/counter mdns/ { mdns = 1 } /packets/ { if (mdns) m = $2; else a = $2; mdns = 0 } END { print m, a }'
    return
  fi
  net switch "$NFT" -f - <<-NFT
	table bridge counted {
	  counter mdns { }
	  counter whole { }
	  chain prerouting {
	    type filter hook prerouting priority 0; policy accept;
	    ether daddr & 01:00:00:00:00:00 == 01:00:00:00:00:00 counter name whole
	    udp dport 5353 counter name mdns
	  }
	}
	NFT
}
cmd_rate() {
  net "node$1" tc qdisc del dev eth0 root 2>/dev/null || true
  [[ $2 == 0 ]] || net "node$1" tc qdisc add dev eth0 root tbf rate "$2" burst 32k latency 50ms
}

cmd_status() {
  local d name
  for d in "$LAN_DIR"/node*/; do
    name=$(basename "$d")
    if kill -0 "$(pid_of "$name")" 2>/dev/null; then
      echo "$(host_name "$name") pid $(pid_of "$name")" \
        $(net "$name" ip -br addr show eth0 | sed 's/^eth0@[^ ]* *//')
    else echo "$(host_name "$name") ended"; fi
  done
}

cmd=${1:-help}
shift || true
[[ $cmd == help || -n $LAN_DIR ]] || die "LAN_DIR is not set: say where, e.g. export LAN_DIR=\$(mktemp -d)/lan"
case $cmd in
  up)     cmd_up "${1:-2}" ;;
  down)   cmd_down ;;
  # nsenter does not pass signals on: pdeathsig ends CMD when nsenter is ended.
  exec)   i=$1; shift; p=$(pid_of "node$i")
          exec nsenter -t "$p" -n -m -u -p --wdns="$PWD" -- setpriv --pdeathsig KILL -- "$@" ;;
  check)  cmd_check "${1:-1}" "${2:-2}" ;;
  # The switch's end is the cable: the node sees its carrier go, as with a real plug.
  link)   net switch ip link set "port$1" "$2" ;;
  avahi)  cmd_avahi "$1" "${2:-}" ;;
  loss)   cmd_loss "$1" "$2" ;;
  split)  cmd_split "$1" "$2" ;;
  join)   drop_rules "split$1-$2"; drop_rules "split$2-$1" ;;
  mute)   cmd_mute "$1" "$2" ;;
  unmute) drop_rules "mute$1-$2" ;;
  cable)  plug "$1" eth1 ;;
  multicast) cmd_multicast ;;
  rate)   cmd_rate "$1" "$2" ;;
  kill)   end_holder "node$1" ;;
  status) cmd_status ;;
  *)      sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; [[ $cmd == help ]] || exit 2 ;;
esac
