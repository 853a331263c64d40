// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/prose"
)

func sourceWith(changes ...func(*v1alpha1.PolicySource)) *v1alpha1.PolicySource {
	src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: hats.namespace, Name: hats.name}}
	for _, change := range changes {
		change(src)
	}
	return src
}

func mostly(limit intstr.IntOrString) func(*v1alpha1.PolicySource) {
	return func(src *v1alpha1.PolicySource) { src.Spec.MaxRemoved = &limit }
}

func accepting(revision string) func(*v1alpha1.PolicySource) {
	return func(src *v1alpha1.PolicySource) {
		metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1alpha1.AnnotationAcceptRevision, revision)
	}
}

func TestOnlyAllOfThemLetsAnEmptyRevisionRemoveAll(t *testing.T) {
	for limit, want := range map[intstr.IntOrString]bool{intstr.FromString("100%"): true,
		intstr.FromString("99%"): false, intstr.FromInt32(2000): false} {
		if got := mayEmpty(sourceWith(mostly(limit))); got != want {
			t.Errorf("maxRemoved %s: %t", limit.String(), got)
		}
	}
	if mayEmpty(sourceWith()) {
		t.Error("the default is 50%")
	}
}

func TestWhatOneRevisionMayRemove(t *testing.T) {
	const revision = "main@sha1:" + "0123456789012345678901234567890123456789"
	cases := map[string]struct {
		reason        string
		held, stay    int
		change        func(*v1alpha1.PolicySource)
		refused       bool
		renamed, says string
	}{
		"half of them": {reason: "that is the default", held: 10, stay: 5},
		"more than half": {reason: "somebody erred", held: 10, stay: 4, refused: true,
			says: "would remove 6 of 10 policies, and spec.maxRemoved lets 5 go at once"},
		"half, rounded down": {reason: "a limit isn't exceeded by rounding", held: 11, stay: 5,
			refused: true},
		"two of three":                           {reason: "a small source may change", held: 3, stay: 1},
		"three of four":                          {reason: "but not lose most", held: 4, stay: 1, refused: true},
		"all of two, with others in their stead": {reason: "renames of a small source", held: 2, renamed: "new"},
		"all under other names": {reason: "a rename removes what it was, and the new may say nothing",
			held: 10, renamed: "new", refused: true},
		"one where none may go": {reason: "a number is exact", held: 10, stay: 9,
			change: mostly(intstr.FromInt32(0)), refused: true},
		"five where five may go": {reason: "a number is exact", held: 6, stay: 1,
			change: mostly(intstr.FromInt32(5))},
		"all where all may go": {
			reason: "the spec says so", held: 10, change: mostly(intstr.FromString("100%"))},
		"most, by a person's word": {reason: "it names this very revision", held: 10, stay: 1,
			change: accepting(revision)},
		"most, by a word for the commit alone": {reason: "the name before it doesn't matter", held: 10, stay: 1,
			change: accepting("0123456789012345678901234567890123456789")},
		"most, by a word for another": {reason: "one word, one revision", held: 10, stay: 1,
			change: accepting("main@sha1:9999"), refused: true},
		"most, by an empty word": {reason: "nothing is nobody's word", held: 10, stay: 1,
			change: accepting(""), refused: true},
		"most, of which none is removed": {reason: "prune: false keeps them", held: 10, stay: 1,
			change: func(src *v1alpha1.PolicySource) { off := false; src.Spec.Prune = &off }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var live []v1alpha1.ClusterRegoPolicy
			var want []directory.Located
			for i := range tc.held {
				live = append(live, inCluster(fmt.Sprint("p", i)))
				if i < tc.stay {
					want = append(want, located(fmt.Sprint("p", i)))
				}
				if tc.renamed != "" {
					want = append(want, located(fmt.Sprint(tc.renamed, i)))
				}
			}
			live = append(live, inCluster("others", func(p *v1alpha1.ClusterRegoPolicy) { p.Labels = nil }))
			objects, _ := objectsOf(want, nil)
			p, err := changesOf(objects, pointers(live), hats, nil)
			if err != nil {
				t.Fatal(err)
			}
			src := sourceWith()
			if tc.change != nil {
				tc.change(src)
			}
			why := tooManyRemoved(src, p, revision)
			if (why != nil) != tc.refused {
				t.Fatalf("%s: got %v", tc.reason, why)
			}
			if why == nil {
				return
			}
			command := "kubectl annotate policysource hats -n evenkeel-system --overwrite " +
				"evenkeel.dev/accept-revision=0123456789012345678901234567890123456789"
			if why.reason != v1alpha1.ReasonTooManyRemoved || !why.stalled || !strings.Contains(why.message, tc.says) ||
				!strings.Contains(prose.Shorten(why.message, maxMessage), command) {
				t.Errorf("it says %s: %s", why.reason, why.message)
			}
		})
	}
}

