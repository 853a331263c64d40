package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

// ofKind makes a review one of a kind of Evenkeel's own.
func ofKind(kind, resource string) func(tree) {
	return func(r tree) {
		r["kind"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": kind}
		r["resource"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "resource": resource}
		r["namespace"] = ""
	}
}

// stamped lets the API server's part happen: it asks for the stamp and patches
// the object of the review.
func stamped(t *testing.T, review tree) tree {
	t.Helper()
	return webhooktest.Patched(t, &StampHandler{Base: webhooktest.Base(t, time.Unix(0, 0))}, review)
}

func TestStamp(t *testing.T) {
	policyBy := func(author any, title string) tree {
		metadata := tree{"name": "p"}
		if author != nil {
			metadata["annotations"] = tree{"evenkeel.dev/author": author, "theirs": "kept"}
		}
		return tree{"metadata": metadata, "spec": tree{"title": title}}
	}
	approval := func(approver any) tree {
		spec := tree{"remediation": "p-1", "decision": "Approve"}
		if approver != nil {
			spec["approver"] = approver
		}
		return tree{"metadata": tree{"name": "yes"}, "spec": spec}
	}
	plan := func(state string, requests ...any) tree {
		spec := tree{"desiredState": state}
		if len(requests) > 0 {
			spec["requests"] = requests
		}
		return tree{"metadata": tree{"name": "p-1"}, "spec": spec}
	}
	by := func(user string) any {
		return tree{"action": "Undo", "user": user, "time": "1970-01-01T00:00:00Z"}
	}
	asPlan, undoer := ofKind("Remediation", "remediations"), []string{"spec", "requests"}
	asPolicy, asApproval := ofKind("ClusterRegoPolicy", "clusterregopolicies"), ofKind("RemediationApproval", "remediationapprovals")
	author, approver := []string{"metadata", "annotations", "evenkeel.dev/author"}, []string{"spec", "approver"}
	cases := map[string]struct {
		reason string
		review tree
		field  []string
		want   any
	}{
		"a new policy has the author who makes it":            {review: webhooktest.Review("CREATE", policyBy(nil, "a"), nil, asPolicy), field: author, want: "ann"},
		"a forged author of a new policy is replaced":         {review: webhooktest.Review("CREATE", policyBy("bob", "a"), nil, asPolicy), field: author, want: "ann"},
		"a dry run is stamped as well":                        {review: webhooktest.Review("CREATE", policyBy("bob", "a"), nil, asPolicy, webhooktest.DryRun), field: author, want: "ann"},
		"who changes the spec is the author from then on":     {review: webhooktest.Review("UPDATE", policyBy("bob", "b"), policyBy("bob", "a"), asPolicy), field: author, want: "ann"},
		"a change of the spec can't keep another's name":      {review: webhooktest.Review("UPDATE", policyBy("cid", "b"), policyBy("bob", "a"), asPolicy), field: author, want: "ann"},
		"who changes something else isn't":                    {review: webhooktest.Review("UPDATE", policyBy("bob", "a"), policyBy("bob", "a"), asPolicy), field: author, want: "bob"},
		"the author can't be changed without the spec":        {review: webhooktest.Review("UPDATE", policyBy("cid", "a"), policyBy("bob", "a"), asPolicy), field: author, want: "bob"},
		"the author can't be cleared":                         {review: webhooktest.Review("UPDATE", policyBy(nil, "a"), policyBy("bob", "a"), asPolicy), field: author, want: "bob"},
		"an unknown author stays unknown until a change":      {review: webhooktest.Review("UPDATE", policyBy("cid", "a"), policyBy(nil, "a"), asPolicy), field: author},
		"an answer has the approver who gives it":             {review: webhooktest.Review("CREATE", approval(nil), nil, asApproval), field: approver, want: "ann"},
		"a forged approver is replaced":                       {review: webhooktest.Review("CREATE", approval("bob"), nil, asApproval), field: approver, want: "ann"},
		"an approver that isn't even a name is replaced":      {review: webhooktest.Review("CREATE", approval(tree{"a": "b"}), nil, asApproval), field: approver, want: "ann"},
		"an undo has the user who asks for it":                {review: webhooktest.Review("UPDATE", plan("Undone"), plan("Running"), asPlan), field: undoer, want: []any{by("ann")}},
		"an undo in another's name is replaced":               {review: webhooktest.Review("UPDATE", plan("Undone", by("bob")), plan("Running"), asPlan), field: undoer, want: []any{by("ann")}},
		"who has had a plan undone can't be changed":          {review: webhooktest.Review("UPDATE", plan("Undone", by("ann")), plan("Undone", by("bob")), asPlan), field: undoer, want: []any{by("bob")}},
		"what holds no field of the sort is left alone":       {reason: "the configuration doesn't name it, but who knows", review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil), field: author},
		"annotations that are null make room for the author":  {review: webhooktest.Review("CREATE", webhooktest.Set(policyBy(nil, "a"), nil, "metadata", "annotations"), nil, asPolicy), field: author, want: "ann"},
		"annotations of others are kept beside the author":    {review: webhooktest.Review("CREATE", policyBy("bob", "a"), nil, asPolicy), field: []string{"metadata", "annotations", "theirs"}, want: "kept"},
		"an object without what is answered for is let alone": {review: webhooktest.Review("CREATE", tree{"metadata": tree{"name": "p"}}, nil, asPolicy), field: author},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := stamped(t, tc.review)
			got, _ := dig(object, tc.field)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			request := tc.review["request"].(tree)
			request["object"] = object
			if again := stamped(t, tc.review); !cmp.Equal(webhooktest.Encode(t, object), webhooktest.Encode(t, again)) {
				t.Errorf("asked again, the stamp changes %v into %v", object, again)
			}
		})
	}
}

