// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestAnswerNamesItsDecision(t *testing.T) {
	found := func(action v1alpha1.AdmissionAction) []finding {
		return []finding{{policy: "p", action: action, violations: []policy.Violation{{Message: "it is wrong"}}}}
	}
	broken := []failure{{policy: "q", err: errors.New("it is broken")}}
	const failing, ignoring = v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore
	for name, tc := range map[string]struct {
		reason   string
		verdict  verdict
		decision string
		allowed  bool
		notes    map[string]string
	}{
		"nothing is found": {reason: "it passes without a word", verdict: verdict{class: failing},
			decision: serving.DecisionAllowed, allowed: true},
		"a warning": {reason: "it passes with it", verdict: verdict{class: failing,
			findings: found(v1alpha1.AdmissionWarn)},
			decision: serving.DecisionWarned, allowed: true, notes: map[string]string{"p": "Warn: 1"}},
		"a note for the audit log": {reason: "it passes without a word", verdict: verdict{class: failing,
			findings: found(v1alpha1.AdmissionAudit)},
			decision: serving.DecisionAllowed, allowed: true, notes: map[string]string{"p": "Audit: 1"}},
		"a violation": {reason: "it is refused", verdict: verdict{class: ignoring,
			findings: found(v1alpha1.AdmissionDeny), failed: broken},
			decision: serving.DecisionDenied, notes: map[string]string{"p": "Deny: 1", "q": "evaluation failed"}},
		"a failure where failures refuse": {reason: "it is refused", verdict: verdict{class: failing, failed: broken},
			decision: serving.DecisionErrored, notes: map[string]string{"q": "evaluation failed"}},
		"a failure where failures pass": {reason: "it passes, and is counted as failed",
			verdict:  verdict{class: ignoring, failed: broken},
			decision: serving.DecisionErrored, allowed: true, notes: map[string]string{"q": "evaluation failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, decision := answer(&policy.Request{Name: "web", Operation: policy.Create, Object: tree{}},
				&tc.verdict)
			if resp.Allowed != tc.allowed || decision != tc.decision {
				t.Errorf("%s: allowed %t as %s, want %t as %s", tc.reason, resp.Allowed, decision, tc.allowed,
					tc.decision)
			}
			if diff := cmp.Diff(tc.notes, resp.AuditAnnotations); diff != "" {
				t.Errorf("%s: for the audit log (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFailuresAreListedUpToABound(t *testing.T) {
	v := &verdict{class: v1alpha1.FailurePolicyFail}
	for i := range serving.MaxViolationLines + 3 {
		v.failed = append(v.failed, failure{policy: fmt.Sprintf("p%d", i), err: errors.New("it is broken")})
	}
	resp, _ := answer(&policy.Request{Name: "web", Operation: policy.Create, Object: tree{}}, v)
	if got := resp.Status.Message; strings.Count(got, "\n- ") != serving.MaxViolationLines ||
		!strings.Contains(got, "\nand 3 more") {
		t.Errorf("want %d failures and 3 more, got\n%s", serving.MaxViolationLines, got)
	}
}

func TestSecretsAreOfTheCoreGroup(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]bool{
		{Version: "v1", Kind: "Secret"}: true, {Version: "v1", Kind: "ConfigMap"}: false, {Group: "example.com",
			Version: "v1", Kind: "Secret"}: false,
	} {
		if got := holdsSecrets(&policy.Request{Kind: policy.GroupVersionKind{Group: kind.Group, Version: kind.Version,
			Kind: kind.Kind}}); got != want {
			t.Errorf("%s: got %t, want %t", kind, got, want)
		}
	}
}

// brokenWriter loses the connection.
type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the connection is gone") }

func TestAnAnswerThatCantBeSentIsLogged(t *testing.T) {
	for name, broken := range map[string]bool{"sent": false, "not sent": true} {
		t.Run(name, func(t *testing.T) {
			var logged []string
			h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t))
			h.Log = funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
			body := webhooktest.Encode(t, webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil))
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
			r.Header.Set("Content-Type", "application/json")
			var w http.ResponseWriter = httptest.NewRecorder()
			if broken {
				w = brokenWriter{w}
			}
			h.ServeHTTP(w, r)
			if text := strings.Join(logged, "\n"); strings.Contains(text, "stays unanswered") != broken {
				t.Errorf("logged %q", text)
			}
		})
	}
}

