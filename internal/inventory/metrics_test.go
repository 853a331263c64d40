// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestWhatIsKeptIsCounted has two policies refer to Nodes in different ways, and one of them to a kind that isn't
// known.
func TestWhatIsKeptIsCounted(t *testing.T) {
	s := New(Options{Clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0))})
	policies := catalog.New(catalog.Options{})
	refer := func(name, rule string, kinds ...string) []inventory.Reference {
		p := &v1alpha1.ClusterRegoPolicy{}
		p.Name = name
		p.Spec.Rego.Main = "package a\n\ndeny contains \"x\" if " + rule + "\n"
		p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
		for _, kind := range kinds {
			p.Spec.Match.References = append(p.Spec.Match.References, v1alpha1.ReferencedKind{Kind: kind})
		}
		if err := policies.Set(p); err != nil {
			t.Fatal(err)
		}
		return policies.Snapshot().ReferencesOf(name)
	}
	whole := refer("whole", "data.inventory.cluster.v1.Node[_] == input.object", "Node")
	part := refer("part", "data.inventory.cluster.v1.Node[_].spec.x", "Node", "Service")
	bytes := int64(0)
	for _, r := range []inventory.Reference{whole[0], part[0]} {
		f := newFollower(s, r)
		s.followers[f.key] = f
		table := inventory.NewTable(r, "v1")
		for i := range 3 {
			item, err := table.Compact(node(fmt.Sprint(i), "1"))
			if err != nil {
				t.Fatal(err)
			}
			table.Put(item)
		}
		f.listed(table)
		bytes += table.Bytes()
	}
	services := newFollower(s, part[1])
	s.followers[services.key] = services
	services.failed(errors.New("timeout"))
	registry := prometheus.NewRegistry()
	if err := RegisterMetrics(registry, s, policies); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`# HELP evenkeel_policy_reference_unknown 1 for each kind that the policy refers to and this `+
		`replica doesn't know, so that it can't evaluate the policy. Labels: policy, group, kind, reason.
# TYPE evenkeel_policy_reference_unknown gauge
evenkeel_policy_reference_unknown{group="",kind="Service",policy="part",reason="ListFailed"} 1
# HELP evenkeel_reference_bytes About how much memory they take, of --reference-max-memory. Labels: group, kind.
# TYPE evenkeel_reference_bytes gauge
evenkeel_reference_bytes{group="",kind="Node"} %d
evenkeel_reference_bytes{group="",kind="Service"} 0
# HELP evenkeel_reference_objects Objects that are kept since policies refer to their kind, once for each different `+
		`reference. Labels: group, kind.
# TYPE evenkeel_reference_objects gauge
evenkeel_reference_objects{group="",kind="Node"} 6
evenkeel_reference_objects{group="",kind="Service"} 0
`, bytes)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	policies.Delete("part")
	s.followers = map[string]*follower{}
	if n, err := testutil.GatherAndCount(registry, "evenkeel_reference_bytes"); err != nil || n != 0 {
		t.Errorf("%d series are left of kinds that nobody refers to: %v", n, err)
	}
}
