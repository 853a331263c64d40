// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// TestAPolicySaysWhetherItKnowsWhatItRefersTo goes through what one policy's condition says in turn.
func TestAPolicySaysWhetherItKnowsWhatItRefersTo(t *testing.T) {
	node, ingress := inventory.Reference{Kind: "Node"}, inventory.Reference{Group: "networking.k8s.io", Kind: "Ingress"}
	both := []inventory.Reference{node, ingress}
	listing := inventory.Unknown{Reference: node, Reason: v1alpha1.ReasonNotListed, Err: errors.New("not yet"),
		Pending: true}
	slow := listing
	slow.Pending = false
	tooLarge := inventory.Unknown{Reference: ingress, Reason: v1alpha1.ReasonTooLarge, Err: errors.New("too large")}
	const refused = "the rules count as not evaluated, since they can't look up "
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	for _, step := range []struct {
		when       string
		generation int64
		references []inventory.Reference
		unknown    []inventory.Unknown
		want       string
	}{
		{"it refers to nothing", 1, nil, nil, ""},
		{"its references are being listed", 2, both, []inventory.Unknown{listing}, ""},
		{"they are listed", 2, both, nil, "True Listed: the rules see the objects of Ingress.networking.k8s.io, Node"},
		{"the manager starts again", 2, both, []inventory.Unknown{listing},
			"True Listed: the rules see the objects of Ingress.networking.k8s.io, Node"},
		{"the list takes long", 2, both, []inventory.Unknown{slow}, "False NotListed: " + refused + "Node: not yet"},
		{"another kind doesn't fit", 2, both, []inventory.Unknown{listing, tooLarge},
			"False TooLarge: " + refused + "Node: not yet; Ingress.networking.k8s.io: too large"},
		{"the policy changes", 3, both, []inventory.Unknown{listing}, ""},
	} {
		p.Generation = step.generation
		// Neither its first scan nor a scan that has ended makes a difference.
		for _, summary := range []*index.Summary{nil, {Revision: "r1", State: v1alpha1.ScanComplete}} {
			applyStatus(p, catalog.Status{Revision: "r1", References: step.references, Unknown: step.unknown}, summary,
				metav1.Now())
			got := ""
			if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReferencesKnown); c != nil {
				got = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.when, diff)
			}
		}
	}
}
