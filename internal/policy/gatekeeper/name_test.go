// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// TestNamesThatAPolicyCanHave migrates constraints of all names that Kubernetes gives an object, each to
// a policy of its own, whatever the order.
func TestNamesThatAPolicyCanHave(t *testing.T) {
	dotted := strings.Replace(mustBear, "name: mustbear\n", "name: must.bear\n", 1)
	twin := strings.Replace(strings.ReplaceAll(mustBear, "MustBear", "MustWear"), "name: mustbear", "name: mustwear", 1)
	long := strings.Repeat("team.", 12) + "owner" // 65 characters
	named := func(kind, name string) string {
		return strings.Replace(strings.Replace(bearOwner, "MustBear", kind, 1), "bear-owner", name, 1)
	}
	tests := map[string]struct {
		reason, text string
		want         map[string]string
	}{
		"dots": {"they stay, in a template's name too", dotted + named("MustBear", "team.example.com"),
			map[string]string{"MustBear/team.example.com": "team.example.com of must.bear"}},
		"dots of two kinds": {"the kind stands before the second", mustBear + twin + named("MustBear", "a.b") +
			named("MustWear", "a.b"),
			map[string]string{"MustBear/a.b": "a.b of mustbear", "MustWear/a.b": "mustwear-a.b of mustwear"}},
		"too long a name": {"its beginning and a hash of kind and name",
			mustBear + twin + named("MustBear", long) + named("MustWear", long) + named("MustBear", long+"s"),
			map[string]string{
				"MustBear/" + long:       "team.team.team.team.team.team.team.team.tea-HASH of mustbear",
				"MustWear/" + long:       "team.team.team.team.team.team.team.team.tea-HASH of mustwear",
				"MustBear/" + long + "s": "team.team.team.team.team.team.team.team.tea-HASH of mustbear"}},
		"a name that another kind's would come to": {"the third way is a hash",
			mustBear + twin + named("MustBear", "owner") + named("MustBear", "mustwear-owner") +
				named("MustWear", "owner"),
			map[string]string{"MustBear/owner": "owner of mustbear",
				"MustBear/mustwear-owner": "mustwear-owner of mustbear", "MustWear/owner": "owner-HASH of mustwear"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, taken := map[string]string{}, map[string]bool{}
			for _, item := range migrated(t, tc.text) {
				if item.State != gatekeeper.Migrated {
					t.Errorf("%s: %s: %q", tc.reason, item.Object, item.Notes)
				}
				if item.Policy == nil {
					continue
				}
				is := item.Policy.Name
				if taken[is] || len(is) > 52 {
					t.Errorf("the name %q is taken or too long", is)
				}
				taken[is] = true
				if cut := strings.LastIndex(is, "-"); len(is)-cut == 9 && is != "bear-owner" {
					notes := strings.Join(item.Notes, "\n")
					if !strings.Contains(item.Policy.Spec.Description, "the constraint "+item.Object+".") ||
						!strings.Contains(notes, "its name is shortened") {
						t.Errorf("%s isn't told: %q, %q", item.Object, item.Policy.Spec.Description, notes)
					}
					is = is[:cut] + "-HASH"
				}
				got[item.Object] = is + " of " + item.Policy.Spec.TemplateRef.Name
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOneConstraintTwiceNeedsWork(t *testing.T) {
	items := migrated(t, mustBear+bearOwner+bearOwner+bearOwner)
	if last := items[len(items)-1]; last.State != gatekeeper.NeedsWork ||
		!strings.Contains(strings.Join(last.Notes, ""), "two constraints of kind MustBear are named bear-owner") {
		t.Errorf("%s: %q", last.State, last.Notes)
	}
}

// TestNamesDoNotDependOnTheOrder migrates two constraints of one name in either order: discovery gives their kinds in
// any. One that has its policy already keeps that.
func TestNamesDoNotDependOnTheOrder(t *testing.T) {
	twin := strings.Replace(strings.ReplaceAll(mustBear, "MustBear", "MustWear"), "name: mustbear", "name: mustwear", 1)
	bear := strings.Replace(bearOwner, "bear-owner", "owner", 1)
	wear := strings.Replace(bear, "MustBear", "MustWear", 1)
	tests := map[string]struct{ kept, want map[string]string }{
		"none is there": {want: map[string]string{"MustBear/owner": "owner", "MustWear/owner": "mustwear-owner"}},
		"the second has the name": {kept: map[string]string{"MustWear/owner": "owner"},
			want: map[string]string{"MustBear/owner": "mustbear-owner", "MustWear/owner": "owner"}},
		"the first was named otherwise": {kept: map[string]string{"MustBear/owner": "mustbear-owner"},
			want: map[string]string{"MustBear/owner": "mustbear-owner", "MustWear/owner": "owner"}},
	}
	for name, tc := range tests {
		for order, text := range map[string]string{"one way": bear + wear, "the other way": wear + bear} {
			t.Run(name+", "+order, func(t *testing.T) {
				got := map[string]string{}
				for _, item := range gatekeeper.Migrate(documents(t, mustBear+twin+text), gatekeeper.Options{
					Owner: "platform", Runbook: "https://example.com/NAME", Severity: "High", Names: tc.kept}) {
					if item.Policy != nil {
						got[item.Object] = item.Policy.Name
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
