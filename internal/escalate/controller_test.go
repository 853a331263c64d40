// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// alertmanager is as much of an Alertmanager as the controller asks for.
type alertmanager struct {
	mu     sync.Mutex
	held   map[string]posted
	posts  int
	broken bool
	header http.Header
}

func (a *alertmanager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.header = r.Header
	switch {
	case a.broken:
		http.Error(w, "out of order", http.StatusInternalServerError)
	case r.Method == http.MethodGet &&
		!slices.Equal(r.URL.Query()["filter"], []string{`generator="evenkeel"`, `cluster="prod-1"`}):
		http.Error(w, "unfiltered", http.StatusBadRequest)
	case r.Method == http.MethodGet:
		list := []posted{}
		for _, p := range a.held {
			list = append(list, p)
		}
		_ = json.NewEncoder(w).Encode(list)
	default:
		var list []posted
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		a.posts++
		for _, p := range list {
			a.held[key(p.Labels)] = p
		}
	}
}

// firing are the names of the alerts that haven't ended at a time.
func (a *alertmanager) firing(at time.Time) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, p := range a.held {
		if p.EndsAt.After(at) {
			names = append(names, p.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return names
}

// known is what alerts are derived from.
type known struct {
	client.Reader // nil: only List is called

	State
}

func (k *known) set(obj client.Object) {
	switch obj := obj.(type) {
	case *v1alpha1.RemediationBreaker:
		k.Breakers = []v1alpha1.RemediationBreaker{*obj}
	case *v1alpha1.Remediation:
		k.Remediations = []v1alpha1.Remediation{*obj}
	case *v1alpha1.ClusterRegoPolicy:
		k.Policies = []v1alpha1.ClusterRegoPolicy{*obj}
	}
}

func (k *known) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.RemediationBreakerList:
		list.Items = slices.Clone(k.Breakers)
	case *v1alpha1.RemediationList:
		list.Items = slices.Clone(k.Remediations)
	case *v1alpha1.ClusterRegoPolicyList:
		list.Items = slices.Clone(k.Policies)
	case *v1alpha1.RemediationStrategyList:
	default:
		return fmt.Errorf("%T isn't known", list)
	}
	return nil
}

// bench is a controller with two peers.
type bench struct {
	*Controller
	first, second *alertmanager
	api           *known
	clock         *testclock.FakePassiveClock
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{api: &known{}, first: &alertmanager{held: map[string]posted{}},
		second: &alertmanager{held: map[string]posted{}},
		clock:  testclock.NewFakePassiveClock(time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC))}
	for _, o := range objects {
		b.api.set(o)
	}
	var addresses []string
	for _, a := range []*alertmanager{b.first, b.second} {
		server := httptest.NewServer(a)
		t.Cleanup(server.Close)
		addresses = append(addresses, server.URL)
	}
	peers, err := newPeers(addresses, "", "")
	if err != nil {
		t.Fatal(err)
	}
	b.Controller = &Controller{reader: b.api, peers: peers,
		options:  AlertOptions{Cluster: "prod-1", Namespace: "evenkeel-system"},
		interval: time.Minute, clock: b.clock, metrics: newMetrics(prometheus.NewRegistry()),
		evidence: &evidenceReader{reader: b.api}}
	return b
}

// openBreaker opened a minute before the bench's time.
func openBreaker() *v1alpha1.RemediationBreaker {
	at := metav1.NewMicroTime(time.Date(2026, 3, 14, 11, 59, 0, 0, time.UTC))
	return &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"},
		Spec:   v1alpha1.RemediationBreakerSpec{Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}},
		Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerOpen, OpenedTime: &at}}
}

func (b *bench) tick(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	return b.Reconcile(context.Background(), ctrl.Request{})
}

func (b *bench) mustTick(t *testing.T) {
	t.Helper()
	if _, err := b.tick(t); err != nil {
		t.Fatal(err)
	}
}

