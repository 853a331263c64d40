// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// A kind that can be listed and not watched has objects: however many passes are tried, it never counts as gone through.
func TestAKindThatCantBeWatchedIsntTakenForEmpty(t *testing.T) {
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	w := newWorld(t, func(o *Options) { o.ResyncPeriod = 10_000 * time.Hour })
	w.serve("example.com/v1", "Widget", "widgets")
	w.client.PrependWatchReactor("widgets", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, nil, apierrors.NewMethodNotSupported(widgets.GroupResource(), "watch")
	})
	w.create(widgets, object("example.com/v1", "Widget", "bad", nil))
	w.set(w.policy("owner", v1alpha1.KindMatch{APIGroups: []string{"example.com"}, Kinds: []string{"Widget"}}))
	deadline := time.After(20 * time.Second)
	for w.index.LatestPass() < 10 && !t.Failed() {
		err := w.index.PassedSince("owner", 0)
		switch {
		case err == nil:
			t.Error("Widgets count as gone through")
		case w.index.Observes("owner") == nil:
			t.Error("what began to violate among the Widgets would count as found")
		}
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Errorf("only %d passes were tried: %v", w.index.LatestPass(), err)
		}
	}
}
