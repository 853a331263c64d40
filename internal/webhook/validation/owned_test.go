// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// Whoever is on call patches a policy that a PolicySource keeps: that won't last, and they
// are told so at once, with what does.
func TestAChangeThatASourceRestoresIsWarnedOf(t *testing.T) {
	sourced := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Labels = map[string]string{v1alpha1.LabelSourceNamespace: "evenkeel-system",
			v1alpha1.LabelSourceName: "rules"}
	}
	denying, warning := webhooktest.WithAction(v1alpha1.AdmissionDeny), webhooktest.WithAction(v1alpha1.AdmissionWarn)
	newPolicy := func(change ...func(*v1alpha1.ClusterRegoPolicy)) tree {
		return policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, change...))
	}
	as := func(user string) func(tree) {
		return func(request tree) { request["userInfo"] = tree{"username": user} }
	}
	cases := map[string]struct {
		reason string
		review tree
		want   bool
	}{
		"its spec is changed": {
			review: webhooktest.Review("UPDATE", newPolicy(sourced, warning), newPolicy(sourced, denying)), want: true},
		"its labels are taken off in the same write": {
			reason: "the source's status knows it still", want: true,
			review: webhooktest.Review("UPDATE", newPolicy(warning), newPolicy(sourced, denying))},
		"the manager writes": {
			reason: "that is the source itself",
			review: webhooktest.Review("UPDATE", newPolicy(sourced, warning), newPolicy(sourced, denying), as("self"))},
		"a policy of nobody's": {
			review: webhooktest.Review("UPDATE", newPolicy(warning), newPolicy(denying))},
		"only a label is changed": {
			reason: "labels of others stay",
			review: webhooktest.Review("UPDATE", newPolicy(sourced, denying), newPolicy(denying))},
		"it is made": {
			reason: "there is nothing yet that it would be restored to",
			review: webhooktest.Review("CREATE", newPolicy(sourced, denying), nil)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds()),
				Self: "self"}
			request := tc.review["request"].(tree)
			webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies")(request)
			request["object"] = withWho(t, tc.review)
			got := webhooktest.Ask(t, h, tc.review)
			if !got.Allowed {
				t.Fatalf("refused: %v", got.Status)
			}
			text := strings.Join(got.Warnings, "\n")
			for _, part := range []string{"PolicySource evenkeel-system/rules keeps policy p",
				"in an emergency: evenkeel policy override p --enforcement Warn",
				"spec.overrides of PolicySource evenkeel-system/rules"} {
				if strings.Contains(text, part) != tc.want {
					t.Errorf("%s: warnings %q, want %v of %q", tc.reason, text, tc.want, part)
				}
			}
			for _, w := range got.Warnings {
				if strings.HasSuffix(w, "…") {
					t.Errorf("a warning is cut: %s", w)
				}
			}
		})
	}
}

// A deletion is undone by the source as well.
func TestADeletionThatASourceUndoesIsWarnedOf(t *testing.T) {
	sourced := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Labels = map[string]string{v1alpha1.LabelSourceNamespace: "evenkeel-system",
			v1alpha1.LabelSourceName: "rules"}
	}
	source := func(change ...func(*v1alpha1.PolicySource)) *v1alpha1.PolicySource {
		src := &v1alpha1.PolicySource{}
		src.Namespace, src.Name = "evenkeel-system", "rules"
		for _, c := range change {
			c(src)
		}
		return src
	}
	cases := map[string]struct {
		reason string
		policy []func(*v1alpha1.ClusterRegoPolicy)
		source *v1alpha1.PolicySource
		user   string
		want   string // of the first warning; empty: none
	}{
		"it comes back": {policy: []func(*v1alpha1.ClusterRegoPolicy){sourced}, source: source(),
			want: "PolicySource evenkeel-system/rules keeps policy p"},
		"the source is suspended": {policy: []func(*v1alpha1.ClusterRegoPolicy){sourced},
			source: source(func(src *v1alpha1.PolicySource) { src.Spec.Suspend = true }),
			want:   "once it is no more suspended"},
		"the source is gone": {policy: []func(*v1alpha1.ClusterRegoPolicy){sourced}},
		"the source is being deleted": {policy: []func(*v1alpha1.ClusterRegoPolicy){sourced},
			source: source(func(src *v1alpha1.PolicySource) {
				src.Finalizers = []string{v1alpha1.SourceFinalizer}
				src.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			})},
		"the manager deletes": {reason: "it left the repository", user: "self", source: source(),
			policy: []func(*v1alpha1.ClusterRegoPolicy){sourced}},
		"a policy of nobody's": {source: source()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			reader := fake.NewClientBuilder().WithScheme(scheme)
			if tc.source != nil {
				reader = reader.WithObjects(tc.source)
			}
			h := &DeletionHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Reader: reader.Build(), Self: "self"}
			review := webhooktest.Review("DELETE", nil,
				policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, tc.policy...)),
				func(request tree) { request["userInfo"] = tree{"username": tc.user} })
			webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies")(review["request"].(tree))
			got := webhooktest.Ask(t, h, review)
			text := strings.Join(got.Warnings, "\n")
			if !got.Allowed || (len(got.Warnings) > 0) != (tc.want != "") || !strings.Contains(text, tc.want) {
				t.Errorf("%s: allowed %v, warnings %q, want %q", tc.reason, got.Allowed, got.Warnings, tc.want)
			}
			if tc.want != "" && !strings.Contains(text, "evenkeel policy override p --enforcement Warn") {
				t.Errorf("what to do isn't said: %q", got.Warnings)
			}
		})
	}
}

// unanswered reads nothing until the time is up.
type unanswered struct {
	client.Reader
	bounded bool
}

func (u *unanswered) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if _, u.bounded = ctx.Deadline(); u.bounded {
		<-ctx.Done()
	}
	return ctx.Err()
}

// TestADeletionDoesntWaitForItsSource has the API server not answer.
func TestADeletionDoesntWaitForItsSource(t *testing.T) {
	reader := &unanswered{}
	h := &DeletionHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Reader: reader, Self: "self"}
	h.Timeout = 200 * time.Millisecond
	sourced := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, func(p *v1alpha1.ClusterRegoPolicy) {
		p.Labels = map[string]string{v1alpha1.LabelSourceNamespace: "evenkeel-system",
			v1alpha1.LabelSourceName: "rules"}
	})
	review := webhooktest.Review("DELETE", nil, policyTree(t, sourced))
	webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies")(review["request"].(tree))
	got := webhooktest.Ask(t, h, review)
	if !reader.bounded || !got.Allowed || len(got.Warnings) == 0 {
		t.Errorf("it waits for ever: %t; allowed %t, warnings %q", !reader.bounded, got.Allowed, got.Warnings)
	}
}

// What to do is whole, however long the names are.
func TestTheRemedyOfAChangeThatWontLastIsNeverCut(t *testing.T) {
	long := strings.Repeat("n", 63)
	for _, text := range inStead(strings.Repeat("p", 128), &client.ObjectKey{Namespace: long, Name: long}) {
		if strings.HasSuffix(text, "…") {
			t.Errorf("it is cut: %s", text)
		}
	}
}
