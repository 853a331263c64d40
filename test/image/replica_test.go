// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// propagation is how long it takes until a change of a pod's readiness has reached
// whoever leads connections: endpoint slices are written, watched and put into tables.
const propagation = 3 * time.Second

// replica is a pod of the Deployment, with a kubelet that looks after it.
type replica struct {
	*inner
	sandbox  *sandbox
	name     string
	address  string
	probes   string
	balancer *balancer

	ready       atomic.Bool
	terminating atomic.Bool
	end         context.CancelFunc
}

// startReplica runs one replica, whose webhook is reached through the balancer, with the
// Deployment's arguments; but replicas share the network here, so each has ports of its
// own, and the API server finds them by an address, since no Service leads to them.
func startReplica(ctx context.Context, b *balancer, name string) *replica {
	GinkgoHelper()
	ports := freePorts(3)
	r := &replica{name: name, balancer: b, sandbox: newSandbox(ctx, name),
		address: fmt.Sprintf("127.0.0.1:%d", ports[0]), probes: fmt.Sprintf("127.0.0.1:%d", ports[1])}
	args := append(r.sandbox.container.Args[:len(r.sandbox.container.Args):len(r.sandbox.container.Args)],
		fmt.Sprintf("--webhook-port=%d", ports[0]), "--health-probe-bind-address="+r.probes,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[2]),
		fmt.Sprintf("--webhook-url=https://localhost:%d", b.port()))
	r.inner = r.sandbox.run(args...)
	looking, end := context.WithCancel(context.WithoutCancel(ctx))
	r.end = end
	DeferCleanup(end)
	go r.look(looking)
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Printf("%s said:\n%s\n", name, tail(r.said()))
		}
	})
	return r
}

// port is the one that its webhook listens on.
func (r *replica) port() string {
	_, port, _ := net.SplitHostPort(r.address)
	return port
}

// look probes as a kubelet does: until the startup probe says yes, and from then on
// whether the replica is ready.
func (r *replica) look(ctx context.Context) {
	container := r.sandbox.container
	for !r.probe(ctx, container.StartupProbe) {
		if !pause(ctx, container.StartupProbe.PeriodSeconds) {
			return
		}
	}
	for {
		ready := r.probe(ctx, container.ReadinessProbe)
		if ready != r.ready.Swap(ready) {
			r.publish()
		}
		if !pause(ctx, container.ReadinessProbe.PeriodSeconds) {
			return
		}
	}
}

// pause lets a kubelet's period pass, unless ctx ends.
func pause(ctx context.Context, seconds int32) bool {
	timer := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (r *replica) probe(ctx context.Context, probe *corev1.Probe) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(1, probe.TimeoutSeconds))*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.probes+probe.HTTPGet.Path, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close() // the status is all
	return answer.StatusCode == http.StatusOK
}

// publish has the balancer learn, after a while, whether the replica is an endpoint.
func (r *replica) publish() {
	serves := r.ready.Load() && !r.terminating.Load()
	time.AfterFunc(propagation, func() { r.balancer.set(r.address, serves && !r.terminating.Load()) })
}

// terminate ends the replica as a kubelet does: the preStop hook, then SIGTERM, and all
// that within the grace period, or it is killed. It returns how long the program took to
// end from the signal on.
func (r *replica) terminate(ctx context.Context) time.Duration {
	GinkgoHelper()
	r.terminating.Store(true)
	r.publish()
	left := time.Duration(*r.sandbox.spec.TerminationGracePeriodSeconds) * time.Second
	hook := r.sandbox.container.Lifecycle.PreStop.Sleep.Seconds
	Expect(pause(ctx, int32(hook))).To(BeTrue())
	signalled := time.Now()
	Expect(r.Signal(syscall.SIGTERM)).To(Succeed())
	select {
	case <-r.exited:
	case <-time.After(left - time.Duration(hook)*time.Second):
		Fail(r.name + " would be killed: it didn't end within the grace period")
	}
	r.end()
	Expect(r.state.ExitCode()).To(BeZero(), "%s ended: %s\n%s", r.name, r.state, tail(r.said()))
	return time.Since(signalled)
}

// awaitServing waits until connections are led to the replica.
func (r *replica) awaitServing(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		select {
		case <-r.exited:
			StopTrying(r.name + " has ended: " + tail(r.said())).Now()
		default:
		}
		g.Expect(r.balancer.has(r.address)).To(BeTrue())
	}).Should(Succeed(), "%s isn't led to", r.name)
}

// tail is the end of a text.
func tail(text string) string {
	const most = 6000
	return text[max(0, len(text)-most):]
}
