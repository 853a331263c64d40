// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

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