func TestWhatANewRevisionMustDescendFrom(t *testing.T) {
	inForce := func(src *v1alpha1.PolicySource) { src.Status.Revision = "v1.2.0@sha1:abc" }
	cases := map[string]struct {
		src  *v1alpha1.PolicySource
		want string
	}{
		"nothing, before one is in force": {sourceWith(), ""},
		"the one in force":                {sourceWith(inForce), "abc"},
		"nothing, where the spec takes any": {sourceWith(inForce, func(src *v1alpha1.PolicySource) {
			src.Spec.History = v1alpha1.HistoryAny
		}), ""},
		"nothing, where the spec names the commit": {sourceWith(inForce, func(src *v1alpha1.PolicySource) {
			src.Spec.Ref = &v1alpha1.SourceReference{Commit: "def"}
		}), ""},
		"the one in force, where it names a branch": {sourceWith(inForce, func(src *v1alpha1.PolicySource) {
			src.Spec.Ref = &v1alpha1.SourceReference{Branch: "b"}
		}), "abc"},
		"the one in force, when another is accepted": {sourceWith(inForce, accepting("def")), "abc"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mustFollow(tc.src); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A word is good for what the repository holds now. Left over, it would let a later
// push go back.
func TestAnAcceptanceIsSpentOnceWhatIsThereIsInForce(t *testing.T) {
	cases := map[string]struct {
		seen observation
		src  *v1alpha1.PolicySource
		want bool
	}{
		"it is in force": {observation{complete: true, revision: "main@sha1:abc"},
			sourceWith(accepting("abc")), true},
		"another is in force, which follows": {observation{complete: true, revision: "main@sha1:def"},
			sourceWith(accepting("abc")), true},
		"it isn't in force yet": {observation{revision: "main@sha1:abc"}, sourceWith(accepting("abc")),
			false},
		"nobody has given one": {observation{complete: true}, sourceWith(), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := spent(tc.src, tc.seen); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestWhatBecomesOfThePoliciesOfADeletedSource(t *testing.T) {
	deleting := func(src *v1alpha1.PolicySource) { src.Spec.DeletionPolicy = v1alpha1.DeletionDelete }
	off := false
	cases := map[string]struct {
		src *v1alpha1.PolicySource
		why string
		// foreign says that the source's namespace isn't accepted any more.
		foreign bool
	}{
		"they stay by default":           {src: sourceWith(), why: "spec.deletionPolicy: Orphan"},
		"they go where the spec says so": {src: sourceWith(deleting)},
		"they stay where the source isn't accepted, whatever its spec says": {
			src: sourceWith(deleting), foreign: true, why: "namespace evenkeel-system isn't among --source-namespaces"},
		"they stay where nothing is pruned": {src: sourceWith(deleting, func(src *v1alpha1.PolicySource) {
			src.Spec.Prune = &off
		}), why: "spec.prune: false"},
		"they stay while it is suspended": {src: sourceWith(deleting, func(src *v1alpha1.PolicySource) {
			src.Spec.Suspend = true
		}), why: "spec.suspend: true"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if why, stay := orphans(tc.src, !tc.foreign); why != tc.why || stay != (tc.why != "") {
				t.Errorf("got %q, %t; want %q", why, stay, tc.why)
			}
			d := newDesk(t, func(src *v1alpha1.PolicySource) { src.Spec = tc.src.Spec })
			src := d.deleted(tc.foreign)
			p := d.policy("hats")
			if src.UID != "" || (p != nil) != (tc.why != "") {
				t.Errorf("the source, and its policy: %v, %v", src.ObjectMeta, p)
			}
			if p != nil && (p.Labels[v1alpha1.LabelSourceName] != "" ||
				p.Annotations[v1alpha1.AnnotationAdopt] != hats.String()) {
				t.Errorf("it isn't released: %v", p.ObjectMeta)
			}
			if event := d.lastEvent(); !strings.Contains(event, v1alpha1.EventPolicySourceDeleted) ||
				!strings.Contains(event, tc.why) {
				t.Errorf("the event says %q, want %q", event, tc.why)
			}
		})
	}
}

// Most sources have few policies, many one: what is told of it is read as a sentence.
func TestOneAndMorePoliciesAreToldInTheirNumber(t *testing.T) {
	two := []string{"a", "b"}
	for got, want := range map[string]string{
		ending(two[:1], "spec.prune: false"): "1 policy stays in force without a source (spec.prune: false)",
		ending(two, "spec.prune: false"):     "2 policies stay in force without a source (spec.prune: false)",
		ending(two[:1], ""): "1 policy was removed with it and is no longer enforced " +
			"(spec.deletionPolicy: Delete)",
		ending(two, ""): "2 policies were removed with it and are no longer enforced " +
			"(spec.deletionPolicy: Delete)",
	} {
		if got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