// askedNamespaces notes which namespaces are asked for.
type askedNamespaces struct {
	asked []string
	err   error
}

func (a *askedNamespaces) Get(_ context.Context, name string) (map[string]any, error) {
	a.asked = append(a.asked, name)
	return tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name,
		"labels": tree{"env": "prod"}}}, a.err
}

func TestTheNamespaceOfWhatCantBeRead(t *testing.T) {
	staging := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{
			MatchLabels: map[string]v1alpha1.LabelValue{"env": "staging"}}
	}
	clusterScope := func(r tree) { delete(r, "namespace") }
	for name, tc := range map[string]struct {
		reason  string
		err     error
		change  []func(tree)
		refused bool
		asked   []string
	}{
		"it is another than the policy selects": {reason: "the policy doesn't concern it", asked: []string{"shop"}},
		"it isn't known": {reason: "the policy may concern it", err: errors.New("no answer"),
			refused: true, asked: []string{"shop"}},
		"there is none": {reason: "nothing is asked for", change: []func(tree){clusterScope}},
	} {
		t.Run(name, func(t *testing.T) {
			p := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, staging)
			h := newHandler(t, serving.Class(p), webhooktest.NewCatalog(t, p))
			namespaces := &askedNamespaces{err: tc.err}
			h.Namespaces = namespaces
			if got := answerOf(t, h, sentAs(t, serving.Undecodable, tc.change...)); got.Allowed == tc.refused {
				t.Errorf("%s: allowed %t", tc.reason, got.Allowed)
			}
			if diff := cmp.Diff(tc.asked, namespaces.asked); diff != "" {
				t.Errorf("%s: asked for (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPoliciesThatCantJudgeAreListedUpToABound(t *testing.T) {
	var policies []*v1alpha1.ClusterRegoPolicy
	for i := range serving.MaxViolationLines + 2 {
		policies = append(policies, webhooktest.NewPolicy(fmt.Sprintf("p%d", i), webhooktest.PrivilegedRego))
	}
	h := newHandler(t, serving.Class(policies[0]), webhooktest.NewCatalog(t, policies...))
	got := answerOf(t, h, sentAs(t, serving.Undecodable)).Status.Message
	if strings.Count(got, "\n- ") != serving.MaxViolationLines || !strings.Contains(got, "\nand 2 more") {
		t.Errorf("want %d policies and 2 more, got\n%s", serving.MaxViolationLines, got)
	}
}

// brokenInformers has none.
type brokenInformers struct {
	informertest.FakeInformers
	err error
}

func (b *brokenInformers) GetInformer(ctx context.Context, o client.Object,
	opts ...cache.InformerGetOption) (cache.Informer, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.FakeInformers.GetInformer(ctx, o, opts...)
}

func TestNamespacesAreWatched(t *testing.T) {
	for _, want := range []error{nil, errors.New("the cache is stopped")} {
		n := NewCachedNamespaces(nil, nil)
		if err := n.Watch(context.Background(), &brokenInformers{err: want}); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestLiveWorkloads(t *testing.T) {
	down := errors.New("the server is down")
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u"}}
	there := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(set).Build()
	broken := interceptor.NewClient(there, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		}})
	for name, tc := range map[string]struct {
		reader client.Reader
		name   string
		uid    any
		err    error
	}{
		"it is there":       {reader: there, name: "web", uid: "u"},
		"it is gone":        {reader: there, name: "other"},
		"nobody can say so": {reader: broken, name: "web", err: down},
	} {
		got, err := LiveWorkloads{tc.reader}.Get(context.Background(), match.Owner{APIVersion: "apps/v1",
			Kind: "StatefulSet", Name: tc.name}, "shop")
		if uid := policy.Metadata(got)["uid"]; uid != tc.uid || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %v, %v, want the one with UID %v, %v", name, uid, err, tc.uid, tc.err)
		}
	}
}
