// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// there says whether an object is there, and isn't being deleted.
func (b *bench) there(name string) bool {
	b.t.Helper()
	c := &corev1.ConfigMap{}
	err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, c)
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	return err == nil && c.DeletionTimestamp == nil
}

// Of two objects that violate for each other's sake one is deleted, however late the watch shows that, and however
// long the object takes to be gone.
func TestOneOfTwoDuplicatesIsDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		lag       int
		finalizer bool
		state     v1alpha1.TargetState
		reason    string
		says      string
	}{
		"shown at once":     {lag: 0, state: v1alpha1.TargetSkipped, reason: v1alpha1.ReasonAlreadyClean},
		"shown a bit later": {lag: 3, state: v1alpha1.TargetSkipped, reason: v1alpha1.ReasonAlreadyClean},
		"not shown for long": {lag: -1, state: v1alpha1.TargetPending, reason: v1alpha1.ReasonUnobserved,
			says: "is gone"},
		"it waits for its finalizers": {lag: 0, finalizer: true, state: v1alpha1.TargetPending,
			reason: v1alpha1.ReasonUnobserved, says: "waits for its finalizers: example.com/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := twoShare(t)
			if tc.finalizer {
				web := b.object("web")
				web.Finalizers = []string{"example.com/x"}
				if err := b.api.Update(t.Context(), web); err != nil {
					t.Fatal(err)
				}
			}
			if tc.lag >= 0 {
				b.pass.LookupPatience = time.Minute
			}
			watch := newWatching(b, tc.lag)
			watch.deletes = true
			b.pass.Snapshot = watch
			if err := b.pass.write(t.Context(), []int{0, 1}); err != nil {
				t.Fatal(err)
			}
			first, second := b.pass.Records.Record(0), b.pass.Records.Record(1)
			if first.State != v1alpha1.TargetApplied || b.there("web") {
				t.Errorf("the first: %s %s: %s", first.State, first.Reason, first.Message)
			}
			if second.State != tc.state || second.Reason != tc.reason || !b.there("second") {
				t.Errorf("the second, there: %t: %s %s: %s", b.there("second"), second.State, second.Reason,
					second.Message)
			}
			if !strings.Contains(second.Message, tc.says) {
				t.Errorf("it says %q", second.Message)
			}
		})
	}
}

// An object of the same name that somebody has made since is waited for like one that was written.
func TestWhatWasMadeAgainIsLookedUpAsItIs(t *testing.T) {
	b := twoShare(t)
	watch := newWatching(b, 0)
	watch.deletes = true
	b.pass.Snapshot = watch
	if err := b.pass.write(t.Context(), []int{0}); err != nil {
		t.Fatal(err)
	}
	watch.lag, watch.shown["web"] = -1, "bad"
	b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u9"},
		Data: map[string]string{"state": "bad"}})
	gone, again, err := b.pass.removed(t.Context())
	if err != nil || len(gone) != 0 || len(again) != 1 || again[0].GetUID() != "u9" {
		t.Errorf("gone %v, again %v: %v", gone, again, err)
	}
	if err := b.pass.caughtUp(t.Context()); err == nil || !strings.Contains(err.Error(), "lags behind") {
		t.Errorf("while the watch hasn't shown it: %v", err)
	}
}

// A removal is verified once the policy finds no more what was removed; then nobody asks for it again.
func TestARemovalIsVerifiedOnceItIsShown(t *testing.T) {
	for name, tc := range map[string]struct {
		lag     int
		again   bool
		stopped bool
		want    rollout.CheckResult
	}{
		"shown":                             {want: rollout.CheckPassed},
		"not shown":                         {lag: -1, want: rollout.CheckWaiting},
		"not shown, the policy has changed": {lag: -1, stopped: true, want: rollout.CheckPassed},
		"made again, shown":                 {again: true, want: rollout.CheckPassed},
		"made again, not shown":             {again: true, lag: -1, want: rollout.CheckWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := twoShare(t)
			watch := newWatching(b, 0)
			watch.deletes = true
			b.pass.Snapshot = watch
			if err := b.pass.write(t.Context(), []int{0}); err != nil {
				t.Fatal(err)
			}
			watch.lag, watch.shown = tc.lag, map[string]string{"web": "bad"}
			if tc.again {
				b.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u9"},
					Data: map[string]string{"state": "another"}})
			}
			c := b.pass.verify(t.Context(), 0, tc.stopped)
			if c.Result != tc.want || (c.Reason == v1alpha1.ReasonUnobserved) != (tc.want == rollout.CheckWaiting) {
				t.Errorf("got %+v", c)
			}
			watch.lag, watch.shown["web"] = -1, "bad"
			b.pass.Records.Record(0).State = v1alpha1.TargetVerified
			if gone, again, err := b.pass.removed(t.Context()); len(gone)+len(again) > 0 || err != nil {
				t.Errorf("it is asked for again: %v, %v: %v", gone, again, err)
			}
		})
	}
}

