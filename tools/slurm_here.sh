#!/usr/bin/env bash
# A real Slurm of one node on this machine, for tests: Debian's packages slurm-wlm and munge, and root.
#
#   tools/slurm_here.sh start FOLDER     configure it in FOLDER and start it; prints FOLDER/slurm.conf
#   tools/slurm_here.sh stop FOLDER      end its daemons and its jobs
#
# Then: export SLURM_CONF=FOLDER/slurm.conf; sinfo. The node declares eight processors and two GPUs (of which none is
# real: a job is shown an index). Jobs of the partition `gpu` are preempted by those of `urgent`, and queued again.
set -euo pipefail
what=${1:?start or stop} folder=$(mkdir -p "${2:?a folder}" && cd "$2" && pwd)

end() {  # the daemon whose process id is in a file, and wait for it
    local pid
    pid=$(cat "$folder/$1.pid" 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null || return 0
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.1; done
    kill -KILL "$pid"
}

if [ "$what" = stop ]; then
    export SLURM_CONF=$folder/slurm.conf
    for partition in gpu urgent; do timeout 10 scancel --partition=$partition || true; done
    for _ in $(seq 100); do  # until their last processes have ended
        [ -n "$(timeout 10 squeue -h 2>/dev/null)" ] || break; sleep 0.1
    done
    end slurmd; end slurmctld
    kill "$(cat "$folder/munged.pid")" 2>/dev/null || true  # takes seconds
    exit 0
fi

for program in slurmctld slurmd munged; do
    command -v $program >/dev/null || { echo "no $program: apt-get install slurm-wlm munge" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "slurmd starts jobs of others: it needs root" >&2; exit 2; }
port=$((20000 + $$ % 20000)) host=$(hostname -s)
mkdir -p "$folder"/{state,spool}
chmod 755 "$folder"
(umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")
cat >"$folder/slurm.conf" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
InactiveLimit=0
KillWait=10
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,requeue_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 RealMemory=4000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES PriorityTier=1 State=UP MaxTime=INFINITE
PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP MaxTime=INFINITE
CONF
printf 'Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n' >"$folder/gres.conf"
export SLURM_CONF=$folder/slurm.conf
munged --force --socket="$folder/munge.socket" --key-file="$folder/munge.key" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" 2>/dev/null
slurmctld -c
slurmd -c
for _ in $(seq 100); do
    if sinfo -h -o %T 2>/dev/null | grep -q idle; then echo "$SLURM_CONF"; exit 0; fi
    sleep 0.2
done
echo "Slurm did not come up in 20 s: $folder/slurmctld.log, $folder/slurmd.log" >&2
exit 1
