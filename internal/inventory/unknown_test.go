// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// TestWhyAKindIsntKnownIsTold goes through what becomes of a kind, and when people are told so.
func TestWhyAKindIsntKnownIsTold(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	s := New(Options{Clock: clock, MaxStaleness: time.Minute})
	r := inventory.Reference{Kind: "Service", Selector: labels.Everything()}
	f := newFollower(s, r)
	s.followers[f.key] = f
	kind := schema.GroupKind{Kind: "Service"}
	failing := func(err error) func() {
		return func() { f.failed(&listing.KindError{Kind: kind, Err: err, Field: listing.ReferencesField}) }
	}
	later := func(err error) func() {
		return func() {
			clock.Step(2 * time.Minute)
			failing(err)()
		}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", errors.New("no"))
	for _, step := range []struct {
		when   string
		do     func()
		reason string
		told   bool
		says   string
	}{
		{"it isn't served", failing(&meta.NoKindMatchError{GroupKind: kind}), v1alpha1.ReasonNotServed, true,
			"isn't served by this cluster"},
		{"it still isn't", failing(&meta.NoKindMatchError{GroupKind: kind}), v1alpha1.ReasonNotServed, false, ""},
		{"it may not be read", failing(forbidden), v1alpha1.ReasonForbidden, true, "may not be read"},
		{"the list fails", failing(errors.New("timeout")), v1alpha1.ReasonListFailed, true, "timeout"},
		{"it is listed", func() { f.listed(inventory.NewTable(r, "v1")) }, "", true, ""},
		{"the watch breaks off", failing(errors.New("reset")), "", false, ""},
		{"it has been broken for long", later(errors.New("reset")), v1alpha1.ReasonStale, true,
			"for longer than --reference-max-staleness"},
		{"and longer", later(errors.New("reset")), v1alpha1.ReasonStale, false, ""},
		{"it was a permission that was taken away", later(forbidden), v1alpha1.ReasonForbidden, true,
			"may not be read"},
		{"the watch goes on", func() { f.onWatch(false, nil) }, v1alpha1.ReasonStale, true, "its watch stands"},
		{"our version is too old for it", failing(errors.New("410")), v1alpha1.ReasonStale, false, ""},
		{"it brings something", f.alive, "", true, ""},
		{"it doesn't fit", func() { f.refuse(&TooLargeError{Limit: 1 << 20}) }, v1alpha1.ReasonTooLarge, true,
			"--reference-max-memory=1Mi"},
	} {
		step.do()
		told := false
		select {
		case <-s.States():
			told = true
		default:
		}
		var reason, says string
		for _, u := range s.Unknown([]inventory.Reference{r}) {
			reason, says = u.Reason, u.Err.Error()
		}
		if reason != step.reason || told != step.told || !strings.Contains(says, step.says) {
			t.Errorf("%s: told %t, reason %q: %s", step.when, told, reason, says)
		}
	}
}

func TestAKindIsPendingForAWhile(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	s := New(Options{Clock: clock})
	r := inventory.Reference{Kind: "Service", Selector: labels.Everything()}
	pending := func(want bool) {
		t.Helper()
		u := s.Unknown([]inventory.Reference{r})
		if len(u) != 1 || u[0].Pending != want || u[0].Reason != v1alpha1.ReasonNotListed {
			t.Errorf("unknown are %+v, want one that is pending: %t", u, want)
		}
	}
	pending(true)
	f := newFollower(s, r)
	s.followers[f.key] = f
	pending(true)
	clock.Step(patience + 1)
	pending(false)
}