func TestPoliciesAreRefusedUnstamped(t *testing.T) {
	p := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)
	p.Annotations = map[string]string{v1alpha1.AnnotationAuthor: "bob"}
	h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds())}
	review := webhooktest.Review("CREATE", policyTree(t, p), nil, ofKind("ClusterRegoPolicy", "clusterregopolicies"))
	got := webhooktest.Ask(t, h, review)
	if got.Allowed || got.Status.Code != http.StatusForbidden || !strings.Contains(got.Status.Message, "metadata.annotations.evenkeel.dev/author of ClusterRegoPolicy p doesn't hold") {
		t.Errorf("a forged author passes, or isn't named: %+v", got.Status)
	}
	review["request"].(tree)["object"] = stamped(t, review)
	if got := webhooktest.Ask(t, h, review); !got.Allowed {
		t.Errorf("a stamped policy is refused: %v", got.Status)
	}
}

func TestMutatingWebhooksConcernOwnKindsOnly(t *testing.T) {
	var lines []string
	for _, h := range testConfiguration(webhooktest.Kinds()).MutatingWebhooks([]byte("bundle")) {
		r := h.Rules[0]
		line := strings.Join([]string{h.Name, string(*h.FailurePolicy), *h.ClientConfig.URL, r.APIGroups[0], r.Resources[0], string(*r.Scope), string(*h.ReinvocationPolicy)}, " ")
		for _, op := range r.Operations {
			line += " " + string(op)
		}
		if h.MatchConditions[0] != exempt.OwnConditions()[0] {
			t.Errorf("%s: the deletion of an object of ours can't end while nobody answers: %v", h.Name, h.MatchConditions)
		}
		for _, c := range h.MatchConditions[1:] {
			line += " if " + c.Expression
		}
		lines = append(lines, line)
		if len(h.Rules) != 1 || *h.SideEffects != "None" || *h.TimeoutSeconds != 5 || h.NamespaceSelector == nil || h.ObjectSelector == nil || string(h.ClientConfig.CABundle) != "bundle" {
			t.Errorf("%s has an incomplete entry: %+v", h.Name, h)
		}
	}
	want := []string{
		"author.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev clusterregopolicies Cluster IfNeeded CREATE UPDATE",
		"template-author.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev regotemplates Cluster IfNeeded CREATE UPDATE",
		"strategy-author.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediationstrategies Cluster IfNeeded CREATE UPDATE",
		"approver.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediationapprovals Cluster IfNeeded CREATE",
		// The kill switch works while nobody answers; nothing else of a breaker does.
		"force-open.evenkeel.dev Ignore https://localhost:9443/mutate/stamp evenkeel.dev remediationbreakers Cluster IfNeeded CREATE UPDATE" +
			" if " + asksOfBreaker() + " && " + onlyForcesOpen(),
		"breaker-requests.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediationbreakers Cluster IfNeeded CREATE UPDATE" +
			" if " + asksOfBreaker() + " && !(" + onlyForcesOpen() + ")",
		"plan-requests.evenkeel.dev Fail https://localhost:9443/mutate/stamp evenkeel.dev remediations Cluster IfNeeded CREATE UPDATE" +
			" if " + asksOf("desiredState", "retryToken", "requests"),
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
