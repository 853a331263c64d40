// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// policyOf is a policy with a title, at a generation, with what the request or the API
// server says of its authors.
func policyOf(title string, generation int64, recorded string, labels tree) tree {
	metadata := tree{"name": "p", "generation": generation, "labels": labels}
	if recorded != "" {
		metadata["annotations"] = tree{v1alpha1.AnnotationAuthor: "ann", v1alpha1.AnnotationAuthors: recorded}
	}
	return tree{"metadata": metadata, "spec": tree{"title": title}}
}

// dyingPolicy is one that is being deleted.
func dyingPolicy(title string, generation int64, recorded string) tree {
	p := policyOf(title, generation, recorded, nil)
	p["metadata"].(tree)["deletionTimestamp"] = "2026-03-01T12:00:00Z"
	return p
}

func as(user string) func(tree) {
	return func(r tree) { r["userInfo"] = tree{"username": user} }
}

func TestAllAuthorsAreStamped(t *testing.T) {
	const ann, annAndBob = `{"users":["ann"],"generation":1}`, `{"users":["ann","bob"],"generation":2}`
	const fromSource = `{"users":["manager"],"generation":1,"source":true}`
	asPolicy, source := webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies"),
		tree{v1alpha1.LabelSourceName: "src"}
	cases := map[string]struct {
		reason string
		review tree
		want   any
	}{
		"a new policy has one": {
			review: webhooktest.Review("CREATE", policyOf("a", 0, "", nil), nil, asPolicy, as("ann")), want: ann},
		"a forged list of a new policy is replaced": {
			reason: "whoever makes it anew answers for all of it, and takes nobody's name",
			review: webhooktest.Review("CREATE", policyOf("a", 7, `{"users":["zoe"],"generation":1}`, nil), nil,
				asPolicy, as("ann")), want: ann},
		"whoever changes the spec joins them": {
			review: webhooktest.Review("UPDATE", policyOf("b", 1, ann, nil), policyOf("a", 1, ann, nil), asPolicy,
				as("bob")), want: annAndBob},
		"nobody is left out by a change": {
			review: webhooktest.Review("UPDATE", policyOf("b", 1, `{"users":["bob"],"generation":2}`, nil),
				policyOf("a", 1, ann, nil), asPolicy, as("bob")), want: annAndBob},
		"an author who changes it again is there once": {
			review: webhooktest.Review("UPDATE", policyOf("b", 1, ann, nil), policyOf("a", 1, ann, nil), asPolicy,
				as("ann")), want: `{"users":["ann"],"generation":2}`},
		"who changes something else doesn't join": {
			review: webhooktest.Review("UPDATE", policyOf("a", 1, ann, tree{"a": "b"}), policyOf("a", 1, ann, nil),
				asPolicy, as("bob")), want: ann},
		"the list can't be cleared": {
			review: webhooktest.Review("UPDATE", policyOf("a", 1, "", nil), policyOf("a", 1, ann, nil), asPolicy,
				as("bob")), want: ann},
		"the list can't be changed": {
			review: webhooktest.Review("UPDATE", policyOf("a", 1, `{"users":["zoe"],"generation":1}`, nil),
				policyOf("a", 1, ann, nil), asPolicy, as("bob")), want: ann},
		"a generation that a request states counts for nothing": {
			review: webhooktest.Review("UPDATE", policyOf("b", 9, ann, nil), policyOf("a", 1, ann, nil), asPolicy,
				as("bob")), want: annAndBob},
		"a change that got past admission is told at the next one": {
			review: webhooktest.Review("UPDATE", policyOf("b", 3, ann, nil), policyOf("a", 3, ann, nil), asPolicy,
				as("bob")), want: `{"users":["ann","bob"],"generation":4,"more":true}`},
		"what the manager writes of a source comes from it": {
			review: webhooktest.Review("CREATE", policyOf("a", 0, "", source), nil, asPolicy, as("manager")),
			want:   fromSource},
		"it does so when the label is taken off": {
			review: webhooktest.Review("UPDATE", policyOf("a", 1, fromSource, nil),
				policyOf("a", 1, fromSource, source), asPolicy, as("bob")), want: fromSource},
		"also where an earlier version has kept the last author alone": {
			review: webhooktest.Review("UPDATE", policyOf("a", 1, "", nil),
				tree{"metadata": tree{"name": "p", "generation": int64(1), "labels": source,
					"annotations": tree{v1alpha1.AnnotationAuthor: "manager"}}, "spec": tree{"title": "a"}}, asPolicy,
				as("bob")), want: fromSource},
		"the last author of an earlier version is the first of the list": {
			review: webhooktest.Review("UPDATE", policyOf("b", 1, "", nil),
				tree{"metadata": tree{"name": "p", "generation": int64(1),
					"annotations": tree{v1alpha1.AnnotationAuthor: "ann"}}, "spec": tree{"title": "a"}}, asPolicy,
				as("bob")), want: annAndBob},
		"where none was kept there are unknown ones": {
			review: webhooktest.Review("UPDATE", policyOf("b", 1, "", nil), policyOf("a", 1, "", nil), asPolicy,
				as("bob")), want: `{"users":["bob"],"generation":2,"more":true}`},
		"a deletion is no change": {reason: "the API server has counted it, and no update was seen",
			review: webhooktest.Review("UPDATE", dyingPolicy("b", 2, ann), dyingPolicy("a", 2, ann), asPolicy,
				as("bob")), want: annAndBob},
		"nor is what ends it": {
			review: webhooktest.Review("UPDATE", dyingPolicy("a", 2, ann), dyingPolicy("a", 2, ann), asPolicy,
				as("bob")), want: ann},
		"a change that got past admission while deleting is told": {
			review: webhooktest.Review("UPDATE", dyingPolicy("a", 3, ann), dyingPolicy("a", 3, ann), asPolicy,
				as("bob")), want: `{"users":["ann"],"generation":2,"more":true}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := stamped(t, tc.review)
			got, _ := dig(object, []string{"metadata", "annotations", v1alpha1.AnnotationAuthors})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			tc.review["request"].(tree)["object"] = object
			if again := stamped(t, tc.review); !cmp.Equal(webhooktest.Encode(t, object), webhooktest.Encode(t, again)) {
				t.Errorf("asked again, the stamp changes %v into %v", object, again)
			}
		})
	}
}

// However people edit a policy and its annotations, whoever has changed its spec is
// named, or the record says that it isn't complete.
func TestNoEditTakesAnAuthorAway(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		live, wrote := tree(nil), map[string]bool{}
		for step := range rapid.IntRange(1, 50).Draw(rt, "edits") {
			user := fmt.Sprint("user", rapid.IntRange(0, 39).Draw(rt, "user"))
			forged := rapid.SampledFrom(
				[]string{"", `{"users":[],"generation":1}`, `{"users":["zoe"],"generation":99}`, "no list"}).Draw(rt,
				"list in the request")
			edits := rapid.Bool().Draw(rt, "edits the spec") || live == nil
			labels := tree(nil)
			if rapid.IntRange(0, 9).Draw(rt, "label") == 0 {
				labels = tree{v1alpha1.LabelSourceName: "src"}
			}
			title, generation := fmt.Sprint("title", step), int64(1)
			operation := "CREATE"
			if live != nil {
				operation, generation = "UPDATE", generationOf(live)
				if !edits {
					title = live["spec"].(tree)["title"].(string)
				}
			}
			after := stamped(t, webhooktest.Review(operation, policyOf(title, generation, forged, labels), live,
				webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies"), as(user)))
			if edits {
				wrote[user] = true
				if live != nil {
					generation++
				}
			}
			after["metadata"].(tree)["generation"] = generation // as the API server counts it
			live = after
			r := authors.Read(marks(live, "annotations"), marks(live, "labels"), generationOf(live))
			for user := range wrote {
				if !r.Wrote(user) && !r.More {
					rt.Fatalf("%s has changed the spec, and isn't named: %s", user, r)
				}
			}
			if len(wrote) <= authors.MaxUsers && r.More {
				rt.Fatalf("all is recorded, and doesn't count: %s", r)
			}
		}
	})
}
