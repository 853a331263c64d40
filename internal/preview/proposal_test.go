// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/preview"
)

const (
	digestA = "sha256:aaaa"
	digestB = "sha256:bbbb"
)

func TestAChangeIsReadAsItWasWritten(t *testing.T) {
	for name, c := range map[string]preview.Change{
		"with its text":                 {Digest: digestA, Text: "/spec/a: 1 → 2\n/spec/b: 1 → 2\n"},
		"as that of another":            {Digest: digestA, SameAs: 3},
		"without a text":                {Digest: digestA},
		"like others, with its text":    {Digest: digestA, Alike: "cccc", Text: "/spec/a: 1 → 2\n"},
		"like others, as another":       {Digest: digestA, Alike: "cccc", SameAs: 3},
		"like others, without a text":   {Digest: digestA, Alike: "cccc"},
		"none":                          {Why: "AlreadyClean: the object doesn't violate the policy any more"},
		"with a text that plays a head": {Digest: digestA, Text: "no change: really\n"},
	} {
		if got, told := preview.ParseChange(c.String()); !told || got != c {
			t.Errorf("%s: got %+v, %t", name, got, told)
		}
	}
	for _, other := range []string{"", "# /data/state\n--- ConfigMap", "change of plans", "create ConfigMap"} {
		if got, told := preview.ParseChange(other); told {
			t.Errorf("%q is taken for a change: %+v", other, got)
		}
	}
}

// planOf is a plan with a slice for each list of proposals.
func planOf(lists ...[]string) (*v1alpha1.Remediation, []*v1alpha1.RemediationSlice) {
	rem := &v1alpha1.Remediation{}
	rem.Name, rem.UID, rem.Spec.Plan.Hash = "p-1", "plan", "hash"
	var slices []*v1alpha1.RemediationSlice
	for _, list := range lists {
		slice := &v1alpha1.RemediationSlice{}
		for _, proposal := range list {
			name := fmt.Sprintf("web-%d", rem.Spec.Plan.Targets)
			rem.Spec.Plan.Targets++
			slice.Targets = append(slice.Targets, v1alpha1.Target{Object: v1alpha1.ObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name, UID: name}})
			slice.Records = append(slice.Records,
				v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Proposal: proposal})
		}
		slices = append(slices, slice)
	}
	return rem, slices
}

func named(g preview.Group) string {
	var names []string
	for _, t := range g.Targets {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestChangesOfOtherContainersAreShownAsOne: what is approved of each is bound to its container all the same.
func TestChangesOfOtherContainersAreShownAsOne(t *testing.T) {
	text := "/spec/containers/0/a: 1 → 2\n"
	proposals := func(alike string) *preview.Proposal {
		rem, slices := planOf([]string{preview.Change{Digest: digestA, Alike: "cccc", Text: text}.String(),
			preview.Change{Digest: digestB, Alike: alike, SameAs: 1}.String()})
		return preview.ProposalOf(rem, slices)
	}
	one, two := proposals("cccc"), proposals("dddd")
	if len(one.Groups) != 1 || named(one.Groups[0]) != "web-0 web-1" || len(two.Groups) != 2 {
		t.Errorf("got %+v and %+v, want one group and two", one.Groups, two.Groups)
	}
	if one.Digest == two.Digest || one.Digest == "" {
		t.Errorf("digests are %q and %q", one.Digest, two.Digest)
	}
}

func TestTargetsWithEqualChangesAreTogether(t *testing.T) {
	one, other := "/spec/a: 1 → 2\n", "/spec/a: 1 → 3\n"
	rem, slices := planOf(
		[]string{preview.Change{Digest: digestA, Text: one}.String(),
			preview.Change{Digest: digestA, SameAs: 1}.String(),
			preview.Change{Digest: digestB, Text: other}.String(),
			preview.Change{Digest: digestA, SameAs: 99}.String()},
		[]string{preview.Change{Why: "AlreadyClean: clean"}.String(),
			preview.Change{Digest: digestA, Text: one}.String()},
		// Told alike, for values of its kind aren't told, and another change all the same.
		[]string{preview.Change{Digest: digestB, Text: one}.String()})
	got := preview.ProposalOf(rem, slices)
	groups := map[string]string{}
	for _, g := range got.Groups {
		groups[g.Change+g.Why] = strings.TrimPrefix(groups[g.Change+g.Why]+"; "+named(g), "; ")
	}
	want := map[string]string{one: "web-0 web-1 web-5; web-6", other: "web-2", "": "web-3",
		"AlreadyClean: clean": "web-4"}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if !got.Complete() || got.Known != 7 || got.All != 7 {
		t.Errorf("known %d of %d", got.Known, got.All)
	}
	if text := preview.TextOf(slices[0], slices[0].Records[1].Proposal); text != one {
		t.Errorf("the text of the second target is %q", text)
	}
	if text := preview.TextOf(slices[1], "--- a diff for its owner"); text != "--- a diff for its owner" {
		t.Errorf("a diff for an owner became %q", text)
	}
}

func TestNobodyApprovesWhatIsntKnown(t *testing.T) {
	whole := preview.Change{Digest: digestA, Text: "x\n"}.String()
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.Remediation, []*v1alpha1.RemediationSlice)
		want   bool
	}{
		"each target's change is known": {want: true},
		"one isn't": {change: func(_ *v1alpha1.Remediation, s []*v1alpha1.RemediationSlice) {
			s[1].Records[0].Proposal = ""
		}},
		"one has no record yet": {change: func(_ *v1alpha1.Remediation, s []*v1alpha1.RemediationSlice) {
			s[1].Records = nil
		}},
		"one was told to its owner, and isn't written": {want: true,
			change: func(_ *v1alpha1.Remediation, s []*v1alpha1.RemediationSlice) {
				s[1].Targets[0].SkipReason, s[1].Records[0].Proposal = v1alpha1.ReasonManaged, "--- a diff"
			}},
		"a slice isn't there": {reason: "what it would change isn't shown",
			change: func(rem *v1alpha1.Remediation, _ []*v1alpha1.RemediationSlice) { rem.Spec.Plan.Targets = 3 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem, slices := planOf([]string{whole}, []string{whole})
			if tc.change != nil {
				tc.change(rem, slices)
			}
			got := preview.ProposalOf(rem, slices)
			if got.Complete() != tc.want || (got.Digest != "") != tc.want {
				t.Errorf("%s: complete %t, digest %q", tc.reason, got.Complete(), got.Digest)
			}
		})
	}
}

