// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// widgets are two kinds of example.com: Widget lives in namespaces, Gadget doesn't.
const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Gadget, plural: gadgets}}
---
`

// TestAPolicyConcernsWhatItsConstraintDid holds which objects a policy judges for what a constraint's match says of
// kinds, scope, source and namespaces.
func TestAPolicyConcernsWhatItsConstraintDid(t *testing.T) {
	object := func(apiVersion, kind, namespace string) string {
		return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: shop, namespace: %q}}", apiVersion, kind,
			namespace)
	}
	objects := map[string]string{
		"Pod in shop": object("v1", "Pod", "shop"), "Pod in other": object("v1", "Pod", "other"),
		"Deployment": object("apps/v1", "Deployment", "shop"), "Event": object("v1", "Event", "shop"),
		"Lease": object("coordination.k8s.io/v1", "Lease", "shop"), "Namespace": object("v1", "Namespace", ""),
		"ClusterRole": object("rbac.authorization.k8s.io/v1", "ClusterRole", ""),
		"Widget":      object("example.com/v1", "Widget", "shop"), "Gadget": object("example.com/v1", "Gadget", ""),
		"Cluster Thing": object("example.org/v1", "Thing", ""), "Thing": object("example.org/v1", "Thing", "shop"),
	}
	all := []string{"ClusterRole", "Deployment", "Gadget", "Namespace", "Pod in other", "Pod in shop", "Widget"}
	tests := map[string]struct {
		reason, match string
		want          []string
		notes         string
	}{
		"no kinds": {"all that are known, but for events and leases", "{}", all,
			"migrate it again when there are others"},
		"any groups and kinds": {"likewise", `{kinds: [{apiGroups: ["*"], kinds: ["*"]}]}`, all,
			"Gatekeeper judges whatever kind there is"},
		"an empty entry": {"likewise", "{kinds: [{}]}", all, "the policy names"},
		"any kind of a group": {"those of the group",
			`{kinds: [{apiGroups: [apps, example.com], kinds: ["*"]}]}`,
			[]string{"Deployment", "Gadget", "Widget"}, "migrate it again"},
		"a kind of any group": {"whatever its group",
			`{kinds: [{apiGroups: ["*"], kinds: [Pod, Gadget]}]}`,
			[]string{"Gadget", "Pod in other", "Pod in shop"}, "migrate it again"},
		"what lives in namespaces": {"Namespaces don't",
			"{scope: Namespaced}",
			[]string{"Deployment", "Pod in other", "Pod in shop", "Widget"}, "migrate it again"},
		"what doesn't live in namespaces": {"Namespaces count",
			"{scope: Cluster}",
			[]string{"ClusterRole", "Gadget", "Namespace"}, "migrate it again"},
		"any scope": {"nothing is left out",
			`{scope: "*", kinds: [{apiGroups: [""], kinds: [Pod, Namespace]}]}`,
			[]string{"Namespace", "Pod in other", "Pod in shop"}, ""},
		"named kinds in namespaces": {"the others are left out",
			`{scope: Namespaced, kinds: [{apiGroups: [""], kinds: [Pod, Namespace]}]}`,
			[]string{"Pod in other", "Pod in shop"}, ""},
		"a kind of no known scope, in namespaces": {"its namespace tells",
			"{scope: Namespaced, kinds: [{apiGroups: [example.org], kinds: [Thing]}]}",
			[]string{"Thing"}, ""},
		"a kind of no known scope, in some namespaces": {"likewise",
			"{scope: Namespaced, namespaces: [shop], kinds: [{apiGroups: [example.org], kinds: [Thing]}]}",
			[]string{"Thing"}, ""},
		"named kinds without namespaces": {"the others are left out",
			`{scope: Cluster, kinds: [{apiGroups: [""], kinds: [Pod, Namespace]}, ` +
				`{apiGroups: [example.com], kinds: [Gadget]}]}`,
			[]string{"Gadget", "Namespace"}, ""},
		"cluster-scoped kinds, and namespaces": {"whatever namespaces are chosen",
			"{scope: Cluster, namespaces: [other], namespaceSelector: {matchLabels: {a: b}}, " +
				"kinds: [{apiGroups: [example.com], kinds: [Gadget]}]}",
			[]string{"Gadget"}, ""},
		"Namespaces, and namespaces": {"their names count",
			`{scope: Cluster, namespaces: [sh*], kinds: [{apiGroups: [""], kinds: [Namespace]}]}`,
			[]string{"Namespace"}, ""},
		"namespaces": {"kinds that live there need no note",
			`{namespaces: [shop], kinds: [{apiGroups: [""], kinds: [Pod]}]}`,
			[]string{"Pod in shop"}, ""},
		"namespaces, and a kind that lives in none": {"it is said",
			`{namespaces: [shop], kinds: [{apiGroups: ["", example.com], kinds: [Pod, Gadget]}]}`,
			[]string{"Pod in shop"}, "Gatekeeper judges cluster-scoped objects whatever"},
		"original objects": {"all that are written",
			`{source: Original, kinds: [{apiGroups: [""], kinds: [Pod]}]}`,
			[]string{"Pod in other", "Pod in shop"}, ""},
		"all sources": {"likewise",
			`{source: All, kinds: [{apiGroups: [""], kinds: [Pod]}]}`,
			[]string{"Pod in other", "Pod in shop"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			items := migrated(t, widgets+mustBear+"apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: MustBear\n"+
				"metadata: {name: bear}\nspec:\n  match: "+tc.match+"\n  parameters: {keys: [owner]}\n")
			last := items[len(items)-1]
			if last.State != gatekeeper.Migrated {
				t.Fatalf("%s: %q", last.State, last.Notes)
			}
			var got []string
			for object, text := range objects {
				if len(verdict(t, rules(t, items), last.Policy, text)) > 0 {
					got = append(got, object)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			wantNotes(t, &last, tc.notes)
		})
	}
}

// TestAPolicyHasNoMoreKindsThanTheAPITakes has a cluster with more groups than match.kinds has entries.
func TestAPolicyHasNoMoreKindsThanTheAPITakes(t *testing.T) {
	text := mustBear +
		"apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: MustBear\nmetadata: {name: bear}\nspec: {}\n"
	opts := gatekeeper.Options{}
	for i := range 20 {
		opts.Kinds = append(opts.Kinds, gatekeeper.Kind{Group: fmt.Sprintf("g%d.example.com", i), Kind: "Thing"})
	}
	for inMemory, want := range map[bool]gatekeeper.State{false: gatekeeper.NeedsWork, true: gatekeeper.Migrated} {
		opts.InMemory = inMemory
		if got := gatekeeper.Migrate(documents(t, text), opts)[1]; got.State != want {
			t.Errorf("in memory %t: %s, want %s: %q", inMemory, got.State, want, got.Notes)
		}
	}
}
