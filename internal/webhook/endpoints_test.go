// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/review"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// noManager is a manager without a cluster.
type noManager struct{ ctrl.Manager }

func (noManager) GetLogger() logr.Logger      { return funcr.New(func(string, string) {}, funcr.Options{}) }
func (noManager) GetAPIReader() client.Reader { return fake.NewClientBuilder().Build() }

// created is the review of a Pod, with its fields in the API server's order.
const created = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5",` +
	`"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},` +
	`"name":"a","operation":"CREATE","userInfo":{"username":"ann"},` +
	`"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},"oldObject":null}}`

// The kill switch, pauses and policies work while what policies judge takes all the memory that it may.
func TestOwnKindsAreAnsweredWhileAdmissionIsFull(t *testing.T) {
	var policies []*v1alpha1.ClusterRegoPolicy
	for _, class := range []v1alpha1.FailurePolicy{v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore} {
		policies = append(policies, webhooktest.NewPolicy("no-privileged-"+strings.ToLower(string(class)),
			webhooktest.PrivilegedRego, webhooktest.WithFailurePolicy(class)))
	}
	s := setup{mgr: noManager{}, Options: Options{Catalog: webhooktest.NewCatalog(t, policies...),
		Clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), Timeout: 100 * time.Millisecond}}
	var err error
	if s.requests, err = serving.NewMetrics(prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	if s.verdicts, err = review.NewMetrics(prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	_, s.own = serving.NewReaders(DefaultMemory)
	s.judged = serving.NewReader(1) // nothing fits
	for path, handler := range s.endpoints(nil, "manager") {
		own := path != names.PathFail && path != names.PathIgnore
		w := webhooktest.Post(handler, []byte(created))
		read := !strings.Contains(w.Body.String(), "memory")
		if w.Code != http.StatusOK || read != own {
			t.Errorf("%s: read %t: %d %s", path, read, w.Code, w.Body)
		}
	}
}