func TestATickSendsWhatFiresToEveryPeer(t *testing.T) {
	b := newBench(t, openBreaker())
	b.mustTick(t)
	for name, a := range map[string]*alertmanager{"first": b.first, "second": b.second} {
		var got []posted
		for _, p := range a.held {
			p.Annotations = nil
			got = append(got, p)
		}
		want := []posted{{
			Labels: map[string]string{"alertname": "EvenkeelBreakerOpen", "severity": "page", "cluster": "prod-1",
				"namespace": "evenkeel-system", "scope": "Global", "generator": "evenkeel"},
			StartsAt: b.clock.Now().Add(-time.Minute), EndsAt: b.clock.Now().Add(4 * time.Minute),
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the %s peer holds (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPeerThatFailsStopsNoOtherAndIsTriedAgain(t *testing.T) {
	b := newBench(t, openBreaker())
	b.first.broken = true
	if _, err := b.tick(t); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got error %v, want the peer's own words", err)
	}
	if got := b.second.firing(b.clock.Now()); !slices.Equal(got, []string{"EvenkeelBreakerOpen"}) {
		t.Errorf("the second peer holds %v", got)
	}
	b.first.broken = false
	b.mustTick(t)
	if got := b.first.firing(b.clock.Now()); !slices.Equal(got, []string{"EvenkeelBreakerOpen"}) {
		t.Errorf("the first peer, back again, holds %v", got)
	}
	if got := testutil.CollectAndCount(b.metrics.since); got != 1 {
		t.Errorf("%d alerts were measured, want 1", got)
	}
}

func TestAnotherLeaderResolvesWhatTheEarlierOneLeft(t *testing.T) {
	b := newBench(t) // a new process, which knows nothing of the breaker
	for _, a := range []*alertmanager{b.first, b.second} {
		p := posted{Labels: map[string]string{"alertname": "EvenkeelBreakerOpen", "generator": "evenkeel",
			"cluster": "prod-1"},
			StartsAt: b.clock.Now().Add(-time.Hour), EndsAt: b.clock.Now().Add(time.Minute)}
		a.held[key(p.Labels)] = p
	}
	b.mustTick(t)
	for name, a := range map[string]*alertmanager{"first": b.first, "second": b.second} {
		if got := a.firing(b.clock.Now()); len(got) != 0 {
			t.Errorf("the %s peer still holds %v", name, got)
		}
	}
}

func TestWhatCannotBeReadIsNotOver(t *testing.T) {
	b := newBench(t)
	p := posted{Labels: map[string]string{"alertname": "EvenkeelBreakerOpen", "generator": "evenkeel",
		"cluster": "prod-1"},
		EndsAt: b.clock.Now().Add(time.Minute)}
	b.first.held[key(p.Labels)] = p
	b.reader = unreadable{b.api}
	if _, err := b.tick(t); err == nil {
		t.Error("no error")
	}
	if b.first.posts != 0 {
		t.Error("something was posted")
	}
}

type unreadable struct{ client.Reader }

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}

// scanning is a policy whose scan has begun anew: whether it is incomplete isn't known.
func scanning() *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "labels"}}
	p.Spec.Owner, p.Spec.Severity = "shop", v1alpha1.SeverityHigh
	p.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonScanning}}
	return p
}

func TestWhatIsNotKnownNeitherBeginsNorEndsAnAlert(t *testing.T) {
	b := newBench(t, scanning())
	b.mustTick(t)
	if b.first.posts != 0 {
		t.Fatal("an alert began")
	}
	began := b.clock.Now().Add(-time.Hour)
	p := posted{Labels: map[string]string{"alertname": "EvenkeelScanIncomplete", "severity": "ticket",
		"cluster": "prod-1", "namespace": "evenkeel-system",
		"policy": "labels", "owner": "shop", "generator": "evenkeel"}, StartsAt: began,
		EndsAt: b.clock.Now().Add(time.Second)}
	b.first.held[key(p.Labels)] = p
	b.mustTick(t)
	for name, a := range map[string]*alertmanager{"first": b.first, "second": b.second} {
		if got := a.firing(b.clock.Now().Add(3 * time.Minute)); !slices.Equal(got, []string{"EvenkeelScanIncomplete"}) {
			t.Errorf("the %s peer holds %v, want the alert to go on", name, got)
		}
	}
	if got := testutil.CollectAndCount(b.metrics.since); got != 0 {
		t.Errorf("%d alerts were measured, want none: it had been escalated before", got)
	}
}

func TestTheNextTickComesWhenAnAlertIsDue(t *testing.T) {
	b := newBench(t)
	since := metav1.NewMicroTime(b.clock.Now().Add(-30*time.Minute + 7*time.Second))
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	rem.Spec.Plan.Policy.Name = "labels"
	rem.Status.Phase, rem.Status.HeldTime = v1alpha1.PhaseHeld, &since
	b.api.set(rem)
	for _, want := range []time.Duration{7 * time.Second, time.Minute} {
		result, err := b.tick(t)
		if err != nil || result.RequeueAfter != want {
			t.Errorf("the next tick comes in %v (%v), want %v", result.RequeueAfter, err, want)
		}
		b.clock.SetTime(b.clock.Now().Add(result.RequeueAfter))
	}
	if got := b.first.firing(b.clock.Now()); !slices.Equal(got, []string{"EvenkeelRemediationHeld"}) {
		t.Errorf("the peer holds %v", got)
	}
}

func TestAResolvedAlertIsSentOnceAndTheMetricGoes(t *testing.T) {
	b := newBench(t, openBreaker())
	b.mustTick(t)
	if got := testutil.CollectAndCount(b.metrics.alerts); got != 1 {
		t.Errorf("%d alerts in the metrics, want 1", got)
	}
	closed := openBreaker()
	closed.Status.State = v1alpha1.BreakerClosed
	b.api.set(closed)
	b.mustTick(t)
	if got := b.first.firing(b.clock.Now()); len(got) != 0 {
		t.Errorf("the peer still holds %v", got)
	}
	if got := testutil.CollectAndCount(b.metrics.alerts); got != 0 {
		t.Errorf("%d alerts in the metrics, want none", got)
	}
	if got := testutil.ToFloat64(b.metrics.posts.WithLabelValues(b.peers[0].name(), "success")); got != 2 {
		t.Errorf("%v posts counted, want 2", got)
	}
}
