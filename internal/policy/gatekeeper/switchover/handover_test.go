// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

var errCrash = errors.New("killed")

// world is a cluster in memory, whose parts take a change up only after some looks at them.
type world struct {
	policy     *v1alpha1.ClusterRegoPolicy
	constraint *Constraint
	// lag is how many looks it takes; less than 0 is for ever.
	lag int
	// ends is the write before, or, with after, behind which the command ends; 0 is none.
	ends  int
	after bool

	writes, looks int
	gaps          []string
	// step is called before each access, and refused says why nobody answers admission.
	step    func()
	refused error
}

// newWorld is a cluster in which Gatekeeper enforces, and the policy is there and records.
func newWorld(action string) *world {
	c := constraintAt(time.Time{}, map[string]any{})
	setEnforcement(c.Object, action)
	w := &world{constraint: c, step: func() {}, policy: &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{
		Name: "services", UID: types.UID("p1"), Generation: 1, Annotations: map[string]string{
			v1alpha1.AnnotationMigratedFrom: "Teamed/services", v1alpha1.AnnotationMigratedUID: "u1"}},
		Spec: v1alpha1.RegoPolicySpec{Admission: v1alpha1.Admission{Action: v1alpha1.AdmissionAudit}}}}
	w.takeUp()
	return w
}

// takeUp has both say of themselves what they were last told.
func (w *world) takeUp() {
	w.policy.Status.ObservedGeneration = w.policy.Generation
	w.policy.Status.InForce = &v1alpha1.PolicyInForce{AdmissionAction: w.policy.Spec.Admission.Action}
	w.policy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	pod := map[string]any{"id": "a", "enforced": true, "operations": []any{"webhook"}, "constraintUID": "u1",
		"observedGeneration": w.constraint.Object.GetGeneration()}
	_ = unstructured.SetNestedSlice(w.constraint.Object.Object, []any{pod}, "status", "byPod")
}

// look takes a change up in time, and notes where nobody enforces: neither what is written nor what is in force.
func (w *world) look() {
	if w.constraint == nil {
		return // somebody has deleted it, and the policy is on its own
	}
	if w.looks++; w.lag >= 0 && w.looks > w.lag {
		w.takeUp()
	}
	inForce := w.policy.Status.InForce.AdmissionAction != v1alpha1.AdmissionAudit &&
		w.policy.Spec.Admission.Action != v1alpha1.AdmissionAudit
	theirs := w.constraint.Enforcement() != dryRun && w.constraint.Unenforced() == nil
	if !inForce && !theirs {
		w.gaps = append(w.gaps, fmt.Sprintf("after write %d", w.writes))
	}
}

// write counts a write of an object that must be as it was read, and says whether the command ends by it.
func (w *world) write(was, now metav1.Object, change func()) error {
	w.step()
	if !asksTheSame(was, now) {
		return errors.New("somebody else has changed it meanwhile")
	}
	w.writes++
	if w.writes == w.ends && !w.after {
		return errCrash
	}
	change()
	w.looks = 0
	w.look()
	if w.writes == w.ends {
		return errCrash
	}
	return nil
}

func (w *world) Policy(context.Context) (*v1alpha1.ClusterRegoPolicy, error) {
	w.step()
	w.look()
	return w.policy.DeepCopy(), nil
}

func (w *world) Constraint(context.Context) (*Constraint, error) {
	w.step()
	if w.constraint == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "teamed"}, "services")
	}
	w.look()
	return &Constraint{Object: w.constraint.Object.DeepCopy()}, nil
}

func (w *world) MarkConstraint(_ context.Context, c *Constraint, run string) error {
	return w.write(c.Object, w.constraint.Object, func() { annotate(w.constraint.Object, run) })
}

func (w *world) MarkPolicy(_ context.Context, p *v1alpha1.ClusterRegoPolicy, run string) error {
	return w.write(p, w.policy, func() { annotate(w.policy, run) })
}

// annotate marks an object as the cluster does: an empty run takes the mark away.
func annotate(object metav1.Object, run string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationHandover] = run
	if run == "" {
		delete(annotations, v1alpha1.AnnotationHandover)
	}
	object.SetAnnotations(annotations)
}

func (w *world) SetAction(_ context.Context, p *v1alpha1.ClusterRegoPolicy, action v1alpha1.AdmissionAction) error {
	return w.write(p, w.policy, func() {
		w.policy.Spec.Admission.Action = action
		w.policy.Generation++
	})
}

func (w *world) Yield(_ context.Context, c *Constraint, policy string) error {
	return w.write(c.Object, w.constraint.Object, func() {
		w.constraint.Object.SetAnnotations(map[string]string{v1alpha1.AnnotationEnforcedBy: policy,
			v1alpha1.AnnotationEnforcementAction: c.Enforcement()})
		setEnforcement(w.constraint.Object, dryRun)
		w.constraint.Object.SetGeneration(w.constraint.Object.GetGeneration() + 1)
	})
}

