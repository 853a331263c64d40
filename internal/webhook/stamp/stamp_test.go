// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// stamped lets the API server's part happen: it asks for the stamp and patches
// the object of the review.
func stamped(t *testing.T, review tree) tree {
	t.Helper()
	return webhooktest.Patched(t, &Handler{Base: webhooktest.Base(t, time.Unix(0, 0))}, review)
}

func TestStamp(t *testing.T) {
	policyBy := func(author any, title string) tree {
		metadata := tree{"name": "p"}
		if author != nil {
			metadata["annotations"] = tree{"evenkeel.dev/author": author, "theirs": "kept"}
		}
		return tree{"metadata": metadata, "spec": tree{"title": title}}
	}
	plan := func(state string, lines ...string) tree { return holding(tree{"desiredState": state}, lines...) }
	by := func(user string) string { return record("Undo", user, "requestTime", "1970-01-01T00:00:00Z") }
	until := func(state string) tree {
		return webhooktest.Set(plan(state), "2027-01-07T08:00:00Z", "spec", "pausedUntilTime")
	}
	asPlan, asPolicy := webhooktest.OfKind("Remediation", "remediations"),
		webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies")
	author, undoer := []string{"metadata", "annotations", "evenkeel.dev/author"},
		[]string{"metadata", "annotations", "evenkeel.dev/requests"}
	cases := map[string]struct {
		reason string
		review tree
		field  []string
		want   any
	}{
		"a new policy has the author who makes it": {
			review: webhooktest.Review("CREATE", policyBy(nil, "a"), nil, asPolicy), field: author, want: "ann"},
		"a forged author of a new policy is replaced": {
			review: webhooktest.Review("CREATE", policyBy("bob", "a"), nil, asPolicy), field: author, want: "ann"},
		"a dry run is stamped as well": {
			review: webhooktest.Review("CREATE", policyBy("bob", "a"), nil, asPolicy, webhooktest.DryRun),
			field:  author, want: "ann"},
		"who changes the spec is the author from then on": {
			review: webhooktest.Review("UPDATE", policyBy("bob", "b"), policyBy("bob", "a"), asPolicy), field: author,
			want: "ann"},
		"a change of the spec can't keep another's name": {
			review: webhooktest.Review("UPDATE", policyBy("cid", "b"), policyBy("bob", "a"), asPolicy), field: author,
			want: "ann"},
		"who changes something else isn't": {
			review: webhooktest.Review("UPDATE", policyBy("bob", "a"), policyBy("bob", "a"), asPolicy), field: author,
			want: "bob"},
		"the author can't be changed without the spec": {
			review: webhooktest.Review("UPDATE", policyBy("cid", "a"), policyBy("bob", "a"), asPolicy), field: author,
			want: "bob"},
		"the author can't be cleared": {
			review: webhooktest.Review("UPDATE", policyBy(nil, "a"), policyBy("bob", "a"), asPolicy), field: author,
			want: "bob"},
		"an unknown author stays unknown until a change": {
			review: webhooktest.Review("UPDATE", policyBy("cid", "a"), policyBy(nil, "a"), asPolicy), field: author},
		"an undo has the user who asks for it": {
			review: webhooktest.Review("UPDATE", plan("Undone"), plan("Running"), asPlan), field: undoer,
			want: by("ann")},
		"an undo in another's name is replaced": {
			review: webhooktest.Review("UPDATE", plan("Undone", by("bob")), plan("Running"), asPlan), field: undoer,
			want: by("ann")},
		"who has had a plan undone can't be changed": {
			review: webhooktest.Review("UPDATE", plan("Undone", by("ann")), plan("Undone", by("bob")), asPlan),
			field:  undoer, want: by("bob")},
		"the end of a pause that is over goes": {
			review: webhooktest.Review("UPDATE", until("Undone"), until("Paused"), asPlan),
			field:  []string{"spec", "pausedUntilTime"}},
		"the end of a pause stays": {
			review: webhooktest.Review("UPDATE", until("Paused"), plan("Running"), asPlan),
			field:  []string{"spec", "pausedUntilTime"}, want: "2027-01-07T08:00:00Z"},
		"what holds no field of the sort is left alone": {
			reason: "the configuration doesn't name it, but who knows",
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil), field: author},
		"annotations that are null make room for the author": {
			review: webhooktest.Review("CREATE", webhooktest.Set(policyBy(nil, "a"), nil, "metadata", "annotations"),
				nil, asPolicy), field: author, want: "ann"},
		"annotations of others are kept beside the author": {
			review: webhooktest.Review("CREATE", policyBy("bob", "a"), nil, asPolicy),
			field:  []string{"metadata", "annotations", "theirs"}, want: "kept"},
		"an object without what is answered for is let alone": {
			review: webhooktest.Review("CREATE", tree{"metadata": tree{"name": "p"}}, nil, asPolicy), field: author},
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

func TestTheAPIServerAsksForTheActAlone(t *testing.T) {
	want := map[string]string{
		// The kill switch works while nobody answers; nothing else of a breaker does.
		names.WebhookForceOpen:       asksOfBreaker() + " && " + onlyForcesOpen(),
		names.WebhookBreakerRequests: asksOfBreaker() + " && !(" + onlyForcesOpen() + ")",
		names.WebhookPlanRequests:    asksOf("desiredState", "pausedUntilTime", "retryToken", "windows", "approval"),
	}
	for _, s := range All() {
		if s.Condition != want[s.Webhook] {
			t.Errorf("%s asks if %q, want %q", s.Webhook, s.Condition, want[s.Webhook])
		}
	}
}
