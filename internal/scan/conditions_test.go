package scan

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/conditions.md anew")

func TestConditionsOfPolicies(t *testing.T) {
	state := func(name string, c catalog.Status, s *Summary) kstatus.State[*v1alpha1.ClusterRegoPolicy] {
		set := func(p *v1alpha1.ClusterRegoPolicy, now time.Time) { applyStatus(p, c, s, metav1.NewTime(now)) }
		return kstatus.State[*v1alpha1.ClusterRegoPolicy]{Name: name, Object: &v1alpha1.ClusterRegoPolicy{}, Set: set}
	}
	good := catalog.Status{Revision: "r1"}
	bad := catalog.Status{Revision: "r1", Err: errors.New("a.rego:7: unexpected token")}
	complete := &Summary{Revision: "r1", State: v1alpha1.ScanComplete}
	incomplete := &Summary{Revision: "r1", State: v1alpha1.ScanIncomplete,
		Incomplete: []v1alpha1.IncompleteKind{{Kind: "Widget", Message: "Widget isn't served"}}}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.ClusterRegoPolicy]{
		state("in force, and scanned", good, complete),
		state("in force; the first pass of the scan isn't finished", good, nil),
		state("in force; some kind can't be listed, and is tried again", good, incomplete),
		state("in force; evaluations are stopped at a limit", catalog.Status{Revision: "r1", Slow: true}, complete),
		state("it doesn't compile; an earlier revision is in force", bad, complete),
		state("it doesn't compile; nothing is in force", catalog.Status{Err: bad.Err}, nil),
		state("what is stored can't be read; an earlier revision may be in force", catalog.Status{Revision: "r1", Err: fmt.Errorf("%w: soak", catalog.ErrMalformed)}, complete),
	})
}

func TestConditionsOfWaivers(t *testing.T) {
	state := func(name string, now time.Time, problem error, missing ...string) kstatus.State[*v1alpha1.Waiver] {
		e := waiverOf("a", epoch.Add(time.Hour))
		e.Spec.Policies = []string{"owner", "limits"}
		set := func(e *v1alpha1.Waiver, at time.Time) {
			kube.SetConditions(e, at, waiverConditions(e.Terms(), problem, missing, now)...)
		}
		return kstatus.State[*v1alpha1.Waiver]{Name: name, Object: e, Set: set}
	}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.Waiver]{
		state("it waives", epoch, nil),
		state("it has expired", epoch.Add(time.Hour), nil),
		state("it has expired, and its policy is gone", epoch.Add(time.Hour), nil, "owner", "limits"),
		state("some policy that it names doesn't exist (yet)", epoch, nil, "owner"),
		state("no policy that it names exists (yet)", epoch, nil, "owner", "limits"),
		state("it can't be read", epoch, errors.New("spec.match.names: bad")),
		state("it can't be read, and its time is over", epoch.Add(time.Hour), errors.New("spec.match.names: bad")),
	})
}