func (w *world) Restore(_ context.Context, c *Constraint) error {
	return w.write(c.Object, w.constraint.Object, func() {
		run := c.Object.GetAnnotations()[v1alpha1.AnnotationHandover]
		setEnforcement(w.constraint.Object, c.own())
		w.constraint.Object.SetAnnotations(nil)
		annotate(w.constraint.Object, run)
		w.constraint.Object.SetGeneration(w.constraint.Object.GetGeneration() + 1)
	})
}

func (w *world) handover() *Handover {
	return &Handover{Cluster: w, Run: fmt.Sprintf("run %d", w.writes), Timeout: 10 * time.Second,
		Told:    func(string) {},
		Check:   func(context.Context, *v1alpha1.ClusterRegoPolicy, *Constraint) error { return nil },
		Answers: func(context.Context) error { return w.refused },
		Wait:    func(context.Context, time.Duration) error { return nil }}
}

func (w *world) state() State { return StateOf(w.constraint, w.policy) }

// TestEnforcementIsNeverAbsent ends the command before and behind each write, in both directions, and runs it again.
func TestEnforcementIsNeverAbsent(t *testing.T) {
	for _, action := range []string{"deny", "", "warn"} {
		for _, lag := range []int{0, 3} {
			for ends := range 6 {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("%q, lag %d, ends at write %d, after it %t", action, lag, ends, after),
						func(t *testing.T) {
							w := newWorld(action)
							w.lag, w.ends, w.after = lag, ends, after
							if err := w.handover().Forward(t.Context()); (err != nil) != (ends > 0) {
								t.Fatalf("the first run: %v", err)
							}
							w.ends = 0
							finish(t, w, w.handover().Forward, Evenkeel)
							w.writes, w.ends = 0, ends
							if err := w.handover().Back(t.Context()); (err != nil) != (ends > 0) {
								t.Fatalf("the first run back: %v", err)
							}
							w.ends = 0
							finish(t, w, w.handover().Back, Gatekeeper)
							if got := w.constraint.Enforcement(); got != action || len(w.gaps) > 0 {
								t.Errorf("enforcementAction is %q, want %q; nobody enforced %q", got, action, w.gaps)
							}
						})
				}
			}
		}
	}
}

// finish runs a command twice, the second time with nothing to do.
func finish(t *testing.T, w *world, run func(context.Context) error, want State) {
	t.Helper()
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	writes := w.writes
	if err := run(t.Context()); err != nil || w.writes != writes {
		t.Fatalf("with nothing to do: %v, %d writes", err, w.writes-writes)
	}
	if w.state() != want {
		t.Fatalf("state %q, want %q", w.state(), want)
	}
}

// TestASwitchThatStoppedHalfWayIsUndone goes back from the middle.
func TestASwitchThatStoppedHalfWayIsUndone(t *testing.T) {
	w := newWorld("deny")
	w.ends = 4 // two marks, and the policy's action
	if err := w.handover().Forward(t.Context()); !errors.Is(err, errCrash) || w.state() != Both {
		t.Fatalf("it ended as %v, and %s", err, w.state())
	}
	w.ends = 0
	finish(t, w, w.handover().Back, Gatekeeper)
}

// TestReportsThatAreGoneForAMomentAreAwaited has Gatekeeper write its status anew once it has said that it enforces.
func TestReportsThatAreGoneForAMomentAreAwaited(t *testing.T) {
	for name, tc := range map[string]struct {
		lag   int
		fails bool
	}{"and come back": {3, false}, "and stay away": {-1, true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld("deny")
			if err := w.handover().Forward(t.Context()); err != nil {
				t.Fatal(err)
			}
			h := w.handover()
			h.Told = func(step string) {
				if strings.HasPrefix(step, "Gatekeeper enforces") {
					unstructured.RemoveNestedField(w.constraint.Object.Object, "status", "byPod")
					w.looks, w.lag = 0, tc.lag
				}
			}
			err := h.Back(t.Context())
			switch want := map[bool]State{false: Gatekeeper, true: Both}[tc.fails]; {
			case (err != nil) != tc.fails || tc.fails && !strings.Contains(err.Error(), "no replica of Gatekeeper's"):
				t.Errorf("it ended as %v", err)
			case w.state() != want || len(w.gaps) > 0:
				t.Errorf("state %q, want %q; nobody enforced %q", w.state(), want, w.gaps)
			}
		})
	}
}

