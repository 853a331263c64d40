// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/process"
)

// How much of the manager's log a failed spec shows.
const (
	loggedLines = 60
	loggedWidth = 300
)

// Manager is a manager that reaches the API server through a proxy of its own.
type Manager struct {
	*process.Manager
	Proxy *faultproxy.Proxy

	logged int64
}

// NewManager prepares a manager without starting it; it ends with the spec, or
// with the suite. flags come after those that all specs have.
func (r *Rig) NewManager(flags ...string) *Manager {
	GinkgoHelper()
	proxy, err := faultproxy.Start(r.Config())
	Expect(err).NotTo(HaveOccurred())
	proxy.Impersonate(managerUser, managerGroups()...)
	number := r.numbered.Add(1)
	inner, err := process.New(process.Config{
		Binary: r.binary, Dir: filepath.Join(r.dir, fmt.Sprintf("manager-%d", number)), Server: proxy.URL,
		Args: slices.Concat([]string{"--leader-elect=false", "--webhook-client-ca-file", r.WebhookClientCA}, r.Flags,
			flags),
		Env: r.env,
	})
	Expect(err).NotTo(HaveOccurred())
	m := &Manager{Manager: inner, Proxy: proxy}
	DeferCleanup(func(ctx context.Context) {
		m.ReportFailure()
		proxy.Reset()
		Expect(inner.Stop()).To(Succeed())
		Expect(proxy.Close()).To(Succeed())
		// A configuration that leads to nobody would refuse the next policies.
		named := metav1.ObjectMeta{Name: "evenkeel"}
		for _, config := range []client.Object{
			&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named},
			&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named},
		} {
			Expect(client.IgnoreNotFound(r.API.Delete(ctx, config))).To(Succeed())
		}
	})
	return m
}

// StartManager prepares and starts a manager, and waits until it is ready and
// judges policies.
func (r *Rig) StartManager(ctx context.Context, flags ...string) *Manager {
	GinkgoHelper()
	m := r.NewManager(flags...)
	Expect(m.Start(ctx)).To(Succeed())
	r.AwaitAdmission(ctx)
	return m
}

// AwaitAdmission waits until policies are judged when they are written.
func (r *Rig) AwaitAdmission(ctx context.Context) {
	GinkgoHelper()
	broken := fixture.Policy("awaits-admission", "nowhere", "no rego at all")
	Eventually(ctx, func() error {
		return r.API.Create(ctx, broken.DeepCopy(), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("can't be accepted")))
}

// BeginSpec marks where the log of the present spec begins.
func (m *Manager) BeginSpec() {
	if info, err := os.Stat(m.Log()); err == nil {
		m.logged = info.Size()
	}
}

// ReportFailure shows the manager's log of the spec if the spec has failed.
func (m *Manager) ReportFailure() {
	if CurrentSpecReport().Failed() {
		GinkgoWriter.Printf("The manager's log:\n%s\n", tail(m.Log(), m.logged, loggedLines))
	}
}
