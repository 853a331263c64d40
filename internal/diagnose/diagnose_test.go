// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// Credentials that aren't taken are no cluster that nobody knows anything of: they are told as what they are, once.
func TestCredentialsThatArentTakenAreSaidToBe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	in := &Installation{HTTP: server.Client(), Server: server.URL, Clock: clock.RealClock{}}
	found := Run(t.Context(), in, nil)
	if len(found) != 1 || found[0].Status != Fail ||
		!strings.Contains(found[0].Message, "doesn't take your credentials (401 Unauthorized)") {
		t.Errorf("found %+v, want one failure that names the credentials", found)
	}
}

func TestWithoutAnAPIServerOneFindingSaysSo(t *testing.T) {
	in := &Installation{HTTP: http.DefaultClient, Server: "http://127.0.0.1:1", Clock: clock.RealClock{}}
	var told []string
	found := Run(context.Background(), in, func(f Finding) { told = append(told, f.Check) })
	if diff := cmp.Diff([]string{"api-server"}, told); diff != "" {
		t.Errorf("the checks that were made (-want +got)\n%s", diff)
	}
	if worst := Worst(found); worst != Unknown {
		t.Errorf("what isn't known is never fine: got %s", worst)
	}
}