// TestReportsThatAreGoneAfterTheLastWriteAreAwaited has Gatekeeper write its status anew as the
// policy ceases to enforce.
func TestReportsThatAreGoneAfterTheLastWriteAreAwaited(t *testing.T) {
	for name, tc := range map[string]struct {
		lag  int
		set  string
		want State
		says string
	}{
		"and come back":                     {lag: 3, set: "deny", want: Gatekeeper},
		"and stay away":                     {lag: -1, set: "deny", want: Both, says: "no replica of Gatekeeper's"},
		"and somebody has set it to dryrun": {lag: 0, set: dryRun, want: Evenkeel, says: "somebody has set constraint"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld("deny")
			if err := w.handover().Forward(t.Context()); err != nil {
				t.Fatal(err)
			}
			h, gone, waited := w.handover(), false, time.Duration(0)
			w.step = func() {
				action := w.policy.Spec.Admission.Action
				if gone || w.constraint.EnforcedBy() != "" || action != v1alpha1.AdmissionAudit {
					return
				}
				gone, waited = true, 0
				setEnforcement(w.constraint.Object, tc.set)
				unstructured.RemoveNestedField(w.constraint.Object.Object, "status", "byPod")
				w.looks, w.lag = 0, tc.lag
			}
			h.Wait = func(_ context.Context, d time.Duration) error {
				waited += d
				return nil
			}
			err := h.Back(t.Context())
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it ended as %v", err)
			}
			if w.state() != tc.want || !gone || tc.lag < 0 && waited != moment || tc.set == dryRun && waited > 0 {
				t.Errorf("state %q, want %q; it waited for %s", w.state(), tc.want, waited)
			}
		})
	}
}

func TestWhatIsNotConfirmedGoesNoFurther(t *testing.T) {
	w := newWorld("deny")
	w.lag = -1
	err := w.handover().Forward(t.Context())
	if err == nil || !strings.Contains(err.Error(), "both are set to enforce: constraint Teamed/services") ||
		w.constraint.Enforcement() != "deny" {
		t.Errorf("it ended as %v, and the constraint is %q", err, w.constraint.Enforcement())
	}
	w = newWorld("deny")
	if err := w.handover().Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.lag = -1
	err = w.handover().Back(t.Context())
	if err == nil || !strings.Contains(err.Error(), "both are set to enforce") ||
		w.policy.Spec.Admission.Action != v1alpha1.AdmissionDeny {
		t.Errorf("back, it ended as %v, and the policy is %s", err, w.policy.Spec.Admission.Action)
	}
}

func TestASwitchIsRefused(t *testing.T) {
	cases := map[string]struct {
		action string
		change func(*world)
		back   bool
		want   string
	}{
		"to what only records": {action: dryRun, want: "there is nothing to switch"},
		"of a policy that stands for something else": {action: "deny", change: func(w *world) {
			w.policy.Annotations[v1alpha1.AnnotationMigratedFrom] = "Teamed/others"
		}, want: "wasn't migrated from constraint Teamed/services"},
		"of a constraint that was made anew": {action: "deny", change: func(w *world) {
			w.constraint.Object.SetUID("u2")
		}, want: "was deleted and created again"},
		"of a policy that somebody has set": {action: "deny", change: func(w *world) {
			w.policy.Spec.Admission.Action = v1alpha1.AdmissionWarn
		}, want: "somebody has set admission.action of policy services to Warn"},
		"of a constraint that somebody has set since it was switched": {action: "warn", change: func(w *world) {
			w.constraint.Object.SetAnnotations(map[string]string{v1alpha1.AnnotationEnforcedBy: "services",
				v1alpha1.AnnotationEnforcementAction: "deny"})
		}, want: "since then somebody has set its enforcementAction"},
		"back, of such a one": {action: "warn", back: true, change: func(w *world) {
			w.constraint.Object.SetAnnotations(map[string]string{v1alpha1.AnnotationEnforcedBy: "services",
				v1alpha1.AnnotationEnforcementAction: "deny"})
		}, want: `somebody has set enforcementAction of constraint Teamed/services to "warn"`},
		"back, of a policy that somebody has set since": {action: dryRun, back: true, change: func(w *world) {
			w.constraint.Object.SetAnnotations(map[string]string{v1alpha1.AnnotationEnforcedBy: "services",
				v1alpha1.AnnotationEnforcementAction: "deny"})
			w.policy.Spec.Admission.Action = v1alpha1.AdmissionWarn
		}, want: "somebody has set admission.action of policy services to Warn since"},
		"back, of what wasn't switched": {action: dryRun, back: true, want: "wasn't switched, and only records"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.action)
			if tc.change != nil {
				tc.change(w)
			}
			run := w.handover().Forward
			if tc.back {
				run = w.handover().Back
			}
			err := run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || w.writes > 0 {
				t.Errorf("it ended as %v after %d writes, want %q", err, w.writes, tc.want)
			}
		})
	}
}

func TestADifferenceKeepsAllAsItIs(t *testing.T) {
	w := newWorld("deny")
	h := w.handover()
	h.Check = func(context.Context, *v1alpha1.ClusterRegoPolicy, *Constraint) error {
		return errors.New("they differ")
	}
	if err := h.Forward(t.Context()); err == nil || w.writes > 0 {
		t.Errorf("it ended as %v after %d writes", err, w.writes)
	}
}
