// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"evenkeel.dev/evenkeel/config/rbac"
	"evenkeel.dev/evenkeel/internal/diagnose"
)

// guardInterval is how often the guards are read. The alert lasts for three of them.
const guardInterval = 5 * time.Minute

// guards reports ValidatingAdmissionPolicies and bindings that no longer protect records and people's requests. Nothing
// else notices: without them the API server accepts a forged record from anyone who may write plans. It runs on the
// leader only.
type guards struct {
	reader   client.Reader
	policies []*admissionregistrationv1.ValidatingAdmissionPolicy
	bindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	broken   prometheus.Gauge
	log      logr.Logger
}

func newGuards(reader client.Reader, registerer prometheus.Registerer, log logr.Logger) (*guards, error) {
	policies, bindings, err := rbac.AdmissionPolicies(rbac.Requests)
	if err != nil {
		return nil, err
	}
	g := &guards{reader: reader, policies: policies, bindings: bindings, broken: newBrokenGuards(), log: log}
	return g, registerer.Register(g.broken)
}

// addGuards has the manager check them.
func addGuards(mgr ctrl.Manager) error {
	g, err := newGuards(mgr.GetAPIReader(), ctrlmetrics.Registry, mgr.GetLogger().WithName("guards"))
	if err != nil {
		return fmt.Errorf("set up the check of the request guards: %w", err)
	}
	return mgr.Add(g)
}

// Start implements manager.Runnable.
func (g *guards) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, g.check, guardInterval)
	return nil
}

func (g *guards) check(ctx context.Context) {
	broken := 0
	for _, f := range diagnose.RequestGuards(ctx, g.reader, g.policies, g.bindings) {
		if f.Status == diagnose.OK || ctx.Err() != nil {
			continue
		}
		broken++
		g.log.Error(errors.New(f.Message), "Records or people's requests aren't protected", "do", f.Do)
	}
	g.broken.Set(float64(broken))
}
