// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"path/filepath"
)

// args is the command line of a component. Every one of them names a path
// below the instance's folder: that is how its process is recognised.
func (i *Instance) args(c Component) []string {
	switch c {
	case Etcd:
		return i.etcdArgs()
	case APIServer:
		return i.apiServerArgs()
	case ControllerManager:
		return i.controllerManagerArgs()
	case Scheduler:
		return i.schedulerArgs()
	case KWOK:
		return i.kwokArgs()
	}
	return nil
}

func (i *Instance) etcdArgs() []string {
	client := loopback("https", i.record.Ports[Etcd])
	peer := loopback("https", i.record.PeerPort)
	return []string{
		"--name=default",
		"--data-dir=" + filepath.Join(i.dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--client-cert-auth", "--peer-client-cert-auth",
		"--trusted-ca-file=" + i.pki("ca.crt"), "--peer-trusted-ca-file=" + i.pki("ca.crt"),
		"--cert-file=" + i.pki("server.crt"), "--key-file=" + i.pki("server.key"),
		"--peer-cert-file=" + i.pki("server.crt"), "--peer-key-file=" + i.pki("server.key"),
		// The data needn't survive a power cut, and tests shouldn't wait for the disk.
		"--unsafe-no-fsync",
		// One member elects itself: the shorter these are, the sooner it's up.
		"--heartbeat-interval=50", "--election-timeout=500",
		"--log-level=warn",
	}
}

func (i *Instance) apiServerArgs() []string {
	return []string{
		"--etcd-servers=" + loopback("https", i.record.Ports[Etcd]),
		"--etcd-cafile=" + i.pki("ca.crt"),
		"--etcd-certfile=" + i.pki("etcd-client.crt"),
		"--etcd-keyfile=" + i.pki("etcd-client.key"),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", i.record.Ports[APIServer]),
		"--tls-cert-file=" + i.pki("server.crt"),
		"--tls-private-key-file=" + i.pki("server.key"),
		"--client-ca-file=" + i.pki("ca.crt"),
		"--anonymous-auth=false",
		"--admission-control-config-file=" + i.config("admission.yaml"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + i.pki("service-account.pub"),
		"--service-account-signing-key-file=" + i.pki("service-account.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		// A loopback address can't be an endpoint, and nothing runs inside.
		"--endpoint-reconciler-type=none",
		// Policies about privileged containers need pods that have one.
		"--allow-privileged=true",
		"--profiling=false",
	}
}

func (i *Instance) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + i.config("kube-controller-manager.kubeconfig"),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", i.record.Ports[ControllerManager]),
		"--tls-cert-file=" + i.pki("server.crt"),
		"--tls-private-key-file=" + i.pki("server.key"),
		"--root-ca-file=" + i.pki("ca.crt"),
		"--service-account-private-key-file=" + i.pki("service-account.key"),
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-statefulset-syncs=20",
		"--concurrent-job-syncs=20",
		// A fault test that stops KWOK for a while shouldn't evict the fleet.
		"--node-monitor-grace-period=5m",
		"--profiling=false",
	}
}

func (i *Instance) schedulerArgs() []string {
	return []string{
		"--config=" + i.config("kube-scheduler.yaml"),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", i.record.Ports[Scheduler]),
		"--tls-cert-file=" + i.pki("server.crt"),
		"--tls-private-key-file=" + i.pki("server.key"),
	}
}

func (i *Instance) kwokArgs() []string {
	return []string{
		"--kubeconfig=" + i.config("kwok.kubeconfig"),
		"--config=" + i.config("kwok.yaml"),
		"--manage-nodes-with-annotation-selector=" + fakeNodeAnnotation + "=fake",
		"--cidr=10.244.0.0/16", "--node-ip=192.0.2.1",
		fmt.Sprintf("--server-address=127.0.0.1:%d", i.record.Ports[KWOK]),
	}
}

func loopback(scheme string, port int) string {
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
}