// Whoever forges what an approver sees, and brings the genuine records back once the answer
// is given, has had another digest approved.
func TestTheDigestIsOfAllThatIsShown(t *testing.T) {
	build := func() (*v1alpha1.Remediation, []*v1alpha1.RemediationSlice) {
		return planOf([]string{preview.Change{Digest: digestA, Text: "/spec/privileged: true → false\n"}.String(),
			preview.Change{Digest: digestB, SameAs: 1}.String()}, []string{preview.Change{Why: "Managed: x"}.String()})
	}
	rem, slices := build()
	genuine := preview.ProposalOf(rem, slices).Digest
	if again := preview.ProposalOf(rem, slices).Digest; again != genuine || len(genuine) != len("sha256:")+64 {
		t.Fatalf("digests %q and %q", genuine, again)
	}
	type plan = *v1alpha1.Remediation
	type slicesOf = []*v1alpha1.RemediationSlice
	for name, forge := range map[string]func(plan, slicesOf){
		"the text": func(_ plan, s slicesOf) { s[0].Records[0].Proposal += "!" },
		"a digest": func(_ plan, s slicesOf) {
			s[0].Records[1].Proposal += "1"
		},
		"a name": func(_ plan, s slicesOf) { s[0].Targets[1].Object.Name = "db" },
		"a UID":  func(_ plan, s slicesOf) { s[0].Targets[1].Object.UID = "db" },
		"the order": func(_ plan, s slicesOf) {
			s[0].Targets[0].Object, s[0].Targets[1].Object = s[0].Targets[1].Object, s[0].Targets[0].Object
		},
		"a skip":   func(_ plan, s slicesOf) { s[1].Targets[0].SkipReason = "Managed" },
		"the plan": func(rem plan, _ slicesOf) { rem.UID = "other" },
		"its hash": func(rem plan, _ slicesOf) { rem.Spec.Plan.Hash = "other" },
	} {
		rem, slices := build()
		forge(rem, slices)
		if got := preview.ProposalOf(rem, slices).Digest; got == genuine {
			t.Errorf("with %s forged the digest is the same", name)
		}
	}
	rem, slices = build()
	slices[0].Records[0].Attempts = 3 // tells nothing of what is written
	if diff := cmp.Diff(genuine, preview.ProposalOf(rem, slices).Digest, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the digest changed with a count: %s", diff)
	}
}
