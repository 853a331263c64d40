// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// discoveryOf answers discovery requests of an API server with one group, whose versions are given in JSON.
func discoveryOf(t *testing.T, versions func() string) discovery.DiscoveryInterface {
	t.Helper()
	const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items := ""
		switch r.URL.Path {
		case "/api":
			items = `{"metadata":{"name":""},"versions":[{"version":"v1","resources":[{"resource":"pods",
				"scope":"Namespaced","verbs":["list"],"responseKind":{"group":"","version":"v1","kind":"Pod"}}]}]}`
		case "/apis":
			items = fmt.Sprintf(`{"metadata":{"name":"example.com"},"versions":[%s]}`, versions())
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", v2)
		_, _ = fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[%s]}`, items)
	}))
	t.Cleanup(server.Close)
	return discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: server.URL})
}

func serving(freshness, kind, resource string) string {
	return fmt.Sprintf(`{"version":"v1","freshness":%q,"resources":[{"resource":%q,"scope":"Namespaced",
		"verbs":["list"],"responseKind":{"group":"example.com","version":"v1","kind":%q}}]}`, freshness, resource, kind)
}

var widget = schema.GroupKind{Group: "example.com", Kind: "Widget"}

// A kind that isn't found has no objects only where the API server could say what its group has: the server of an
// aggregated API may be down.
func TestAKindIsAbsentOnlyIfItsGroupCouldBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		versions string
		absent   bool
	}{
		"the group has other kinds":         {serving("Current", "Gadget", "gadgets"), true},
		"the group's server doesn't answer": {`{"version":"v1","freshness":"Stale"}`, false},
		"the server of one version doesn't": {serving("Current", "Gadget", "gadgets") +
			`,{"version":"v2","freshness":"Stale"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewResolver(discoveryOf(t, func() string { return tc.versions }),
				clocktesting.NewFakePassiveClock(time.Time{}))
			_, err := r.Resolve(widget)
			if got := HasNoObjects(&KindError{Kind: widget, Err: err}); got != tc.absent {
				t.Errorf("it counts as a kind of which nothing is stored: %v, want %v; %v", got, tc.absent, err)
			}
		})
	}
}

// A kind that begins to be served between two questions is found at the next one.
func TestAKindThatHasJustBegunToBeServedIsNotAbsent(t *testing.T) {
	versions := serving("Current", "Gadget", "gadgets")
	asked := 0
	r := NewResolver(discoveryOf(t, func() string {
		if asked++; asked > 1 {
			versions = serving("Current", "Widget", "widgets")
		}
		return versions
	}), clocktesting.NewFakePassiveClock(time.Time{}))
	if _, err := r.Resolve(widget); err == nil || HasNoObjects(&KindError{Kind: widget, Err: err}) {
		t.Errorf("it counts as a kind of which nothing is stored: %v", err)
	}
	if m, err := r.Resolve(widget); err != nil || m.Resource.Resource != "widgets" {
		t.Errorf("asked again: %v, %v", m, err)
	}
}