// While a write may still reach its object, no other target is judged: what heals it may be under way.
func TestNoTargetIsJudgedWhileAnothersWriteMayLand(t *testing.T) {
	b := twoShare(t)
	watch := newWatching(b, 0)
	watch.deletes = true
	b.pass.Snapshot = watch
	b.pass.Targets.Writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{Delete: func(
		ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		if len((&client.DeleteOptions{}).ApplyOptions(opts).DryRun) == 0 {
			return errors.New("the answer is lost")
		}
		return c.Delete(ctx, obj, opts...)
	}})
	if err := b.pass.write(t.Context(), []int{0, 1}); err != nil {
		t.Fatal(err)
	}
	first, second := b.pass.Records.Record(0), b.pass.Records.Record(1)
	if first.State != v1alpha1.TargetIntent {
		t.Fatalf("the first: %s %s: %s", first.State, first.Reason, first.Message)
	}
	next := micro(b.pass.Targets.Clock.Now().Add(fix.LandingPoll))
	if second.State != v1alpha1.TargetPending || !second.NextAttemptTime.Equal(next) ||
		!strings.Contains(second.Message, "write of ConfigMap shop/web may") {
		t.Errorf("the second: %s %s: %s, next at %v", second.State, second.Reason, second.Message,
			second.NextAttemptTime)
	}
	if !b.there("second") {
		t.Error("it is deleted")
	}
}

// choosing is watching what bears a label alone; asked are the objects whose changes were waited for last.
type choosing struct {
	*watching
	asked []string
}

func (c *choosing) Selects(_ string, object *unstructured.Unstructured) bool {
	return object.GetLabels()["shared"] == "true"
}

func (c *choosing) Shows(name string, objects ...*unstructured.Unstructured) error {
	c.asked = nil
	for _, object := range objects {
		c.asked = append(c.asked, object.GetName())
	}
	return c.watching.Shows(name, objects...)
}

// The last write that the watch shows is waited for, not only the last one: a selector may leave that out.
func TestWhatASelectorLeavesOutIsntTheNewestWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		// shared are the labels of web and second, which are written in this order.
		shared [2]string
		// verified says that web was verified by then.
		verified bool
		want     string
	}{
		"both are shown":                   {shared: [2]string{"true", "true"}, want: "second"},
		"the last isn't":                   {shared: [2]string{"true", "false"}, want: "second web"},
		"the last isn't, web was verified": {shared: [2]string{"true", "false"}, verified: true, want: "second"},
		"the first isn't":                  {shared: [2]string{"false", "true"}, want: "second"},
	} {
		t.Run(name, func(t *testing.T) {
			b := twoShare(t)
			watch := &choosing{watching: newWatching(b, 0)}
			b.pass.Snapshot = watch
			clock := clocktesting.NewFakePassiveClock(fixtest.Now)
			b.pass.Targets.Clock = clock
			for i, name := range []string{"web", "second"} {
				object := b.object(name)
				object.Labels = map[string]string{"shared": tc.shared[i]}
				if err := b.api.Update(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 2 {
				clock.SetTime(fixtest.Now.Add(time.Duration(i) * time.Second))
				watch.shown = map[string]string{"third": "bad"}
				if err := b.pass.writeAtOnce(t.Context(), []int{i}); err != nil {
					t.Fatal(err)
				}
				if rec := b.pass.Records.Record(i); rec.State != v1alpha1.TargetApplied {
					t.Fatalf("%d: %s %s: %s", i, rec.State, rec.Reason, rec.Message)
				}
			}
			if tc.verified {
				b.pass.Records.Record(0).State = v1alpha1.TargetVerified
			}
			if err := b.pass.caughtUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(watch.asked, " "); got != tc.want {
				t.Errorf("waited for %q, want %q", got, tc.want)
			}
		})
	}
}
